// SPDX-License-Identifier: BSD-3-Clause
// Waiting for what was started.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "communicator.hpp"
#include "errors.hpp"
#include "operators.hpp"

namespace multitree::python {
namespace {

using Clock = std::chrono::steady_clock;

/// Longest sleep in a wait: what the user wants is asked after it, and the library's deadline
/// counts no more than 20 ms of one.
constexpr std::chrono::microseconds kNap{10'000};
/// Looks without a sleep in between: most waits are short.
constexpr int kLooks = 100;

/// Looks, then sleeps, until it is done, but no longer than about kNap.
mtResult_t wait_a_little(mtComm_t comm, mtRequest_t request, std::chrono::microseconds limit,
                         int* done) {
  const Waiting waiting(false);
  const Clock::time_point end = Clock::now() + limit;
  for (int look = 0;; ++look) {
    const mtResult_t result = mtRequestTest(request, done);
    if (result != mtSuccess || *done != 0) return result;
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now());
    if (left.count() <= 0) return result;
    if (look < kLooks) continue;
    const mtResult_t slept = mtCommSleep(comm, static_cast<int>(left.count()));
    if (slept != mtSuccess) return slept;
  }
}

/// Without Python's lock, for which the thread that moves it may wait: an operator's function needs
/// it.
mtResult_t look(mtRequest_t request, int* done) {
  const Waiting waiting(false);
  return mtRequestTest(request, done);
}

std::string seconds_text(double seconds) { return nb::str(nb::float_(seconds)).c_str(); }

}  // namespace

Request::Request(nb::object communicator, const char* call, std::unique_ptr<Pending> pending,
                 nb::object result)
    : communicator_(std::move(communicator)),
      call_(call),
      pending_(std::move(pending)),
      result_(std::move(result)) {}

Request::~Request() {
  if (pending_ != nullptr) this->communicator().adopt(std::move(pending_));
}

Communicator& Request::communicator() const { return nb::cast<Communicator&>(communicator_); }

nb::object Request::wait(const std::optional<double>& timeout) {
  if (timeout && !(*timeout >= 0)) {
    throw_invalid("timeout: expected seconds, 0 or more, or None, got " + seconds_text(*timeout));
  }
  if (failure_) throw Failure(*failure_);
  constexpr double kForever = 1e9;
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                         std::min(timeout.value_or(kForever), kForever)));
  while (pending_ != nullptr) {
    const mtComm_t comm = this->communicator().handle(call_);
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(end - Clock::now());
    int done = 0;
    const mtResult_t result = wait_a_little(
        comm, pending_->handle, std::clamp(left, std::chrono::microseconds(0), kNap), &done);
    if (result != mtSuccess) fail(result);
    if (done != 0) {
      complete();
    } else if (left.count() <= 0) {
      throw Failure("Timeout", std::string(call_) + ": not complete after " +
                                   seconds_text(*timeout) +
                                   " s; it goes on, and can be waited for again");
    } else if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();  // it goes on as well
    }
  }
  return result_;
}

bool Request::test() {
  if (failure_) throw Failure(*failure_);
  if (pending_ == nullptr) return true;
  static_cast<void>(this->communicator().handle(call_));
  int done = 0;
  const mtResult_t result = look(pending_->handle, &done);
  if (result != mtSuccess) fail(result);
  if (done != 0) complete();
  return done != 0;
}

void Request::complete() {
  const std::unique_ptr<Pending> pending = std::move(pending_);
  check_operator(pending->op);
}

void Request::fail(mtResult_t result) {
  failure_.emplace(kind_of(result), mtGetLastError(nullptr));
  pending_.reset();
  throw Failure(*failure_);
}

}  // namespace multitree::python
