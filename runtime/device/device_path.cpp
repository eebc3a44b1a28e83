// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a call to the device.
#include "runtime/device/device_path_internal.hpp"

#include <fmt/format.h>

#include "topologies/error.hpp"

namespace multitree::runtime::device {
namespace {

void check_operator_on_device(const Call& call) {
  if (!reduces(call.collective)) return;
  if (static_cast<std::size_t>(call.type) < kTypes && static_cast<std::size_t>(call.op) < kOps) {
    return;
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: {} of {} is for host memory, found device memory",
                          to_string(call.collective), to_string(call.op), to_string(call.type)));
}

}  // namespace

bool DevicePath::takes(const Call& call) const {
  Call scalar = call;
  scalar.send = call.custom == nullptr ? nullptr : call.custom->scalar;
  scalar.recv = nullptr;
  const bool reads_device = scalar.send != nullptr && collectives_->takes(scalar);
  if (!collectives_->takes(call) && !reads_device) return false;
  check_operator_on_device(call);
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
  check_operator_on_device(call);
  collectives_->check_streamed(call);
}

std::unique_ptr<Operation> DevicePath::start_in_order(const Call& call,
                                                      std::shared_ptr<const LoadedProgram> program,
                                                      std::uint64_t sequence, Stream stream) {
  const bool hold = collectives_->can_hold(stream, *program);
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
