// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The collectives that reduce.
#include <climits>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/mpi/served_internal.hpp"

namespace multitree::mpi {
namespace {

/// The arguments of a reduction; `count` as MPI_Allreduce and MPI_Reduce_scatter_block have it.
struct Reducing {
  const void* send;
  void* recv;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
  [[nodiscard]] const void* input() const { return send == MPI_IN_PLACE ? recv : send; }
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(count); }
};

/// With multitree's terms for it.
struct Reduced {
  Plan plan;
  Reduction reduction;
  std::size_t count = 0;  ///< of multitree's elements

  [[nodiscard]] std::size_t bytes() const { return count * reduction.bytes; }
};

Reduced decide_reduction(const Function& function, const Reducing& call, const Reason& why_not = "",
                         int root = kNoRoot) {
  const Reason refused = wrong(call.comm, call.type, call.count);
  const auto found = refused.empty() ? reduction_of(call.type, call.op) : std::nullopt;
  const Reduction reduction = found.value_or(Reduction{});
  const std::size_t count = refused.empty() ? call.elements() * reduction.parts : 0;
  return {
      decide(function, call.comm,
             {why_not, refused, found ? "" : "element type or operator that multitree has not got"},
             count * reduction.bytes, root),
      reduction, count};
}

Plan all_reduce(const Function& function, const Reducing& call) {
  auto [plan, reduction, count] = decide_reduction(function, call);
  if (!plan.served()) return plan;
  plan.start = [=, comm = plan.peer->comm,
                start = function.either(mtIAllReduce, mtAllReduceInit)](mtRequest_t* request) {
    return start(call.input(), call.recv, count, reduction.type, reduction.op, comm, nullptr,
                 request);
  };
  return plan;
}

Plan reduce(const Function& function, const Reducing& call, int root) {
  auto [plan, reduction, count] = decide_reduction(function, call, "", root);
  if (!plan.served()) return plan;
  void* const recv = plan.peer->rank == root ? call.recv : nullptr;
  plan.start = [=, comm = plan.peer->comm,
                start = function.either(mtIReduce, mtReduceInit)](mtRequest_t* request) {
    return start(call.input(), recv, count, reduction.type, reduction.op, root, comm, nullptr,
                 request);
  };
  return plan;
}

Plan reduce_scatter(const Function& function, const Reducing& call) {
  Reduced reduced = decide_reduction(function, call);
  Plan& plan = reduced.plan;
  if (!plan.served()) return plan;
  // In place, MPI wants the result at the front, where other ranks' input still is.
  void* to = call.recv;
  if (call.send == MPI_IN_PLACE) {
    const auto shard = std::make_shared<std::vector<char>>(reduced.bytes());
    to = shard->data();
    plan.finish = [=] {
      if (!shard->empty()) std::memcpy(call.recv, shard->data(), shard->size());
      return MPI_SUCCESS;
    };
  }
  plan.start = [=, count = reduced.count, reduction = reduced.reduction, comm = plan.peer->comm,
                start =
                    function.either(mtIReduceScatter, mtReduceScatterInit)](mtRequest_t* request) {
    return start(call.input(), to, count, reduction.type, reduction.op, comm, nullptr, request);
  };
  return plan;
}

/// The same with a count for each rank: decided by the mean shard, which all know.
Plan reduce_scatter_v(const Function& function, Reducing call, const int counts[]) {
  const CountsOfRanks all = counts_of_ranks(counts, call.comm);
  const bool long_sum = all.sum > INT_MAX;
  call.count = all.wrong.empty() && !long_sum ? static_cast<int>(all.sum / all.ranks) : 0;
  Reduced reduced =
      decide_reduction(function, call, long_sum ? "2^31 elements or more" : all.wrong);
  Plan& plan = reduced.plan;
  if (!plan.served()) return plan;
  std::vector<std::size_t> shares;
  for (int rank = 0; rank < all.ranks; ++rank) {
    shares.push_back(static_cast<std::size_t>(counts[rank]) * reduced.reduction.parts);
  }
  void* to = call.recv;
  if (call.send == MPI_IN_PLACE) {
    const auto own = static_cast<std::size_t>(plan.peer->rank);
    const auto shard = std::make_shared<std::vector<char>>(shares[own] * reduced.reduction.bytes);
    to = shard->data();
    plan.finish = [=] {
      if (!shard->empty()) std::memcpy(call.recv, shard->data(), shard->size());
      return MPI_SUCCESS;
    };
  }
  plan.start = [=, reduction = reduced.reduction, comm = plan.peer->comm](mtRequest_t* request) {
    return mtIReduceScatterv(call.input(), to, shares.data(), reduction.type, reduction.op, comm,
                             nullptr, request);
  };
  return plan;
}

/// MPI_Reduce_scatter and MPI_Ireduce_scatter: functions for equal counts, and for others.
Plan reduce_scatter_by_counts(const Function& equal, const Function& other, Reducing call,
                              const int counts[]) {
  const CountsOfRanks all = counts_of_ranks(counts, call.comm);
  if (!all.wrong.empty() || !all.equal) return reduce_scatter_v(other, call, counts);
  call.count = counts[0];
  return reduce_scatter(equal, call);
}

}  // namespace
}  // namespace multitree::mpi

using namespace multitree::mpi;

MULTITREE_EXPORT int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type,
                                   MPI_Op op, MPI_Comm comm) {
  const Plan plan = all_reduce(kAllreduce, {send, recv, count, type, op, comm});
  return plan.served() ? plan.run() : PMPI_Allreduce(send, recv, count, type, op, comm);
}

MULTITREE_EXPORT int MPI_Iallreduce(const void* send, void* recv, int count, MPI_Datatype type,
                                    MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  const Plan plan = all_reduce(kIallreduce, {send, recv, count, type, op, comm});
  return plan.served() ? plan.begin(request)
                       : PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}

MULTITREE_EXPORT int MPI_Reduce(const void* send, void* recv, int count, MPI_Datatype type,
                                MPI_Op op, int root, MPI_Comm comm) {
  const Plan plan = reduce(kReduce, {send, recv, count, type, op, comm}, root);
  return plan.served() ? plan.run() : PMPI_Reduce(send, recv, count, type, op, root, comm);
}

MULTITREE_EXPORT int MPI_Ireduce(const void* send, void* recv, int count, MPI_Datatype type,
                                 MPI_Op op, int root, MPI_Comm comm, MPI_Request* request) {
  const Plan plan = reduce(kIreduce, {send, recv, count, type, op, comm}, root);
  return plan.served() ? plan.begin(request)
                       : PMPI_Ireduce(send, recv, count, type, op, root, comm, request);
}

MULTITREE_EXPORT int MPI_Reduce_scatter_block(const void* send, void* recv, int count,
                                              MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Plan plan = reduce_scatter(kReduceScatterBlock, {send, recv, count, type, op, comm});
  return plan.served() ? plan.run() : PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
}

MULTITREE_EXPORT int MPI_Ireduce_scatter_block(const void* send, void* recv, int count,
                                               MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                               MPI_Request* request) {
  const Plan plan = reduce_scatter(kIreduceScatterBlock, {send, recv, count, type, op, comm});
  return plan.served() ? plan.begin(request)
                       : PMPI_Ireduce_scatter_block(send, recv, count, type, op, comm, request);
}

MULTITREE_EXPORT int MPI_Reduce_scatter(const void* send, void* recv, const int counts[],
                                        MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Plan plan = reduce_scatter_by_counts(kReduceScatter, kReduceScatterv,
                                             {send, recv, 0, type, op, comm}, counts);
  return plan.served() ? plan.run() : PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
}

MULTITREE_EXPORT int MPI_Ireduce_scatter(const void* send, void* recv, const int counts[],
                                         MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                                         MPI_Request* request) {
  const Plan plan = reduce_scatter_by_counts(kIreduceScatter, kIreduceScatterv,
                                             {send, recv, 0, type, op, comm}, counts);
  return plan.served() ? plan.begin(request)
                       : PMPI_Ireduce_scatter(send, recv, counts, type, op, comm, request);
}

MULTITREE_PERSISTENT(Allreduce_init,
                     (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request),
                     all_reduce(kAllreduceInit, {send, recv, count, type, op, comm}), send, recv,
                     count, type, op, comm, info, request)

MULTITREE_PERSISTENT(Reduce_init,
                     (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                      int root, MPI_Comm comm, MPI_Info info, MPI_Request* request),
                     reduce(kReduceInit, {send, recv, count, type, op, comm}, root), send, recv,
                     count, type, op, root, comm, info, request)

MULTITREE_PERSISTENT(Reduce_scatter_block_init,
                     (const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request),
                     reduce_scatter(kReduceScatterBlockInit, {send, recv, count, type, op, comm}),
                     send, recv, count, type, op, comm, info, request)
