// SPDX-License-Identifier: BSD-3-Clause
#include "waiting.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

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

/// The innermost line of Python that is not of this package.
int tell_place(char* words, std::size_t size, void*) {
  if (!interrupts.waiting) return 0;
  const nb::gil_scoped_acquire lock;
  nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame.is_valid() && !frame.is_none()) {
    const nb::object module = frame.attr("f_globals").attr("get")("__name__", "");
    const std::string name = nb::cast<std::string>(nb::str(module));
    if (name != "multitree" && !name.starts_with("multitree.")) {
      const std::string path = nb::cast<std::string>(frame.attr("f_code").attr("co_filename"));
      const auto line = nb::cast<long>(frame.attr("f_lineno"));
      const std::string file = path.substr(path.find_last_of('/') + 1);
      return std::snprintf(words, size, "%s:%ld", file.c_str(), line) > 0 ? 1 : 0;
    }
    frame = frame.attr("f_back");
  }
  return 0;
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

void attend_to_signals() {
  check(mtSetInterrupt(ask_python, nullptr));
  check(mtSetPlace(tell_place, nullptr));
}

bool in_signal_handler() { return interrupts.asking; }
void end_interrupted_wait() { interrupts.ended = true; }

void throw_result(mtResult_t result) {
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  throw Failure(kind_of(result), mtGetLastError(nullptr));
}

std::uint32_t process_number() { return forks().load(std::memory_order_relaxed); }

}  // namespace multitree::python
