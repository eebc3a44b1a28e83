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
#include <initializer_list>
#include <vector>

#include "runtime/mpi/bytes_internal.hpp"
#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

Reason too_small(std::size_t bytes) {
  return bytes < settings().min_bytes ? "fewer than MULTITREE_MPI_MIN_BYTES" : "";
}

Reason turned_off(const char* name) {
  return settings().disabled.contains(name) ? "in MULTITREE_MPI_DISABLE" : "";
}

const char* const kNoSuchReduction = "element type or operator that multitree has not got";

/// What MPI refuses is MPI's to refuse, by the communicator's error handler.
Reason wrong(MPI_Comm comm, MPI_Datatype type, int count) {
  const bool known = comm != MPI_COMM_NULL && type != MPI_DATATYPE_NULL && count >= 0;
  return known ? "" : "an argument that MPI refuses";
}

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

/// A reduction's way to be served, or why not.
struct Decision {
  Reason reason;
  Reduction reduction;
  Peer* peer = nullptr;
};

/// The first of `reasons` that is one.
Reason first_of(std::initializer_list<Reason> reasons) {
  const auto* const found =
      std::ranges::find_if(reasons, [](const Reason& reason) { return !reason.empty(); });
  return found == reasons.end() ? "" : *found;
}

/// `name` as in MULTITREE_MPI_DISABLE. `make`: whether a communicator may be made.
Decision decide(const char* name, const Reducing& call, bool make = true) {
  Decision decision;
  decision.reason = first_of({turned_off(name), wrong(call.comm, call.type, call.count)});
  if (!decision.reason.empty()) return decision;
  const auto reduction = reduction_of(call.type, call.op);
  if (!reduction) {
    decision.reason = "element type or operator that multitree has not got";
    return decision;
  }
  decision.reduction = *reduction;
  decision.reason = too_small(call.elements() * reduction->bytes);
  if (!decision.reason.empty()) return decision;
  decision.peer = make ? peer_of(call.comm) : known_peer_of(call.comm);
  decision.reason = decision.peer == nullptr ? "no blocking collective on this communicator before"
                                             : decision.peer->why_not;
  return decision;
}

/// Counts a call, and sees to it that MPI_Finalize prints what was counted.
void note(const char* call, const Reason& reason) {
  watch_end();
  count(call, reason);
}

/// Raises what multitree said last, on this thread.
int raise_last(const char* call, MPI_Comm comm, mtResult_t result) {
  return raise(call, comm, mtGetLastError(nullptr),
               result == mtInvalidArgument ? MPI_ERR_BUFFER : MPI_ERR_OTHER);
}

int finish_call(const char* call, MPI_Comm comm, mtResult_t started, mtRequest_t request) {
  const mtResult_t result = started == mtSuccess ? finish(request) : started;
  return result == mtSuccess ? MPI_SUCCESS : raise_last(call, comm, result);
}

/// The arguments of MPI_Allgather.
struct Gathering {
  const void* send;
  int send_count;
  MPI_Datatype send_type;
  void* recv;
  int recv_count;
  MPI_Datatype recv_type;
  MPI_Comm comm;
  [[nodiscard]] bool in_place() const { return send == MPI_IN_PLACE; }
};

/// Why not to serve it, but for what the communicator says. Types may differ between ranks where
/// their bytes do not.
Reason refusal(const Gathering& call) {
  Reason reason =
      first_of({turned_off("allgather"), wrong(call.comm, call.recv_type, call.recv_count),
                call.in_place() ? "" : wrong(call.comm, call.send_type, call.send_count)});
  if (!reason.empty()) return reason;
  int element = 0;
  PMPI_Type_size(call.recv_type, &element);
  const std::int64_t bytes = std::int64_t{call.recv_count} * element;
  if (element < 0 || bytes > INT_MAX) return "2 GiB or more from each rank";
  return too_small(static_cast<std::size_t>(bytes));
}

int serve_all_gather(const Gathering& call, const Peer& peer) {
  const Bytes out(call.recv_type, call.comm);
  const Bytes in(call.in_place() ? call.recv_type : call.send_type, call.comm);
  const auto count = static_cast<std::size_t>(call.recv_count);
  const std::size_t each = out.size() * count;
  // What this rank sends, as bytes.
  const int own_count = call.in_place() ? call.recv_count : call.send_count;
  if (in.size() * static_cast<std::size_t>(own_count) != each) {
    return raise("MPI_Allgather", call.comm,
                 "a rank sends another number of bytes than it receives", MPI_ERR_COUNT);
  }
  const void* from = call.send;
  if (call.in_place()) from = out.at(call.recv, static_cast<std::size_t>(peer.rank) * count);
  std::vector<char> packed_in, packed_out;
  if (!in.plain()) {
    const int code = in.pack(from, own_count, packed_in);
    if (code != MPI_SUCCESS) return code;
    from = packed_in.data();
  }
  if (!out.plain()) packed_out.resize(each * static_cast<std::size_t>(peer.size));
  void* const to = out.plain() ? call.recv : packed_out.data();
  mtRequest_t request = nullptr;
  const mtResult_t started = mtIAllGather(from, to, each, mtUint8, peer.comm, nullptr, &request);
  int code = finish_call("MPI_Allgather", call.comm, started, request);
  if (out.plain()) return code;
  for (std::size_t r = 0; code == MPI_SUCCESS && r < static_cast<std::size_t>(peer.size); ++r) {
    code = out.unpack(packed_out.data() + r * each, call.recv_count, out.at(call.recv, r * count));
  }
  return code;
}

mtResult_t start_all_reduce(const Reducing& call, const Decision& decision, mtRequest_t& request) {
  return mtIAllReduce(call.input(), call.recv, call.elements(), decision.reduction.type,
                      decision.reduction.op, decision.peer->comm, nullptr, &request);
}

int serve_reduce_scatter(const char* call, const Reducing& with, const Decision& decision) {
  // In place, MPI wants the result at the front, where other ranks' input still is.
  std::vector<char> shard;
  void* to = with.recv;
  const std::size_t bytes = with.elements() * decision.reduction.bytes;
  if (with.send == MPI_IN_PLACE) {
    shard.resize(bytes);
    to = shard.data();
  }
  mtRequest_t request = nullptr;
  const mtResult_t started =
      mtIReduceScatter(with.input(), to, with.elements(), decision.reduction.type,
                       decision.reduction.op, decision.peer->comm, nullptr, &request);
  const int code = finish_call(call, with.comm, started, request);
  if (code == MPI_SUCCESS && !shard.empty()) std::memcpy(with.recv, shard.data(), bytes);
  return code;
}

/// All ranks' counts, if they are the same.
Reason wrong_counts(const int counts[], MPI_Comm comm) {
  if (comm == MPI_COMM_NULL || counts == nullptr) return "an argument that MPI refuses";
  int inter = 0, size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_size(comm, &size);
  if (inter != 0) return "intercommunicator";
  const bool equal = std::all_of(counts, counts + size, [&](int one) { return one == counts[0]; });
  return equal ? "" : "counts differ between ranks";
}

void begin() {
  watch_end();
  // So that non-blocking calls, which must not wait for others, find it.
  if (settings().at_init) static_cast<void>(peer_of(MPI_COMM_WORLD));
}

}  // namespace

int raise(const char* call, MPI_Comm comm, const char* words, int code) {
  std::fprintf(stderr, "multitree: %s: %s\n", call, words);
  PMPI_Comm_call_errhandler(comm, code);
  return code;
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

MULTITREE_EXPORT int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type,
                                   MPI_Op op, MPI_Comm comm) {
  const Reducing call{send, recv, count, type, op, comm};
  const Decision decision = decide("allreduce", call);
  note("MPI_Allreduce", decision.reason);
  if (!decision.reason.empty()) return PMPI_Allreduce(send, recv, count, type, op, comm);
  mtRequest_t request = nullptr;
  const mtResult_t started = start_all_reduce(call, decision, request);
  return finish_call("MPI_Allreduce", comm, started, request);
}

MULTITREE_EXPORT int MPI_Iallreduce(const void* send, void* recv, int count, MPI_Datatype type,
                                    MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  const Reducing call{send, recv, count, type, op, comm};
  // Making a communicator waits for other ranks, which a non-blocking call must not.
  const Decision decision = decide("iallreduce", call, false);
  note("MPI_Iallreduce", decision.reason);
  if (!decision.reason.empty()) return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
  mtRequest_t started = nullptr;
  const mtResult_t result = start_all_reduce(call, decision, started);
  if (result != mtSuccess) return raise_last("MPI_Iallreduce", comm, result);
  return make_request("MPI_Iallreduce", comm, started, request);
}

MULTITREE_EXPORT int MPI_Reduce_scatter_block(const void* send, void* recv, int count,
                                              MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const Reducing call{send, recv, count, type, op, comm};
  const Decision decision = decide("reduce_scatter", call);
  note("MPI_Reduce_scatter_block", decision.reason);
  if (!decision.reason.empty()) return PMPI_Reduce_scatter_block(send, recv, count, type, op, comm);
  return serve_reduce_scatter("MPI_Reduce_scatter_block", call, decision);
}

MULTITREE_EXPORT int MPI_Reduce_scatter(const void* send, void* recv, const int counts[],
                                        MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Reducing call{send, recv, 0, type, op, comm};
  Decision decision{.reason = wrong_counts(counts, comm), .reduction = {}};
  if (decision.reason.empty()) {
    call.count = counts[0];
    decision = decide("reduce_scatter", call);
  }
  note("MPI_Reduce_scatter", decision.reason);
  if (!decision.reason.empty()) return PMPI_Reduce_scatter(send, recv, counts, type, op, comm);
  return serve_reduce_scatter("MPI_Reduce_scatter", call, decision);
}

MULTITREE_EXPORT int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type,
                                   void* recv, int recv_count, MPI_Datatype recv_type,
                                   MPI_Comm comm) {
  const Gathering call{send, send_count, send_type, recv, recv_count, recv_type, comm};
  Peer* peer = nullptr;
  Reason reason = refusal(call);
  if (reason.empty()) {
    peer = peer_of(comm);
    reason = peer->why_not;
  }
  note("MPI_Allgather", reason);
  if (!reason.empty()) {
    return PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
  }
  return serve_all_gather(call, *peer);
}
