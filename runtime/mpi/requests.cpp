// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Non-blocking collectives as generalized requests of MPI.
///
/// The request is a true one of MPI, so every function that takes requests takes it. Somebody has
/// to complete it by PMPI_Grequest_complete(): the functions that test and wait do so, on the
/// thread that called them, which needs no thread level. They wait by testing in turns, ours and
/// MPI's. While the program is elsewhere (in MPI_Recv, or computing), a thread moves ours on; it
/// calls nothing of MPI. It sleeps while there is nothing to move.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/mpi/interpose_internal.hpp"

namespace multitree::mpi {
namespace {

constexpr std::chrono::microseconds kPeriod{100};

struct Pending {
  const char* call = "";
  MPI_Comm comm = MPI_COMM_NULL;
  mtRequest_t started = nullptr;
  MPI_Request request = MPI_REQUEST_NULL;
  std::function<int()> finish = {};  ///< for the thread that completes it
  bool done = false;
  std::string failure = {};  ///< its words; empty: none
};

class PendingList {
 public:
  static PendingList& instance() {
    static PendingList list;
    return list;
  }

  ~PendingList() { stop(); }

  void add(Pending* pending) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(pending);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    wake_.notify_one();
    size_ = all_.size();
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Moves all on; hands out those that are done.
  std::vector<Pending*> take_done() {
    const std::scoped_lock lock(mutex_);
    move_on();
    std::vector<Pending*> done;
    std::erase_if(all_, [&](Pending* pending) {
      if (pending->done) done.push_back(pending);
      return pending->done;
    });
    size_ = all_.size();
    return done;
  }

  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
      wake_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  /// \pre locked
  void move_on() {
    for (Pending* const pending : all_) {
      if (pending->done) continue;
      int done = 0;
      const mtResult_t result = mtRequestTest(pending->started, &done);
      if (result != mtSuccess) pending->failure = mtGetLastError(nullptr);
      pending->done = done != 0 || result != mtSuccess;
    }
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const bool work =
          std::any_of(all_.begin(), all_.end(), [](const Pending* p) { return !p->done; });
      if (!work) {
        wake_.wait(lock);
        continue;
      }
      move_on();
      // Unlocked: whoever waits for a request moves it on without us, and faster.
      lock.unlock();
      std::this_thread::sleep_for(kPeriod);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Pending*> all_;
  std::atomic<std::size_t> size_{0};
  bool stopping_ = false;
  std::thread thread_;
};

int on_query_nothing(void*, MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int on_free_nothing(void*) { return MPI_SUCCESS; }

/// What MPI_Wait() and its relatives say of a request that is complete.
int on_query(void* state, MPI_Status* status) {
  auto* const pending = static_cast<Pending*>(state);
  on_query_nothing(nullptr, status);
  if (pending->failure.empty()) return MPI_SUCCESS;
  return raise(pending->call, pending->comm, pending->failure.c_str());
}

int on_free(void* state) {
  delete static_cast<Pending*>(state);
  return MPI_SUCCESS;
}

int on_cancel(void*, int) { return MPI_SUCCESS; }  // collectives cannot be cancelled

}  // namespace

int make_request(const char* call, MPI_Comm comm, mtRequest_t started, std::function<int()> finish,
                 MPI_Request* request) {
  auto* const pending =
      new Pending{.call = call, .comm = comm, .started = started, .finish = std::move(finish)};
  const int code = PMPI_Grequest_start(&on_query, &on_free, &on_cancel, pending, &pending->request);
  if (code != MPI_SUCCESS) {
    multitree::mpi::finish(started);
    delete pending;
    return code;
  }
  *request = pending->request;
  PendingList::instance().add(pending);
  return MPI_SUCCESS;
}

bool any_pending() { return !PendingList::instance().empty(); }

void advance_pending() {
  for (Pending* const pending : PendingList::instance().take_done()) {
    mtRequestFree(&pending->started);
    const bool finishes = pending->failure.empty() && pending->finish;
    if (finishes && pending->finish() != MPI_SUCCESS) pending->failure = "unpacking failed";
    // The object may be gone as soon as MPI knows.
    PMPI_Grequest_complete(pending->request);
  }
}

void MpiProgress::advance() {
  int done = 0;
  if (never_ == MPI_REQUEST_NULL) {
    PMPI_Grequest_start(&on_query_nothing, &on_free_nothing, &on_cancel, nullptr, &never_);
  }
  PMPI_Test(&never_, &done, MPI_STATUS_IGNORE);
}

MpiProgress::~MpiProgress() {
  if (never_ == MPI_REQUEST_NULL) return;
  PMPI_Grequest_complete(never_);
  PMPI_Wait(&never_, MPI_STATUS_IGNORE);
}

void finish_pending() {
  MpiProgress mpi;
  while (any_pending()) {
    advance_pending();
    mpi.advance();
  }
  PendingList::instance().stop();
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

using namespace multitree::mpi;

namespace {

/// Moves on what is pending until `test` says that it is over; its code.
template <typename Test>
int until(const Test& test) {
  while (true) {
    advance_pending();
    bool over = false;
    const int code = test(over);
    if (over || code != MPI_SUCCESS) return code;
  }
}

}  // namespace

#define MULTITREE_EXPORT extern "C" __attribute__((visibility("default")))

MULTITREE_EXPORT int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (any_pending()) advance_pending();
  return PMPI_Test(request, flag, status);
}

MULTITREE_EXPORT int MPI_Testall(int count, MPI_Request requests[], int* flag,
                                 MPI_Status statuses[]) {
  if (any_pending()) advance_pending();
  return PMPI_Testall(count, requests, flag, statuses);
}

MULTITREE_EXPORT int MPI_Testany(int count, MPI_Request requests[], int* which, int* flag,
                                 MPI_Status* status) {
  if (any_pending()) advance_pending();
  return PMPI_Testany(count, requests, which, flag, status);
}

MULTITREE_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int* done, int which[],
                                  MPI_Status statuses[]) {
  if (any_pending()) advance_pending();
  return PMPI_Testsome(count, requests, done, which, statuses);
}

MULTITREE_EXPORT int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (any_pending()) advance_pending();
  return PMPI_Request_get_status(request, flag, status);
}

MULTITREE_EXPORT int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!any_pending()) return PMPI_Wait(request, status);
  return until([&](bool& over) {
    int flag = 0;
    const int code = PMPI_Test(request, &flag, status);
    over = flag != 0;
    return code;
  });
}

MULTITREE_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!any_pending()) return PMPI_Waitall(count, requests, statuses);
  return until([&](bool& over) {
    int flag = 0;
    const int code = PMPI_Testall(count, requests, &flag, statuses);
    over = flag != 0;
    return code;
  });
}

MULTITREE_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int* which,
                                 MPI_Status* status) {
  if (!any_pending()) return PMPI_Waitany(count, requests, which, status);
  return until([&](bool& over) {
    int flag = 0;
    const int code = PMPI_Testany(count, requests, which, &flag, status);
    over = flag != 0;
    return code;
  });
}

MULTITREE_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int* done, int which[],
                                  MPI_Status statuses[]) {
  if (!any_pending()) return PMPI_Waitsome(count, requests, done, which, statuses);
  return until([&](bool& over) {
    const int code = PMPI_Testsome(count, requests, done, which, statuses);
    over = *done != 0;  // MPI_UNDEFINED where there is nothing to wait for
    return code;
  });
}
