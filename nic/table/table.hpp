// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedule tables: what each network interface stores of a schedule (Huang et al., ISCA 2021,
/// section IV-A). docs/nic-spec.md says what the fields mean to the hardware.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

enum class Opcode : std::uint8_t { Nop = 0, Reduce = 1, Gather = 2 };

/// A message that a rank sends; or, with Nop, a step in which it sends nothing.
struct Entry {
  Opcode op = Opcode::Nop;
  std::uint32_t step = 0;   ///< of the schedule, in which it is sent in lockstep
  std::uint32_t flow = 0;   ///< its tree
  std::uint32_t piece = 0;  ///< which of the flow's chunks, in the order of the buffer
  Rank peer{};              ///< Reduce: the parent; Gather: a child
  std::uint32_t port = 0;   ///< link to send on, counted among the rank's own
  /// Which of its rank's routes it takes; `peer` and `port` are that route's.
  std::uint32_t route = 0;
  /// Messages of this piece that the rank has to take in first: in a tree the partial sums of all
  /// children; for a Gather of a rank that is not the root also the parent's result.
  std::uint32_t wait = 0;
  /// For the receiver: how many messages of this piece it takes in before this one. So sums are
  /// made in one order, that of the schedule, whatever the order of arrival.
  std::uint32_t turn = 0;
  /// For the receiver: how many messages of this piece it has to have sent before it takes this one
  /// in, so that what it sends is the value of the step. Ranks that exchange sums need it; in a
  /// tree nothing arrives before.
  std::uint32_t after = 0;
  std::uint64_t start = 0;  ///< first element
  std::uint64_t size = 0;   ///< elements, may be 0
  bool operator==(const Entry&) const = default;
};

/// How messages get from a rank to another.
struct TableRoute {
  /// One link.
  struct Hop {
    std::uint32_t port = 0;  ///< its place among topology.out_links() of the node that it leaves
    std::uint32_t vc_class = 0;  ///< of virtual channels, as of assign_classes()
    bool operator==(const Hop&) const = default;
  };
  Rank peer{};                 ///< where it ends
  std::uint32_t port = 0;      ///< of the first hop
  std::vector<Hop> hops;       ///< every link from the rank to the peer, in order
  std::uint32_t ejection = 0;  ///< the last link's place among topology.in_links() of the peer
  bool operator==(const TableRoute&) const = default;
};

/// The tables of all ranks for one size of buffer.
struct Tables {
  Collective collective = Collective::AllReduce;
  Rank root{};  ///< of broadcast and reduce; 0 otherwise
  std::uint32_t ranks = 0;
  std::uint32_t steps = 0;                      ///< of the schedule
  std::uint64_t elements = 0;                   ///< of the buffer (all shards together)
  bool relative = false;                        ///< one table for all ranks, see relative.hpp
  std::vector<std::vector<Entry>> of_rank;      ///< sorted by step, op, flow, piece, peer, port
  std::vector<std::vector<TableRoute>> routes;  ///< [rank]: distinct, in the order of first use
  std::uint32_t classes = 1;  ///< of virtual channels that the routes use, at least 1
  bool operator==(const Tables&) const = default;
};

struct TableOptions {
  std::uint64_t elements = 0;  ///< of the buffer, as chunk_ranges() takes them
  bool nops = false;  ///< an entry for each step without a message, as in the paper; otherwise the
                      ///< step numbers say how long to wait
};

/// Compiles any schedule. `wait`, `turn` and `after` keep, for each rank and chunk, the order of
/// the operations that the steps give, whenever messages arrive. The classes of the hops keep all
/// routes of the schedule together free of deadlock; they are those of a simulation of it. O(T log
/// T) for T transfers, and assign_classes() of the distinct routes.
/// \pre the schedule verifies on the topology.
/// \throws Error(InvalidArgument) as chunk_ranges(); Error(Unsupported) if the routes need more
/// than 255 classes of virtual channels.
Tables compile_tables(const Schedule& schedule, const Topology& topology,
                      const TableOptions& options);

}  // namespace multitree::nic
