// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A schedule as a graph of messages: what each of them waits for. Knows nothing of any simulator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree::test {

/// How a chunk becomes bytes on a link.
struct FlowControl {
  std::uint32_t flit_bytes = 16;
  std::uint32_t packet_bytes = 0;  ///< payload behind each header flit; 0: one header a message
};

/// Bytes on a link of a message with `payload` bytes; none without payload.
std::uint64_t wire_bytes(std::uint64_t payload, const FlowControl& flow_control);

/// Messages between the same two ranks may go different ways: lane k of a pair is its k-th route.
struct Lane {
  Rank src{};
  Rank dst{};
  std::uint32_t number = 0;
  std::vector<LinkId> route;
};

struct Message {
  std::uint64_t bytes = 0;  ///< on the wire
  std::size_t lane = 0;     ///< of MessageGraph::lanes
  /// The message before it in the queue of its rank's link: has to have left.
  std::optional<std::size_t> behind;
  /// Messages of earlier steps with the same chunk to the rank that sends: have to have arrived.
  std::vector<std::size_t> needs;
};

struct MessageGraph {
  std::vector<Message> messages;  ///< one a transfer, in the order of the schedule
  std::vector<Lane> lanes;
  std::uint32_t lane_numbers = 0;  ///< the most lanes that a pair has
};

/// Each rank keeps a queue for every link that its routes start with, by step and then in canonical
/// order. \param bytes of the collective: whole floats, as chunk_ranges() takes them.
MessageGraph build_message_graph(const Schedule& schedule, std::uint64_t bytes,
                                 const FlowControl& flow_control);

}  // namespace multitree::test
