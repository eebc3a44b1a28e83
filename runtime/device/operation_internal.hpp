// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective on device memory in the order of a user's stream.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/device/execution_internal.hpp"
#include "runtime/device/walking_internal.hpp"
#include "runtime/execution/activity_internal.hpp"
#include "runtime/execution/departure_internal.hpp"
#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/operation_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::device {

/// Its life where the host moves messages, and where it is one kernel:
///
///     user's stream:  ... earlier work | event ............ wait for flag | later work ...
///     this:                 Waiting ──▶│ Running ──▶ Ending ──▶ Done: flag
///
///     user's stream:  ... earlier work | event, kernel, event | later work ...
///     this:                 Waiting ──▶│      Ending       ──▶│ Done
///
/// Made and started under Engine::guard() in the caller's thread, progressed under it by whoever
/// polls the engine; wait() and failure() are the caller's, without it.
class StreamOperation final : public Activity {
 public:
  StreamOperation(std::shared_ptr<Engine> engine, std::shared_ptr<Workspace> workspace,
                  std::shared_ptr<const LoadedProgram> program, const Call& call,
                  std::uint64_t sequence);
  ~StreamOperation() override = default;

  [[nodiscard]] const Needs& needs() const { return needs_; }
  /// Puts the event and, with `hold`, the wait or the kernel on the user's stream. \throws
  /// Error(Cuda); then nothing was put there that holds it.
  void enqueue(Stream stream, bool hold);

  /// Instead of enqueue(), and then it is Done: records the collective into the graph that is
  /// captured from the stream. \throws Error(Unsupported) if it is messages, Error(Cuda),
  /// Error(Timeout)
  void record(Stream stream, Deadline deadline);

  // Activity
  bool advance() override;
  [[nodiscard]] bool done() const override { return over(); }
  [[nodiscard]] bool awaits_caller() const override { return state() == State::Waiting; }
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override;

  /// Under the guard, once the engine and Walking have given up: ends everything and lets the
  /// stream go on.
  void fail(ErrorCode code, const std::string& reason);

  /// Whether it is Done or Failed. \throws what it failed with.
  bool test();
  /// \throws what it failed with; Error(Timeout) if the stream has not come to it by the deadline:
  /// then it is still outstanding.
  void wait(Deadline deadline);
  [[nodiscard]] bool over() const {
    const State now = state();
    return now == State::Done || now == State::Failed;
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const LoadedProgram& loaded() const { return *program_; }

 private:
  enum class State : std::uint8_t { Waiting, Running, Ending, Done, Failed };
  [[nodiscard]] State state() const { return state_.load(std::memory_order_acquire); }
  void begin();
  /// Puts the kernel on the stream, or with no `hold` on one of ours behind it.
  void walk(Stream stream, bool hold);
  /// Whether what stands before it on the stream is done, and whether all of it is.
  [[nodiscard]] bool reached() const;
  [[nodiscard]] bool ended() const;
  [[nodiscard]] WalkShape walk_shape() const;
  [[nodiscard]] Walking::Call walk_call() const;
  /// Whose message belonged to another call.
  [[nodiscard]] std::optional<Seat> stranger() const;
  bool end_if_left();
  void end();
  void finish(State outcome);
  /// As Operation::prepare(), on the device.
  Buffers prepare(bool& copied);
  [[noreturn]] void throw_failure() const;

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Workspace> workspace_;
  std::shared_ptr<const LoadedProgram> program_;
  Call call_;
  Layout layout_;
  std::uint64_t tag_;
  std::string name_;
  std::shared_ptr<OwnedEvent> before_, after_;  ///< after_: of a kernel
  bool held_ = false;
  FlagPool::Flag flag_;
  BlockPool::Block work_;
  Needs needs_;
  std::unique_ptr<DeviceExecution> execution_;  ///< where the collective is messages
  Walking* walking_ = nullptr;                  ///< where it is one kernel
  std::shared_ptr<WalkList> list_;
  std::uint64_t number_ = 0;  ///< among those of walking_
  Departure departure_;
  std::uint64_t mark_ = 0;  ///< of `compute`: when the ending of messages is done

  std::atomic<State> state_{State::Waiting};
  ErrorCode code_{};  ///< with reason_: written before Failed
  std::string reason_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// What a Request holds of it. One whose call named no stream is waited for when it is dropped.
class StreamRequest final : public Operation {
 public:
  StreamRequest(std::shared_ptr<StreamOperation> started, Deadline longest, bool wait_at_end)
      : operation_(std::move(started)), deadline_(longest), joins_(wait_at_end) {}
  ~StreamRequest() override;
  bool test() override { return operation_->test(); }
  void wait() override { operation_->wait(deadline_); }

 private:
  std::shared_ptr<StreamOperation> operation_;
  Deadline deadline_;
  bool joins_;
};

}  // namespace multitree::runtime::device
