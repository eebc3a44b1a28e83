// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The life of a collective through shared memory.
#include "runtime/host/host_request_internal.hpp"

#include "topologies/error.hpp"

namespace multitree::runtime::host {

void Attendance::enlist() {
  if (!enlisted_) engine_.add({&operation_, name_of(call_), sequence_, true, call_});
  enlisted_ = true;
}

Attendance::~Attendance() {
  if (!operation_.done() && engine_.usable()) {
    try {
      enlist();
      engine_.wait(operation_);
    } catch (
        const std::exception&) {  // the communicator is unusable from here on and says so when used
    }
  }
  if (enlisted_) engine_.remove(operation_);
}

void Attendance::see_through() {
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

}  // namespace multitree::runtime::host
