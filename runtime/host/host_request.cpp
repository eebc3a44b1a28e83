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

void Attendance::finish() {
  wait_shortly();
  if (operation_.done()) return;
  enlist();
  engine_.wait(operation_);
}

HostRequest::~HostRequest() {
  const auto guard = engine_->guard();
  attendance_.reset();
}

bool HostRequest::test() {
  engine_->attend();
  const auto guard = engine_->guard();
  if (!operation_->done()) engine_->poll();
  return operation_->done();
}

void HostRequest::wait() {
  const auto guard = engine_->guard();
  if (operation_->done()) return;
  engine_->check_usable();
  attendance_->finish();
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
