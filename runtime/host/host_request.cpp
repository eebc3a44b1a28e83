// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The life of a collective through shared memory.
#include "runtime/host/host_request_internal.hpp"

#include <sched.h>

#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

constexpr int kSpins = 2000, kYields = 64;

}  // namespace

void Attendance::enlist() {
  if (!enlisted_) engine_.add({&operation_, name_, sequence_});
  enlisted_ = true;
}

Attendance::~Attendance() {
  if (!operation_.done() && engine_.usable()) {
    try {
      enlist();
      engine_.wait(operation_);
    } catch (const Error&) {  // the communicator is unusable from here on and says so when used
    }
  }
  if (enlisted_) engine_.remove(operation_);
}

bool Attendance::test() {
  if (!operation_.done()) engine_.poll();
  return operation_.done();
}

void Attendance::wait() {
  wait_shortly();
  if (operation_.done()) return;
  enlist();
  engine_.wait(operation_);
}

/// Most waits end sooner than the engine would look at its clock. With more ranks than processors
/// the one we wait for may need ours.
void Attendance::wait_shortly() {
  const int patience = crowded_ ? kYields : kSpins;
  try {
    for (int i = 0; i < patience && !operation_.done(); ++i) {
      if (operation_.advance()) {
        i = 0;
      } else if (crowded_) {
        ::sched_yield();
      }
    }
  } catch (const Error&) {  // comes again where the engine tells the others
  }
}

}  // namespace multitree::runtime::host
