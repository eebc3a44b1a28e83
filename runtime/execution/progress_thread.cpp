// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// When the thread looks at which engine, and what it sleeps on.
#include "runtime/execution/progress_thread_internal.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "topologies/error.hpp"
#include "topologies/thread.hpp"

namespace multitree::runtime {
namespace {

using namespace std::chrono_literals;

/// As a debugger and `ps -T` show it.
constexpr const char* kThreadName = "multitree";

/// Longest time without a look at what is outstanding; a failure elsewhere is noticed after it.
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

/// Where nothing tells of an arrival.
std::chrono::microseconds nap_after(std::chrono::steady_clock::duration still) {
  const auto part = std::chrono::duration_cast<std::chrono::microseconds>(still) / kNapPart;
  return std::clamp(part, kShortestNap, kLongestNap);
}

}  // namespace

Bell::Bell() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (descriptor_ < 0) {
    throw Error(ErrorCode::Io, fmt::format("eventfd: {}", std::strerror(errno)));
  }
}

Bell::~Bell() { ::close(descriptor_); }

void Bell::ring() {
  const std::uint64_t one = 1;
  // Full: it has been rung often enough.
  static_cast<void>(::write(descriptor_, &one, sizeof one));
}

void Bell::silence() {
  std::uint64_t rung = 0;
  static_cast<void>(::read(descriptor_, &rung, sizeof rung));
}

std::mutex& progress_threads_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::shared_ptr<ProgressThread> ProgressThread::of(std::optional<std::uint32_t> core) {
  // Threads of the process that this one was forked from are not here. Never destroyed, as some
  // communicators outlive everything else.
  using Key = std::pair<std::uint32_t, std::optional<std::uint32_t>>;
  static auto* const threads = new std::map<Key, std::weak_ptr<ProgressThread>>();
  const Key key{process_number(), core};
  const std::scoped_lock lock(progress_threads_mutex());
  std::weak_ptr<ProgressThread>& known = (*threads)[key];
  std::shared_ptr<ProgressThread> thread = known.lock();
  if (thread == nullptr) known = thread = std::make_shared<ProgressThread>(core);
  return thread;
}

ProgressThread::ProgressThread(std::optional<std::uint32_t> core)
    : process_(process_number()), bell_(std::make_shared<Bell>()) {
  const WithoutSignals quiet;
  thread_ = start_thread("progress", [this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), kThreadName);
  if (!core) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(*core, &one);
  ::pthread_setaffinity_np(thread_.native_handle(), sizeof one, &one);
}

ProgressThread::~ProgressThread() {
  if (process_ != process_number()) {
    thread_.detach();  // it is not in this process
    return;
  }
  stopping_ = true;
  bell_->ring();
  thread_.join();
}

void ProgressThread::add(const std::shared_ptr<Progress::Place>& place) {
  place->bell = bell_;
  const std::scoped_lock lock(mutex_);
  joined_.push_back(place);
}

void ProgressThread::update_places() {
  std::erase_if(places_, [](const auto& place) { return place->gone; });
  const std::scoped_lock lock(mutex_);
  places_.insert(places_.end(), joined_.begin(), joined_.end());
  joined_.clear();
}

bool ProgressThread::look(Place& place) {
  place.gone = place.leaving;
  if (place.gone) return false;
  if (place.woken.exchange(false)) {
    if (place.due == Clock::time_point::max()) place.moved = Clock::now();
    place.due = Clock::time_point::min();
  }
  const Clock::time_point now = Clock::now();
  if (place.due > now) return false;
  const std::scoped_lock lock(place.busy);
  place.gone = place.engine == nullptr;
  if (place.gone) return false;
  // Whoever waits for the engine gets it now: it was ours a moment ago.
  if (now - place.moved < kAway && place.engine->contended()) {
    ::sched_yield();
    return true;
  }
  place.descriptors.clear();
  switch (place.engine->progress_behind(place.descriptors)) {
    case Engine::Behind::Nothing:
      place.due = Clock::time_point::max();
      return false;
    case Engine::Behind::Attended:
      place.due = now + kAway;
      return false;
    case Engine::Behind::Moved:
      place.moved = Clock::now();
      return true;
    case Engine::Behind::Held:
    case Engine::Behind::Armed:
      place.due = now + kLongestSleep;
      return false;
    case Engine::Behind::Still:
      place.due = now + nap_after(now - place.moved);
      return false;
  }
  return false;
}

void ProgressThread::await(Clock::time_point until) {
  events_.assign(1, {bell_->descriptor(), POLLIN, 0});
  for (const auto& place : places_) {
    for (const int one : place->descriptors) events_.push_back({one, POLLIN, 0});
  }
  listened_ = Clock::now();
  const auto left = until > listened_ ? std::chrono::nanoseconds(until - listened_) : 0ns;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec limit{static_cast<time_t>(seconds.count()),
                       static_cast<long>((left - seconds).count())};
  const bool limited = until != Clock::time_point::max();
  if (::ppoll(events_.data(), events_.size(), limited ? &limit : nullptr, nullptr) <= 0) return;
  if (events_.front().revents != 0) bell_->silence();
  auto event = events_.begin() + 1;
  for (const auto& place : places_) {
    for (std::size_t i = 0; i < place->descriptors.size(); ++i, ++event) {
      if (event->revents != 0) place->due = Clock::time_point::min();
    }
  }
}

void ProgressThread::run() {
  while (!stopping_) {
    update_places();
    bool more = false;
    bool listens = false;
    Clock::time_point due = Clock::time_point::max();
    for (const auto& place : places_) {
      more |= look(*place);
      listens |= !place->descriptors.empty();
      due = std::min(due, place->due);
    }
    if (!more) {
      await(due);
    } else if (listens && Clock::now() - listened_ >= kShortestNap) {
      await(Clock::time_point::min());  // what came for those that are waiting
    }
  }
}

}  // namespace multitree::runtime
