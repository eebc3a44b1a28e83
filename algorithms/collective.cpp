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

namespace multitree {
namespace {

constexpr auto kCollectives = [] {
  std::array<Collective, std::size(kFacts)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kFacts[i].collective;
  return all;
}();

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kFacts); ++i) {
    if (kCollectives[i] != static_cast<Collective>(i)) return false;
  }
  return true;
}
static_assert(is_in_order(), "facts() looks rows up by their number");

bool moves_shards_both_ways(Collective collective) {
  return facts(collective).start == Holder::Own && facts(collective).end == Holder::Own;
}

}  // namespace

const CollectiveFacts& facts(Collective collective) {
  return kFacts[static_cast<std::size_t>(collective)];
}

std::span<const Collective> all_collectives() { return kCollectives; }

std::string_view to_string(Collective collective) { return facts(collective).name; }

Collective parse_collective(std::string_view text) {
  const auto found = std::ranges::find(kFacts, text, &CollectiveFacts::name);
  if (found != std::end(kFacts)) return found->collective;
  std::string names;
  for (const CollectiveFacts& row : kFacts)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a collective ({}), got '{}'", names, text));
}

bool reduces(Collective collective) { return facts(collective).start == Holder::Everyone; }

bool copies(Collective collective) {
  return !reduces(collective) || facts(collective).end == Holder::Everyone;
}

bool has_root(Collective collective) {
  return facts(collective).start == Holder::Root || facts(collective).end == Holder::Root;
}

bool is_sharded(Collective collective) {
  return facts(collective).start == Holder::Own || facts(collective).end == Holder::Own;
}

bool sends_shard(Collective collective) {
  return facts(collective).start == Holder::Own && !moves_shards_both_ways(collective);
}

bool receives_shard(Collective collective) {
  return facts(collective).end == Holder::Own && !moves_shards_both_ways(collective);
}

bool sends(Collective collective, Rank rank, Rank root) {
  return facts(collective).start != Holder::Root || rank == root;
}

bool receives(Collective collective, Rank rank, Rank root) {
  return facts(collective).end != Holder::Root || rank == root;
}

std::uint32_t shards_sent(Collective collective, std::uint32_t ranks) {
  return is_sharded(collective) && !sends_shard(collective) ? ranks : 1;
}

std::uint32_t shards_received(Collective collective, std::uint32_t ranks) {
  return is_sharded(collective) && !receives_shard(collective) ? ranks : 1;
}

bool starts_with(Collective collective, Rank rank, Rank source) {
  return facts(collective).start == Holder::Everyone || rank == source;
}

bool ends_with(Collective collective, Rank rank, Rank target) {
  return facts(collective).end == Holder::Everyone || rank == target;
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
