// SPDX-License-Identifier: BSD-3-Clause
#include "waiting.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>

#include "errors.hpp"

namespace multitree::python {
namespace {

using Clock = std::chrono::steady_clock;

/// Taking Python's lock disturbs its other threads; a person does not notice so little.
constexpr std::chrono::milliseconds kPeriod{50};

struct Interrupts {
  bool waiting = false;  ///< in a call of the library that may be interrupted
  bool asking = false;   ///< handlers of signals run
  bool ended = false;    ///< by a handler
  Clock::time_point next;
};
thread_local Interrupts interrupts;

int ask_python(void*) {
  Interrupts& mine = interrupts;
  if (!mine.waiting || mine.asking) return 0;
  const Clock::time_point now = Clock::now();
  if (now < mine.next) return 0;
  mine.next = now + kPeriod;
  const nb::gil_scoped_acquire lock;
  mine.asking = true;
  const bool raised = PyErr_CheckSignals() != 0;
  mine.asking = false;
  return raised || mine.ended ? 1 : 0;
}

std::atomic<std::uint32_t>& forks() {
  static std::atomic<std::uint32_t> count{0};
  static const int registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks().fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return count;
}

}  // namespace

Waiting::Waiting(bool interruptible) : state_(PyEval_SaveThread()) {
  interrupts.waiting = interruptible;
  interrupts.ended = false;
}
Waiting::~Waiting() {
  interrupts.waiting = false;
  PyEval_RestoreThread(state_);
}

void attend_to_signals() { check(mtSetInterrupt(ask_python, nullptr)); }

bool in_signal_handler() { return interrupts.asking; }
void end_interrupted_wait() { interrupts.ended = true; }

void throw_result(mtResult_t result) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  throw Failure(kind_of(result), mtGetLastError(nullptr));
}

std::uint32_t process_number() { return forks().load(std::memory_order_relaxed); }

}  // namespace multitree::python
