// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Times of collectives by size, as benchmarks print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"

namespace multitree::tools {

/// One size and what it took.
struct LoggedTime {
  std::uint64_t bytes = 0;  ///< as the program counts them
  double seconds = 0;
};

/// What a benchmark measured of one collective.
struct LoggedRun {
  std::string program;                   ///< "nccl-tests"
  std::optional<Collective> collective;  ///< where the log says it
  std::optional<std::uint32_t> ranks;    ///< likewise
  std::string algorithm;                 ///< what `multitree run` ran, else empty
  bool counts_shards = false;            ///< sizes are of a rank's shard, not of the whole buffer
  std::vector<LoggedTime> times;
};

/// All runs of a log that `multitree run`, nccl-tests, OSU's and Intel's MPI benchmarks or PARAM
/// wrote, perhaps with the prefixes of mpirun and srun, or of a table with the header
/// "bytes,seconds". Lines of other programs between are passed over, sizes of 0 left out.
/// \throws Error(InvalidInput) naming `name` if nothing of these is found in it.
std::vector<LoggedRun> parse_log(std::string_view text, const std::string& name);

}  // namespace multitree::tools
