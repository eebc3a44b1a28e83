// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The algorithms that the registry lists, and what several of them share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/registry.hpp"
#include "topologies/spec.hpp"

namespace multitree {

Algorithm allreduce_optimal_algorithm();
Algorithm auto_algorithm();
Algorithm bidirectional_ring_algorithm();
Algorithm bine_algorithm();
Algorithm breadth_first_algorithm();
Algorithm circulant_algorithm();
Algorithm double_binary_tree_algorithm();
Algorithm exchange_algorithm();
Algorithm forest_algorithm();
Algorithm halving_doubling_algorithm();
Algorithm hdrm_algorithm();
Algorithm in_network_algorithm();
Algorithm multitree_algorithm();
Algorithm recursive_doubling_algorithm();
Algorithm ring_algorithm();
Algorithm ring2d_algorithm();
Algorithm swing_algorithm();
Algorithm symmetric_algorithm();

/// For Algorithm::unsupported of an algorithm that serves every network.
std::optional<std::string> supports_all(const Topology& topology);

/// A schedule without transfers, with `chunks_per_owner` chunks for each rank, those of a rank in
/// sequence and each a tree of its own.
Schedule all_gather_header(const Topology& topology, std::uint32_t chunks_per_owner = 1);

/// A schedule without transfers and with `chunks` chunks of the root, each a tree of its own.
Schedule broadcast_header(const Topology& topology, Rank root, std::uint32_t chunks);

/// A schedule of an all-reduce without transfers, with a chunk for each of the first ranks.
Schedule all_reduce_header(const Topology& topology, std::uint32_t chunks);

/// The largest value of an option "segments".
inline constexpr std::uint32_t kMaxSegments = 1U << 16;

/// The option "segments": how many pieces a pipelined broadcast cuts every chunk into. By default
/// so many that filling the pipeline takes about an eighth of the time; 0 if it is not given.
std::uint32_t segments_option(const Spec& options);

/// The option "piece": bytes of a chunk, about, whatever the size; 0 if it is not given.
/// \throws Error(InvalidArgument) also beside others that say how large chunks are: "segments", and
/// "fill".
std::uint64_t piece_option(const Spec& options);

/// Schedule::coalesces by the option "rounds", which every algorithm takes: 0 if it is not 1.
/// Algorithms whose messages are of rounds ask before they are packed, so that steps keep the order
/// of rounds.
std::uint64_t rounds_option(const Spec& options, const Topology& topology);

/// The option "size": bytes to choose for.
std::uint64_t size_option(const Spec& options);

/// The option "message": what a message costs its sender. Not given: nothing, as in hardware.
Time message_option(const Spec& options);

/// `base` pipelined in `segments` pieces; 0: as many as the doc of segments_option() says.
Schedule pipelined_broadcast(const Schedule& base, std::uint32_t segments,
                             const Topology& topology);

/// One tree of the root pipelined, or scatter and the trees of an all-gather: the former is best
/// where a rank has few links, the latter uses all of them. `tree` if the pieces are given
/// (`segments` != 0), or if the square of transfers that the other has is too much.
Schedule faster_broadcast(const Schedule& tree, std::uint32_t segments, const Topology& topology,
                          const std::function<Schedule()>& all_gather);

/// Documentation of segments_option() for Algorithm::parameters.
inline constexpr std::string_view kSegmentsDoc =
    "segments=N: pieces of a pipelined broadcast or reduce (default: about 1/8 pipeline fill)";

}  // namespace multitree
