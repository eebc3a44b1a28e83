// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedule tables: what each network interface stores of a schedule (Huang et al., ISCA 2021,
/// section IV-A). docs/nic-spec.md says what the fields mean to the hardware.
#pragma once

#include <cstdint>
#include <span>
#include <string>
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
  /// Which of the image's groups it is part of: it waits for that group's doorbell. 0 without
  /// groups.
  std::uint32_t group = 0;
  std::uint32_t priority = 0;  ///< the message's class: where several could be sent, least first
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

/// A collective among several in one image. Each rank starts its part when it has been told to, by
/// a doorbell, whatever the others do; the groups may be under way together. Each has flows and a
/// part of the buffer of its own.
struct TableGroup {
  Collective collective = Collective::AllReduce;
  Rank root{};                      ///< of broadcast and reduce; 0 otherwise
  std::uint32_t steps = 0;          ///< of its schedule
  std::uint32_t first_flow = 0;     ///< its flows are from here to the next group's
  std::uint64_t first_element = 0;  ///< where its part of the buffer begins
  std::uint64_t elements = 0;       ///< of its part
  bool operator==(const TableGroup&) const = default;
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
  /// Empty: one collective, which no doorbell starts. Otherwise `collective` and `root` are those
  /// of the first, `steps` is the most of any, and entries are sorted by group first.
  std::vector<TableGroup> groups = {};
  /// Switches that add and copy, by name: the last of `ranks`, which start with nothing and need
  /// not end with anything.
  std::vector<std::string> switches = {};
  /// Those that the collective is of.
  [[nodiscard]] std::uint32_t contributors() const {
    return ranks - static_cast<std::uint32_t>(switches.size());
  }
  /// "rank 3", "switch leaf0".
  [[nodiscard]] std::string name_of(std::uint32_t rank) const {
    return rank < contributors() ? "rank " + std::to_string(rank)
                                 : "switch " + switches[rank - contributors()];
  }
  bool operator==(const Tables&) const = default;
};

struct TableOptions {
  std::uint64_t elements = 0;  ///< of the buffer, as chunk_ranges() takes them
  bool nops = false;  ///< an entry for each step without a message, as in the paper; otherwise the
                      ///< step numbers say how long to wait
};

/// Compiles any schedule; one in which switches add and copy as switches_as_ranks() makes it,
/// on the network with their interfaces. `wait`, `turn` and `after` keep, for each rank and chunk,
/// the order of the operations that the steps give, whenever messages arrive. The classes of the
/// hops keep all routes of the schedule together free of deadlock; they are those of a simulation
/// of it. O(T log T) for T transfers, and assign_classes() of the distinct routes. \pre the
/// schedule verifies on the topology. \throws Error(InvalidArgument) as chunk_ranges();
/// Error(Unsupported) if the routes need more than 255 classes of virtual channels.
Tables compile_tables(const Schedule& schedule, const Topology& topology,
                      const TableOptions& options);

/// One collective of several.
struct GroupSource {
  const Schedule* schedule = nullptr;
  std::uint64_t elements = 0;  ///< of its part of the buffer, as TableOptions::elements
  std::uint32_t priority = 0;  ///< of all its messages
};

/// Compiles several collectives, such as those of an iteration of training, to one image: groups in
/// the order given, one behind the other in flows and in the buffer. The classes of the hops keep
/// the routes of all groups together free of deadlock, so that any of them may be under way at
/// once. \pre the schedules verify on the topology. \throws as compile_tables();
/// Error(InvalidArgument) for no group, and naming the group if its schedule has another number of
/// ranks than the topology; Error(Unsupported) if there are more than 2^32 flows or 2^63 elements.
Tables compile_groups(std::span<const GroupSource> groups, const Topology& topology);

/// The entries of one group as tables of their own, as if it were alone: flows and elements from 0,
/// without group and priority. Routes stay as they are numbered, also those that others use.
/// \throws Error(InvalidArgument) if there is no such group.
Tables tables_of_group(const Tables& tables, std::uint32_t group);

}  // namespace multitree::nic
