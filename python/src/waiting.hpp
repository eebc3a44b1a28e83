// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Calls of the library that may wait, with Python's lock let go.
#pragma once

#include <multitree.h>

#include <cstdint>

#include "bindings.hpp"

namespace multitree::python {

/// Lets other threads of Python run while it lives.
class Waiting {
 public:
  /// `interruptible`: an exception of a handler ends the wait, and the communicator with it.
  explicit Waiting(bool interruptible = true);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  PyThreadState* state_;
};

/// Has waits of this thread, which is Python's main thread, run the handlers of signals.
void attend_to_signals();

/// Whether a handler of a signal runs while this thread is in a wait.
bool in_signal_handler();
/// Ends that wait, as an exception of the handler would.
void end_interrupted_wait();

/// Exceptions of handlers, else the library's failure. \throws nb::python_error, Failure
[[noreturn]] void throw_result(mtResult_t result);

/// \throws nb::python_error, Failure unless the library says that it was successful.
template <typename Body>
void call_library(const Body& body) {
  mtResult_t result{};
  {
    const Waiting waiting;
    result = body();
  }
  if (result != mtSuccess || PyErr_Occurred() != nullptr) throw_result(result);
}

/// Numbers this process among those that were forked from each other.
std::uint32_t process_number();

}  // namespace multitree::python
