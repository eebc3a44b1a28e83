// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The collectives of one communicator on device memory, and the thread that progresses them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/operation_internal.hpp"
#include "runtime/device/stream_order.hpp"

namespace multitree::runtime::device {

/// A collective in the order of a stream returns at once, so somebody has to move its messages: a
/// thread, started with the first of them. It polls while something is outstanding (with sleeps
/// when nothing moves for long) and sleeps while nothing is.
class Collectives {
 public:
  Collectives(std::shared_ptr<Engine> engine, std::shared_ptr<const Device> device, Routes routes,
              std::shared_ptr<Walking> walking, Deadline timeout);
  /// finish() first, or stop().
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  /// Whether the buffers of a call are the device's. \throws Error(InvalidArgument) where one is
  /// and the other is not, or one lies on another device.
  [[nodiscard]] bool takes(const Call& call) const;
  /// As takes(), for a call with a stream: buffers in pinned host memory will do as well, others
  /// are refused.
  void check_streamed(const Call& call) const;

  /// The guard must not be held. While a graph is captured from the stream the collective becomes
  /// part of it, and what is returned is over. \throws Error(Cuda); Error(Unsupported) while a
  /// graph is captured, if the collective is not one kernel.
  std::shared_ptr<StreamOperation> start(std::shared_ptr<const LoadedProgram> program,
                                         const Call& call, std::uint64_t sequence, Stream stream,
                                         bool hold);
  /// Whether the stream can be held until a collective is over; else the call has to wait. A kernel
  /// is on the stream itself.
  [[nodiscard]] bool can_hold(Stream stream, const LoadedProgram& program) const {
    return (walking_ != nullptr && walking_->takes(program.program)) || device_->can_hold(stream);
  }

  /// Of what this communicator runs as a rule.
  [[nodiscard]] StreamOrder order_on(Stream stream) const {
    if (walking_ != nullptr) return StreamOrder::Kernel;
    return device_->can_hold(stream) ? StreamOrder::Held : StreamOrder::Waits;
  }

  /// Waits for all that is outstanding; past the deadline gives up. Then stops the thread and lets
  /// go of other ranks' memory.
  void finish(Deadline deadline);
  /// Ends all that is outstanding with an error, and the thread.
  void stop(const std::string& reason);
  /// Leaves what peers' kernels write to the end of the process.
  void keep();
  [[nodiscard]] std::string describe(const std::vector<Seat>& peers) const;

 private:
  bool make_room(const StreamOperation& operation);
  void run();
  bool await_work();
  void watch();
  bool round();
  void reap();
  void fail_all(ErrorCode code, const std::string& reason);
  void join();

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Device> device_;
  Routes routes_;
  std::shared_ptr<Walking> walking_;
  Deadline timeout_;
  std::shared_ptr<Workspace> workspace_;  ///< made with the first
  Needs wanted_;  ///< the most that collectives outstanding together have asked for
  /// Under the engine's guard.
  std::vector<std::shared_ptr<StreamOperation>> operations_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;  ///< of the three below
  bool busy_ = false;
  bool recorded_ = false;  ///< something was, into a graph
  bool stopping_ = false;
  bool finished_ = false;
};

}  // namespace multitree::runtime::device
