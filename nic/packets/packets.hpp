// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flows of packets through switches whose queues are finite, and the two kinds of senders that
/// live with that: those of TCP (DCTCP), and those that may lose a part (DLCP).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::packets {

/// Classes of data; a port sends the least first.
inline constexpr std::uint32_t kPriorities = 8;

/// A port is where a link begins: packets wait there in the order of their priority, then of their
/// arrival. Data that a node passes on are dropped if the port is full; from `threshold` on those
/// that may be dropped are, and the others are marked, as switches with RED and ECN do. What a node
/// sends itself waits in its own memory and is neither dropped nor marked. Answers and questions of
/// receivers and senders take time, and are never dropped.
struct Parameters {
  std::uint32_t packet_bytes = 1500;  ///< of data, at most; answers have 64
  std::uint32_t queue = 256;          ///< packets of data that wait at a port at most
  std::uint32_t threshold = 65;       ///< from so many on, packets are marked or dropped
  std::uint32_t first_window = 10;    ///< packets that a sender has under way at first
  std::uint32_t most_window = 1024;   ///< and at most
  Time time_out{10'000'000'000};      ///< of senders as TCP's; doubled when it passes again
  std::uint64_t seed = 1;             ///< of the choice of paths and of droppable packets
};

enum class Sender : std::uint8_t {
  Dctcp,        ///< all arrives: lost packets are sent again after three later ones, or a time-out
  BoundedLoss,  ///< the receiver stops the sender as soon as it has enough; nothing is sent again
                ///< before the sender is through and has asked what is missing
};
enum class Spread : std::uint8_t {
  Hash,   ///< all packets of a flow take one of the shortest paths
  Spray,  ///< each takes one of them
};

struct Flow {
  Rank src{}, dst{};
  std::uint64_t bytes = 0;
  Sender sender = Sender::Dctcp;
  Spread spread = Spread::Hash;
  std::uint32_t priority = 0;  ///< below kPriorities
  double budget = 0;           ///< of BoundedLoss: the part of its packets that may be lost
  double droppable = 0;        ///< of BoundedLoss: the part of its packets that a threshold drops
  Time ready{};
  std::vector<std::uint32_t> after = {};  ///< numbers of flows before it that end first
};

/// What became of a flow. Packets are packets of data.
struct FlowResult {
  Time begin{}, end{};  ///< ready; the receiver has what it needs
  std::uint64_t packets = 0, sent = 0, arrived = 0, dropped = 0, marked = 0;
  std::uint64_t lost = 0;  ///< of its packets, those that the receiver went on without
  std::uint32_t time_outs = 0, questions = 0;
  [[nodiscard]] double seconds() const {
    return Time{end.picoseconds - begin.picoseconds}.seconds();
  }
  bool operator==(const FlowResult&) const = default;
};

struct Traffic {
  std::vector<FlowResult> flows;
  Time end{};                      ///< of the last flow
  std::uint32_t most_waiting = 0;  ///< packets of others at a port
};

/// The same arguments give the same result. O(packets x links of a path).
/// \throws Error(InvalidArgument) naming the flow or the parameter: ranks that the network does not
/// have, a flow after one that is not before it, a part outside 0 to 1 (1 excluded for the budget),
/// a priority, a packet of less than 64 or more than 2^20 bytes, a queue, window or time-out of 0.
Traffic simulate(std::span<const Flow> flows, const Topology& topology,
                 const Parameters& parameters);

}  // namespace multitree::packets
