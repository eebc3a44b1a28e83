// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of collectives, and what follows from its rows.
#include "algorithms/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "topologies/error.hpp"
#include "topologies/words.hpp"

namespace multitree {
namespace {

constexpr bool is_along_trees(const CollectiveFacts& row) {
  return row.start != Holder::Own || row.end != Holder::Own;
}

constexpr auto kCollectives = [] {
  std::array<Collective, std::ranges::count_if(kFacts, is_along_trees)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kFacts[i].collective;
  return all;
}();

constexpr std::array kAliases = {Alias{"bcast", "broadcast"}, Alias{"rs", "reduce-scatter"},
                                 Alias{"ag", "allgather"}, Alias{"a2a", "alltoall"}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kFacts); ++i) {
    const bool is_first = i < kCollectives.size();
    if (kFacts[i].collective != static_cast<Collective>(i)) return false;
    if (is_along_trees(kFacts[i]) != is_first) return false;
  }
  return true;
}
static_assert(is_in_order(), "facts() looks rows up by their number, those along trees first");

}  // namespace

std::span<const Collective> all_collectives() { return kCollectives; }

std::string_view to_string(Collective collective) { return facts(collective).name; }

Collective parse_collective(std::string_view text) {
  const auto names = names_of(kFacts);
  if (const auto known = meant(text, names, kAliases)) {
    return std::ranges::find(kFacts, *known, &CollectiveFacts::name)->collective;
  }
  // Those that everything takes.
  const auto first = std::span(names).first(kCollectives.size());
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a collective ({}), got '{}'{}", fmt::join(first, ", "), text,
                          did_you_mean(text, names)));
}

Collective time_reversed(Collective collective) {
  const CollectiveFacts& row = facts(collective);
  const auto found = std::ranges::find_if(kFacts, [&](const CollectiveFacts& other) {
    return other.start == row.end && other.end == row.start;
  });
  if (found != std::end(kFacts)) return found->collective;
  throw std::logic_error(fmt::format("no collective does {} backwards", row.name));
}

}  // namespace multitree
