// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Non-blocking collectives as generalized requests of MPI, and the functions that test and wait.
///
/// The request is a true one of MPI, so every function that takes requests takes it. Somebody has
/// to complete it by PMPI_Grequest_complete(): the functions that test and wait do so, on the
/// thread that called them, which needs no thread level. They wait by testing in turns, ours and
/// MPI's.
#include <utility>

#include "runtime/mpi/served_internal.hpp"

namespace multitree::mpi {
namespace {

class Generalized final : public Pending {
 public:
  using Pending::Pending;
  ~Generalized() override {
    if (started() != nullptr) mtRequestFree(&started());
  }
  [[nodiscard]] MPI_Request& request() { return request_; }

 private:
  void tell_mpi() override {
    mtRequestFree(&started());
    // The object may be gone as soon as MPI knows.
    PMPI_Grequest_complete(request_);
  }

  MPI_Request request_ = MPI_REQUEST_NULL;
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
  on_query_nothing(nullptr, status);
  return static_cast<Generalized*>(state)->outcome();
}

int on_free(void* state) {
  delete static_cast<Generalized*>(state);
  return MPI_SUCCESS;
}

int on_cancel(void*, int) { return MPI_SUCCESS; }  // collectives cannot be cancelled

}  // namespace

int make_request(const char* call, MPI_Comm comm, mtRequest_t started, std::function<int()> finish,
                 MPI_Request* request) {
  auto* const pending = new Generalized(call, comm, started, std::move(finish));
  const int code =
      PMPI_Grequest_start(&on_query, &on_free, &on_cancel, pending, &pending->request());
  if (code != MPI_SUCCESS) {
    delete pending;  // which waits for it
    return code;
  }
  *request = pending->request();
  add_pending(pending);
  return MPI_SUCCESS;
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
