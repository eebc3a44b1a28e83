// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shows progress from a thread of its own, so that libraries need not know about it.
#include "tools/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace multitree::tools {

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_requested_.notify_one();
  thread_.join();
  if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(std::string what) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Progress::show() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (!stop_requested_.wait_for(lock, shown_ ? 500ms : 2000ms, [this] { return stop_; })) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    fmt::print(stderr, "\r\033[K{} ... {:.0f} s", what_, elapsed.count());
    std::fflush(stderr);
    shown_ = true;
  }
}

}  // namespace multitree::tools
