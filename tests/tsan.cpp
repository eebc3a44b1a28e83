// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the thread sanitizer takes for a race in libraries that were not built with it.
extern "C" const char* __tsan_default_suppressions();  // NOLINT: the sanitizer's name

// At the end of a process UCX destroys locks that its own thread, of a worker left behind on
// purpose, may hold. libbacktrace publishes by atomics what threads read of the program's file,
// also as the names of which the place of a call is made: by its source, as the sanitizer sees no
// call there but those that libbacktrace makes.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT
  return "race:libucs.so\n"
         "race:backtrace_*\n"
         "race:read_line_header_format_entries\n"
         "race:runtime/execution/call_place.cpp\n";
}
