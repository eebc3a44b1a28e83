// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Setting up, working and failing of one rank's communicator.
#include "runtime/c/comm_turn_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/job/agreement.hpp"
#include "runtime/tuning.hpp"
#include "topologies/exception_words.hpp"
#include "topologies/thread.hpp"

namespace multitree::runtime::c {

namespace {

/// A mutex is not fair: without a pause the thread that let it go takes it again.
constexpr std::chrono::microseconds kPause{20};

}  // namespace

void Comm::give_others_a_turn() const {
  if (threads_waiting_ > 0) std::this_thread::sleep_for(kPause);
}

std::string Comm::words() const {
  const std::scoped_lock lock(words_mutex_);
  return words_;
}

Cause Comm::cause() const {
  const std::scoped_lock lock(words_mutex_);
  return cause_;
}

std::vector<DeadLink> Comm::dead_links() const {
  static_cast<void>(size());
  const std::scoped_lock lock(words_mutex_);
  return dead_links_;
}

void Comm::note_cause() {
  if (bootstrap_ == nullptr || shrunk_) return;
  Cause cause{{}, bootstrap_->dead_link()};
  if (const auto lost = bootstrap_->lost_seat()) cause.rank = rank_at(*lost);
  const std::scoped_lock lock(words_mutex_);
  const bool known = cause_.rank || cause_.link;
  if (!known) cause_ = cause;
}

void Comm::check_alive() const {
  check_own_process();
  const mtResult_t result = result_;
  if (result == mtInProgress) {
    throw Failure(mtInProgress,
                  "the communicator is being set up: poll mtCommGetAsyncError() until it says "
                  "mtSuccess");
  }
  if (result != mtSuccess) throw Failure(result, words());
  if (finalized_) throw Failure(mtInvalidUsage, "the communicator is finalized");
}

void Comm::check_usable() const {
  check_alive();
  if (finalizing_) throw Failure(mtInProgress, "the communicator is being finalized");
}

Cancellation Comm::cancellation() const {
  const std::scoped_lock lock(words_mutex_);
  return cancellation_;
}

Rank Comm::rank() const {
  static_cast<void>(size());
  return rank_;
}

std::uint32_t Comm::size() const {
  const std::uint32_t size = size_;
  if (size == 0) throw Failure(mtInProgress, "the communicator is being set up");
  return size;
}

/// Collective. Where the memory of a host serves every call, no schedule is made.
std::unique_ptr<Communicator> Comm::make_communicator(const std::shared_ptr<Bootstrap>& job,
                                                      CommPlans& plans) const {
  const CommunicatorOptions& options = settings_.options;
  if (settings_.open() && goes_without_messages(*job, options)) {
    auto communicator = std::make_unique<Communicator>(job, PlansBySize({}, true), options);
    if (communicator->on_one_host()) return communicator;
  }
  plans.follow(*job);
  plans.measure(*job);
  plans.choose(*job, false);
  std::vector<SizedSchedules> made = plans.first();
  check_agreement(made, *job, settings_.init_deadline);
  PlansBySize all(std::move(made), settings_.open());
  all.refining = plans.refining();
  all.remaking = plans.remaking();
  if (job->size() > 1) {
    all.on_demand = [this](Collective collective, Rank root) {
      return plans_->on_demand(collective, root);
    };
  }
  return std::make_unique<Communicator>(job, std::move(all), options);
}

void Comm::set_up(const Join& join) {
  try {
    const Joined joined =
        join({.deadline = settings_.init_deadline, .cancellation = cancellation()});
    rank_ = rank_at(joined.job->seat());
    size_ = joined.job->size();
    try {
      CommPlans all_plans = plans_of(settings_, *joined.job, joined.network);
      std::unique_ptr<Communicator> communicator = make_communicator(joined.job, all_plans);
      {
        const std::scoped_lock lock(words_mutex_);
        dead_links_ = joined.dead_links;
      }
      adopt(joined, std::move(communicator), std::move(all_plans));
    } catch (const std::exception& error) {
      joined.job->report_failure(plain_words(error));
      throw;
    }
  } catch (...) {
    const mtResult_t result = result_in_flight();
    fail(result, thread_words());
    // The job may be shrunk again by whoever this one was to be made from.
    const std::scoped_lock lock(words_mutex_);
    cancellation_ = {};
    throw;
  }
}

void Comm::adopt(const Joined& joined, std::unique_ptr<Communicator> communicator,
                 CommPlans plans) {
  const Turn turn(*this);
  bootstrap_ = joined.job;
  if (!joined.name.empty()) {
    household_ = Household::of(joined.name);
    household_->enter();
  }
  plans_ = std::move(plans);
  communicator_ = std::move(communicator);
  on_one_host_ = communicator_->on_one_host();
  if (joined.arrived) joined.arrived();
  mtResult_t expected = mtInProgress;
  result_.compare_exchange_strong(expected, mtSuccess);
}

void Comm::set_up_in_background(Join join) {
  run_in_background([this, join = std::move(join)] { set_up(join); });
}

void Comm::finalize_in_background() {
  check_usable();
  finalizing_ = true;
  run_in_background([this] {
    // Whatever comes of it, it is over afterwards: the result says how it went.
    const mtResult_t result = guarded([this] { finalize(); });
    if (result != mtSuccess) fail(result, thread_words());
    finalizing_ = false;
  });
}

void Comm::run_in_background(std::function<void()> work) {
  const std::scoped_lock lock(background_mutex_);
  if (background_.joinable()) background_.join();
  background_ = start_thread("the background", [work = std::move(work)] {
    // What goes wrong is kept as the communicator's result.
    static_cast<void>(guarded(work));
  });
}

void Comm::settle() {
  const std::scoped_lock lock(background_mutex_);
  if (background_.joinable()) background_.join();
}

void Comm::fail(mtResult_t result, const std::string& words) {
  const std::scoped_lock lock(words_mutex_);
  if (result_ != mtSuccess && result_ != mtInProgress) return;  // the first is the cause
  words_ = words;
  result_ = result;
}

void Comm::drop_jobs() {
  if (communicator_ != nullptr) communicator_->abort(words());
  for (const std::shared_ptr<Job>& job : outstanding_) {
    const bool over = job->is_over();
    job->request.reset();
    job->end(over ? Job::State::Done : Job::State::Failed);
  }
  outstanding_.clear();
}

mtResult_t Comm::look() {
  if (result() != mtSuccess || finalized_ || is_forked()) return result();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // Whoever holds it looks by itself.
  if (!lock.owns_lock() || bootstrap_ == nullptr) return result();
  try {
    run([&] { reap_streams(); });
  } catch (const std::exception&) {  // it is the communicator's result by now
    return result();
  }
  if (const std::optional<std::string> failure = bootstrap_->failure()) {
    take_out_those_over();
    fail(mtRemoteError, fmt::format("rank {}: {}", rank_.load(), *failure));
    note_cause();
    drop_jobs();
  }
  return result();
}

bool Comm::must_choose(const CallSpec& spec) {
  if (spec.exchange || !spec.call.root) return false;
  const Turn turn(*this);
  return !communicator_->on_one_host() && plans_->must_choose(true);
}

void Comm::choose_rooted() {
  // Nothing progresses meanwhile, so a peer could wait for us where we wait for it. Streams get on
  // by themselves.
  wait_for_all(Which::WithoutStream);
  const Turn turn(*this);
  check_alive();
  run([&] { plans_->choose(*bootstrap_, true); });
}

void Comm::check_root(const CallSpec& spec) const {
  const Rank root = spec.call.root.value_or(Rank{0});
  if (index(root) < size()) return;
  throw Failure(mtInvalidArgument,
                fmt::format("root: expected a rank below {}, found {}", size(), root));
}

void Comm::prepare(Job& job) {
  check_usable();
  check_root(job.spec);
  // Without peers the schedule that the communicator fills in has root 0, the only one.
  if (must_choose(job.spec)) choose_rooted();
  const Turn turn(*this);
  check_usable();
  if (job.streamed()) check_streamed(job.spec.call);
  job.where = communicator_.get();
  run([&] {
    if (job.spec.exchange) return job.where->check(*job.spec.exchange);
    job.prepared = job.where->prepare(job.spec.call);
  });
}

void Comm::start(const std::shared_ptr<Job>& job) {
  const Turn turn(*this);
  check_usable();
  run([&] { reap_streams(); });
  job->begin();
  try {
    run([&] {
      if (job->streamed()) return start_on_stream(*job);
      const auto begin = [&](const auto& what) {
        return job->attended ? job->where->start_attended(what) : job->where->start(what);
      };
      const bool refined = settings_.refine && job->alone && !job->spec.exchange;
      job->request = std::make_shared<Request>(refined ? job->where->start_run(job->spec.call)
                                               : job->spec.exchange ? begin(*job->spec.exchange)
                                                                    : begin(job->prepared));
    });
  } catch (...) {
    job->end(Job::State::Failed);
    throw;
  }
  outstanding_.push_back(job);
}

bool Comm::take_out_if_over(std::size_t place) {
  Job& job = *outstanding_[place];
  if (!job.request->test()) return false;
  job.request.reset();
  job.end(Job::State::Done);
  outstanding_.erase(outstanding_.begin() + static_cast<std::ptrdiff_t>(place));
  return true;
}

void Comm::progress() {
  const Turn turn(*this);
  check_alive();
  run([&] {
    for (std::size_t i = 0; i < outstanding_.size();) {
      if (!take_out_if_over(i)) ++i;
    }
  });
}

void Comm::sleep(std::chrono::microseconds limit) {
  std::function<void(std::chrono::microseconds)> nap;
  {
    const Turn turn(*this);
    check_usable();
    run([&] { nap = communicator_->poll_or_nap(); });
  }
  if (nap) nap(limit);
}

void Comm::wait(const Job& job) {
  if (job.streamed()) wait_for_stream(job);
  while (job.state == Job::State::Running) {
    progress();
    give_others_a_turn();
  }
  if (job.state == Job::State::Failed) check_alive();
}

std::shared_ptr<Job> Comm::first_outstanding(Which which) {
  const Turn turn(*this);
  const auto it = std::ranges::find_if(outstanding_, [&](const std::shared_ptr<Job>& job) {
    return which == Which::All || !job->streamed();
  });
  return it == outstanding_.end() ? nullptr : *it;
}

void Comm::wait_for_all(Which which) {
  while (const std::shared_ptr<Job> job = first_outstanding(which)) wait(*job);
}

void Comm::barrier() {
  check_alive();
  wait_for_all(Which::All);
  const Turn turn(*this);
  check_alive();
  run([&] { communicator_->barrier(); });
}

void Comm::finish() {
  check_alive();
  wait_for_all(Which::All);
}

void Comm::finalize() {
  const auto household = part_from_household();
  return household == nullptr ? close() : household->finalize(*this);
}

void Comm::close() {
  if (finalized_ && result_ == mtSuccess) return;
  barrier();
  const Turn turn(*this);
  plans_->keep(communicator_->refined());
  communicator_.reset();  // waits for all ranks before it closes
  bootstrap_.reset();
  finalized_ = true;
}

std::shared_ptr<Household> Comm::part_from_household() {
  const Turn turn(*this);
  return std::exchange(household_, nullptr);
}

void Comm::leave(const std::shared_ptr<Comm>& self) {
  if (is_forked()) return leave_behind();
  settle();
  if (const auto household = part_from_household()) return household->leave(self);
  // A failed one is dropped as it is; its failure was reported when it happened.
  if (stands()) close();
}

Comm::~Comm() {
  try {
    abort("left by its process");
  } catch (const std::bad_alloc&) {  // what is left of it ends with its members
  }
}

void Comm::abort(const std::string& reason) {
  // In this order: what the cancellation breaks must find the cause noted down.
  fail(mtAborted, reason);
  if (is_forked()) return leave_behind();
  cancellation().request();
  settle();
  {
    const Turn turn(*this);
    drop_jobs();
    communicator_.reset();
    if (bootstrap_ != nullptr) bootstrap_->report_failure(reason);
    bootstrap_.reset();
  }
  if (const auto household = part_from_household()) household->vanish(reason);
}

}  // namespace multitree::runtime::c
