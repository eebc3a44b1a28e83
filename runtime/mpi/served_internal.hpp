// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which functions of MPI are served from when on, and how a call of one is.
#pragma once

#include <functional>
#include <initializer_list>

#include "runtime/mpi/interpose_internal.hpp"

#define MULTITREE_EXPORT extern "C" __attribute__((visibility("default")))

namespace multitree::mpi {

/// How a function's collective goes.
enum class Manner : std::uint8_t {
  Blocking,
  NonBlocking,  ///< must not wait for others when it is called
  Persistent,   ///< may, and is started later, again and again
};

/// A function that is served.
struct Function {
  const char* call;
  const char* name;   ///< in MULTITREE_MPI_DISABLE
  std::size_t least;  ///< bytes, below which MPI is faster or as fast (docs/c-api.md)
  Manner manner = Manner::Blocking;

  /// Of multitree's two functions for it, one of which only plans.
  template <typename Start>
  [[nodiscard]] Start* either(Start* starts, Start* plans) const {
    return manner == Manner::Persistent ? plans : starts;
  }
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
/// These are served message by message.
inline constexpr Function kAlltoallv{"MPI_Alltoallv", "alltoallv", kOnDemand};
inline constexpr Function kGatherv{"MPI_Gatherv", "gatherv", kOnDemand};
inline constexpr Function kScatterv{"MPI_Scatterv", "scatterv", kOnDemand};
inline constexpr Function kAlltoall{"MPI_Alltoall", "alltoall", kOnDemand};
inline constexpr Function kIalltoall{"MPI_Ialltoall", "ialltoall", kOnDemand, Manner::NonBlocking};
inline constexpr Function kBcast{"MPI_Bcast", "bcast", 8 * kMebibyte};
inline constexpr Function kGather{"MPI_Gather", "gather", kOnDemand};
inline constexpr Function kScatter{"MPI_Scatter", "scatter", 8 * kMebibyte};
inline constexpr Function kIallreduce{"MPI_Iallreduce", "iallreduce", 65'536, Manner::NonBlocking};
inline constexpr Function kIreduce{"MPI_Ireduce", "ireduce", 4 * kMebibyte, Manner::NonBlocking};
inline constexpr Function kIreduceScatterBlock{"MPI_Ireduce_scatter_block", "ireduce_scatter",
                                               4 * kMebibyte, Manner::NonBlocking};
inline constexpr Function kIreduceScatter{"MPI_Ireduce_scatter", "ireduce_scatter", 4 * kMebibyte,
                                          Manner::NonBlocking};
/// With counts that differ.
inline constexpr Function kIreduceScatterv{"MPI_Ireduce_scatter", "ireduce_scatter", kOnDemand,
                                           Manner::NonBlocking};
inline constexpr Function kIallgather{"MPI_Iallgather", "iallgather", kOnDemand,
                                      Manner::NonBlocking};
inline constexpr Function kIallgatherv{"MPI_Iallgatherv", "iallgatherv", kOnDemand,
                                       Manner::NonBlocking};
inline constexpr Function kIgather{"MPI_Igather", "igather", kOnDemand, Manner::NonBlocking};
inline constexpr Function kIscatter{"MPI_Iscatter", "iscatter", kOnDemand, Manner::NonBlocking};
inline constexpr Function kIbcast{"MPI_Ibcast", "ibcast", kOnDemand, Manner::NonBlocking};

inline constexpr Function kAllreduceInit{"MPI_Allreduce_init", "allreduce_init", kOnDemand,
                                         Manner::Persistent};
inline constexpr Function kReduceInit{"MPI_Reduce_init", "reduce_init", kOnDemand,
                                      Manner::Persistent};
inline constexpr Function kReduceScatterBlockInit{
    "MPI_Reduce_scatter_block_init", "reduce_scatter_init", kOnDemand, Manner::Persistent};
inline constexpr Function kAllgatherInit{"MPI_Allgather_init", "allgather_init", kOnDemand,
                                         Manner::Persistent};
inline constexpr Function kBcastInit{"MPI_Bcast_init", "bcast_init", kOnDemand, Manner::Persistent};
inline constexpr Function kGatherInit{"MPI_Gather_init", "gather_init", kOnDemand,
                                      Manner::Persistent};
inline constexpr Function kScatterInit{"MPI_Scatter_init", "scatter_init", kOnDemand,
                                       Manner::Persistent};

/// A call of one: why it is passed on, or how it is served.
struct Plan {
  const Function* function = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  Reason reason;             ///< empty: it is served
  Peer* peer = nullptr;      ///< if it is
  int failed = MPI_SUCCESS;  ///< the code of what went wrong while it was prepared, and was raised
  /// What is to be done by this rank before each start; may be none. A code of MPI.
  std::function<int()> pack;
  /// Starts it; of a function that is persistent, plans it.
  std::function<mtResult_t(mtRequest_t*)> start;
  /// What MPI does of it, once it is started and before it is waited for; may be none.
  std::function<int()> rest;
  /// What is left to do for this rank at the end; may be none. Holds what is needed until then.
  std::function<int()> finish;

  [[nodiscard]] bool served() const { return reason.empty(); }
  /// To the end.
  int run() const;
  /// Gives a request of MPI; of a function that is persistent, one to be started.
  int begin(MPI_Request* request) const;

 private:
  /// Packs and starts; a code of MPI.
  int launch(mtRequest_t* request) const;
};

/// What the MPI has under this name: PMPI_..., or PMPIX_... as Open MPI 4.1; null if neither.
void* find_own(const char* name);
/// For an MPI that has not got a function.
int lacks(const char* call, MPI_Comm comm);

#ifdef OPEN_MPI
#define MULTITREE_ALSO_AS_EXTENSION(name, parameters, ...) \
  MULTITREE_EXPORT int MPIX_##name parameters { return MPI_##name(__VA_ARGS__); }
#else
#define MULTITREE_ALSO_AS_EXTENSION(name, parameters, ...)
#endif
/// A persistent function, whose parameters end with `comm`, `info` and `request`: `decide` makes
/// its plan, the rest are the arguments for MPI's own.
#define MULTITREE_PERSISTENT(name, parameters, decide, ...)                                    \
  MULTITREE_EXPORT int MPI_##name parameters;                                                  \
  MULTITREE_EXPORT int MPI_##name parameters {                                                 \
    const auto own = reinterpret_cast<decltype(&MPI_##name)>(multitree::mpi::find_own(#name)); \
    if (own == nullptr) return multitree::mpi::lacks("MPI_" #name, comm);                      \
    const multitree::mpi::Plan plan = decide;                                                  \
    return plan.served() ? plan.begin(request) : own(__VA_ARGS__);                             \
  }                                                                                            \
  MULTITREE_ALSO_AS_EXTENSION(name, parameters, __VA_ARGS__)

/// Gives a request for a planned collective that MPI_Start() starts, any number of times.
int make_persistent(const Plan& plan, mtRequest_t planned, MPI_Request* request);
/// Raises what multitree said last, on this thread.
int raise_last(const Plan& plan, mtResult_t result);

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
