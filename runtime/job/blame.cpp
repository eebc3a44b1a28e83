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

template <typename Is>
Set those(std::span<const Sighting> ranks, Is is) {
  Set set(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) set[r] = is(ranks[r]);
  return set;
}

bool any(const Set& set) { return std::ranges::find(set, true) != set.end(); }
bool several(const Set& set) { return std::ranges::count(set, true) > 1; }

bool is_in_call(const Sighting& one) { return one.call && !one.call->elsewhere; }
bool is_elsewhere(const Sighting& one) { return one.call && one.call->elsewhere; }

/// The call of the first rank of a set.
const Whereabouts& call_of(std::span<const Sighting> ranks, const Set& set) {
  return *ranks[static_cast<std::size_t>(std::ranges::find(set, true) - set.begin())].call;
}

/// Those that a rank in a call awaits.
Set awaited(std::span<const Sighting> ranks) {
  Set set(ranks.size());
  for (const Sighting& one : ranks) {
    if (!is_in_call(one)) continue;
    for (const Seat seat : one.call->awaits) {
      if (index(seat) < set.size()) set[index(seat)] = true;
    }
  }
  return set;
}

/// Those that await one of `culprits`; at a barrier everybody awaits everybody.
Set waiting_for(std::span<const Sighting> ranks, const Set& culprits) {
  return those(ranks, [&](const Sighting& one) {
    return one.at_barrier ||
           (is_in_call(one) && std::ranges::any_of(one.call->awaits, [&](Seat seat) {
              return index(seat) < culprits.size() && culprits[index(seat)];
            }));
  });
}

/// "ranks 0-2, 4 wait for it in allreduce #7 of 1024 float, sum at train.cpp:88".
std::string words_of_victims(std::span<const Sighting> ranks, const Set& culprits) {
  const Set victims = waiting_for(ranks, culprits);
  const Set in_calls = those(ranks, is_in_call);
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
  const Set behind = those(
      ranks, [&](const Sighting& one) { return is_in_call(one) && one.call->call == earliest; });
  const Set further = those(
      ranks, [&](const Sighting& one) { return is_in_call(one) && one.call->call > earliest; });
  const Whereabouts& call = call_of(ranks, behind);
  return fmt::format("{} {} still in {}, {}, while {} {} in {}", words_of(behind),
                     several(behind) ? "are" : "is", words_of(call), call.how, words_of(further),
                     several(further) ? "are" : "is", words_of(call_of(ranks, further)));
}

/// Whoever a rank waits for, in whichever communicator, and those for whom that one waits, and so
/// on.
Set awaited_by(std::span<const Sighting> ranks, std::size_t from) {
  Set reached(ranks.size());
  std::vector<std::size_t> open{from};
  while (!open.empty()) {
    const Sighting& one = ranks[open.back()];
    open.pop_back();
    if (!one.call) continue;
    for (const Seat seat : one.call->awaits) {
      if (index(seat) >= reached.size() || reached[index(seat)]) continue;
      reached[index(seat)] = true;
      open.push_back(index(seat));
    }
  }
  return reached;
}

/// Those who wait in another communicator for ranks that wait for them in this one: each waits for
/// all that it awaits, so nobody of a circle goes on.
Set crossed(std::span<const Sighting> ranks) {
  std::vector<Set> awaited;
  for (std::size_t r = 0; r < ranks.size(); ++r) awaited.push_back(awaited_by(ranks, r));
  Set set(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!is_elsewhere(ranks[r])) continue;
    for (std::size_t other = 0; other < ranks.size(); ++other) {
      set[r] = set[r] || (is_in_call(ranks[other]) && awaited[r][other] && awaited[other][r]);
    }
  }
  return set;
}

/// "rank 1 waits in allreduce #0 of .. on communicator .. at a.c:1 for rank 0".
std::string words_of_elsewhere(std::span<const Sighting> ranks, const Set& elsewhere) {
  const Whereabouts& call = call_of(ranks, elsewhere);
  Set awaits(ranks.size());
  for (const Seat seat : call.awaits) {
    if (index(seat) < awaits.size()) awaits[index(seat)] = true;
  }
  return fmt::format("{} {} in {}{}", words_of(elsewhere), several(elsewhere) ? "wait" : "waits",
                     words_with_job(call), any(awaits) ? " for " + words_of(awaits) : "");
}

std::string blame_elsewhere(std::span<const Sighting> ranks, const Set& elsewhere) {
  const Set victims = waiting_for(ranks, elsewhere), in_calls = those(ranks, is_in_call);
  const std::string where = any(in_calls) ? "in " + words_with_job(call_of(ranks, in_calls))
                                          : std::string("at a barrier");
  return fmt::format("{}, while {} {} for {} {}", words_of_elsewhere(ranks, elsewhere),
                     words_of(any(victims) ? victims : in_calls),
                     several(victims) ? "wait" : "waits", several(elsewhere) ? "them" : "it",
                     where);
}

Blame blame_crossed(std::span<const Sighting> ranks, const Set& across) {
  return {
      blame_elsewhere(ranks, across) + ": ranks call on the two communicators in different orders",
      across};
}

}  // namespace

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

std::string words_with_job(const Whereabouts& call) {
  const std::string job = fmt::format("{} on communicator {:016x}", call.what, call.job);
  return call.place.empty() ? job : fmt::format("{} at {}", job, call.place);
}

std::string words_of(const Whereabouts& call) {
  return call.place.empty() ? call.what : fmt::format("{} at {}", call.what, call.place);
}

std::optional<Seat> Bootstrap::find_dead(std::span<const Seat>) { return std::nullopt; }
std::string Bootstrap::culprit(const std::optional<Whereabouts>&) { return {}; }
void Bootstrap::tell_where(const Whereabouts&) {}
std::optional<std::string> Bootstrap::answer_elsewhere(const std::function<Whereabouts()>&) {
  return std::nullopt;
}
Lineage Bootstrap::lineage() const {
  Lineage lineage{name(), {}};
  for (const Seat seat : Seats(size())) lineage.seats.push_back(seat);
  return lineage;
}

std::string pack(const Whereabouts& whereabouts) {
  Writer writer;
  writer.number(static_cast<std::uint32_t>(whereabouts.call >> 32));
  writer.number(static_cast<std::uint32_t>(whereabouts.call));
  writer.number(static_cast<std::uint32_t>(whereabouts.job >> 32));
  writer.number(static_cast<std::uint32_t>(whereabouts.job));
  writer.number(whereabouts.elsewhere ? 1 : 0);
  writer.text(whereabouts.what).text(whereabouts.how).text(whereabouts.place);
  for (const Seat seat : whereabouts.awaits) writer.number(index(seat));
  return writer.bytes();
}

std::optional<Whereabouts> unpack_whereabouts(std::string_view text) {
  Reader reader(text);
  const auto high = reader.number(), low = reader.number();
  const auto job_high = reader.number(), job_low = reader.number(), elsewhere = reader.number();
  auto what = reader.text(), how = reader.text(), place = reader.text();
  if (!high || !low || !what || !how || !place) return std::nullopt;
  Whereabouts result{std::uint64_t{*high} << 32 | *low,
                     std::move(*what),
                     std::move(*how),
                     std::move(*place),
                     {},
                     std::uint64_t{*job_high} << 32 | *job_low,
                     *elsewhere != 0};
  while (const auto seat = reader.number()) result.awaits.push_back(Seat{*seat});
  return result;
}

Blame find_blame(std::span<const Sighting> ranks) {
  const Set at_barrier = those(ranks, [](const Sighting& one) { return one.at_barrier; });
  const Set in_calls = those(ranks, is_in_call);
  if (!any(at_barrier) && !any(in_calls)) return {};
  Set missing = any(at_barrier) ? Set(ranks.size(), true) : awaited(ranks);
  Set gone(ranks.size()), elsewhere(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (at_barrier[r] || in_calls[r]) missing[r] = false;
    gone[r] = missing[r] && !ranks[r].gone.empty();
    elsewhere[r] = missing[r] && is_elsewhere(ranks[r]);
    if (elsewhere[r]) missing[r] = false;
  }
  if (any(gone)) return {blame_gone(ranks, gone)};
  if (const Set cross = any(elsewhere) ? crossed(ranks) : elsewhere; any(cross))
    return blame_crossed(ranks, cross);
  if (any(missing)) return {blame_silent(ranks, missing)};
  if (any(elsewhere)) return {blame_elsewhere(ranks, elsewhere)};
  if (any(at_barrier)) {
    return {any(in_calls) ? blame_barrier(ranks, at_barrier, in_calls) : std::string()};
  }
  std::uint64_t earliest = call_of(ranks, in_calls).call, latest = earliest;
  for (const Sighting& one : ranks) {
    if (!is_in_call(one)) continue;
    earliest = std::min(earliest, one.call->call);
    latest = std::max(latest, one.call->call);
  }
  if (earliest != latest) return {blame_earliest(ranks, earliest)};
  return {fmt::format("{} {} for others in {}: a message between them is missing",
                      words_of(in_calls), several(in_calls) ? "wait" : "waits",
                      words_of(call_of(ranks, in_calls)))};
}

}  // namespace multitree::runtime
