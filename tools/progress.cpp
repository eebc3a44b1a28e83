// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Shows progress from a thread of its own, so that libraries need not know about it.
#include "tools/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace multitree::tools {
namespace {

/// Of less nothing can be foretold.
constexpr double kLeastShare = 0.005;

}  // namespace

std::string progress_line(const std::string& what, double seconds, std::optional<double> share) {
  if (!share || *share < kLeastShare) return fmt::format("{} ... {:.0f} s", what, seconds);
  const double part = std::min(*share, 1.0);
  return fmt::format("{}, {:.0f} %, {:.0f} s left ... {:.0f} s", what, 100 * part,
                     seconds / part * (1 - part), seconds);
}

Progress::Progress(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 0) return;
  try {
    thread_ = std::thread([this] { show(); });
  } catch (const std::system_error&) {  // the work matters more than its display
  }
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
  share_.reset();
}

void Progress::update(std::string what, double share) {
  const std::lock_guard lock(mutex_);
  what_ = std::move(what);
  share_ = share;
}

void Progress::show() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  while (!stop_requested_.wait_for(lock, shown_ ? 500ms : 2000ms, [this] { return stop_; })) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    fmt::print(stderr, "\r\033[K{}", progress_line(what_, elapsed.count(), share_));
    std::fflush(stderr);
    shown_ = true;
  }
}

}  // namespace multitree::tools
