// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether there is a progress thread, and coming to it and leaving it.
#include "runtime/execution/progress_internal.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <charconv>
#include <cstdlib>

#include "runtime/execution/progress_thread_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

constexpr const char* kVariable = "MULTITREE_PROGRESS";

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
  static const int registered = ::pthread_atfork([] { progress_threads_mutex().lock(); },
                                                 [] { progress_threads_mutex().unlock(); },
                                                 [] {
                                                   progress_threads_mutex().unlock();
                                                   count.fetch_add(1, std::memory_order_relaxed);
                                                 });
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

Progress::Progress(Engine& engine) : place_(std::make_shared<Place>(engine)) {}

Progress::~Progress() { leave(); }

void Progress::join(const ProgressChoice& choice) {
  if (!choice.on || thread_ != nullptr || place_->leaving) return;
  process_ = process_number();
  auto thread = ProgressThread::of(choice.core);
  thread->add(place_);
  thread_ = std::move(thread);
}

void Progress::leave() {
  if (thread_ == nullptr) return;
  if (process_ == process_number()) {
    place_->leaving = true;  // so that the thread lets us in
    const std::scoped_lock lock(place_->busy);
    place_->engine = nullptr;
  }
  thread_.reset();
}

void Progress::wake() {
  // Who has rung it for something else has rung it for this as well.
  if (place_->bell != nullptr && !place_->woken.exchange(true)) place_->bell->ring();
}

}  // namespace multitree::runtime
