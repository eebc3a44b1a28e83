// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A sign of life for what takes longer than two seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace multitree::tools {

/// While it lives, and once two seconds have passed, shows "<what> ... <seconds> s" on one line of
/// standard error; erases it at the end. Does nothing unless standard error is a terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Changes what is shown.
  void update(std::string what);

 private:
  void show();

  std::string what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable stop_requested_;
  bool stop_ = false;
  bool shown_ = false;
  std::thread thread_;
};

}  // namespace multitree::tools
