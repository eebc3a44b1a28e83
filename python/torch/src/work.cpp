// SPDX-License-Identifier: BSD-3-Clause
#include "work.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>

#include "lane.hpp"
#include "library.hpp"

namespace multitree_torch {
namespace {

using Clock = std::chrono::steady_clock;

/// For which who waits looks again and again before it sleeps: calls of small tensors are over by
/// then. A sleep ends when something arrives; at the latest after this, to see deadlines and
/// deaths.
constexpr std::chrono::microseconds kSpin{60};
constexpr int kLongestSleep = 2000;  // microseconds

/// What a future has to know of its values.
std::vector<c10::Device> devices_of(const Call& call) {
  if (!call.device) return {};
  return {call.device->caller.device()};
}

}  // namespace

void sleep_until_arrival(mtComm_t comm) {
  if (mtCommSleep(comm, kLongestSleep) != mtSuccess) ::sched_yield();  // requests say what is wrong
}

Requests::~Requests() {
  for (mtRequest_t& request : requests_) mtRequestFree(&request);
}

bool Requests::test() {
  while (!requests_.empty()) {
    int complete = 0;
    check(mtRequestTest(requests_.back(), &complete), what_, comm_);
    if (complete == 0) return false;
    mtRequestFree(&requests_.back());
    requests_.pop_back();
  }
  return done_ == nullptr || done_->query();
}

CallWork::CallWork(Call call, int rank, std::uint64_t number, std::shared_ptr<Pump> pump)
    : Work(rank, call.type, ("multitree:" + call.what).c_str(), call.inputs),
      call_(std::move(call)),
      number_(number),
      pump_(std::move(pump)),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get()), devices_of(call_))) {}

bool CallWork::isCompleted() { return over(); }

bool CallWork::isSuccess() const {
  const std::lock_guard lock(mutex_);
  return completed_ && exception_ == nullptr;
}

std::vector<at::Tensor> CallWork::result() {
  TORCH_CHECK(over(), call_.what,
              ": the result is asked for before the work is complete; call wait()");
  return call_.outputs;
}

bool CallWork::wait(std::chrono::milliseconds timeout) {
  const bool own = timeout > kNoTimeout;
  const std::chrono::milliseconds limit = own ? timeout : call_.timeout;
  const auto deadline = limit > kNoTimeout ? Clock::now() + limit : Clock::time_point::max();
  // Who waits for a stream need not wait for its end, unless for a certain time.
  const bool on_stream = call_.device && call_.device->on_stream && !own;
  if (!on_stream && !over() && !pump_->drive(*this, deadline)) give_up(limit);
  {
    const std::lock_guard lock(mutex_);
    if (exception_) std::rethrow_exception(exception_);
  }
  follow_device();
  return true;
}

void CallWork::follow_device() const {
  if (!call_.device || call_.device->done == nullptr) return;
  const c10::Device device = call_.device->caller.device();
  call_.device->done->block(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

void CallWork::give_up(std::chrono::milliseconds waited) {
  const std::string words = call_.what + ": Timed out waiting " + std::to_string(waited.count()) +
                            "ms for operation to complete; the process group is aborted, as its "
                            "buffers may be written until then";
  pump_->abort(words);
  C10_THROW_ERROR(DistBackendError, words);
}

void CallWork::abort() { pump_->abort(call_.what + ": aborted by its caller"); }

std::exception_ptr CallWork::copy_results() {
  try {
    const at::NoGradGuard no_grad;
    if (call_.finish) std::exchange(call_.finish, nullptr)();
    for (const Copy& copy : call_.copies) copy.to.copy_(copy.from.view_as(copy.to));
    call_.copies.clear();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void CallWork::put_on(const c10::Stream& stream) {
  const c10::StreamGuard guard(stream);
  if (const std::exception_ptr error = copy_results()) std::rethrow_exception(error);
  call_.device->done->record(stream);
  future_->markCompleted(at::IValue(call_.outputs));
}

void CallWork::complete(std::exception_ptr error) {
  if (completing_.exchange(true)) return;
  std::optional<c10::StreamGuard> guard;
  if (call_.device) guard.emplace(call_.device->caller);
  if (!error) error = copy_results();
  if (call_.device && !call_.device->on_stream && !error) {
    auto done = std::make_shared<c10::Event>(call_.device->caller.device_type());
    done->record(call_.device->caller);
    call_.device->done = std::move(done);
  }
  call_.copies.clear();
  call_.keep.clear();
  call_.finish = nullptr;
  finish(error);
  over_.store(true, std::memory_order_release);
  if (future_->completed()) return;
  if (error) {
    future_->setErrorIfNeeded(error);
  } else {
    future_->markCompleted(at::IValue(call_.outputs));
  }
}

void Pump::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's own threads
  thread_ = std::thread([self = shared_from_this()] { self->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pump::add(c10::intrusive_ptr<CallWork> work, std::unique_ptr<Pending> pending) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      entries_.push_back({std::move(work), std::move(pending), ++added_});
      bell_.notify_one();
      return;
    }
  }
  work->complete(failure(mtAborted, work->call().what, nullptr));
}

std::list<Pump::Entry> Pump::collect(std::vector<std::exception_ptr>& errors) {
  std::list<Entry> over;
  bool all_before = true;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto next = std::next(it);
    bool over_now = false;
    std::exception_ptr error;
    try {
      over_now = it->pending->test() && (all_before || !it->work->call().after_all);
    } catch (...) {
      error = std::current_exception();
    }
    if (over_now || error) {
      errors.push_back(error);
      over.splice(over.end(), entries_, it);
    } else {
      all_before = false;
    }
    it = next;
  }
  return over;
}

bool Pump::round() {
  std::list<Entry> over;
  std::vector<std::exception_ptr> errors;
  {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || stopping_) return false;
    over = collect(errors);
  }
  // Without the lock: what hangs on a future may start other calls.
  std::size_t i = 0;
  for (const Entry& entry : over) entry.work->complete(errors[i++]);
  return !over.empty();
}

bool Pump::drive(const CallWork& work, Clock::time_point deadline) {
  {
    const std::lock_guard lock(mutex_);
    ++drivers_;
  }
  const Clock::time_point spin_until = Clock::now() + kSpin;
  while (!work.over() && Clock::now() < deadline) {
    if (round()) continue;
    if (Clock::now() < spin_until) {
      ::sched_yield();
    } else {
      sleep_();
    }
  }
  const std::lock_guard lock(mutex_);
  if (--drivers_ == 0 && !entries_.empty()) bell_.notify_one();
  return work.over();
}

void Pump::stop(const std::exception_ptr& error) {
  std::list<Entry> entries;
  std::thread ended;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    entries.swap(entries_);
    ended.swap(thread_);
    bell_.notify_one();
  }
  for (const Entry& entry : entries) entry.work->complete(error);
  if (!ended.joinable()) return;
  if (ended.get_id() == std::this_thread::get_id()) {
    ended.detach();
  } else {
    ended.join();
  }
}

void Pump::abort(const std::string& reason) {
  std::exception_ptr error;
  try {
    C10_THROW_ERROR(DistBackendError, reason);
  } catch (...) {
    error = std::current_exception();
  }
  if (end_) end_();
  stop(error);
}

std::uint64_t Pump::latest() {
  const std::lock_guard lock(mutex_);
  return added_;
}

bool Pump::passed(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return entries_.empty() || entries_.front().number > number;
}

void Pump::run() {
  pthread_setname_np(pthread_self(), "multitree_pump");
  while (true) {
    {
      std::unique_lock lock(mutex_);
      bell_.wait(lock, [this] { return stopping_ || (!entries_.empty() && drivers_ == 0); });
      if (stopping_) return;
    }
    if (!round()) sleep_();
  }
}

}  // namespace multitree_torch
