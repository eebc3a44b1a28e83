// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives in the order of a stream. A thread of the runtime moves them on; here they are kept
/// until they are over, so that their failures become the communicator's.
#include <fmt/format.h>

#include "runtime/c/comm_turn_internal.hpp"
#include "runtime/device/device.hpp"

namespace multitree::runtime::c {

void Comm::check_has_device() const {
  if (settings_.options.device != nullptr) return;
  throw Failure(mtInvalidUsage, "stream: expected NULL, as the communicator has no device");
}

StreamOrder Comm::order_on(Stream stream) {
  check_has_device();
  if (stream.handle == nullptr) {
    throw Failure(mtInvalidArgument, "stream: expected one of the device, found NULL");
  }
  const Turn turn(*this);
  check_usable();
  return communicator_->order_on(stream);
}

void Comm::check_streamed(const Call& call) const {
  const device::Device& device = *settings_.options.device;
  for (const auto& [name, pointer] :
       {std::pair{"send", call.send}, std::pair<const char*, const void*>{"recv", call.recv}}) {
    if (pointer == nullptr || device.locate(pointer).place != device::Place::Pageable) continue;
    throw Failure(mtInvalidArgument, fmt::format("{}: expected memory of the device or pinned host "
                                                 "memory, as there is a stream, found other memory",
                                                 name));
  }
}

void Comm::start_on_stream(Job& job) {
  job.request = std::make_shared<Request>(job.where->start(job.spec.call, Stream{job.spec.stream}));
}

void Comm::reap_streams() {
  for (std::size_t i = 0; i < outstanding_.size();) {
    if (!outstanding_[i]->streamed() || !take_out_if_over(i)) ++i;
  }
}

void Comm::note_streams() {
  for (const std::shared_ptr<Job>& job : outstanding_) {
    if (!job->streamed()) continue;
    try {
      job->request->test();
    } catch (const Error& error) {
      fail(result_of(error.code()), error.what());
    }
  }
}

void Comm::wait_for_stream(const Job& job) {
  std::shared_ptr<Request> request;
  {
    const Turn turn(*this);
    request = job.request;
  }
  if (request == nullptr) return;
  try {
    // Without the mutex: others may go on, and this thread sleeps.
    request->wait();
  } catch (const Error& error) {
    bool over = true;
    try {
      over = request->test();
    } catch (const Error&) {  // progress() meets it again, and it is the communicator's end
    }
    // The stream has not come to it: that is the caller's doing, and nothing is lost.
    if (!over) throw Failure(mtTimeout, error.what());
  }
  progress();
}

}  // namespace multitree::runtime::c
