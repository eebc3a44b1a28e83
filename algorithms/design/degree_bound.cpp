// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Moore's bound, and which numbers no network has.
#include "algorithms/design/degree_bound.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/error.hpp"

namespace multitree {
namespace {

[[noreturn]] void refuse(std::uint32_t ranks, std::uint32_t ports, std::string_view what) {
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("no network has {} ranks with {} cables each: {}", ranks, ports, what));
}

}  // namespace

Exact DegreeBound::all_reduce() const { return Exact(2 * (std::uint64_t{ranks} - 1), ports); }

Exact DegreeBound::all_to_all() const { return Exact(distances, std::uint64_t{ports} * ranks); }

DegreeBound degree_bound(std::uint32_t ranks, std::uint32_t ports) {
  if (ranks < 2) refuse(ranks, ports, "expected at least 2 ranks");
  if (ports == 0) refuse(ranks, ports, "expected at least 1 cable");
  if (ports >= ranks) {
    refuse(ranks, ports,
           fmt::format("expected at most {} cables, one to each other rank", ranks - 1));
  }
  if (ranks % 2 == 1 && ports % 2 == 1) {
    refuse(ranks, ports,
           fmt::format("expected an even number of ends, got {}; {} ranks or {} cables would do",
                       std::uint64_t{ranks} * ports, ranks + 1, ports + 1));
  }
  if (ports == 1 && ranks > 2) refuse(ranks, ports, "expected at least 2 cables, to reach all");
  DegreeBound bound{.ranks = ranks, .ports = ports};
  std::uint64_t left = ranks - 1, level = ports;
  while (left > 0) {
    const std::uint64_t here = std::min(left, level);
    ++bound.hops;
    bound.distances += here * bound.hops;
    left -= here;
    level = std::min<std::uint64_t>(level * (ports - 1), ranks);
  }
  return bound;
}

}  // namespace multitree
