// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Looks of callers that do not wait, or sleep outside the guard.
#include <poll.h>

#include <algorithm>
#include <thread>

#include "runtime/execution/engine_internal.hpp"

namespace multitree::runtime {
namespace {

/// Where nothing tells of an arrival.
constexpr std::chrono::microseconds kBlindNap{50};
/// Between two questions whether the job has failed.
constexpr std::chrono::milliseconds kQuestions{1};

/// Until one of the descriptors is readable.
void await_any(const std::vector<int>& descriptors, std::chrono::microseconds limit) {
  std::vector<pollfd> events;
  for (const int descriptor : descriptors) events.push_back({descriptor, POLLIN, 0});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec time{seconds.count(), (limit - seconds).count() * 1000};
  ::ppoll(events.data(), events.size(), &time, nullptr);
}

}  // namespace

void Engine::look() {
  check_usable();
  move();
  const Clock::time_point now = Clock::now();
  if (now - failure_asked_ < kQuestions) return;
  failure_asked_ = now;
  check_failure();
}

Transport::Nap Engine::poll_or_nap() {
  Transport::Nap nap = transport_->arm();
  check_usable();
  // By the thread, since this rank looked last: of that nobody tells who looks now.
  const bool moved_before = idle_polls_ == 0;
  const auto [network, running] = move();
  if (running) return nullptr;
  // A sleep follows, so the next look is far away: this one asks for deadlines and deaths.
  idle_polls_ = std::max(idle_polls_, spins_);
  on_idle(true);  // sleeps for no message: we are under the guard
  if (network || moved_before) return nullptr;
  if (nap) return nap;
  std::vector<int> descriptors;
  switch (transport_->await_arrivals(descriptors)) {
    case Transport::Arrivals::Here:
      return nullptr;
    case Transport::Arrivals::Awaited:
      return [descriptors](std::chrono::microseconds limit) { await_any(descriptors, limit); };
    case Transport::Arrivals::Unknown:
      break;
  }
  return [](std::chrono::microseconds limit) {
    std::this_thread::sleep_for(std::min(limit, kBlindNap));
  };
}

}  // namespace multitree::runtime
