// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Predicted time of a schedule: alpha-beta links with contention.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

struct Rounds;  // algorithms/coalesced.hpp

/// What a message costs the processor of a host that sends it, about (CostModel::message_overhead).
/// Everything that chooses or predicts for hosts counts it unless told otherwise: `schedule`,
/// `tune`, `run`. Interfaces in hardware (nic/) have no such cost.
inline constexpr Time kMessageOverhead{1'000'000};

/// Ranks that share processors, and maybe memory: what their messages take of both, all ranks
/// together. One message after the other takes its part.
struct SharedHost {
  std::vector<Rank> ranks;
  /// Of each message, whatever its size; half of that if only one of its ends is here.
  Time message{};
  Bandwidth bandwidth{};  ///< bytes a second of messages within; 0: as many as there are
  /// Percent of `message` that one takes which is ready while its sender still has another to send,
  /// which need not be woken for it.
  std::uint32_t awake_percent = 100;
  bool operator==(const SharedHost&) const = default;
};

/// What ports of switches lose where ranks send over TCP or UCX (CostModel::port_loss). All-reduces
/// of 1 MiB on stars and fat-trees of 8 and 16 ranks take 1 to 2 % longer than their links with one
/// sender a port, 2 to 6 % with 3 or 4, and 4 to 10 % with 7 or more.
inline constexpr std::uint32_t kPortLoss = 8;

/// What a transfer costs beyond its links.
struct CostModel {
  /// Time that a message occupies its sender, whatever its size (LogP's o): sends of one rank
  /// follow each other at least so far apart, each as soon as it is ready and the sender free.
  /// 0: links are all there is.
  Time message_overhead{};
  /// A rank is in one at most.
  std::vector<SharedHost> hosts{};
  /// What is longer travels in several messages of about this size, each of which its receiver
  /// passes on at once. 0: transfers are one message each.
  std::uint64_t segment_bytes = 0;
  /// What a link that was idle lets through at once, as those of shapers do: bytes of it take no
  /// time, but the link is busy for them, so no collective takes less than its busiest link's
  /// bytes.
  std::uint64_t burst_bytes = 0;
  /// Parallel links are one of their bandwidth together, as where a transport spreads messages over
  /// them or an interface has several; else a transfer has the one that its route names.
  bool pooled = false;
  /// Chunks of an all-reduce and the like that get none of the elements of this size are not sent.
  /// 0: elements have no size, and every chunk has its share.
  std::uint32_t element_bytes = 0;
  /// What a transfer takes beyond its links, however many these are: the latency of its ends.
  Time message_latency{};
  /// Thousandths of its time that a link behind a switch loses for each further rank that sends
  /// over it: ranks do not keep step to the byte, so at times two of them send into one port, and
  /// then for a moment none does.
  std::uint32_t port_loss = 0;
  /// Percent of what a message costs its sender and its host that one costs which is ready while
  /// another to the same rank is still to leave: the two leave together.
  std::uint32_t together_percent = 100;
};

/// Time of the collective on `bytes` (nccl-tests' size: of the whole vector) when every transfer
/// starts as soon as its data is there and its links are free, without barriers between steps.
///
/// A link is busy for chunk bytes / bandwidth per transfer and adds its latency to the arrival
/// (Hockney alpha-beta; reduction is free; CostModel adds to that). It serves transfers step by
/// step, and those of one step in the order in which their data is ready.
///
/// Along a route transfers are cut through: a link starts when it is free and the link before it
/// has started, and the transfer has arrived when the last of its links is done. Where links differ
/// in speed, or the next one is still busy, switches hold what has come: a fast link is busy only
/// for its own share of the time and meanwhile serves others, whatever queue its transfers join
/// further on. So each link's time is what it carries over its bandwidth, and no prediction is
/// below the bandwidth bounds.
///
/// Of a schedule that coalesces, where messages cost their senders something, what travels together
/// leaves when all of it is there, and has come when all of it has. `rounds`: rounds_of() it, if
/// these are known.
///
/// \throws Error(Unsupported) if that is more than 106 days, the most that a Time holds.
Time predict_time(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                  const CostModel& model = {}, const Rounds* rounds = nullptr);

}  // namespace multitree
