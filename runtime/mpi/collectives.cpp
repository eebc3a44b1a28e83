// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The interposed collectives, and the life of MPI and its communicators.
///
/// Whether a call is served is decided by what is equal at all ranks (element type, operator,
/// bytes, counts, communicator), so that all decide alike.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

int world_rank = 0;

Reason too_small(std::size_t bytes) {
  return bytes < settings().min_bytes ? "fewer than MULTITREE_MPI_MIN_BYTES" : "";
}

Reason turned_off(const char* name) {
  return settings().disabled.contains(name) ? "in MULTITREE_MPI_DISABLE" : "";
}

const char* const kNoSuchReduction = "element type or operator that multitree has not got";

/// A reduction's way to be served, or why not.
struct Decision {
  Reason reason;
  Reduction reduction;
  Peer* peer = nullptr;
};

/// `bytes_of`: what counts against the least size, from the element size. `make`: whether a
/// communicator may be made.
template <typename BytesOf>
Decision decide(const char* name, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                const BytesOf& bytes_of, bool make = true) {
  Decision decision;
  decision.reason = turned_off(name);
  if (!decision.reason.empty()) return decision;
  const auto reduction = reduction_of(type, op);
  if (!reduction) {
    decision.reason = kNoSuchReduction;
    return decision;
  }
  decision.reduction = *reduction;
  decision.reason = too_small(bytes_of(reduction->bytes));
  if (!decision.reason.empty()) return decision;
  decision.peer = make ? peer_of(comm) : known_peer_of(comm);
  decision.reason = decision.peer == nullptr ? "no blocking collective on this communicator before"
                                             : decision.peer->why_not;
  return decision;
}

int finish_call(const char* call, MPI_Comm comm, mtResult_t started, mtRequest_t request) {
  const mtResult_t result = started == mtSuccess ? finish(request) : started;
  return result == mtSuccess ? MPI_SUCCESS : raise(call, comm, mtGetLastError(nullptr));
}

/// Packs or copies: a buffer of `count` elements of any type as plain bytes.
class Bytes {
 public:
  Bytes(MPI_Datatype type, MPI_Comm comm) : type_(type), comm_(comm) {
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED, size = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &lower_, &extent_);
    size_ = static_cast<std::size_t>(size);
    plain_ = combiner == MPI_COMBINER_NAMED && lower_ == 0 && extent_ == size;
  }
  [[nodiscard]] bool plain() const { return plain_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Where element `index` of a buffer begins.
  [[nodiscard]] char* at(void* buffer, std::size_t index) const {
    return static_cast<char*>(buffer) + static_cast<MPI_Aint>(index) * extent_;
  }
  void pack(const void* from, int count, std::vector<char>& to) const {
    to.resize(size_ * static_cast<std::size_t>(count));
    int position = 0;
    PMPI_Pack(from, count, type_, to.data(), static_cast<int>(to.size()), &position, comm_);
  }
  void unpack(const char* from, int count, void* to) const {
    int position = 0;
    PMPI_Unpack(from, static_cast<int>(size_ * static_cast<std::size_t>(count)), &position, to,
                count, type_, comm_);
  }

 private:
  MPI_Datatype type_;
  MPI_Comm comm_;
  MPI_Aint lower_ = 0, extent_ = 0;
  std::size_t size_ = 0;
  bool plain_ = false;
};

int serve_all_gather(const void* send, int send_count, MPI_Datatype send_type, void* recv,
                     int recv_count, MPI_Datatype recv_type, MPI_Comm comm, const Peer& peer) {
  const Bytes in(send == MPI_IN_PLACE ? recv_type : send_type, comm), out(recv_type, comm);
  const std::size_t each = out.size() * static_cast<std::size_t>(recv_count);
  const auto rank = static_cast<std::size_t>(peer.rank);
  std::vector<char> packed_in, packed_out;
  void* to = recv;
  if (!out.plain()) {
    packed_out.resize(each * static_cast<std::size_t>(peer.size));
    to = packed_out.data();
  }
  const void* from = send;
  if (send == MPI_IN_PLACE) {
    char* const own = out.at(recv, rank * static_cast<std::size_t>(recv_count));
    from = own;
    if (!out.plain()) out.pack(own, recv_count, packed_in);
  } else if (!in.plain()) {
    in.pack(send, send_count, packed_in);
  }
  if (!packed_in.empty()) from = packed_in.data();
  mtRequest_t request = nullptr;
  const mtResult_t started = mtIAllGather(from, to, each, mtUint8, peer.comm, nullptr, &request);
  const int code = finish_call("MPI_Allgather", comm, started, request);
  if (code != MPI_SUCCESS || out.plain()) return code;
  for (int r = 0; r < peer.size; ++r) {
    const auto index = static_cast<std::size_t>(r);
    out.unpack(packed_out.data() + index * each, recv_count,
               out.at(recv, index * static_cast<std::size_t>(recv_count)));
  }
  return code;
}

int serve_reduce_scatter(const char* call, const void* send, void* recv, int count,
                         const Decision& decision, MPI_Comm comm) {
  // In place, MPI wants the result at the front, where other ranks' input still is.
  std::vector<char> shard;
  void* to = recv;
  const std::size_t bytes = static_cast<std::size_t>(count) * decision.reduction.bytes;
  if (send == MPI_IN_PLACE) {
    shard.resize(bytes);
    to = shard.data();
    send = recv;
  }
  mtRequest_t request = nullptr;
  const mtResult_t started =
      mtIReduceScatter(send, to, static_cast<std::size_t>(count), decision.reduction.type,
                       decision.reduction.op, decision.peer->comm, nullptr, &request);
  const int code = finish_call(call, comm, started, request);
  if (code == MPI_SUCCESS && !shard.empty()) std::memcpy(recv, shard.data(), bytes);
  return code;
}

void begin() {
  PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  // So that non-blocking calls, which must not wait for others, find it.
  if (settings().at_init) static_cast<void>(peer_of(MPI_COMM_WORLD));
}

}  // namespace

int raise(const char* call, MPI_Comm comm, const char* words) {
  std::fprintf(stderr, "multitree: %s: %s\n", call, words);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

}  // namespace multitree::mpi

using namespace multitree::mpi;

#define MULTITREE_EXPORT extern "C" __attribute__((visibility("default")))

MULTITREE_EXPORT int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) begin();
  return code;
}

MULTITREE_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin();
  return code;
}

MULTITREE_EXPORT int MPI_Finalize(void) {
  finish_pending();
  end_all_peers();
  print_log(world_rank);
  return PMPI_Finalize();
}

MULTITREE_EXPORT int MPI_Comm_free(MPI_Comm* comm) {
  if (comm != nullptr) end_peer(*comm);
  return PMPI_Comm_free(comm);
}

MULTITREE_EXPORT int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (comm != nullptr) end_peer(*comm);
  return PMPI_Comm_disconnect(comm);
}

MULTITREE_EXPORT int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type,
                                   MPI_Op op, MPI_Comm comm) {
  const auto elements = static_cast<std::size_t>(std::max(count, 0));
  const Decision decision =
      decide("allreduce", type, op, comm, [&](std::size_t bytes) { return elements * bytes; });
  multitree::mpi::count("MPI_Allreduce", decision.reason);
  if (!decision.reason.empty()) return PMPI_Allreduce(send, recv, count, type, op, comm);
  mtRequest_t request = nullptr;
  const mtResult_t started =
      mtIAllReduce(send == MPI_IN_PLACE ? recv : send, recv, elements, decision.reduction.type,
                   decision.reduction.op, decision.peer->comm, nullptr, &request);
  return finish_call("MPI_Allreduce", comm, started, request);
}

MULTITREE_EXPORT int MPI_Iallreduce(const void* send, void* recv, int count, MPI_Datatype type,
                                    MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  const auto elements = static_cast<std::size_t>(std::max(count, 0));
  // Making a communicator waits for other ranks, which a non-blocking call must not.
  const Decision decision = decide(
      "iallreduce", type, op, comm, [&](std::size_t bytes) { return elements * bytes; }, false);
  multitree::mpi::count("MPI_Iallreduce", decision.reason);
  if (!decision.reason.empty()) return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
  mtRequest_t started = nullptr;
  const mtResult_t result =
      mtIAllReduce(send == MPI_IN_PLACE ? recv : send, recv, elements, decision.reduction.type,
                   decision.reduction.op, decision.peer->comm, nullptr, &started);
  if (result != mtSuccess) return raise("MPI_Iallreduce", comm, mtGetLastError(nullptr));
  return make_request("MPI_Iallreduce", comm, started, request);
}

MULTITREE_EXPORT int MPI_Reduce_scatter_block(const void* send, void* recv, int count,
                                              MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Decision decision = decide("reduce_scatter", type, op, comm, [&](std::size_t bytes) {
    return static_cast<std::size_t>(std::max(count, 0)) * bytes;
  });
  multitree::mpi::count("MPI_Reduce_scatter_block", decision.reason);
  if (!decision.reason.empty()) return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
  return serve_reduce_scatter("MPI_Reduce_scatter_block", send, recv, count, decision, comm);
}

MULTITREE_EXPORT int MPI_Reduce_scatter(const void* send, void* recv, const int counts[],
                                        MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int inter = 0, size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_size(comm, &size);
  const bool equal = inter == 0 && std::all_of(counts, counts + size, [&](int one) {
                       return one == counts[0] && one >= 0;
                     });
  Decision decision;
  if (!equal) {
    decision.reason = inter != 0 ? "intercommunicator" : "counts differ between ranks";
  } else {
    decision = decide("reduce_scatter", type, op, comm, [&](std::size_t bytes) {
      return static_cast<std::size_t>(counts[0]) * bytes;
    });
  }
  multitree::mpi::count("MPI_Reduce_scatter", decision.reason);
  if (!decision.reason.empty()) return PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
  return serve_reduce_scatter("MPI_Reduce_scatter", send, recv, counts[0], decision, comm);
}

MULTITREE_EXPORT int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type,
                                   void* recv, int recv_count, MPI_Datatype recv_type,
                                   MPI_Comm comm) {
  int element = 0;
  PMPI_Type_size(recv_type, &element);
  // Types may differ between ranks where their bytes do not.
  const std::size_t bytes = static_cast<std::size_t>(std::max(recv_count, 0)) *
                            static_cast<std::size_t>(std::max(element, 0));
  const Peer* peer = nullptr;
  Reason reason = turned_off("allgather");
  if (reason.empty()) reason = too_small(bytes);
  if (reason.empty() && bytes > INT_MAX) reason = "2 GiB or more from each rank";
  if (reason.empty()) {
    peer = peer_of(comm);
    reason = peer->why_not;
  }
  multitree::mpi::count("MPI_Allgather", reason);
  if (!reason.empty()) {
    return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  }
  return serve_all_gather(send, send_count, send_type, recv, recv_count, recv_type, comm, *peer);
}
