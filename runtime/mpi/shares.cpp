// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shares that differ, of any type, where each rank says where they go.
///
/// Of MPI_Allgatherv all ranks know all counts. Of the others each rank knows those of its own
/// messages alone. But of each message both ends know the bytes, and by these they decide alike
/// whether multitree carries it; MPI's own function does the rest, with counts of 0 in place of
/// what is served. Where everything is served there is no rest.
#include <climits>
#include <memory>
#include <vector>

#include "runtime/mpi/served_internal.hpp"
#include "runtime/mpi/staged_internal.hpp"

namespace multitree::mpi {
namespace {

/// Decided by the mean share, which all ranks know.
Plan all_gather_v(const Function& function, const Side& send, const Shares& recv, MPI_Comm comm) {
  const CountsOfRanks all = counts_of_ranks(recv.counts, comm);
  Reason reason = all.wrong.empty() ? wrong(comm, recv.type, 0) : all.wrong;
  if (reason.empty() && !send.in_place()) reason = wrong(comm, send.type, send.count);
  if (recv.places == nullptr) reason = "no displacements";
  int size = 0;
  if (reason.empty()) PMPI_Type_size(recv.type, &size);
  const std::int64_t bytes = all.sum * size;
  if (bytes < 0 || bytes > INT_MAX) reason = "2 GiB or more in all";
  Plan plan = decide(function, comm, {reason},
                     reason.empty() ? static_cast<std::size_t>(bytes / all.ranks) : 0);
  if (!plan.served()) return plan;
  const int own = plan.peer->rank;
  const auto from = send.in_place() ? nullptr : std::make_shared<Staged>(send, comm);
  const char* const begin = from == nullptr ? nullptr : from->bytes();
  const char* const end = from == nullptr ? nullptr : begin + from->each();
  const auto to = std::make_shared<StagedShares>(recv, all.ranks, comm, begin, end);
  const std::size_t sent = to->bytes()[static_cast<std::size_t>(own)];
  if (from != nullptr && from->each() != sent) {
    plan.failed = raise(function.call, comm,
                        "a rank sends another number of bytes than it receives", MPI_ERR_COUNT);
  }
  plan.pack = [from, to, own] { return from == nullptr ? to->pack(own) : from->pack(); };
  plan.start = [=, on = plan.peer->comm](mtRequest_t* request) {
    return mtIAllGatherv(from == nullptr ? to->data_of(own) : from->bytes(), sent, to->data(),
                         to->bytes().data(), to->begins().data(), mtUint8, on, nullptr, request);
  };
  plan.finish = [to] { return to->unpack(); };
  return plan;
}

/// Bytes of messages that are served.
std::size_t least_message() { return settings().min_bytes.value_or(SIZE_MAX); }

/// Whether MPI has to be called for what is not.
bool leaves_a_rest() { return least_message() > 0; }

/// Of a call that is decided message by message.
Plan decide_by_message(const Function& function, MPI_Comm comm, const Reason& refused) {
  const Reason unasked =
      settings().min_bytes ? "" : "counts of all ranks, which no rank knows, without a least size";
  return decide(function, comm, {refused, unasked}, SIZE_MAX);
}

/// What MPI is to be told of shares of which some are served, and those are taken out of the
/// others.
std::vector<int> divide(StagedShares& shares, const int counts[]) {
  std::vector<int> left(shares.bytes().size(), 0);
  for (std::size_t r = 0; r < left.size(); ++r) {
    if (shares.bytes()[r] >= least_message()) continue;
    left[r] = counts[r];
    shares.drop(static_cast<int>(r));
  }
  return left;
}

Reason wrong_shares(const Shares& shares, MPI_Comm comm) {
  const CountsOfRanks all = counts_of_ranks(shares.counts, comm);
  if (!all.wrong.empty()) return all.wrong;
  return shares.places == nullptr ? "no displacements" : wrong(comm, shares.type, 0);
}

Plan all_to_all_v(const Shares& send, const Shares& recv, MPI_Comm comm) {
  // All ranks do it in place or none.
  if (send.buffer == MPI_IN_PLACE) return decide(kAlltoallv, comm, {"in place"}, 0);
  Reason refused = wrong_shares(send, comm);
  if (refused.empty()) refused = wrong_shares(recv, comm);
  Plan plan = decide_by_message(kAlltoallv, comm, refused);
  if (!plan.served()) return plan;
  const auto from = std::make_shared<StagedShares>(send, plan.peer->size, comm);
  const auto to = std::make_shared<StagedShares>(recv, plan.peer->size, comm, from->data(),
                                                 from->data() + from->end());
  const std::vector<int> unsent = divide(*from, send.counts), awaited = divide(*to, recv.counts);
  plan.pack = [from] { return from->pack(); };
  plan.start = [=, on = plan.peer->comm](mtRequest_t* request) {
    return mtIAllToAllv(from->data(), from->bytes().data(), from->begins().data(), to->data(),
                        to->bytes().data(), to->begins().data(), mtUint8, on, nullptr, request);
  };
  if (leaves_a_rest()) {
    plan.rest = [=] {
      return PMPI_Alltoallv(send.buffer, unsent.data(), send.places, send.type, recv.buffer,
                            awaited.data(), recv.places, recv.type, comm);
    };
  }
  plan.finish = [to] { return to->unpack(); };
  return plan;
}

/// What each rank has for the root, or the root for each: this rank's own of it, and at the root
/// those of all.
struct Rooted {
  Rooted(const Side& side, const Shares& of_all, int to, MPI_Comm on)
      : own(side), all(of_all), root(to), comm(on) {
    int size = 0;
    if (comm == MPI_COMM_NULL) return;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    known = root >= 0 && root < size;
  }
  [[nodiscard]] bool here() const { return rank == root; }
  [[nodiscard]] Reason refused() const {
    if (!known) return "an argument that MPI refuses";
    const Reason reason = here() ? wrong_shares(all, comm) : "";
    if (!reason.empty() || (here() && own.in_place())) return reason;
    return wrong(comm, own.type, own.count);
  }
  /// Makes the bytes of a plan that is served.
  void stage(int ranks) {
    const bool stays = here() && own.in_place();
    if (!stays) alone = std::make_shared<Staged>(own, comm);
    const char* const begin = stays ? nullptr : alone->bytes();
    if (here()) {
      shares = std::make_shared<StagedShares>(all, ranks, comm, begin,
                                              stays ? nullptr : begin + alone->each());
      if (stays) shares->drop(rank);
      left = divide(*shares, all.counts);
    }
    if (stays) return;
    if (alone->each() >= least_message()) {
      bytes = alone->each();
    } else {
      unserved = own.count;
    }
  }
  /// Where this rank's own lies.
  [[nodiscard]] char* data() const { return alone ? alone->bytes() : shares->data_of(rank); }

  Side own;
  Shares all;
  int root;
  MPI_Comm comm;
  int rank = MPI_UNDEFINED;
  bool known = false;
  std::shared_ptr<Staged> alone = nullptr;         ///< null: it stays where it is
  std::shared_ptr<StagedShares> shares = nullptr;  ///< at the root
  std::vector<int> left = {};                      ///< what MPI has to move of these, as unserved
  std::size_t bytes = 0;                           ///< of this rank's own that are served
  int unserved = 0;                                ///< elements of it that are not
};

Plan gather_v(Rooted call) {
  Plan plan = decide_by_message(kGatherv, call.comm, call.refused());
  if (!plan.served()) return plan;
  call.stage(plan.peer->size);
  plan.pack = [call] { return call.bytes != 0 ? call.alone->pack() : MPI_SUCCESS; };
  plan.start = [call, on = plan.peer->comm](mtRequest_t* request) {
    StagedShares* const to = call.shares.get();
    return mtIGatherv(call.data(), call.bytes, to == nullptr ? nullptr : to->data(),
                      to == nullptr ? nullptr : to->bytes().data(),
                      to == nullptr ? nullptr : to->begins().data(), mtUint8, call.root, on,
                      nullptr, request);
  };
  if (leaves_a_rest()) {
    plan.rest = [call] {
      return PMPI_Gatherv(call.own.buffer, call.unserved, call.own.type, call.all.buffer,
                          call.left.data(), call.all.places, call.all.type, call.root, call.comm);
    };
  }
  plan.finish = [call] { return call.shares ? call.shares->unpack() : MPI_SUCCESS; };
  return plan;
}

Plan scatter_v(Rooted call) {
  Plan plan = decide_by_message(kScatterv, call.comm, call.refused());
  if (!plan.served()) return plan;
  call.stage(plan.peer->size);
  plan.pack = [call] { return call.shares ? call.shares->pack() : MPI_SUCCESS; };
  plan.start = [call, on = plan.peer->comm](mtRequest_t* request) {
    StagedShares* const from = call.shares.get();
    return mtIScatterv(from == nullptr ? nullptr : from->data(),
                       from == nullptr ? nullptr : from->bytes().data(),
                       from == nullptr ? nullptr : from->begins().data(), call.data(), call.bytes,
                       mtUint8, call.root, on, nullptr, request);
  };
  if (leaves_a_rest()) {
    plan.rest = [call] {
      return PMPI_Scatterv(call.all.buffer, call.left.data(), call.all.places, call.all.type,
                           call.own.buffer, call.unserved, call.own.type, call.root, call.comm);
    };
  }
  plan.finish = [call] { return call.bytes != 0 ? call.alone->unpack() : MPI_SUCCESS; };
  return plan;
}

}  // namespace
}  // namespace multitree::mpi

using namespace multitree::mpi;

MULTITREE_EXPORT int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type,
                                    void* recv, const int counts[], const int places[],
                                    MPI_Datatype recv_type, MPI_Comm comm) {
  const Plan plan = all_gather_v(kAllgatherv, {mutable_of(send), send_count, send_type},
                                 {recv, counts, places, recv_type}, comm);
  return plan.served()
             ? plan.run()
             : PMPI_Allgatherv(send, send_count, send_type, recv, counts, places, recv_type, comm);
}

MULTITREE_EXPORT int MPI_Iallgatherv(const void* send, int send_count, MPI_Datatype send_type,
                                     void* recv, const int counts[], const int places[],
                                     MPI_Datatype recv_type, MPI_Comm comm, MPI_Request* request) {
  const Plan plan = all_gather_v(kIallgatherv, {mutable_of(send), send_count, send_type},
                                 {recv, counts, places, recv_type}, comm);
  return plan.served() ? plan.begin(request)
                       : PMPI_Iallgatherv(send, send_count, send_type, recv, counts, places,
                                          recv_type, comm, request);
}

MULTITREE_EXPORT int MPI_Alltoallv(const void* send, const int send_counts[],
                                   const int send_places[], MPI_Datatype send_type, void* recv,
                                   const int recv_counts[], const int recv_places[],
                                   MPI_Datatype recv_type, MPI_Comm comm) {
  const Plan plan = all_to_all_v({mutable_of(send), send_counts, send_places, send_type},
                                 {recv, recv_counts, recv_places, recv_type}, comm);
  return plan.served() ? plan.run()
                       : PMPI_Alltoallv(send, send_counts, send_places, send_type, recv,
                                        recv_counts, recv_places, recv_type, comm);
}

MULTITREE_EXPORT int MPI_Gatherv(const void* send, int send_count, MPI_Datatype send_type,
                                 void* recv, const int counts[], const int places[],
                                 MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const Plan plan = gather_v(
      {{mutable_of(send), send_count, send_type}, {recv, counts, places, recv_type}, root, comm});
  return plan.served() ? plan.run()
                       : PMPI_Gatherv(send, send_count, send_type, recv, counts, places, recv_type,
                                      root, comm);
}

MULTITREE_EXPORT int MPI_Scatterv(const void* send, const int counts[], const int places[],
                                  MPI_Datatype send_type, void* recv, int recv_count,
                                  MPI_Datatype recv_type, int root, MPI_Comm comm) {
  const Plan plan = scatter_v(
      {{recv, recv_count, recv_type}, {mutable_of(send), counts, places, send_type}, root, comm});
  return plan.served() ? plan.run()
                       : PMPI_Scatterv(send, counts, places, send_type, recv, recv_count, recv_type,
                                       root, comm);
}
