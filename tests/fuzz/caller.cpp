// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls of the C API, one after the other.
#include "caller.hpp"

#include <cstdint>

namespace multitree::fuzz {
namespace {

/// No counts of anything: their bytes are more than an address can have.
constexpr std::size_t kTooMany[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 + 1};
constexpr int kDeadline = 20;
/// Within each other: more than bytes can begin.
constexpr int kMostGroups = 1000;

void operate(const void* /*in*/, void* /*inout*/, std::size_t /*count*/, mtDataType_t /*type*/,
             void* /*state*/) {}

}  // namespace

const std::vector<Caller::Call> Caller::kCalls = {
    &Caller::all_reduce,  &Caller::reduce_scatter, &Caller::all_gather, &Caller::rooted,
    &Caller::started,     &Caller::persistent,     &Caller::messages,   &Caller::all_to_all,
    &Caller::with_counts, &Caller::requests,       &Caller::groups,     &Caller::operators,
    &Caller::memory,      &Caller::parts,          &Caller::looks,      &Caller::ends};

void Caller::play(const mtUniqueId& id) {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.transport = "loopback";
  config.algorithm = bytes_.below(2) == 0 ? "auto" : "ring";
  config.progress = "off";
  config.deadlineMs = kDeadline;
  config.devices = 0;
  if (mtCommInitRankConfig(&comm_, ranks_, id, rank_, &config) != mtSuccess) return;
  made_.push_back(comm_);
  while (!bytes_.empty()) {
    deviates_ = static_cast<int>(bytes_.below(8)) == rank_ + 4;
    const Call call = kCalls[bytes_.below(kCalls.size())];
    // In braces, which say the order.
    const Arguments arguments{.kind = bytes_.byte(),
                              .comm = comm(),
                              .send = buffer(),
                              .recv = buffer(),
                              .count = count(),
                              .type = type(),
                              .op = op(),
                              .peer = peer(),
                              .counts = counts(),
                              .request = &requests_[bytes_.below(kRequests)],
                              .wrong = bytes_.below(16) == 15};
    const mtResult_t result = (this->*call)(arguments);
    expect(result != mtInternalError, mtGetLastError(nullptr));
  }
  for (int open = 0; open < kMostGroups && mtGroupEnd() != mtInvalidUsage; ++open) {
  }
  for (mtRequest_t& one : requests_) mtRequestFree(&one);
  for (const Given& given : given_) {
    if (mtMemFree(given.what, given.by) != mtSuccess) mtCommDeregister(given.by, given.what);
  }
  for (auto one = made_.rbegin(); one != made_.rend(); ++one) {
    if (*one != nullptr) mtCommDestroy(*one);
  }
}

/// Of those that are here, one that was given back, or none.
mtComm_t Caller::comm() {
  const std::size_t which = bytes_.below(16);
  if (which == 15) return nullptr;
  if (which == 14) return reinterpret_cast<mtComm_t>(std::uintptr_t{12345});
  return which < 8 ? comm_ : made_[which % made_.size()];
}

char* Caller::buffer() {
  const std::size_t which = bytes_.below(8);
  return which == 7 ? nullptr : buffers_[which % buffers_.size()].data();
}

std::size_t Caller::count() {
  const std::size_t value = bytes_.byte();
  if (value >= 256 - std::size(kTooMany)) return kTooMany[255 - value];
  return (value + (deviates_ ? 1 : 0)) % (kMostCount + 1);
}

/// Together no more than a buffer has room for.
const std::size_t* Caller::counts() {
  for (std::size_t& one : counts_) one = bytes_.below(kMostCount / kMostRanks);
  if (deviates_) counts_[0] = 0;
  return bytes_.below(8) == 7 ? nullptr : counts_.data();
}

mtRedOp_t Caller::op() {
  const std::size_t which = bytes_.byte();
  if (which < 64) return static_cast<mtRedOp_t>(which);
  return which == 255 ? mtMaxRedOp : ops_[which % ops_.size()];
}

/// For a call that makes one: not in use, as its caller is to know.
mtRequest_t* Caller::made_by(const Arguments& a) {
  if (*a.request != nullptr) mtRequestFree(a.request);
  return a.wrong ? nullptr : a.request;
}

mtResult_t Caller::all_reduce(const Arguments& a) {
  return mtAllReduce(a.send, a.recv, a.count, a.type, a.op, a.comm, nullptr);
}

mtResult_t Caller::reduce_scatter(const Arguments& a) {
  return mtReduceScatter(a.send, a.recv, a.count, a.type, a.op, a.comm, nullptr);
}

mtResult_t Caller::all_gather(const Arguments& a) {
  return mtAllGather(a.send, a.recv, a.count, a.type, a.comm, nullptr);
}

mtResult_t Caller::rooted(const Arguments& a) {
  switch (a.kind % 4) {
    case 0:
      return mtBroadcast(a.send, a.recv, a.count, a.type, a.peer, a.comm, nullptr);
    case 1:
      return mtReduce(a.send, a.recv, a.count, a.type, a.op, a.peer, a.comm, nullptr);
    case 2:
      return mtGather(a.send, a.recv, a.count, a.type, a.peer, a.comm, nullptr);
    default:
      return mtScatter(a.send, a.recv, a.count, a.type, a.peer, a.comm, nullptr);
  }
}

mtResult_t Caller::started(const Arguments& a) {
  mtRequest_t* const request = made_by(a);
  switch (a.kind % 3) {
    case 0:
      return mtIAllReduce(a.send, a.recv, a.count, a.type, a.op, a.comm, nullptr, request);
    case 1:
      return mtIAllGather(a.send, a.recv, a.count, a.type, a.comm, nullptr, request);
    default:
      return mtIBroadcast(a.send, a.recv, a.count, a.type, a.peer, a.comm, nullptr, request);
  }
}

mtResult_t Caller::persistent(const Arguments& a) {
  if (a.kind % 2 == 0) return mtStart(*a.request);
  return mtAllReduceInit(a.send, a.recv, a.count, a.type, a.op, a.comm, nullptr, made_by(a));
}

mtResult_t Caller::messages(const Arguments& a) {
  switch (a.kind % 4) {
    case 0:
      return mtSend(a.send, a.count, a.type, a.peer, a.comm, nullptr);
    case 1:
      return mtRecv(a.recv, a.count, a.type, a.peer, a.comm, nullptr);
    case 2:
      return mtISend(a.send, a.count, a.type, a.peer, a.comm, nullptr, made_by(a));
    default:
      return mtIRecv(a.recv, a.count, a.type, a.peer, a.comm, nullptr, made_by(a));
  }
}

/// Displacements and counts are of the same size, so that one array will do.
mtResult_t Caller::all_to_all(const Arguments& a) {
  const std::size_t* const n = a.counts;
  if (a.kind % 2 == 0) return mtAllToAll(a.send, a.recv, a.count, a.type, a.comm, nullptr);
  return mtAllToAllv(a.send, n, n, a.recv, n, n, a.type, a.comm, nullptr);
}

mtResult_t Caller::with_counts(const Arguments& a) {
  const std::size_t* const n = a.counts;
  const std::size_t own = deviates_ ? 0 : counts_[static_cast<std::size_t>(rank_)];
  switch (a.kind % 4) {
    case 0:
      return mtAllGatherv(a.send, own, a.recv, n, n, a.type, a.comm, nullptr);
    case 1:
      return mtReduceScatterv(a.send, a.recv, n, a.type, a.op, a.comm, nullptr);
    case 2:
      return mtGatherv(a.send, own, a.recv, n, n, a.type, a.peer, a.comm, nullptr);
    default:
      return mtScatterv(a.send, n, n, a.recv, own, a.type, a.peer, a.comm, nullptr);
  }
}

mtResult_t Caller::requests(const Arguments& a) {
  int done = 0;
  switch (a.kind % 4) {
    case 0:
      return mtRequestTest(*a.request, a.wrong ? nullptr : &done);
    case 1:
      return mtRequestWait(*a.request);
    case 2:
      return mtCommSleep(a.comm, a.peer);
    default:
      return mtRequestFree(a.wrong ? nullptr : a.request);
  }
}

mtResult_t Caller::groups(const Arguments& a) {
  return a.kind % 2 == 0 ? mtGroupStart() : mtGroupEnd();
}

mtResult_t Caller::operators(const Arguments& a) {
  mtRedOp_t* const made = a.wrong ? nullptr : &ops_[a.count % ops_.size()];
  switch (a.kind % 5) {
    case 0:
      return mtRedOpCreate(made, a.peer == 0 ? nullptr : operate, nullptr, a.peer, a.comm);
    case 1:
      return mtRedOpCreatePreMulSum(made, a.send, a.type,
                                    static_cast<mtScalarResidence_t>(a.count % 2), a.comm);
    case 2:
      return mtRedOpCreateOnWire(made, a.op, a.type, a.comm);
    case 3:
      return mtRedOpCreateExact(made, a.op, static_cast<mtExact_t>(a.count % 2), a.comm);
    default:
      return mtRedOpDestroy(a.op, a.comm);
  }
}

/// In a group what is given comes with its end, so that places for it have to stay.
mtResult_t Caller::memory(const Arguments& a) {
  if (given_.empty() || a.kind % 2 == 0) given_.push_back({nullptr, a.comm});
  Given& given = a.kind % 2 == 0 ? given_.back() : given_[a.count % given_.size()];
  void** const to = a.wrong ? nullptr : &given.what;
  switch (a.kind % 4) {
    case 0:
      return mtMemAlloc(to, a.count, a.comm);
    case 1:
      return mtMemFree(std::exchange(given.what, nullptr), given.by);
    case 2:
      return mtCommRegister(a.comm, a.send, a.count % kBufferBytes, to);
    default:
      return mtCommDeregister(given.by, std::exchange(given.what, nullptr));
  }
}

mtResult_t Caller::parts(const Arguments& a) {
  mtComm_t* const to = a.wrong ? nullptr : &made_.emplace_back(nullptr);
  const int other = static_cast<int>(a.count % kMostRanks);
  const std::array<int, 2> members = {a.peer, other};
  switch (a.kind % 3) {
    case 0:
      return mtCommSplit(a.comm, a.peer, other, to, nullptr);
    case 1:
      return mtCommCreateGroup(a.comm, members.data(), a.peer % 3, other, to, nullptr);
    default:
      return mtCommShrink(a.comm, members.data(), a.peer % 3, to, nullptr, other);
  }
}

mtResult_t Caller::looks(const Arguments& a) {
  mtFailure_t failure = MT_FAILURE_INITIALIZER;
  mtResult_t state = mtSuccess;
  int number = 0;
  std::array<int, 4> ends{};
  static_cast<void>(mtGetErrorString(static_cast<mtResult_t>(a.kind % 16)));
  static_cast<void>(mtGetLastError(a.comm));
  mtCommGetAsyncError(a.comm, a.wrong ? nullptr : &state);
  mtCommGetFailure(a.comm, a.wrong ? nullptr : &failure);
  mtCommCount(a.comm, a.wrong ? nullptr : &number);
  mtCommUserRank(a.comm, a.wrong ? nullptr : &number);
  return mtCommGetDeadLinks(a.comm, ends.data(), a.peer % 3, a.wrong ? nullptr : &number);
}

/// Some go on with what has ended.
mtResult_t Caller::ends(const Arguments& a) {
  switch (a.kind % 4) {
    case 0:
      return mtCommFinalize(a.comm);
    case 1:
      return mtCommAbort(a.comm);
    case 2:
      return mtCommDestroy(a.comm);
    default:
      return mtBarrier(a.comm);
  }
}

}  // namespace multitree::fuzz
