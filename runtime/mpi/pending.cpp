// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives of multitree that MPI's requests stand for, until they are complete; and MPI's own
/// progress while one is waited for.
///
/// While the program is elsewhere (in MPI_Recv, or computing) the progress thread of multitree
/// moves them on, which calls nothing of MPI. What MPI has to do or to know of is done on a thread
/// that calls it: when it tests or waits.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

class PendingList {
 public:
  static PendingList& instance() {
    static PendingList list;
    return list;
  }

  void add(Pending* pending) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(pending);
    size_ = all_.size();
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Moves all on; hands out those that are done.
  std::vector<Pending*> take_done() {
    const std::scoped_lock lock(mutex_);
    std::vector<Pending*> done;
    std::erase_if(all_, [&](Pending* pending) {
      pending->test();
      if (pending->done()) done.push_back(pending);
      return pending->done();
    });
    size_ = all_.size();
    return done;
  }

 private:
  std::mutex mutex_;
  std::vector<Pending*> all_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace

void Pending::test() {
  int done = 0;
  const mtResult_t result = mtRequestTest(started_, &done);
  if (result != mtSuccess) failure_ = mtGetLastError(nullptr);
  done_ = done != 0 || result != mtSuccess;
}

void Pending::complete() {
  if (failure_.empty() && finish_ && finish_() != MPI_SUCCESS) failure_ = "unpacking failed";
  tell_mpi();
}

int Pending::outcome() const {
  return failure_.empty() ? MPI_SUCCESS : raise(call_, comm_, failure_.c_str());
}

void Pending::reset() {
  done_ = false;
  failure_.clear();
}

void add_pending(Pending* pending) { PendingList::instance().add(pending); }

bool any_pending() { return !PendingList::instance().empty(); }

void advance_pending() {
  for (Pending* const pending : PendingList::instance().take_done()) pending->complete();
}

void finish_pending() {
  MpiProgress mpi;
  while (any_pending()) {
    advance_pending();
    mpi.advance();
  }
}

mtResult_t finish(mtRequest_t request) {
  // By time and not by turns: turns of a long wait sleep, and a peer may need MPI's next piece to
  // get to this collective at all.
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kOwnTime{5};
  mtResult_t result = mtSuccess;
  int done = 0;
  MpiProgress mpi;
  Clock::time_point next = Clock::now() + kOwnTime;
  while (true) {
    result = mtRequestTest(request, &done);
    if (done != 0 || result != mtSuccess) break;
    if (Clock::now() < next) continue;
    mpi.advance();
    next = Clock::now() + kOwnTime;
  }
  mtRequestFree(&request);
  return result;
}

}  // namespace multitree::mpi
