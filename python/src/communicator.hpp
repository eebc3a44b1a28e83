// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A communicator as Python has it, and what it has outstanding.
#pragma once

#include <multitree.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "errors.hpp"
#include "waiting.hpp"

namespace multitree::python {

/// A collective that was started: its buffers are the library's until it is done.
struct Pending {
  mtRequest_t handle = nullptr;
  Array send, recv;
  nb::object op;  ///< an Operator, where it has one
  Pending() = default;
  ~Pending();
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
};

/// How to join, as in mtConfig_t; times in seconds.
struct Wishes {
  double timeout = 30, join_timeout = 60;
  std::optional<std::string> topology, algorithm, plan, transport, tuning, progress,
      on_link_failure;
  std::optional<double> link_timeout;
  std::optional<std::uint64_t> segment;
  std::optional<bool> refine, devices, encrypt;
};

/// One rank's end of a group of processes. Its members are guarded by Python's lock, which is let
/// go while the library waits.
class Communicator {
 public:
  /// Joins, by an id, or else as the environment says. \throws Failure, nb::python_error
  Communicator(int rank, int size, const std::optional<std::string>& id, const Wishes& wishes);
  /// One that the library has made.
  explicit Communicator(mtComm_t handle);
  /// Closed by whoever uses it: what was not is closed when the process ends.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// For the library. \throws Failure(InvalidUsage): closed, of another process, ...
  [[nodiscard]] mtComm_t usable(const char* call) const;
  /// The same, but nullptr once it is closed.
  [[nodiscard]] mtComm_t handle(const char* call) const;
  [[nodiscard]] bool is_closed() const { return handle_ == nullptr; }
  [[nodiscard]] bool is_of_this_process() const { return process_ == process_number(); }

  /// Those of the same color, or nullptr. \throws as the constructor
  mtComm_t split(int color, int key);
  /// Those who are left, without others. \throws as the constructor; then it may be tried again
  mtComm_t shrink(const std::vector<int>& without, bool around_links, bool give_up);
  /// These and newcomers; `rank` -1: the same as here. \throws as the constructor
  mtComm_t grow(int size, const std::optional<std::string>& id, int rank);
  /// \throws Failure, nb::python_error
  void barrier();
  /// Waits for all ranks. \throws Failure; it is closed all the same
  void close();
  /// Waits for nobody.
  void abort();
  /// nullptr, or why it cannot be used any more.
  [[nodiscard]] std::optional<std::string> failure() const;

  /// A request was dropped that goes on.
  void adopt(std::unique_ptr<Pending> pending);
  /// Frees what is done of those.
  void sweep();

 private:
  template <typename Body>
  mtComm_t made_from_this(const char* call, const Body& make);
  void learn();
  void enlist();
  /// Of this process, and nobody else's.
  mtComm_t take();

  mtComm_t handle_ = nullptr;
  int rank_ = 0, size_ = 0;
  std::uint32_t process_ = process_number();
  std::vector<std::unique_ptr<Pending>> dropped_;
};

/// What a collective was started as. Python's lock guards it.
class Request {
 public:
  /// `communicator` is kept, as the buffers are.
  Request(nb::object communicator, const char* call, std::unique_ptr<Pending> pending,
          nb::object result);
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// The array of the result. `timeout` in seconds, without one until it is done or has failed.
  /// \throws Failure, nb::python_error
  nb::object wait(const std::optional<double>& timeout);
  bool test();
  /// Where the library puts its own.
  [[nodiscard]] mtRequest_t* handle() { return &pending_->handle; }
  [[nodiscard]] bool is_done() const { return pending_ == nullptr; }
  [[nodiscard]] const char* call() const { return call_; }
  [[nodiscard]] const nb::object& result() const { return result_; }

 private:
  /// Lets go of the arrays. \throws nb::python_error: what its operator's function raised
  void complete();
  /// It has failed, and says so whenever it is asked. \throws Failure
  [[noreturn]] void fail(mtResult_t result);
  [[nodiscard]] Communicator& communicator() const;

  nb::object communicator_;
  const char* call_;
  std::unique_ptr<Pending> pending_;
  nb::object result_;
  std::optional<Failure> failure_;
};

/// Closes every communicator that this process has left open, or aborts them.
void close_all(bool abort);

}  // namespace multitree::python
