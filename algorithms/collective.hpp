// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The collectives: one table of who starts and who ends with what, and what follows from it.
#pragma once

#include <cstddef>
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
/// | ReduceScatter  | its input of every chunk    | its own chunks, all contributions once       |
/// | AllGather      | its own chunks              | every chunk                                  |
/// | Broadcast      | root: every chunk           | every chunk                                  |
/// | Reduce         | its input of every chunk    | root: every chunk, all contributions once    |
/// | Gather         | its own chunks              | root: every chunk                            |
/// | Scatter        | root: every chunk           | its own chunks                               |
/// | AllToAll       | its own chunks              | those of every rank that are for it          |
///
/// The whole buffer of an AllToAll is what all ranks put in, one after the other.
enum class Collective : std::uint8_t {
  AllReduce,
  ReduceScatter,
  AllGather,
  Broadcast,
  Reduce,
  Gather,
  Scatter,
  AllToAll
};

/// Which ranks have a chunk, before a collective or after it.
enum class Holder : std::uint8_t {
  Everyone,  ///< before: each its own input, and these are reduced
  Root,      ///< the root of the collective alone
  Own,       ///< one rank, another for each shard of the buffer
};

/// A collective is what it starts and what it ends with. All else that is asked of one follows from
/// these two facts; a new collective is a value of Collective and a row of the table.
struct CollectiveFacts {
  Collective collective{};
  std::string_view name;  ///< "allreduce"; in files and on the command line
  Holder start{};
  Holder end{};
};
inline constexpr CollectiveFacts kFacts[] = {
    {Collective::AllReduce, "allreduce", Holder::Everyone, Holder::Everyone},
    {Collective::ReduceScatter, "reduce-scatter", Holder::Everyone, Holder::Own},
    {Collective::AllGather, "allgather", Holder::Own, Holder::Everyone},
    {Collective::Broadcast, "broadcast", Holder::Root, Holder::Everyone},
    {Collective::Reduce, "reduce", Holder::Everyone, Holder::Root},
    {Collective::Gather, "gather", Holder::Own, Holder::Root},
    {Collective::Scatter, "scatter", Holder::Root, Holder::Own},
    {Collective::AllToAll, "alltoall", Holder::Own, Holder::Own},
};
[[nodiscard]] constexpr const CollectiveFacts& facts(Collective collective) {
  return kFacts[static_cast<std::size_t>(collective)];
}

/// Those that are done along trees, which every algorithm makes, in the order of the enumeration:
/// all but AllToAll, where each chunk is for one rank (traffic/all_to_all.hpp).
std::span<const Collective> all_collectives();

/// "allreduce", "reduce-scatter", "allgather", "broadcast", "reduce", "gather", "scatter",
/// "alltoall".
std::string_view to_string(Collective collective);
/// \throws Error(InvalidArgument) listing the names.
Collective parse_collective(std::string_view text);

/// Whether inputs are reduced; otherwise data only moves.
[[nodiscard]] constexpr bool reduces(Collective collective) {
  return facts(collective).start == Holder::Everyone;
}
/// Whether what is finished is copied: all do but those that only reduce.
[[nodiscard]] constexpr bool copies(Collective collective) {
  return !reduces(collective) || facts(collective).end == Holder::Everyone;
}
/// Whether a root is singled out.
[[nodiscard]] constexpr bool has_root(Collective collective) {
  return facts(collective).start == Holder::Root || facts(collective).end == Holder::Root;
}
/// Whether the buffer is divided into shards, one a rank. Then counts are of a shard.
[[nodiscard]] constexpr bool is_sharded(Collective collective) {
  return facts(collective).start == Holder::Own || facts(collective).end == Holder::Own;
}
/// Whether what a rank puts in, or gets out, is its shard alone.
[[nodiscard]] constexpr bool sends_shard(Collective collective) {
  return facts(collective).start == Holder::Own && facts(collective).end != Holder::Own;
}
[[nodiscard]] constexpr bool receives_shard(Collective collective) {
  return facts(collective).end == Holder::Own && facts(collective).start != Holder::Own;
}
/// Whether a rank puts something in, or gets something out: all do but where that is the root's.
[[nodiscard]] constexpr bool sends(Collective collective, Rank rank, Rank root) {
  return facts(collective).start != Holder::Root || rank == root;
}
[[nodiscard]] constexpr bool receives(Collective collective, Rank rank, Rank root) {
  return facts(collective).end != Holder::Root || rank == root;
}
/// Shards in the buffer that rank `rank` puts in or gets out, where it does (1 without shards).
[[nodiscard]] constexpr std::uint32_t shards_sent(Collective collective, std::uint32_t ranks) {
  return is_sharded(collective) && !sends_shard(collective) ? ranks : 1;
}
[[nodiscard]] constexpr std::uint32_t shards_received(Collective collective, std::uint32_t ranks) {
  return is_sharded(collective) && !receives_shard(collective) ? ranks : 1;
}

/// Whether `rank` starts with a chunk (its input of it, or the chunk) whose source is `source`.
[[nodiscard]] constexpr bool starts_with(Collective collective, Rank rank, Rank source) {
  return facts(collective).start == Holder::Everyone || rank == source;
}
/// Whether `rank` must end with a chunk whose target is `target`.
[[nodiscard]] constexpr bool ends_with(Collective collective, Rank rank, Rank target) {
  return facts(collective).end == Holder::Everyone || rank == target;
}

/// The collective that does the same backwards in time: starts with what this one ends with.
/// Every collective has one, AllReduce itself. \throws std::logic_error if the table lacks it
[[nodiscard]] Collective time_reversed(Collective collective);

}  // namespace multitree
