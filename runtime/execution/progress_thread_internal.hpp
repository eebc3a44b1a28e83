// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The thread that moves what was started, of all engines of a process that have chosen it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/progress_internal.hpp"

struct pollfd;

namespace multitree::runtime {

/// Something that a thread sleeps on until it is rung.
class Bell {
 public:
  /// \throws Error(Io)
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  void ring();
  void silence();
  /// Readable once it was rung.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// What the thread knows of an engine.
struct Progress::Place {
  using Clock = std::chrono::steady_clock;

  explicit Place(Engine& of) : engine(&of) {}

  std::atomic<bool> woken{false};
  std::atomic<bool> leaving{false};
  std::shared_ptr<Bell> bell;  ///< the thread's; set before the thread knows of this place
  std::mutex busy;             ///< held while the thread is in the engine
  Engine* engine;              ///< null: it has left. Guarded by busy
  /// What follows is the thread's own.
  Clock::time_point due = Clock::time_point::max();  ///< when it looks again
  Clock::time_point moved;                           ///< when anything last did
  std::vector<int> descriptors;                      ///< one is readable: it looks at once
  bool gone = false;
};

/// Where something arrives by a network that can be waited for, the thread sleeps until it does;
/// elsewhere it looks, less often the longer nothing moves. While callers look themselves it keeps
/// away, and what has nothing outstanding it does not look at.
class ProgressThread {
 public:
  /// That of this process for a core, or for none; made for the first. \throws Error(Io)
  static std::shared_ptr<ProgressThread> of(std::optional<std::uint32_t> core);

  explicit ProgressThread(std::optional<std::uint32_t> core);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  void add(const std::shared_ptr<Progress::Place>& place);

 private:
  using Place = Progress::Place;
  using Clock = Place::Clock;

  void run();
  /// Those that were added, and without those that have left.
  void update_places();
  /// A look at an engine whose turn it is. Whether there may be more to do at once.
  bool look(Place& place);
  /// Sleeps until then, something arrives, or the bell is rung; what it arrived for is due.
  void await(Clock::time_point until);

  std::uint32_t process_;
  std::shared_ptr<Bell> bell_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;                            ///< guards the next
  std::vector<std::shared_ptr<Place>> joined_;  ///< that the thread has not taken over yet
  std::vector<std::shared_ptr<Place>> places_;  ///< of the thread alone, as the next
  std::vector<pollfd> events_;
  Clock::time_point listened_;  ///< when await() was last called
  std::thread thread_;
};

/// Holds off the child of a fork while it is held: there nobody would ever give it back.
std::mutex& progress_threads_mutex();

}  // namespace multitree::runtime
