// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A sign of life for what takes longer than two seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace multitree::tools {

/// "<what>, 37 %, 12 s left ... 7 s": what is being done, how much of all is over, what the rest
/// takes if it goes on like that, and how long it has taken. \p share: 0 .. 1; below 0.5 %, and
/// none, nothing is said of it.
std::string progress_line(const std::string& what, double seconds, std::optional<double> share);

/// While it lives, and once two seconds have passed, shows a progress_line() on one line of
/// standard error; erases it at the end. Does nothing unless standard error is a terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Changes what is shown; how much is over is not known any more.
  void update(std::string what);
  /// The same, with the part of all that is over: 0 .. 1.
  void update(std::string what, double share);

 private:
  void show();

  std::string what_;
  std::optional<double> share_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool stop_ = false;
  bool shown_ = false;
  std::thread thread_;
};

}  // namespace multitree::tools
