// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The collectives and what each starts and ends with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "topologies/topology.hpp"

namespace multitree {

/// Names and meanings as in NCCL and MPI. A "contribution" is one rank's input of one chunk.
///
/// | collective     | every rank starts with      | ends with                                    |
/// |----------------|-----------------------------|----------------------------------------------|
/// | AllReduce      | its input of every chunk    | every chunk, all contributions once          |
/// | ReduceScatter  | its input of every chunk    | the chunks it owns, all contributions once   |
/// | AllGather      | the chunks it owns          | every chunk                                  |
/// | Broadcast      | root: every chunk           | every chunk                                  |
/// | Reduce         | its input of every chunk    | root: every chunk, all contributions once    |
enum class Collective : std::uint8_t { AllReduce, ReduceScatter, AllGather, Broadcast, Reduce };

/// All five, in the order above.
std::span<const Collective> all_collectives();

/// "allreduce", "reduce-scatter", "allgather", "broadcast", "reduce".
std::string_view to_string(Collective collective);
/// \throws Error(InvalidArgument) listing the names.
Collective parse_collective(std::string_view text);

/// Whether inputs are reduced (AllReduce, ReduceScatter, Reduce).
[[nodiscard]] bool reduces(Collective collective);
/// Whether a root is singled out (Broadcast, Reduce).
[[nodiscard]] bool has_root(Collective collective);
/// Whether `rank` starts with an input of a chunk owned by `owner` (`root` where there is one).
[[nodiscard]] bool starts_with(Collective collective, Rank rank, Rank owner, Rank root);
/// Whether `rank` must end with the result of a chunk owned by `owner`.
[[nodiscard]] bool ends_with(Collective collective, Rank rank, Rank owner, Rank root);

}  // namespace multitree
