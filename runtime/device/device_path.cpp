// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to the device.
#include "runtime/device/device_path_internal.hpp"

#include <fmt/format.h>

#include "topologies/error.hpp"

namespace multitree::runtime::device {

bool DevicePath::takes(const Call& call) const {
  if (!collectives_->takes(call)) return false;
  if (sends_messages_) return true;
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: device memory, but the communicator goes without messages",
                          to_string(call.collective)));
}

std::unique_ptr<Operation> DevicePath::start(const Call& call,
                                             std::shared_ptr<const LoadedProgram> program,
                                             std::uint64_t sequence) {
  return std::make_unique<StreamRequest>(
      collectives_->start(std::move(program), call, sequence, nullptr, false), timeout_, true);
}

void DevicePath::check_streamed(const Call& call) const {
  if (!sends_messages_) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: a stream, but the communicator goes without messages",
                            to_string(call.collective)));
  }
  collectives_->check_streamed(call);
}

std::unique_ptr<Operation> DevicePath::start_in_order(const Call& call,
                                                      std::shared_ptr<const LoadedProgram> program,
                                                      std::uint64_t sequence, Stream stream) {
  const bool hold = collectives_->can_hold(stream);
  auto request = std::make_unique<StreamRequest>(
      collectives_->start(std::move(program), call, sequence, stream, hold), timeout_, false);
  if (!hold) request->wait();
  return request;
}

void DevicePath::close(bool finish, const std::string& reason) {
  try {
    if (finish) collectives_->finish(timeout_);
  } catch (const Error&) {  // stop() ends what is left
  }
  collectives_->stop(reason);
}

}  // namespace multitree::runtime::device
