// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules in the formats of other programs (docs/file-formats.md): MSCCL, MSCCL++, ASTRA-sim,
/// ForestColl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Whether the caller's send and receive buffers are the same memory.
enum class BufferMode : std::uint8_t { InPlace, OutOfPlace, Either };

/// Which runtime an MSCCL program must fit.
enum class MscclLimits : std::uint8_t {
  Msccl,     ///< microsoft/msccl: 256 steps a thread block, 216 thread blocks
  Executor,  ///< Azure/msccl-executor-nccl, RCCL: 64 steps; "reducescatter" in one word
  None,      ///< any: for simulators, and for runtimes built with other limits
};

struct MscclOptions {
  std::string protocol = "Simple";  ///< Simple, LL or LL128
  std::uint32_t channels = 1;       ///< >= 1; chunks are dealt to them, each with its thread blocks
  std::uint64_t min_bytes = 0;  ///< smallest and largest message that the runtime may use it for
  std::uint64_t max_bytes = std::uint64_t{1} << 40;
  BufferMode buffers = BufferMode::InPlace;
  MscclLimits limits = MscclLimits::Msccl;
};

/// MSCCL's XML. \pre The schedule verifies. \throws Error(Unsupported) naming the limit that it
/// exceeds, Error(InvalidArgument) for options out of range.
std::string write_msccl_xml(const Schedule& schedule, const MscclOptions& options = {});

/// An MSCCL program as a schedule on `topology`, where gpu r is rank r: its messages in steps, each
/// on a shortest route with room. What is exported, read and exported again with the same options
/// is the same text. The result verifies. \throws Error(InvalidInput) "file:line: ...", also for
/// programs that deadlock, that do not do their collective, or that keep several values of a chunk
/// on one rank.
Schedule parse_msccl_xml(std::string_view text, const std::string& file, const Topology& topology);

/// Chakra execution traces for ASTRA-sim's custom collectives, the content of one file a rank, for
/// a buffer of `bytes` (reduce-scatter, all-gather: of all shards together). Dependences are those
/// of data; reductions take no time. \throws Error(InvalidArgument) if a chunk would be empty.
std::vector<std::string> write_chakra_traces(const Schedule& schedule, std::uint64_t bytes);

struct MscclppOptions {
  std::uint32_t blocks = 0;  ///< thread blocks that the chunks are dealt to; 0: few that fit
  /// That a GPU runs at once, as blocks wait for those of peers: 108 multiprocessors of an A100
  /// have room for two each.
  std::uint32_t max_blocks = 216;
  std::uint32_t ranks_per_host = 0;  ///< so many next to each other share memory; 0: all
  BufferMode buffers = BufferMode::Either;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = UINT64_MAX;  ///< or what offsets of 32 bits reach, if that is less
};

/// An execution plan of MSCCL++: over memory channels within a host, over port channels between
/// hosts. \throws Error(Unsupported) naming the limit of the executor that it exceeds,
/// Error(InvalidArgument) if hosts have different numbers of ranks.
std::string write_mscclpp_json(const Schedule& schedule, const MscclppOptions& options = {});

struct ForestcollOptions {
  Collective collective = Collective::AllGather;  ///< or ReduceScatter, AllReduce: trees reversed
  std::uint32_t segments = 1;                     ///< pieces of the chunk of a tree
};

/// ForestColl's trees as a schedule. Nodes are named as in the topology, or by their rank.
/// \throws Error(InvalidInput) "file:line: ...", Error(Unsupported) where trees cannot be reversed.
Schedule parse_forestcoll_xml(std::string_view text, const std::string& file,
                              const Topology& topology, const ForestcollOptions& options = {});

}  // namespace multitree
