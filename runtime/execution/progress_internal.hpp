// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A thread that moves what was started while its caller does something else.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace multitree::runtime {

class Engine;

/// Whether there is such a thread, and where it runs.
struct ProgressChoice {
  bool on = true;
  std::optional<std::uint32_t> core = std::nullopt;  ///< the only one that it may use
};

/// "on", "off" or the number of a core; empty: of the environment variable MULTITREE_PROGRESS, else
/// "on". \throws Error(InvalidArgument), also if the process may not use the core.
ProgressChoice progress_choice(const std::string& text);

/// Numbers this process among those that were forked from each other: what belongs to threads of
/// another number is theirs.
std::uint32_t process_number();

/// Where something arrives by a network that can be waited for, the thread sleeps until it does;
/// elsewhere it looks, less often the longer nothing moves. While callers look themselves it keeps
/// away, and without anything outstanding it sleeps for good.
class Progress {
 public:
  /// \throws Error(Io)
  Progress(Engine& engine, const ProgressChoice& choice);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Something was started. From any thread.
  void wake();

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  /// Until something arrives, it is woken, or `time` has passed; negative: for as long as it takes.
  void sleep(std::chrono::microseconds time, const std::vector<int>& descriptors);
  /// Where nothing tells of an arrival.
  [[nodiscard]] std::chrono::microseconds nap() const;

  Engine& engine_;
  int bell_;  ///< readable once it is woken
  std::uint32_t process_;
  std::atomic<bool> stopping_{false};
  Clock::time_point moved_;  ///< when anything last did
  std::thread thread_;
};

}  // namespace multitree::runtime
