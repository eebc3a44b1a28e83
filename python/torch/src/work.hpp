// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One call that was started, and who moves it on.
#pragma once

#include <ATen/core/ivalue.h>
#include <multitree.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace multitree_torch {

class Pump;

/// Something that becomes complete: requests of the library, or what a mailbox is waiting for.
/// Called under the pump's lock.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Whether it is complete; makes progress. \throws why it failed.
  virtual bool test() = 0;
};

/// Requests of the library; frees them.
class Requests final : public Pending {
 public:
  Requests(std::vector<mtRequest_t> requests, std::string what, mtComm_t comm)
      : requests_(std::move(requests)), what_(std::move(what)), comm_(comm) {}
  ~Requests() override;
  bool test() override;

 private:
  std::vector<mtRequest_t> requests_;
  std::string what_;
  mtComm_t comm_;
};

/// What has to be copied when a call is complete, from where the library left it.
struct Copy {
  at::Tensor to, from;
};

/// What a call needs besides its requests.
struct Call {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  std::string what;                 ///< for messages: "all_reduce"
  std::vector<at::Tensor> inputs;   ///< for the profiler
  std::vector<at::Tensor> outputs;  ///< its result
  std::vector<at::Tensor> keep;     ///< buffers that must live until it is complete
  std::vector<Copy> copies;         ///< of results that were staged
  std::chrono::milliseconds timeout{0};
  bool after_all = false;  ///< complete only when all before it are
  int source = -1;
};

class CallWork final : public c10d::Work {
 public:
  CallWork(Call call, int rank, std::uint64_t number, std::shared_ptr<Pump> pump);

  bool isCompleted() override;
  bool isSuccess() const override;
  int sourceRank() const override { return call_.source; }
  std::vector<at::Tensor> result() override;
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  uint64_t getSequencenumber() const override { return number_; }
  std::chrono::milliseconds getTimeout() const override { return call_.timeout; }

  /// Done, or failed with `error`; the first counts.
  void complete(std::exception_ptr error);
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  [[nodiscard]] const Call& call() const { return call_; }

 private:
  [[nodiscard]] std::exception_ptr copy_results() const;
  [[noreturn]] void give_up(std::chrono::milliseconds waited);

  Call call_;
  std::uint64_t number_;
  std::shared_ptr<Pump> pump_;
  std::atomic<bool> completing_{false};
  std::atomic<bool> over_{false};
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// Or some milliseconds.
void sleep_until_arrival(mtComm_t comm);

/// Moves on what is outstanding of one communicator, and completes it: whoever waits does it by
/// itself, and a thread while nobody does. Both sleep until something arrives, so that they take no
/// processor from ranks that compute.
class Pump : public std::enable_shared_from_this<Pump> {
 public:
  /// Starts the thread, which keeps this alive until stop().
  void start();
  /// `sleep`: until something may move.
  explicit Pump(std::function<void()> sleep) : sleep_(std::move(sleep)) {}
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  void add(c10::intrusive_ptr<CallWork> work, std::unique_ptr<Pending> pending);
  /// Until `work` is complete; false if `deadline` was first.
  bool drive(const CallWork& work, std::chrono::steady_clock::time_point deadline);
  /// Everything that is outstanding fails; nothing is tested any more, and the thread has ended.
  void stop(const std::exception_ptr& error);
  /// `end` ends the communicator. Before start().
  void abort_by(std::function<void()> end) { end_ = std::move(end); }
  /// Everything that is outstanding fails for `reason`, and the communicator with it.
  void abort(const std::string& reason);

 private:
  struct Entry {
    c10::intrusive_ptr<CallWork> work;
    std::unique_ptr<Pending> pending;
  };
  /// Looks at everything; whether something became complete.
  bool round();
  std::list<Entry> collect(std::vector<std::exception_ptr>& errors);
  void run();

  std::mutex mutex_;  ///< guards the entries and the states below
  std::condition_variable bell_;
  std::list<Entry> entries_;
  int drivers_ = 0;
  bool stopping_ = false;
  std::function<void()> sleep_, end_;
  std::thread thread_;
};

}  // namespace multitree_torch
