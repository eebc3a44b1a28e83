// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What an iteration sends, as flows of packets: many to one, through a server, around a ring.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "nic/packets/packets.hpp"

namespace multitree::training {

/// Who sends what to whom, and how.
struct TrafficRequest {
  std::uint32_t ranks = 0;  ///< that take part, from rank 0 on; at least 2
  std::uint64_t bytes = 0;  ///< of each rank's gradients
  packets::Flow like;       ///< sender, spread, budget and priority of each flow
  Time jitter{};            ///< ranks begin within it, at random
  std::uint64_t seed = 1;
};

/// Flows of an iteration; those that nothing comes after are its end.
struct TrafficPattern {
  std::string_view name;
  std::string_view summary;
  std::vector<packets::Flow> (*flows)(const TrafficRequest& request);
};

/// "incast": all ranks but the first send to it at once. "server": the same, and when all is there
/// it sends as much to each. "ring": an all-reduce around the ring of ranks, of 2 (N - 1) steps of
/// an N-th.
std::span<const TrafficPattern> traffic_patterns();
/// \throws Error(InvalidArgument) listing the names.
const TrafficPattern& find_traffic_pattern(std::string_view name);

/// As TCP's flows, and as DLCP's: with a budget, droppable packets, and sprayed.
/// \{
packets::Flow dctcp_flow();
packets::Flow dlcp_flow(double budget, double droppable);
/// \}

}  // namespace multitree::training
