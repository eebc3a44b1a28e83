// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What ends a wait before what it is for has come, and in which words.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/execution/call_place_internal.hpp"
#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/interruption_internal.hpp"
#include "runtime/job/blame_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Of waits that are added up.
constexpr std::chrono::milliseconds kRecorded{1};
/// Between two looks for a failure while what was sent leaves.
constexpr std::chrono::milliseconds kDrained{10};
/// For which what was sent or written before a failure is taken in after it is known.
constexpr std::chrono::milliseconds kLastWords{100};
/// For what was sent to those that live to leave once the job has failed.
constexpr std::chrono::milliseconds kLeaves{200};

}  // namespace

void Engine::fail(const std::string& what) {
  const std::string words = fmt::format("rank {}: {}", bootstrap_->seat(), what);
  if (const auto link = bootstrap_->dead_link()) throw LinkError(*link, words);
  throw Error(ErrorCode::Transport, words);
}

void Engine::check_links() {
  const std::optional<SilentLinks> silent = transport_->silent_links();
  if (!silent) return;
  const std::string why = words_of(*silent, bootstrap_->seat());
  bootstrap_->report_dead_links(silent->peers, silent->left, why);
  const Running* running = oldest();
  const std::string what = running == nullptr ? why
                                              : fmt::format("{}: {}; {}", running->name(), why,
                                                            running->execution->waiting_for());
  give_up(why);
  fail(what);
}

void Engine::check_interruption() {
  if (!interruption().wanted()) return;
  const Running* running = oldest();
  const std::string reason = running == nullptr
                                 ? std::string("interrupted")
                                 : fmt::format("{}: interrupted while {}", running->name(),
                                               running->execution->waiting_for());
  give_up(reason);
  throw Interrupted(fmt::format("rank {}: {}", bootstrap_->seat(), reason));
}

/// A rank may end as soon as a call is over for it, and that may be known before its last part in
/// the call is seen here.
bool Engine::still_moves() {
  const Clock::time_point now = Clock::now();
  if (!failed_at_) failed_at_ = now;
  if (now - *failed_at_ >= kLastWords) return false;
  const Moves moves = move();
  return moves.network || moves.running;  // a message comes in parts
}

void Engine::check_failure(const Running* in) {
  const std::optional<std::string> failure = bootstrap_->failure();
  if (!failure) {
    const Running* const waits = bootstrap_->asked_where() ? oldest() : nullptr;
    if (waits != nullptr) bootstrap_->tell_where(whereabouts(*waits));
    check_links();
    if (look_ != nullptr) look_();
    return;
  }
  if (in == nullptr && idle_ < timeout_ && still_moves()) return;
  check_elsewhere();  // it may be the echo of what was found out there
  std::string what = *failure;
  const Running* const running = in != nullptr ? in : oldest();
  if (running != nullptr) {
    const Whereabouts here = whereabouts(*running);
    what = fmt::format("{}: {}; rank {} was {}", words_of(here), *failure, bootstrap_->seat(),
                       here.how);
  }
  give_up(*failure);
  fail(what);
}

/// Reading the program's file takes its time, more than who asks has. Threads of the library know
/// of none.
std::string Engine::place() const {
  if (!place_ || place_->empty()) place_ = call_place();
  return *place_;
}

Whereabouts Engine::whereabouts(const Running& running) const {
  Whereabouts here{
      running.sequence,  running.words(), running.execution->waiting_for(), place(), {},
      bootstrap_->name()};
  for (const Running& one : running_) {
    if (one.execution->done() || one.execution->awaits_caller()) continue;
    const std::vector<Seat> ranks = one.execution->awaited_ranks();
    here.awaits.insert(here.awaits.end(), ranks.begin(), ranks.end());
  }
  std::ranges::sort(here.awaits);
  const auto repeated = std::ranges::unique(here.awaits);
  here.awaits.erase(repeated.begin(), repeated.end());
  return here;
}

void Engine::check_elsewhere() {
  since_elsewhere_ = {};
  const Running* const running = oldest();
  if (running == nullptr) return;
  const auto crossed = answer_elsewhere(*bootstrap_, [&] { return whereabouts(*running); });
  if (!crossed) return;
  const std::string reason = fmt::format("{}: waits in vain, {}; {}", running->name(),
                                         running->execution->waiting_for(), *crossed);
  give_up(reason);
  throw Error(ErrorCode::Timeout, fmt::format("rank {}: {}", bootstrap_->seat(), reason));
}

void Engine::drain() {
  Clock::time_point until = Clock::now() + timeout_;
  bool failed = false;
  while (!transport_->drain(kDrained) && Clock::now() < until) {
    if (failed || !bootstrap_->failure()) continue;
    failed = true;
    until = std::min(until, Clock::now() + kLeaves);
  }
}

void Engine::record_wait() {
  const Running* const running = record_ == nullptr ? nullptr : oldest();
  if (running == nullptr) return;
  record_->waits(whereabouts(*running), idle_);
  wait_recorded_ = true;
}

void Engine::record_gap(Clock::duration gap) {
  unrecorded_ += gap;
  if (unrecorded_ < kRecorded) return;
  const Clock::duration time = std::exchange(unrecorded_, {});
  const Running* const running = oldest();
  if (running == nullptr) return;
  std::vector<Seat> ranks = running->execution->awaited_ranks();
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
  record_->waited(time, ranks, transport_->unsent());
}

void Engine::time_out() {
  check_failure();
  const Running* running = oldest();
  std::string reason = "nothing outstanding";
  if (running != nullptr) {
    const Whereabouts here = whereabouts(*running);
    reason = fmt::format("{}: no progress for {} ms while {}", running->name(), timeout_.count(),
                         here.how);
    const std::string culprit = bootstrap_->culprit(here);
    if (culprit.empty()) check_failure();  // another rank may have found out
    if (!culprit.empty()) reason += "; " + culprit;
  }
  give_up(reason);
  throw Error(ErrorCode::Timeout, fmt::format("rank {}: {}", bootstrap_->seat(), reason));
}

}  // namespace multitree::runtime
