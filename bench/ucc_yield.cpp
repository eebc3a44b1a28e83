// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Loaded before UCC by bench/ucc_collective where ranks outnumber processors: a rank that waits
/// lets the others run, as every other program of bench/one_host does. Without it a rank keeps its
/// processor until its time slice ends, and a call takes milliseconds, whatever its size.
#include <dlfcn.h>
#include <sched.h>

// NOLINTNEXTLINE(readability-identifier-naming): UCC's
extern "C" int ucc_context_progress(void* context) {
  using Progress = int (*)(void*);
  static const auto theirs =
      reinterpret_cast<Progress>(dlsym(RTLD_NEXT, "ucc_context_progress"));  // NOLINT: of dlsym
  const int status = theirs(context);
  ::sched_yield();
  return status;
}
