// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The progress loop.
#include "runtime/execution/engine_internal.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "topologies/error.hpp"
#include "topologies/exception_words.hpp"

namespace multitree::runtime {
namespace {

/// Polls before the processor is offered to others, which may be the very peers we wait for: few
/// when the last offer was taken, which shows by its taking long.
constexpr std::uint32_t kSpins = 64;
constexpr std::uint32_t kSpinsWhenCrowded = 2;
/// Where a sleep ends as soon as something arrives, polling before it only takes the processor from
/// others.
constexpr std::uint32_t kSpinsBeforeSleep = 1;
/// Polls in which the network has moved and no operation has that count as an idle one.
constexpr std::uint32_t kBusyPolls = 16;
constexpr std::chrono::microseconds kOfferTaken{2};
constexpr std::chrono::milliseconds kFailurePeriod{1};
/// Between two looks whether other communicators ask, for who has waited long.
constexpr std::chrono::milliseconds kElsewherePeriod{10};
/// Longest sleep where the transport can wake us up; a failure elsewhere is noticed after it.
constexpr std::chrono::milliseconds kSleep{10};
/// Sleep instead of a futex: whoever publishes would have to ask each time whether somebody sleeps.
constexpr std::chrono::milliseconds kNapAfter{20};
constexpr std::chrono::microseconds kNap{50};
/// Ranks a processor up to which these hold.
constexpr std::uint32_t kCrowd = 8;
constexpr std::chrono::milliseconds kCausePatience{200};
/// Wait without progress before the peers are told what for: longer than any message of a
/// collective takes that all ranks are in, and short beside what a person notices.
constexpr std::chrono::milliseconds kAnnouncePatience{100};
/// Calls in which a rank waits for nobody, between two looks at what others say.
constexpr std::uint64_t kUnawaited = 64;
/// For what was sent before a barrier and has not come when it is over.
constexpr std::chrono::seconds kStragglers{1};
/// A gap between two looks at the clock counts at most this much: the caller may have been away,
/// computing, and then nothing could have moved.
constexpr std::chrono::milliseconds kLongestLook{20};
/// For which a caller that has looked is taken to look again.
constexpr std::chrono::milliseconds kAttention{1};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

std::optional<std::string> await_failure(Bootstrap& bootstrap) {
  const auto until = std::chrono::steady_clock::now() + kCausePatience;
  std::optional<std::string> failure = bootstrap.failure();
  while (!failure && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kFailurePeriod);
    failure = bootstrap.failure();
  }
  return failure;
}

namespace {

/// For this long an exception that is under way is taken to be of the last failure.
constexpr std::chrono::seconds kRecent{1};

struct Failure {
  std::string words;
  std::chrono::steady_clock::time_point time;
};
Failure& last_failure() {
  thread_local Failure failure;
  return failure;
}

}  // namespace

std::string recent_failure() {
  const bool recent = std::chrono::steady_clock::now() - last_failure().time < kRecent;
  return recent ? last_failure().words : std::string();
}

std::string Running::name() const {
  return numbered ? fmt::format("{} #{}", collective, sequence) : std::string(collective);
}

std::string Running::words() const { return numbered ? numbered_words(call, sequence) : name(); }

Engine::Engine(std::shared_ptr<Bootstrap> bootstrap, std::unique_ptr<Transport> transport,
               const std::vector<Seat>& peers, Deadline timeout)
    : bootstrap_(std::move(bootstrap)),
      attendance_(bootstrap_),
      transport_(std::move(transport)),
      outbox_(transport_->limits()),
      timeout_(timeout),
      spins_(kSpins),
      patience_(std::min<Deadline>(kAnnouncePatience, timeout / 4)) {
  announcements_ = std::make_unique<Announcements>(*transport_, bootstrap_->seat(), peers);
}

void Engine::add(const Running& running, const SharedCall& call, bool waits) {
  if (!waits && ++unawaited_ % kUnawaited == 0) look_up();
  if (announcements_->has_unawaited()) tell_unawaited();
  announcements_->note({running.sequence, call}, waits);
  add(running);
  running_.back().call = call;
}

/// Now and then: two ranks that both only send would not find out otherwise that they differ.
void Engine::tell_unawaited() {
  const Clock::time_point now = Clock::now();
  if (now - told_unawaited_ < kAnnouncePatience) return;
  told_unawaited_ = now;
  announcements_->announce_unawaited();
}

void Engine::look_up() {
  transport_->progress();
  if (announcements_->heard()) check_calls();
  check_failure();
}

void Engine::remove(const Activity& execution) {
  std::erase_if(running_, [&](const Running& r) { return r.execution == &execution; });
}

bool Engine::advance_all() {
  bool moved = false;
  for (const Running& running : running_) {
    try {
      moved |= running.execution->advance();
    } catch (const Error& error) {
      fail_in(running, error);
    } catch (const std::bad_alloc& error) {
      fail_in(running, Error(ErrorCode::Io, plain_words(error)));
    }
  }
  return moved;
}

void Engine::fail_in(const Running& running, const Error& error) {
  // What was called is known here as well as elsewhere, and is no echo of a death.
  const bool own = error.code() == ErrorCode::InvalidArgument;
  if (!own && await_failure(*bootstrap_)) check_failure(&running);
  const std::string reason = fmt::format("{}: {}", running.name(), error.what());
  give_up(reason);
  throw Error(error.code(), fmt::format("rank {}: {}", bootstrap_->seat(), reason));
}

void Engine::fail_in(const Activity& execution, const Error& error) {
  const auto running = std::ranges::find(running_, &execution, &Running::execution);
  if (running == running_.end()) throw error;
  fail_in(*running, error);
}

void Engine::allow_naps(std::uint32_t ranks_per_processor) {
  const std::uint32_t crowd = std::max(1U, ranks_per_processor / kCrowd);
  nap_ = kNap * crowd;
  nap_after_ = std::max<Deadline>(kNapAfter / crowd, Deadline{1});
}

Engine::Guard Engine::guard() {
  if (!shared_ || forked()) return {};
  contenders_.fetch_add(1, std::memory_order_relaxed);
  mutex_.lock();
  contenders_.fetch_sub(1, std::memory_order_relaxed);
  return Guard(*this);
}

void Engine::unlock() {
  mutex_.unlock();
  if (held_off_ && held_off_.exchange(false)) progress_->wake();
}

bool Engine::try_lock_behind() {
  if (mutex_.try_lock()) return true;
  held_off_ = true;
  // It may have been unlocked in between, by somebody who did not know yet.
  if (!mutex_.try_lock()) return false;
  held_off_ = false;
  return true;
}

Engine::Moves Engine::move() try {
  const bool network = transport_->progress();
  if (announcements_->heard()) check_calls();
  const bool running = advance_all() || outbox_.resume();
  if (running) {
    idle_polls_ = busy_polls_ = 0;
    idle_ = since_failure_ = {};
    looked_ = false;
    place_.reset();
    if (std::exchange(wait_recorded_, false)) record_->goes_on();
  }
  return {network, running};
} catch (const std::bad_alloc& error) {  // what it has left is half done
  give_up(plain_words(error));
  throw Error(ErrorCode::Io, fmt::format("rank {}: {}", bootstrap_->seat(), plain_words(error)));
}

void Engine::progress_while_away(const ProgressChoice& choice) {
  if (!choice.on) return;
  if (progress_ == nullptr) {
    shared_ = true;
    progress_ = std::make_unique<Progress>(*this);
  }
  progress_->join(choice);
  attended_.store(0);
  progress_->wake();
}

Engine::Behind Engine::progress_behind(std::vector<int>& descriptors) {
  const Clock::time_point attended{Clock::duration{attended_.load()}};
  if (Clock::now() - attended < kAttention) return Behind::Attended;
  if (!try_lock_behind()) return Behind::Held;
  const Guard guard(*this);
  return move_behind(descriptors);
}

Engine::Behind Engine::move_behind(std::vector<int>& descriptors) {
  if (!usable() || oldest() == nullptr) return Behind::Nothing;
  try {
    const Moves moves = move();
    if (moves.running || moves.network) return Behind::Moved;
    const Clock::time_point now = Clock::now();
    if (now - asked_behind_ >= kFailurePeriod) {
      asked_behind_ = now;
      check_failure();
    }
  } catch (...) {
    untold_ = std::current_exception();
    return Behind::Nothing;
  }
  switch (transport_->await_arrivals(descriptors)) {
    case Transport::Arrivals::Unknown:
      return Behind::Still;
    case Transport::Arrivals::Here:
      return Behind::Moved;
    case Transport::Arrivals::Awaited:
      return Behind::Armed;
  }
  return Behind::Still;
}

bool Engine::poll() {
  check_usable();
  const auto [network, running] = move();
  if (running) return true;
  // Traffic without a completion (keep-alives, parts of a message) does not extend the deadline.
  // And there may be no end to it: UCX has work as long as it tries to let go of a connection.
  if (!network || idle_polls_ >= spins_ || ++busy_polls_ % kBusyPolls == 0) on_idle(network);
  return network;
}

void Engine::on_idle(bool network) {
  if (++idle_polls_ < spins_) {
    relax();
    return;
  }
  const Clock::time_point now = Clock::now();
  if (looked_) {
    const Clock::duration gap = std::min<Clock::duration>(now - last_look_, kLongestLook);
    idle_ += gap;
    since_failure_ += gap;
    since_elsewhere_ += gap;
    if (record_ != nullptr) record_gap(gap);
  }
  last_look_ = now;
  looked_ = true;
  // Messages that come all the time leave no time that is idle, and links may be slow then.
  const bool due = look_ != nullptr && now - failure_asked_ >= kFailurePeriod;
  if (due || since_failure_ >= kFailurePeriod) {
    since_failure_ = {};
    failure_asked_ = now;
    check_failure();
    check_interruption();
  }
  if (oldest() == nullptr) idle_ = {};  // all wait for their callers
  if (idle_ >= patience_) {
    announce();
    static_cast<void>(place());
    if (!wait_recorded_) record_wait();
    attendance_.use();
    if (since_elsewhere_ >= kElsewherePeriod) check_elsewhere();
  }
  if (idle_ >= timeout_) time_out();
  if (nap_after_.count() > 0 && idle_ >= nap_after_) {
    std::this_thread::sleep_for(nap_);
    return;
  }
  if (network) return;  // there may be more
  // A device moves without the network, and its thread waits for the guard: no sleep then.
  if (!has_device_ && transport_->sleep(kSleep)) {
    spins_ = kSpinsBeforeSleep;
    return;
  }
  ::sched_yield();
  spins_ = Clock::now() - now > kOfferTaken ? kSpinsWhenCrowded : kSpins;
}

const Running* Engine::oldest() const {
  for (const Running& running : running_) {
    if (!running.execution->done() && !running.execution->awaits_caller()) return &running;
  }
  return nullptr;
}

void Engine::announce() {
  for (const Running& running : running_) {
    if (!running.numbered || running.execution->done() || running.execution->awaits_caller()) {
      continue;
    }
    return announcements_->announce(running.sequence);
  }
}

void Engine::check_calls() {
  const auto difference = announcements_->find_difference();
  if (!difference) return;
  const std::string reason = fmt::format("call #{}: {}", difference->first, difference->second);
  give_up(reason);
  throw Error(ErrorCode::InvalidArgument, fmt::format("rank {}: {}", bootstrap_->seat(), reason));
}

void Engine::wait(const Activity& execution) {
  while (!execution.done()) poll();
}

void Engine::wait_all() {
  while (oldest() != nullptr) poll();
}

void Engine::barrier() {
  check_usable();
  wait_all();
  announcements_->announce_unawaited();
  // It has to have left, and is sent again at the barrier if it is lost with a connection.
  drain();
  const auto progress = [this] { transport_->progress(); };
  try {
    await_told(bootstrap_->all_gather(announcements_->take_told(), timeout_, progress));
  } catch (const Error& error) {
    give_up(fmt::format("barrier: {}", error.what()));
    throw;
  }
}

void Engine::await_told(const Gathered& told) {
  const std::uint64_t expected = announcements_->count_told(told);
  const auto until = Clock::now() + kStragglers;
  while (!announcements_->have_come(expected) && Clock::now() < until) {
    if (!transport_->progress()) ::sched_yield();
    if (announcements_->heard()) check_calls();
  }
}

void Engine::check_usable() {
  if (forked()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("rank {}: the communicator belongs to the process that this one was "
                            "forked from",
                            bootstrap_->seat()));
  }
  if (untold_) std::rethrow_exception(std::exchange(untold_, nullptr));
  if (!broken_.empty()) {
    throw Error(ErrorCode::Transport, fmt::format("rank {}: the communicator failed earlier: {}",
                                                  bootstrap_->seat(), broken_));
  }
}

void Engine::give_up(const std::string& reason) {
  if (!broken_.empty()) return;
  broken_ = reason;
  last_failure() = {reason, Clock::now()};
  if (record_ != nullptr) {
    if (!wait_recorded_) record_wait();
    record_->fail(reason);
  }
  for (const Running& running : running_) {
    if (!running.execution->done()) {
      first_unfinished_ = std::min(first_unfinished_.value_or(running.sequence), running.sequence);
    }
  }
  try {
    bootstrap_->report_failure(reason);
  } catch (const std::bad_alloc&) {  // then the others learn of it by the connections that end
  }
  transport_->abort();
}

}  // namespace multitree::runtime
