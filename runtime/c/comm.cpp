// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Setting up, working and failing of one rank's communicator.
#include "runtime/c/comm_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/agreement.hpp"

namespace multitree::runtime::c {

/// Holds the mutex. Others that wait for it are counted, so that a thread in a loop lets them in.
class Comm::Turn {
 public:
  explicit Turn(Comm& comm) : comm_(comm) {
    ++comm.threads_waiting_;
    comm.mutex_.lock();
    --comm.threads_waiting_;
  }
  ~Turn() { comm_.mutex_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Comm& comm_;
};

namespace {

/// A mutex is not fair: without a pause the thread that let it go takes it again.
constexpr std::chrono::microseconds kPause{20};

/// These end a communicator; other errors have changed nothing.
bool is_final(const Error& error) {
  return error.code() == ErrorCode::Transport || error.code() == ErrorCode::Timeout ||
         error.code() == ErrorCode::Cuda;
}

}  // namespace

void Comm::give_others_a_turn() const {
  if (threads_waiting_ > 0) std::this_thread::sleep_for(kPause);
}

std::string Comm::words() const {
  const std::scoped_lock lock(words_mutex_);
  return words_;
}

void Comm::check_alive() const {
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

std::uint32_t Comm::rank() const {
  static_cast<void>(size());
  return rank_;
}

std::uint32_t Comm::size() const {
  const std::uint32_t size = size_;
  if (size == 0) throw Failure(mtInProgress, "the communicator is being set up");
  return size;
}

void Comm::set_up(const Join& join) {
  try {
    std::shared_ptr<Bootstrap> bootstrap =
        join({.deadline = settings_.init_deadline, .cancellation = cancellation_});
    rank_ = bootstrap->rank();
    size_ = bootstrap->size();
    std::unique_ptr<Communicator> communicator;
    std::optional<Planner> planner;
    try {
      planner.emplace(settings_, bootstrap->size());
      std::vector<SizedSchedules> plans = planner->unrooted();
      check_agreement(plans, *bootstrap, settings_.init_deadline);
      communicator = std::make_unique<Communicator>(
          bootstrap, PlansBySize(std::move(plans), settings_.open()), settings_.options);
    } catch (const std::exception& error) {
      bootstrap->report_failure(error.what());
      throw;
    }
    const Turn turn(*this);
    bootstrap_ = std::move(bootstrap);
    planner_ = std::move(planner);
    unrooted_ = std::move(communicator);
    mtResult_t expected = mtInProgress;
    result_.compare_exchange_strong(expected, mtSuccess);
  } catch (...) {
    const mtResult_t result = result_in_flight();
    fail(result, thread_words());
    throw;
  }
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
  background_ = std::thread([work = std::move(work)] {
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
  for (const auto& [root, communicator] : rooted_) communicator->abort(words());
  if (unrooted_ != nullptr) unrooted_->abort(words());
  for (const std::shared_ptr<Job>& job : outstanding_) {
    job->request = {};
    job->state = Job::State::Failed;
  }
  outstanding_.clear();
}

template <typename Body>
void Comm::run(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (is_final(error)) {
      fail(result_of(error.code()), error.what());
      drop_jobs();
      // An abort may be what made it fail.
      if (result_ == mtAborted) throw Failure(mtAborted, words());
    }
    throw;
  }
}

mtResult_t Comm::look() {
  if (result() != mtSuccess || finalized_) return result();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  // Whoever holds it looks by itself.
  if (!lock.owns_lock() || bootstrap_ == nullptr) return result();
  if (const std::optional<std::string> failure = bootstrap_->failure()) {
    fail(mtRemoteError, fmt::format("rank {}: {}", rank_.load(), *failure));
    drop_jobs();
  }
  return result();
}

Communicator* Comm::communicator_for(const CallSpec& spec) {
  if (!has_root(spec.collective)) return unrooted_.get();
  const auto it = rooted_.find(spec.root);
  return it == rooted_.end() ? nullptr : it->second.get();
}

bool Comm::must_connect(const CallSpec& spec) {
  const Turn turn(*this);
  return communicator_for(spec) == nullptr;
}

void Comm::connect(std::uint32_t root) {
  // Nothing progresses while connecting, so a peer could wait for us where we wait for it.
  wait_for_all();
  const Turn turn(*this);
  check_alive();
  if (rooted_.contains(root)) return;
  run([&] {
    std::vector<SizedSchedules> plans = planner_->rooted(Rank{root});
    check_agreement(plans, *bootstrap_, settings_.options.timeout);
    CommunicatorOptions options = settings_.options;
    options.root = root;
    rooted_[root] = std::make_unique<Communicator>(
        bootstrap_, PlansBySize(std::move(plans), settings_.open()), options);
  });
}

void Comm::prepare(Job& job) {
  check_usable();
  if (has_root(job.spec.collective) && job.spec.root >= size()) {
    throw Failure(mtInvalidArgument,
                  fmt::format("root: expected a rank below {}, found {}", size(), job.spec.root));
  }
  // Without peers the schedule that the communicator fills in has root 0, the only one.
  if (must_connect(job.spec)) connect(job.spec.root);
  const Turn turn(*this);
  check_usable();
  const CallSpec& spec = job.spec;
  job.where = communicator_for(spec);
  job.prepared =
      job.where->prepare(spec.collective, spec.send, spec.recv, spec.count, spec.type, spec.op);
}

void Comm::start(const std::shared_ptr<Job>& job) {
  const Turn turn(*this);
  check_usable();
  job->state = Job::State::Running;
  try {
    run([&] { job->request = job->where->start(job->prepared); });
  } catch (...) {
    job->state = Job::State::Failed;
    throw;
  }
  outstanding_.push_back(job);
}

void Comm::progress() {
  const Turn turn(*this);
  check_alive();
  run([&] {
    for (std::size_t i = 0; i < outstanding_.size();) {
      Job& job = *outstanding_[i];
      if (!job.request.test()) {
        ++i;
        continue;
      }
      job.request = {};
      job.state = Job::State::Done;
      outstanding_.erase(outstanding_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  });
}

void Comm::wait(const Job& job) {
  while (job.state == Job::State::Running) {
    progress();
    give_others_a_turn();
  }
  if (job.state == Job::State::Failed) check_alive();
}

void Comm::wait_for_all() {
  const auto busy = [&] {
    const Turn turn(*this);
    return !outstanding_.empty();
  };
  while (busy()) {
    progress();
    give_others_a_turn();
  }
}

void Comm::barrier() {
  check_alive();
  wait_for_all();
  const Turn turn(*this);
  check_alive();
  run([&] { unrooted_->barrier(); });
}

void Comm::finalize() {
  if (finalized_ && result_ == mtSuccess) return;
  barrier();
  const Turn turn(*this);
  // Each waits for all ranks before it closes; in the same order everywhere.
  rooted_.clear();
  unrooted_.reset();
  bootstrap_.reset();
  finalized_ = true;
}

void Comm::abort(const std::string& reason) {
  // In this order: what the cancellation breaks must find the cause noted down.
  fail(mtAborted, reason);
  cancellation_.request();
  settle();
  const Turn turn(*this);
  drop_jobs();
  rooted_.clear();
  unrooted_.reset();
  if (bootstrap_ != nullptr) bootstrap_->report_failure(reason);
  bootstrap_.reset();
}

}  // namespace multitree::runtime::c
