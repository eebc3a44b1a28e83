// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks of many ranks that are all alike: what commands say of them without the whole schedule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/symmetric/alike_network.hpp"
#include "algorithms/symmetric/alike_times.hpp"
#include "algorithms/symmetric/boxed_schedule.hpp"
#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "algorithms/tuning/tune_alike.hpp"
#include "tools/command.hpp"

namespace multitree::tools {

/// From so many ranks on, one rank stands for all where that is possible.
inline constexpr std::uint32_t kManyRanks = 4096;
inline constexpr std::uint32_t kNoRanks = UINT32_MAX;  ///< never

/// A network of a command. Families of links are not even made if they are large.
struct LoadedNetwork {
  std::string name;
  std::optional<Topology> topology;
  std::optional<AlikeRanks> alike;  ///< if it was looked for, and is so
  std::string reason;               ///< why it is not
};

/// Loads a network; looks whether its ranks are alike if it has `least_ranks` or more.
/// \throws as load_network().
LoadedNetwork load_large(const NetworkFlags& flags, std::uint32_t least_ranks = kManyRanks);

/// Whether a flag -a asks for what one rank stands for: `symmetric`, or `auto`.
bool asks_for_one_rank(const std::string& algorithm);

/// What a flag -a asks for, for so many bytes; what `auto` chooses. Keeps a reference to `ranks`.
/// \throws Error naming the flag.
AlikeCandidate one_rank_schedule(const AlikeRanks& ranks, const std::string& algorithm,
                                 Collective collective, std::uint64_t bytes, Time overhead);

/// The messages of a rank, and of a step if one is given, each as a row; what there are many of is
/// printed piece by piece.
void print_rows(const SymmetricSchedule& schedule, std::optional<std::uint32_t> rank,
                std::optional<std::uint32_t> step);
/// The same rows of a schedule by boxes, of a rank.
void print_rows(const BoxedSchedule& schedule, std::uint32_t rank);
/// The same rows of a schedule that is written out, of a rank.
void print_rows(const Schedule& schedule, Rank rank);

/// \throws Error(InvalidArgument) naming the flag if the value is not below `end`.
void check_below(std::string_view flag, std::optional<std::uint32_t> value, std::uint32_t end);

/// What `bounds` prints of a network without a topology or with many ranks.
int print_bounds(const LoadedNetwork& network, const std::vector<Collective>& collectives,
                 std::uint64_t bytes, Time overhead, bool json);

/// What `schedule` prints.
int print_report(const LoadedNetwork& network, Collective collective, AlikeCandidate& candidate,
                 std::uint64_t bytes, Time overhead, bool json, double generation_seconds);

/// What `topology` computes of a network whose ranks are all alike.
Bounds bounds_of_alike(const LoadedNetwork& network);

/// What `tune` is asked for.
struct AlikeTune {
  Collective collective = Collective::AllReduce;
  AlikeTuneOptions options;
  bool all = false, why = false, json = false;
};
/// What `tune` prints.
int print_tuned(const LoadedNetwork& network, const AlikeTune& tune);

}  // namespace multitree::tools
