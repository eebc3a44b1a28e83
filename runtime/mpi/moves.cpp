// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The collectives that move data as it is: of any type, as bytes. Types may differ between ranks
/// where their bytes do not.
#include <climits>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/mpi/served_internal.hpp"
#include "runtime/mpi/staged_internal.hpp"

namespace multitree::mpi {
namespace {

/// Decides by what one rank sends another, which `side` says here. `other`: the other end of it, at
/// a rank that has both; then it must be no worse.
Plan decide_by(const Function& function, const Side& side, MPI_Comm comm, int root = kNoRoot,
               const Side* other = nullptr) {
  Reason reason = wrong(comm, side.type, side.count);
  if (reason.empty() && other != nullptr && !other->in_place()) {
    reason = wrong(comm, other->type, other->count);
  }
  const std::int64_t bytes = reason.empty() ? side.bytes() : 0;
  if (bytes < 0 || bytes > INT_MAX) reason = "2 GiB or more from each rank";
  return decide(function, comm, {reason}, static_cast<std::size_t>(bytes), root);
}

/// Completes a plan that is served: what this rank puts in, what it gets out, and how bytes of
/// these go their way.
template <typename Start>
Plan move(Plan plan, const std::optional<Side>& in, const std::optional<Side>& out,
          const Start& start) {
  const auto staged = [&](const std::optional<Side>& side) {
    return side ? std::make_shared<Staged>(*side, plan.comm) : nullptr;
  };
  const std::shared_ptr<Staged> from = staged(in), to = staged(out);
  if (from != nullptr && to != nullptr && from->each() != to->each()) {
    plan.failed = raise(plan.function->call, plan.comm,
                        "a rank sends another number of bytes than it receives", MPI_ERR_COUNT);
  } else if (from != nullptr) {
    plan.pack = [from] { return from->pack(); };
  }
  const std::size_t each = (from != nullptr ? from : to)->each();
  plan.start = [=, comm = plan.peer->comm](mtRequest_t* request) {
    return start(from == nullptr ? nullptr : from->bytes(), to == nullptr ? nullptr : to->bytes(),
                 each, comm, request);
  };
  // Also keeps what is sent until then.
  plan.finish = [from, to] { return to == nullptr ? MPI_SUCCESS : to->unpack(); };
  return plan;
}

Plan all_gather(const Function& function, const Side& send, Side recv, MPI_Comm comm) {
  Plan plan = decide_by(function, recv, comm, kNoRoot, &send);
  if (!plan.served()) return plan;
  recv.parts = plan.peer->size;
  const Side in = send.in_place() ? recv.part(plan.peer->rank, comm) : send;
  return move(std::move(plan), in, recv,
              [start = function.either(mtIAllGather, mtAllGatherInit)](
                  const void* from, void* to, std::size_t each, mtComm_t on, mtRequest_t* request) {
                return start(from, to, each, mtUint8, on, nullptr, request);
              });
}

Plan all_to_all(const Function& function, Side send, Side recv, MPI_Comm comm) {
  // All ranks do it in place or none.
  if (send.in_place()) return decide(function, comm, {"in place"}, 0);
  Plan plan = decide_by(function, recv, comm, kNoRoot, &send);
  if (!plan.served()) return plan;
  send.parts = recv.parts = plan.peer->size;
  return move(std::move(plan), send, recv,
              [](const void* from, void* to, std::size_t each, mtComm_t on, mtRequest_t* request) {
                return mtIAllToAll(from, to, each, mtUint8, on, nullptr, request);
              });
}

Plan broadcast(const Function& function, const Side& side, int root, MPI_Comm comm) {
  Plan plan = decide_by(function, side, comm, root);
  if (!plan.served()) return plan;
  const bool here = plan.peer->rank == root;
  return move(std::move(plan), here ? std::optional(side) : std::nullopt,
              here ? std::nullopt : std::optional(side),
              [root, start = function.either(mtIBroadcast, mtBroadcastInit)](
                  char* from, char* to, std::size_t each, mtComm_t on, mtRequest_t* request) {
                return start(from, from != nullptr ? from : to, each, mtUint8, root, on, nullptr,
                             request);
              });
}

/// Whether this rank is the root, whose own arguments say what the others send it or get from it.
bool is_root(MPI_Comm comm, int root) {
  int rank = MPI_UNDEFINED;
  if (comm != MPI_COMM_NULL) PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

Plan gather(const Function& function, const Side& send, Side recv, int root, MPI_Comm comm) {
  const bool here = is_root(comm, root);
  Plan plan = decide_by(function, here ? recv : send, comm, root, here ? &send : nullptr);
  if (!plan.served()) return plan;
  recv.parts = plan.peer->size;
  const Side in = here && send.in_place() ? recv.part(root, comm) : send;
  return move(std::move(plan), in, here ? std::optional(recv) : std::nullopt,
              [root, start = function.either(mtIGather, mtGatherInit)](
                  const void* from, void* to, std::size_t each, mtComm_t on, mtRequest_t* request) {
                return start(from, to, each, mtUint8, root, on, nullptr, request);
              });
}

Plan scatter(const Function& function, Side send, const Side& recv, int root, MPI_Comm comm) {
  const bool here = is_root(comm, root);
  Plan plan = decide_by(function, here ? send : recv, comm, root, here ? &recv : nullptr);
  if (!plan.served()) return plan;
  send.parts = plan.peer->size;
  const bool keeps = here && recv.in_place();
  return move(std::move(plan), here ? std::optional(send) : std::nullopt,
              keeps ? std::nullopt : std::optional(recv),
              [root, start = function.either(mtIScatter, mtScatterInit)](
                  char* from, char* to, std::size_t each, mtComm_t on, mtRequest_t* request) {
                // In place, the root's shard stays where it is.
                char* const shard =
                    to != nullptr ? to : from + static_cast<std::size_t>(root) * each;
                return start(from, shard, each, mtUint8, root, on, nullptr, request);
              });
}

}  // namespace
}  // namespace multitree::mpi

using namespace multitree::mpi;

MULTITREE_EXPORT int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type,
                                   void* recv, int recv_count, MPI_Datatype recv_type,
                                   MPI_Comm comm) {
  const Plan plan = all_gather(kAllgather, {mutable_of(send), send_count, send_type},
                               {recv, recv_count, recv_type}, comm);
  return plan.served()
             ? plan.run()
             : PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
}

MULTITREE_EXPORT int MPI_Iallgather(const void* send, int send_count, MPI_Datatype send_type,
                                    void* recv, int recv_count, MPI_Datatype recv_type,
                                    MPI_Comm comm, MPI_Request* request) {
  const Plan plan = all_gather(kIallgather, {mutable_of(send), send_count, send_type},
                               {recv, recv_count, recv_type}, comm);
  return plan.served() ? plan.begin(request)
                       : PMPI_Iallgather(send, send_count, send_type, recv, recv_count, recv_type,
                                         comm, request);
}

MULTITREE_EXPORT int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type,
                                  void* recv, int recv_count, MPI_Datatype recv_type,
                                  MPI_Comm comm) {
  const Plan plan = all_to_all(kAlltoall, {mutable_of(send), send_count, send_type},
                               {recv, recv_count, recv_type}, comm);
  return plan.served()
             ? plan.run()
             : PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
}

MULTITREE_EXPORT int MPI_Ialltoall(const void* send, int send_count, MPI_Datatype send_type,
                                   void* recv, int recv_count, MPI_Datatype recv_type,
                                   MPI_Comm comm, MPI_Request* request) {
  const Plan plan = all_to_all(kIalltoall, {mutable_of(send), send_count, send_type},
                               {recv, recv_count, recv_type}, comm);
  return plan.served() ? plan.begin(request)
                       : PMPI_Ialltoall(send, send_count, send_type, recv, recv_count, recv_type,
                                        comm, request);
}

MULTITREE_EXPORT int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root,
                               MPI_Comm comm) {
  const Plan plan = broadcast(kBcast, {buffer, count, type}, root, comm);
  return plan.served() ? plan.run() : PMPI_Bcast(buffer, count, type, root, comm);
}

MULTITREE_EXPORT int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                                MPI_Request* request) {
  const Plan plan = broadcast(kIbcast, {buffer, count, type}, root, comm);
  return plan.served() ? plan.begin(request)
                       : PMPI_Ibcast(buffer, count, type, root, comm, request);
}

MULTITREE_EXPORT int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type,
                                void* recv, int recv_count, MPI_Datatype recv_type, int root,
                                MPI_Comm comm) {
  const Plan plan = gather(kGather, {mutable_of(send), send_count, send_type},
                           {recv, recv_count, recv_type}, root, comm);
  return plan.served()
             ? plan.run()
             : PMPI_Gather(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
}

MULTITREE_EXPORT int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type,
                                 void* recv, int recv_count, MPI_Datatype recv_type, int root,
                                 MPI_Comm comm) {
  const Plan plan = scatter(kScatter, {mutable_of(send), send_count, send_type},
                            {recv, recv_count, recv_type}, root, comm);
  return plan.served()
             ? plan.run()
             : PMPI_Scatter(send, send_count, send_type, recv, recv_count, recv_type, root, comm);
}

MULTITREE_EXPORT int MPI_Igather(const void* send, int send_count, MPI_Datatype send_type,
                                 void* recv, int recv_count, MPI_Datatype recv_type, int root,
                                 MPI_Comm comm, MPI_Request* request) {
  const Plan plan = gather(kIgather, {mutable_of(send), send_count, send_type},
                           {recv, recv_count, recv_type}, root, comm);
  return plan.served() ? plan.begin(request)
                       : PMPI_Igather(send, send_count, send_type, recv, recv_count, recv_type,
                                      root, comm, request);
}

MULTITREE_EXPORT int MPI_Iscatter(const void* send, int send_count, MPI_Datatype send_type,
                                  void* recv, int recv_count, MPI_Datatype recv_type, int root,
                                  MPI_Comm comm, MPI_Request* request) {
  const Plan plan = scatter(kIscatter, {mutable_of(send), send_count, send_type},
                            {recv, recv_count, recv_type}, root, comm);
  return plan.served() ? plan.begin(request)
                       : PMPI_Iscatter(send, send_count, send_type, recv, recv_count, recv_type,
                                       root, comm, request);
}

MULTITREE_PERSISTENT(Allgather_init,
                     (const void* send, int send_count, MPI_Datatype send_type, void* recv,
                      int recv_count, MPI_Datatype recv_type, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request),
                     all_gather(kAllgatherInit, {mutable_of(send), send_count, send_type},
                                {recv, recv_count, recv_type}, comm),
                     send, send_count, send_type, recv, recv_count, recv_type, comm, info, request)

MULTITREE_PERSISTENT(Bcast_init,
                     (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request),
                     broadcast(kBcastInit, {buffer, count, type}, root, comm), buffer, count, type,
                     root, comm, info, request)

MULTITREE_PERSISTENT(Gather_init,
                     (const void* send, int send_count, MPI_Datatype send_type, void* recv,
                      int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request),
                     gather(kGatherInit, {mutable_of(send), send_count, send_type},
                            {recv, recv_count, recv_type}, root, comm),
                     send, send_count, send_type, recv, recv_count, recv_type, root, comm, info,
                     request)

MULTITREE_PERSISTENT(Scatter_init,
                     (const void* send, int send_count, MPI_Datatype send_type, void* recv,
                      int recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request),
                     scatter(kScatterInit, {mutable_of(send), send_count, send_type},
                             {recv, recv_count, recv_type}, root, comm),
                     send, send_count, send_type, recv, recv_count, recv_type, root, comm, info,
                     request)
