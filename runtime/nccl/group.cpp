// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives between the ranks that NCCL hands over.
#include "runtime/nccl/group_internal.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>

namespace multitree::nccl {
namespace {

using Clock = std::chrono::steady_clock;

/// Ranks of NCCL compute for as long as they like; one that dies is noticed at once.
constexpr int kDeadlineMs = 86'400'000;
/// For a peer that leaves later, or never as it has given up.
constexpr std::chrono::seconds kLeaving{10};

enum NcclOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3 };

/// Bytes of an element, by ncclDataType_t; the C API has the same numbers.
constexpr std::array<std::size_t, 10> kBytes{1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

mtDataType_t type_of(int type) { return static_cast<mtDataType_t>(type); }

bool is_served(int type) { return type >= 0 && type < static_cast<int>(kBytes.size()); }

void require(mtResult_t result) {
  if (result != mtSuccess) throw Failed{result};
}

[[noreturn]] void give_up(mtComm_t comm) {
  const std::string words = mtGetLastError(nullptr);
  throw std::runtime_error(words.empty() && comm != nullptr ? mtGetLastError(comm) : words);
}

/// Null where the variable is not set, as in mtConfig_t.
const char* text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

mtConfig_t configuration() {
  mtConfig_t config = MT_CONFIG_INITIALIZER;
  config.blocking = 0;  // so that leaving can be given up
  config.deadlineMs = kDeadlineMs;
  config.devices = 0;
  config.transport = text("MULTITREE_NCCL_TRANSPORT");
  config.topology = text("MULTITREE_NCCL_TOPOLOGY");
  config.algorithm = text("MULTITREE_NCCL_ALGORITHM");
  config.planFile = text("MULTITREE_NCCL_PLAN");
  return config;
}

/// What the communicator has come to, once it is set up or finalized, or at the deadline.
mtResult_t outcome(mtComm_t comm, Clock::time_point deadline) {
  mtResult_t result = mtInProgress;
  while (mtCommGetAsyncError(comm, &result) == mtSuccess && result == mtInProgress) {
    if (Clock::now() > deadline) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return result;
}

}  // namespace

std::size_t element_bytes(int type) {
  return is_served(type) ? kBytes[static_cast<std::size_t>(type)] : 0;
}

bool reduces(int type, int op) { return is_served(type) && op >= kSum && op <= kMin; }

void make_handle(void* handle) {
  static_assert(sizeof(mtUniqueId) == kHandleBytes);
  mtUniqueId id;
  if (mtGetUniqueId(&id) != mtSuccess) give_up(nullptr);
  std::memcpy(handle, &id, sizeof id);
}

Group::Group(void* const* handles, int ranks, int rank) : rank_(rank), ranks_(ranks) {
  mtUniqueId id;
  std::memcpy(&id, handles[0], sizeof id);
  const mtConfig_t config = configuration();
  const mtResult_t begun = mtCommInitRankConfig(&comm_, ranks, id, rank, &config);
  if (begun != mtSuccess && begun != mtInProgress) give_up(nullptr);
  // The library has a deadline of its own for joining.
  if (outcome(comm_, Clock::time_point::max()) == mtSuccess) return;
  const std::string words = mtGetLastError(comm_);
  mtCommAbort(comm_);
  throw std::runtime_error(words);
}

Group::~Group() {
  const mtResult_t begun = mtCommFinalize(comm_);
  const bool left = (begun == mtSuccess || begun == mtInProgress) &&
                    outcome(comm_, Clock::now() + kLeaving) == mtSuccess;
  if (left) {
    mtCommDestroy(comm_);
  } else {
    mtCommAbort(comm_);
  }
}

Group::Share Group::share_of(const Window& window) const {
  const std::size_t begin = static_cast<std::size_t>(rank_) * window.bytes_per_rank;
  const std::size_t from = std::max(begin, window.offset);
  const std::size_t to = std::min(begin + window.bytes_per_rank, window.offset + window.bytes);
  return from < to ? Share{from - window.offset, to - from} : Share{};
}

bool Group::is_whole(const Window& window) const {
  return window.offset == 0 &&
         window.bytes == window.bytes_per_rank * static_cast<std::size_t>(ranks_);
}

std::unique_ptr<Work> Group::all_reduce(const void* send, void* receive, std::size_t count,
                                        int type, int op) {
  auto work = std::make_unique<Work>();
  work->bytes = count * element_bytes(type);
  require(mtIAllReduce(send, receive, count, type_of(type), static_cast<mtRedOp_t>(op), comm_,
                       nullptr, &work->request));
  return work;
}

std::unique_ptr<Work> Group::all_gather(const void* send, void* window_data, const Window& window) {
  if (is_whole(window)) {
    auto work = std::make_unique<Work>();
    work->bytes = window.bytes;
    require(mtIAllGather(send, window_data, window.bytes_per_rank, mtUint8, comm_, nullptr,
                         &work->request));
    return work;
  }
  // Ranks have shares of different sizes. The sum of what one rank has and zeros is what it has;
  // a broadcast from each of them would first make its connections, and wait in that for ranks
  // that may wait for this one.
  const Share mine = share_of(window);
  char* const all = static_cast<char*>(window_data);
  std::memset(all, 0, window.bytes);
  if (mine.bytes != 0) std::memcpy(all + mine.from, send, mine.bytes);
  return all_reduce(all, all, window.bytes, mtUint8, kSum);
}

std::unique_ptr<Work> Group::reduce_scatter(const void* window_data, void* receive,
                                            const Window& window, int type, int op) {
  const std::size_t bytes = element_bytes(type);
  if (is_whole(window)) {
    auto work = std::make_unique<Work>();
    work->bytes = window.bytes_per_rank;
    require(mtIReduceScatter(window_data, receive, window.bytes_per_rank / bytes, type_of(type),
                             static_cast<mtRedOp_t>(op), comm_, nullptr, &work->request));
    return work;
  }
  std::unique_ptr<char[]> sums(new char[window.bytes]);
  auto work = all_reduce(window_data, sums.get(), window.bytes / bytes, type, op);
  const Share mine = share_of(window);
  work->sums = std::move(sums);
  work->from = mine.from;
  work->wanted = mine.bytes;
  work->to = receive;
  work->bytes = mine.bytes;
  return work;
}

bool is_complete(Work& work) {
  int done = 0;
  require(mtRequestTest(work.request, &done));
  if (done == 0) return false;
  require(mtRequestFree(&work.request));
  if (work.wanted != 0) std::memcpy(work.to, work.sums.get() + work.from, work.wanted);
  return true;
}

}  // namespace multitree::nccl
