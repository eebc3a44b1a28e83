// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Persistent collectives: requests that are started again and again.
///
/// MPI has no generalized request that can be started twice. So such a request is a persistent
/// receive of nothing, from this rank itself, on a communicator that nobody else knows: it is
/// started when the collective is, and gets its message when that is complete. It is a true request
/// of MPI, so every function that takes requests takes it, and knows whether it is active.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "runtime/mpi/served_internal.hpp"

namespace multitree::mpi {
namespace {

class Persistent final : public Pending {
 public:
  Persistent(const Plan& plan, mtRequest_t planned, MPI_Comm messages, int tag)
      : Pending(plan.function->call, plan.comm, planned, plan.finish),
        plan_(plan),
        messages_(messages),
        tag_(tag) {
    hold(*plan_.peer);
  }
  ~Persistent() override {
    mtRequestFree(&started());
    let_go(*plan_.peer);
  }

  /// Codes of MPI.
  int make(MPI_Request* request) {
    return PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, tag_, messages_, request);
  }
  int start(MPI_Request* request) {
    int code = PMPI_Start(request);  // refuses one that is active
    if (code != MPI_SUCCESS) return code;
    reset();
    active_ = true;
    code = plan_.pack ? plan_.pack() : MPI_SUCCESS;
    if (code == MPI_SUCCESS) {
      const mtResult_t result = mtStart(started());
      if (result == mtSuccess) {
        add_pending(this);
        return MPI_SUCCESS;
      }
      code = raise_last(plan_, result);
    }
    end(false);
    PMPI_Wait(request, MPI_STATUS_IGNORE);
    return code;
  }
  [[nodiscard]] bool active() const { return active_; }
  [[nodiscard]] int tag() const { return tag_; }

 private:
  void tell_mpi() override { end(outcome() == MPI_SUCCESS); }
  /// The receive of a message that is too long fails, and says so to whoever waits for it.
  void end(bool good) {
    const char byte = 0;
    active_ = false;
    PMPI_Send(&byte, good ? 0 : 1, MPI_BYTE, 0, tag_, messages_);
  }

  Plan plan_;
  MPI_Comm messages_;
  int tag_;
  std::atomic<bool> active_{false};
};

/// All that there are, by their handles.
class Requests {
 public:
  static Requests& instance() {
    static auto* const requests = new Requests();  // a program may end without MPI_Finalize
    return *requests;
  }

  /// A code of MPI.
  int make(const Plan& plan, mtRequest_t planned, MPI_Request* request) {
    const std::scoped_lock lock(mutex_);
    if (messages_ == MPI_COMM_NULL) {
      PMPI_Comm_dup(MPI_COMM_SELF, &messages_);
      PMPI_Comm_set_errhandler(messages_, MPI_ERRORS_RETURN);
    }
    const int tag = free_tags_.empty() ? next_tag_++ : *free_tags_.begin();
    free_tags_.erase(tag);
    auto made = std::make_shared<Persistent>(plan, planned, messages_, tag);
    const int code = made->make(request);
    if (code != MPI_SUCCESS) {
      free_tags_.insert(tag);
      return raise(plan.function->call, plan.comm, "no request could be made", code);
    }
    all_.emplace(*request, std::move(made));
    size_ = all_.size();
    return MPI_SUCCESS;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// Null if it is not one of them.
  std::shared_ptr<Persistent> find(MPI_Request request) {
    if (empty()) return nullptr;
    const std::scoped_lock lock(mutex_);
    const auto it = all_.find(request);
    return it == all_.end() ? nullptr : it->second;
  }
  void forget(MPI_Request request) {
    const std::scoped_lock lock(mutex_);
    const auto it = all_.find(request);
    if (it == all_.end()) return;
    free_tags_.insert(it->second->tag());
    all_.erase(it);
    size_ = all_.size();
  }
  /// Of those that nobody has freed multitree is told all the same.
  void end() {
    const std::scoped_lock lock(mutex_);
    all_.clear();
    size_ = 0;
    if (messages_ != MPI_COMM_NULL) PMPI_Comm_free(&messages_);
  }

 private:
  std::mutex mutex_;
  MPI_Comm messages_ = MPI_COMM_NULL;
  int next_tag_ = 0;
  std::set<int> free_tags_;
  std::map<MPI_Request, std::shared_ptr<Persistent>> all_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace

int make_persistent(const Plan& plan, mtRequest_t planned, MPI_Request* request) {
  return Requests::instance().make(plan, planned, request);
}

void end_persistent() { Requests::instance().end(); }

}  // namespace multitree::mpi

using namespace multitree::mpi;

MULTITREE_EXPORT int MPI_Start(MPI_Request* request) {
  const auto ours = Requests::instance().find(*request);
  return ours == nullptr ? PMPI_Start(request) : ours->start(request);
}

MULTITREE_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
  if (Requests::instance().empty()) return PMPI_Startall(count, requests);
  int code = MPI_SUCCESS;
  for (int i = 0; code == MPI_SUCCESS && i < count; ++i) code = MPI_Start(&requests[i]);
  return code;
}

MULTITREE_EXPORT int MPI_Request_free(MPI_Request* request) {
  const auto ours = Requests::instance().find(*request);
  if (ours == nullptr) return PMPI_Request_free(request);
  // The others need this rank's part until the end.
  for (MpiProgress mpi; ours->active(); mpi.advance()) advance_pending();
  Requests::instance().forget(*request);
  return PMPI_Request_free(request);
}
