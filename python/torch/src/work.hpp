// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One call that was started, and who moves it on.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <multitree.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace multitree_torch {

class Lane;
class Pump;

/// Something that becomes complete: requests of the library, or what a mailbox is waiting for.
/// Called under the pump's lock.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Whether it is complete; makes progress. \throws why it failed.
  virtual bool test() = 0;
};

/// Requests of the library, and what stands behind them on a stream; frees them.
class Requests final : public Pending {
 public:
  Requests(std::vector<mtRequest_t> requests, std::string what, mtComm_t comm,
           std::shared_ptr<c10::Event> done = nullptr)
      : requests_(std::move(requests)),
        what_(std::move(what)),
        comm_(comm),
        done_(std::move(done)) {}
  ~Requests() override;
  bool test() override;

 private:
  std::vector<mtRequest_t> requests_;
  std::string what_;
  mtComm_t comm_;
  std::shared_ptr<c10::Event> done_;
};

/// What has to be copied when a call is complete, from where the library left it.
struct Copy {
  at::Tensor to, from;
};

/// What a call on tensors of a device has to do with its streams.
struct DeviceSide {
  c10::Stream caller;      ///< the current one of the call
  bool on_stream = false;  ///< it was put on a stream whole; else the host completes it
  /// Behind everything of the call, copies of results included. With on_stream from the start,
  /// else when it is complete.
  std::shared_ptr<c10::Event> done = nullptr;
};

/// What a call needs besides its requests.
struct Call {
  c10d::OpType type = c10d::OpType::UNKNOWN;
  std::string what;                 ///< for messages: "all_reduce"
  std::vector<at::Tensor> inputs;   ///< for the profiler
  std::vector<at::Tensor> outputs;  ///< its result
  std::vector<at::Tensor> keep;     ///< buffers that must live until it is complete
  std::vector<Copy> copies;         ///< of results that were staged
  std::function<void()> finish;     ///< makes the result of what has arrived; before the copies
  std::shared_ptr<Lane> lane;       ///< whose buffers it takes
  std::optional<DeviceSide> device;
  std::chrono::milliseconds timeout{0};
  bool after_all = false;                    ///< complete only when all before it are
  std::shared_ptr<std::atomic<int>> source;  ///< of a receive: the sender, once it is known
};

class CallWork final : public c10d::Work {
 public:
  CallWork(Call call, int rank, std::uint64_t number, std::shared_ptr<Pump> pump);

  bool isCompleted() override;
  bool isSuccess() const override;
  int sourceRank() const override { return call_.source ? call_.source->load() : -1; }
  std::vector<at::Tensor> result() override;
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override;
  void abort() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  uint64_t getSequencenumber() const override { return number_; }
  // NOLINTNEXTLINE(modernize-use-override): torch has it from 2.15 on
  std::chrono::milliseconds getTimeout() const { return call_.timeout; }

  /// Done, or failed with `error`; the first counts.
  void complete(std::exception_ptr error);
  /// Of a call that was put on a stream whole: its results are there for who waits for that
  /// stream, also by the future. Before anybody else sees this.
  void put_on(const c10::Stream& stream);
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  [[nodiscard]] const Call& call() const { return call_; }

 private:
  std::exception_ptr copy_results();
  /// Has the current stream of this thread come after the results.
  void follow_device() const;
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

  /// Of what was added last.
  [[nodiscard]] std::uint64_t latest();
  /// Whether all up to that one is over.
  [[nodiscard]] bool passed(std::uint64_t number);

 private:
  struct Entry {
    c10::intrusive_ptr<CallWork> work;
    std::unique_ptr<Pending> pending;
    std::uint64_t number;
  };
  /// Looks at everything; whether something became complete.
  bool round();
  std::list<Entry> collect(std::vector<std::exception_ptr>& errors);
  void run();

  std::mutex mutex_;  ///< guards the entries and the states below
  std::condition_variable bell_;
  std::list<Entry> entries_;
  std::uint64_t added_ = 0;
  int drivers_ = 0;
  bool stopping_ = false;
  std::function<void()> sleep_, end_;
  std::thread thread_;
};

}  // namespace multitree_torch
