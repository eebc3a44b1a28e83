// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// When the thread looks, and what it sleeps on.
#include "runtime/execution/progress_internal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "runtime/execution/engine_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr const char* kVariable = "MULTITREE_PROGRESS";

/// Longest sleep while something is outstanding; a failure elsewhere is noticed after it.
constexpr std::chrono::milliseconds kLongestSleep{5};
/// While a caller looks by itself.
constexpr std::chrono::microseconds kAway{1000};
constexpr std::chrono::microseconds kShortestNap{50}, kLongestNap{1000};
/// A nap is this part of the time for which nothing has moved.
constexpr int kNapPart = 4;

/// In the thread that is started meanwhile: signals are for the program's own.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

[[noreturn]] void reject_choice(const std::string& expected, const std::string& found) {
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("progress: expected {}, found \"{}\"", expected, found));
}

std::uint32_t checked_core(const std::string& text) {
  std::uint32_t core = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), core);
  if (error != std::errc() || end != text.data() + text.size()) {
    reject_choice("\"on\", \"off\" or the number of a core", text);
  }
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  if (core >= CPU_SETSIZE || (known && !CPU_ISSET(core, &allowed))) {
    reject_choice("a core that this process may run on", text);
  }
  return core;
}

std::atomic<std::uint32_t>& forks() {
  static std::atomic<std::uint32_t> count{0};
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return count;
}

}  // namespace

ProgressChoice progress_choice(const std::string& text) {
  if (text.empty()) {
    const char* variable = std::getenv(kVariable);
    return variable == nullptr || *variable == '\0' ? ProgressChoice{} : progress_choice(variable);
  }
  if (text == "on" || text == "off") return {text == "on"};
  return {true, checked_core(text)};
}

std::uint32_t process_number() { return forks().load(std::memory_order_relaxed); }

Progress::Progress(Engine& engine, const ProgressChoice& choice)
    : engine_(engine), bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), process_(process_number()) {
  if (bell_ < 0) {
    throw Error(ErrorCode::Io, fmt::format("eventfd: {}", std::strerror(errno)));
  }
  const WithoutSignals quiet;
  thread_ = std::thread([this] { run(); });
  if (!choice.core) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(*choice.core, &one);
  ::pthread_setaffinity_np(thread_.native_handle(), sizeof one, &one);
}

Progress::~Progress() {
  if (process_ != process_number()) {
    thread_.detach();  // it is not in this process
  } else {
    stopping_ = true;
    wake();
    thread_.join();
  }
  ::close(bell_);
}

void Progress::wake() {
  const std::uint64_t one = 1;
  static_cast<void>(::write(bell_, &one, sizeof one));  // full: it has been rung often enough
}

void Progress::sleep(std::chrono::microseconds time, const std::vector<int>& descriptors) {
  std::vector<pollfd> events{{bell_, POLLIN, 0}};
  for (const int descriptor : descriptors) events.push_back({descriptor, POLLIN, 0});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec limit{static_cast<time_t>(seconds.count()),
                       static_cast<long>((time - seconds).count() * 1000)};
  const bool limited = time.count() >= 0;
  if (::ppoll(events.data(), events.size(), limited ? &limit : nullptr, nullptr) <= 0) return;
  std::uint64_t rung = 0;
  if (events.front().revents != 0) static_cast<void>(::read(bell_, &rung, sizeof rung));
}

std::chrono::microseconds Progress::nap() const {
  const auto still = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - moved_);
  return std::clamp(still / kNapPart, kShortestNap, kLongestNap);
}

void Progress::run() {
  std::vector<int> descriptors;
  while (!stopping_) {
    descriptors.clear();
    switch (engine_.progress_behind(descriptors)) {
      case Engine::Behind::Nothing:
        sleep(std::chrono::microseconds{-1}, {});
        moved_ = Clock::now();
        break;
      case Engine::Behind::Attended:
        sleep(kAway, {});
        break;
      case Engine::Behind::Moved:
        moved_ = Clock::now();
        while (engine_.contended()) ::sched_yield();
        break;
      case Engine::Behind::Armed:
        sleep(kLongestSleep, descriptors);
        break;
      case Engine::Behind::Still:
        sleep(nap(), {});
        break;
    }
  }
}

}  // namespace multitree::runtime
