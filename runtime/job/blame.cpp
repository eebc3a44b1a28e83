// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From what ranks say of themselves to the one that they wait for.
#include "runtime/job/blame_internal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/job/bootstrap.hpp"
#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {
namespace {

using Set = std::vector<bool>;  ///< of seats

/// "rank 5", "ranks 0-3, 7".
std::string words_of(const Set& ranks) {
  std::string words;
  for (std::size_t from = 0; from < ranks.size(); ++from) {
    if (!ranks[from]) continue;
    std::size_t to = from;
    while (to + 1 < ranks.size() && ranks[to + 1]) ++to;
    words += words.empty() ? "" : ", ";
    words += from == to ? fmt::format("{}", from) : fmt::format("{}-{}", from, to);
    from = to;
  }
  return (std::ranges::count(ranks, true) == 1 ? "rank " : "ranks ") + words;
}

template <typename Is>
Set those(std::span<const Sighting> ranks, Is is) {
  Set set(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) set[r] = is(ranks[r]);
  return set;
}

bool any(const Set& set) { return std::ranges::find(set, true) != set.end(); }
bool several(const Set& set) { return std::ranges::count(set, true) > 1; }

/// The call of the first rank of a set.
const Whereabouts& call_of(std::span<const Sighting> ranks, const Set& set) {
  return *ranks[static_cast<std::size_t>(std::ranges::find(set, true) - set.begin())].call;
}

/// Those that a rank in a call awaits.
Set awaited(std::span<const Sighting> ranks) {
  Set set(ranks.size());
  for (const Sighting& one : ranks) {
    if (!one.call) continue;
    for (const Seat seat : one.call->awaits) {
      if (index(seat) < set.size()) set[index(seat)] = true;
    }
  }
  return set;
}

/// Those that await one of `culprits`; at a barrier everybody awaits everybody.
Set waiting_for(std::span<const Sighting> ranks, const Set& culprits) {
  return those(ranks, [&](const Sighting& one) {
    return one.at_barrier || (one.call && std::ranges::any_of(one.call->awaits, [&](Seat seat) {
                                return index(seat) < culprits.size() && culprits[index(seat)];
                              }));
  });
}

/// "ranks 0-2, 4 wait for it in allreduce #7 of 1024 float, sum at train.cpp:88".
std::string words_of_victims(std::span<const Sighting> ranks, const Set& culprits) {
  const Set victims = waiting_for(ranks, culprits);
  const Set in_calls = those(ranks, [](const Sighting& one) { return one.call.has_value(); });
  const std::string where =
      any(in_calls) ? "in " + words_of(call_of(ranks, in_calls)) : std::string("at a barrier");
  return fmt::format("{} {} for {} {}", words_of(victims), several(victims) ? "wait" : "waits",
                     several(culprits) ? "them" : "it", where);
}

std::string blame_gone(std::span<const Sighting> ranks, const Set& missing) {
  const auto first = static_cast<std::size_t>(std::ranges::find(missing, true) - missing.begin());
  const std::string& how = ranks[first].gone;
  Set alike(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) alike[r] = missing[r] && ranks[r].gone == how;
  return fmt::format("{} {} {}, while {}", words_of(alike), several(alike) ? "have" : "has", how,
                     words_of_victims(ranks, alike));
}

std::string blame_silent(std::span<const Sighting> ranks, const Set& silent) {
  return fmt::format("{} {}, while {}", words_of(silent),
                     several(silent) ? "do not answer: they compute or are stopped"
                                     : "does not answer: it computes or is stopped",
                     words_of_victims(ranks, silent));
}

std::string blame_barrier(std::span<const Sighting> ranks, const Set& at_barrier,
                          const Set& in_calls) {
  return fmt::format("{} {} at a barrier, while {} {} in {}: ranks call in different orders",
                     words_of(at_barrier), several(at_barrier) ? "are" : "is", words_of(in_calls),
                     several(in_calls) ? "are" : "is", words_of(call_of(ranks, in_calls)));
}

/// Those that are in the earliest call, where others are further.
std::string blame_earliest(std::span<const Sighting> ranks, std::uint64_t earliest) {
  const Set behind =
      those(ranks, [&](const Sighting& one) { return one.call && one.call->call == earliest; });
  const Set further =
      those(ranks, [&](const Sighting& one) { return one.call && one.call->call > earliest; });
  const Whereabouts& call = call_of(ranks, behind);
  return fmt::format("{} {} still in {}, {}, while {} {} in {}", words_of(behind),
                     several(behind) ? "are" : "is", words_of(call), call.how, words_of(further),
                     several(further) ? "are" : "is", words_of(call_of(ranks, further)));
}

}  // namespace

std::string words_of(const Whereabouts& call) {
  return call.place.empty() ? call.what : fmt::format("{} at {}", call.what, call.place);
}

std::string Bootstrap::culprit(const std::optional<Whereabouts>&) { return {}; }
void Bootstrap::tell_where(const Whereabouts&) {}

std::string pack(const Whereabouts& whereabouts) {
  Writer writer;
  writer.number(static_cast<std::uint32_t>(whereabouts.call >> 32));
  writer.number(static_cast<std::uint32_t>(whereabouts.call));
  writer.text(whereabouts.what).text(whereabouts.how).text(whereabouts.place);
  for (const Seat seat : whereabouts.awaits) writer.number(index(seat));
  return writer.bytes();
}

std::optional<Whereabouts> unpack_whereabouts(std::string_view text) {
  Reader reader(text);
  const auto high = reader.number(), low = reader.number();
  auto what = reader.text(), how = reader.text(), place = reader.text();
  if (!high || !low || !what || !how || !place) return std::nullopt;
  Whereabouts result{
      std::uint64_t{*high} << 32 | *low, std::move(*what), std::move(*how), std::move(*place), {}};
  while (const auto seat = reader.number()) result.awaits.push_back(Seat{*seat});
  return result;
}

std::string blame(std::span<const Sighting> ranks) {
  const Set at_barrier = those(ranks, [](const Sighting& one) { return one.at_barrier; });
  const Set in_calls = those(ranks, [](const Sighting& one) { return one.call.has_value(); });
  if (!any(at_barrier) && !any(in_calls)) return {};
  Set missing = any(at_barrier) ? Set(ranks.size(), true) : awaited(ranks);
  Set gone(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (at_barrier[r] || in_calls[r]) missing[r] = false;
    gone[r] = missing[r] && !ranks[r].gone.empty();
  }
  if (any(gone)) return blame_gone(ranks, gone);
  if (any(missing)) return blame_silent(ranks, missing);
  if (any(at_barrier)) return any(in_calls) ? blame_barrier(ranks, at_barrier, in_calls) : "";
  std::uint64_t earliest = call_of(ranks, in_calls).call, latest = earliest;
  for (const Sighting& one : ranks) {
    if (!one.call) continue;
    earliest = std::min(earliest, one.call->call);
    latest = std::max(latest, one.call->call);
  }
  if (earliest != latest) return blame_earliest(ranks, earliest);
  return fmt::format("{} {} for others in {}: a message between them is missing",
                     words_of(in_calls), several(in_calls) ? "wait" : "waits",
                     words_of(call_of(ranks, in_calls)));
}

}  // namespace multitree::runtime
