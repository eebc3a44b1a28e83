// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which functions of MPI are served from when on, and how a call of one is.
#pragma once

#include <functional>
#include <initializer_list>

#include "runtime/mpi/interpose_internal.hpp"

#define MULTITREE_EXPORT extern "C" __attribute__((visibility("default")))

namespace multitree::mpi {

/// A function that is served.
struct Function {
  const char* call;
  const char* name;   ///< in MULTITREE_MPI_DISABLE
  std::size_t least;  ///< bytes, below which MPI is faster or as fast (docs/c-api.md)
  bool blocks = true;
};

/// Served where MULTITREE_MPI_MIN_BYTES is set alone: MPI may be faster.
inline constexpr std::size_t kOnDemand = SIZE_MAX;
inline constexpr std::size_t kMebibyte = 1 << 20;

/// Bytes are those of a vector that is reduced or broadcast, else of a rank's shard.
inline constexpr Function kAllreduce{"MPI_Allreduce", "allreduce", 65'536};
inline constexpr Function kReduce{"MPI_Reduce", "reduce", 8 * kMebibyte};
inline constexpr Function kReduceScatter{"MPI_Reduce_scatter", "reduce_scatter", 65'536};
/// With counts that differ.
inline constexpr Function kReduceScatterv{"MPI_Reduce_scatter", "reduce_scatter", 2 * kMebibyte};
inline constexpr Function kReduceScatterBlock{"MPI_Reduce_scatter_block", "reduce_scatter", 65'536};
inline constexpr Function kAllgather{"MPI_Allgather", "allgather", 65'536};
inline constexpr Function kAllgatherv{"MPI_Allgatherv", "allgatherv", kOnDemand};
inline constexpr Function kAlltoall{"MPI_Alltoall", "alltoall", kOnDemand};
inline constexpr Function kIalltoall{"MPI_Ialltoall", "ialltoall", kOnDemand, false};
inline constexpr Function kBcast{"MPI_Bcast", "bcast", 8 * kMebibyte};
inline constexpr Function kGather{"MPI_Gather", "gather", kOnDemand};
inline constexpr Function kScatter{"MPI_Scatter", "scatter", 8 * kMebibyte};
inline constexpr Function kIallreduce{"MPI_Iallreduce", "iallreduce", 65'536, false};
inline constexpr Function kIreduce{"MPI_Ireduce", "ireduce", 4 * kMebibyte, false};
inline constexpr Function kIreduceScatterBlock{"MPI_Ireduce_scatter_block", "ireduce_scatter",
                                               4 * kMebibyte, false};
inline constexpr Function kIallgather{"MPI_Iallgather", "iallgather", kOnDemand, false};
inline constexpr Function kIbcast{"MPI_Ibcast", "ibcast", kOnDemand, false};

/// A call of one: why it is passed on, or how it is served.
struct Plan {
  const Function* function = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  Reason reason;             ///< empty: it is served
  Peer* peer = nullptr;      ///< if it is
  int failed = MPI_SUCCESS;  ///< the code of what went wrong while it was prepared, and was raised
  std::function<mtResult_t(mtRequest_t*)> start;
  /// What is left to do for this rank at the end; may be none. Holds what is needed until then.
  std::function<int()> finish;

  [[nodiscard]] bool served() const { return reason.empty(); }
  /// To the end.
  int run() const;
  /// Gives a request of MPI.
  int begin(MPI_Request* request) const;
};

constexpr int kNoRoot = -1;

/// Counts a call, and decides by what is equal at all ranks. `why_not`: reasons of the function's
/// own; `bytes`: what the function's least is compared to.
Plan decide(const Function& function, MPI_Comm comm, std::initializer_list<Reason> why_not,
            std::size_t bytes, int root = kNoRoot);

/// The counts of all ranks of a call with a count for each: why they cannot be read, and their sum.
struct CountsOfRanks {
  Reason wrong;
  std::int64_t sum = 0;
  int ranks = 0;
  bool equal = true;
};
CountsOfRanks counts_of_ranks(const int counts[], MPI_Comm comm);

/// What MPI refuses is MPI's to refuse, by the communicator's error handler.
Reason wrong(MPI_Comm comm, MPI_Datatype type, int count);

}  // namespace multitree::mpi
