// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long messages between neighbours take: alpha and beta of the links, measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/tuning/link_table.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime {

struct MeasureOptions {
  std::string transport = "auto";          ///< a name of transports()
  Deadline timeout{30'000};                ///< longest wait without any progress
  std::chrono::milliseconds budget{20};    ///< to be spent about, where three rounds take no longer
  std::size_t segment_bytes = 256 * 1024;  ///< CommunicatorOptions::segment_bytes
  /// As in CommunicatorOptions: with a link that is silent meanwhile the measurement fails, or is
  /// of the way that its messages take instead.
  std::optional<Deadline> link_timeout = std::nullopt;
  std::optional<OnLinkFailure> on_link_failure = std::nullopt;
  std::optional<bool> encrypt = std::nullopt;
};

/// As a communicator with these options would use the links.
inline MeasureOptions measure_options(const CommunicatorOptions& options) {
  return {.transport = options.transport,
          .timeout = options.timeout,
          .segment_bytes = options.segment_bytes,
          .link_timeout = options.link_timeout,
          .on_link_failure = options.on_link_failure,
          .encrypt = options.encrypt};
}

/// Collective: all neighbours exchange messages at the same time, as a schedule that uses all links
/// does, so that what they share (a processor, the memory of one host, an interface) is in the
/// result. Of ranks that share a machine, what all of them get done together, and what two of them
/// do while the others wait. How the transport cuts messages is in it as well. The same table at
/// every rank. A switch's links are measured between ranks beside each other on it; links that no
/// two ranks are the ends of are taken to be as much faster or slower than declared as the others.
/// \throws LinkError, Error(Transport), Error(Timeout), as make_transport().
LinkTable measure_links(Bootstrap& bootstrap, const Topology& topology,
                        const MeasureOptions& options = {});

/// Two ranks that exchange messages: neighbours, or beside each other on a switch.
struct MeasuredPair {
  Rank src{}, dst{};
  auto operator<=>(const MeasuredPair&) const = default;
};

/// Ascending; not empty if there are two ranks.
std::vector<MeasuredPair> pairs_to_measure(const Topology& topology);

/// Of these, such that each rank sends to one at most and receives from one, no two from each
/// other: in a chain of such messages most ranks have one at a time, as in small collectives.
std::vector<MeasuredPair> pairs_in_turn(const Topology& topology);

/// From the moment a rank begins to send to all its neighbours until a message (the last of them)
/// has come, in ns; clocks compared.
struct PairTimes {
  MeasuredPair pair;
  std::int64_t small = 0;   ///< one small message to each neighbour
  std::int64_t burst = 0;   ///< kBurst small ones to each
  std::int64_t large = 0;   ///< one of kLargeBytes to each
  std::int64_t many = 0;    ///< kMany of them
  std::int64_t rested = 0;  ///< the shortest of `large`: of a link that was idle before; 0: unknown
  std::int64_t together = 0;  ///< as burst, posted at once; 0: unknown
  std::int64_t steady = 0;  ///< of `many`, from the second's arrival to the last's; 0: unknown
};
inline constexpr std::uint32_t kBurst = 8, kMany = 4, kChain = 9;
inline constexpr std::size_t kSmallBytes = 8, kLargeBytes = 64 * 1024;

/// Ranks of one host, two at least, and how long their messages to each other take, in ns.
struct HostTimes {
  /// By what is sent to each neighbour, as in PairTimes.
  struct Round {
    std::int64_t small = 0, burst = 0, large = 0, many = 0;
    std::int64_t chain = 0;  ///< kChain messages of each of pairs_in_turn(), in turn; 0: unknown
  };
  std::vector<Rank> ranks;  ///< ascending
  std::uint32_t pairs = 0;  ///< of pairs_to_measure() between them; not 0
  bool memory = true;       ///< else they share processors only, and have links between them
  Round all;                ///< from the first message of any of them to the last arrival at any
  Round alone;              ///< one such pair, from its first send to its last arrival
  /// A small message between two of them, all others waiting for messages; 0: unknown, as with
  /// memory.
  std::int64_t single = 0;
  std::uint32_t pairs_in_turn = 0;  ///< of pairs_in_turn() between them
};

/// A rank, and others next to it and as far from it as any.
struct Reach {
  Rank from{}, near{}, far{};
  std::uint32_t near_hops = 0, far_hops = 0;  ///< links of a shortest way
};

/// Of a few ranks, to those that are as far there as back; empty where all such are as far as each
/// other.
std::vector<Reach> reaches_to_measure(const Topology& topology);

/// How long a small message takes to each of them, all other ranks waiting for messages, in ns.
struct ReachTimes {
  Reach reach;
  std::int64_t near = 0, far = 0;
};

/// What such times mean. A pair that is at most twice as fast or slow as the median is taken to be
/// as that: schedules are not to be chosen by the noise of a measurement. Pairs within a host have
/// the bandwidth of one that is alone, and the host has what all of them get together; where ranks
/// share processors only, links have their own bandwidth, and the latency of a message that is
/// alone. What farther messages take more is the latency of links, and the rest that of messages;
/// without `reaches` all is the links'. \pre one for each of pairs_to_measure(), in that order
LinkTable table_of(const Topology& topology, const std::vector<PairTimes>& times,
                   const std::vector<HostTimes>& hosts = {},
                   const std::vector<ReachTimes>& reaches = {});

}  // namespace multitree::runtime
