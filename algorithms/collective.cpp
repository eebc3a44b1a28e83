// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Names and pre- and postconditions of the collectives.
#include "algorithms/collective.hpp"

#include <fmt/format.h>

#include <array>

#include "topologies/error.hpp"

namespace multitree {
namespace {

constexpr std::array kCollectives = {Collective::AllReduce, Collective::ReduceScatter,
                                     Collective::AllGather, Collective::Broadcast,
                                     Collective::Reduce};
constexpr std::array<std::string_view, 5> kNames = {"allreduce", "reduce-scatter", "allgather",
                                                    "broadcast", "reduce"};

}  // namespace

std::span<const Collective> all_collectives() { return kCollectives; }

std::string_view to_string(Collective collective) {
  return kNames[static_cast<std::size_t>(collective)];
}

Collective parse_collective(std::string_view text) {
  for (const Collective collective : kCollectives) {
    if (to_string(collective) == text) return collective;
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a collective ({}), got '{}'", fmt::join(kNames, ", "), text));
}

bool reduces(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::ReduceScatter ||
         collective == Collective::Reduce;
}

bool has_root(Collective collective) {
  return collective == Collective::Broadcast || collective == Collective::Reduce;
}

bool starts_with(Collective collective, Rank rank, Rank owner, Rank root) {
  switch (collective) {
    case Collective::AllGather:
      return rank == owner;
    case Collective::Broadcast:
      return rank == root;
    default:
      return true;
  }
}

bool ends_with(Collective collective, Rank rank, Rank owner, Rank root) {
  switch (collective) {
    case Collective::ReduceScatter:
      return rank == owner;
    case Collective::Reduce:
      return rank == root;
    default:
      return true;
  }
}

}  // namespace multitree
