// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A communicator of a process group, and who moves its calls on. A group has one for host memory
/// and, from its first call on tensors of CUDA on, one for the memory of that device.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "communicator.hpp"
#include "work.hpp"

namespace multitree_torch {

class Lane {
 public:
  /// Of host memory.
  explicit Lane(std::shared_ptr<Communicator> communicator);
  /// Of the device's memory.
  Lane(std::shared_ptr<Communicator> communicator, at::Device device);
  ~Lane() { close("the process group was destroyed"); }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Where buffers have to lie.
  [[nodiscard]] at::Device home() const { return home_; }
  [[nodiscard]] bool on_device() const { return !home_.is_cpu(); }
  /// \throws DistBackendError once it was aborted or closed.
  [[nodiscard]] mtComm_t comm() const;
  [[nodiscard]] const std::shared_ptr<Communicator>& communicator() const { return communicator_; }
  [[nodiscard]] const std::shared_ptr<Pump>& pump() const { return pump_; }

  /// The stream of its own on which calls are put and return at once; none: the host completes
  /// them, and they follow the default stream.
  [[nodiscard]] const std::optional<c10::Stream>& stream() const { return stream_; }
  /// For the library: that stream, else NULL.
  [[nodiscard]] mtStream_t handle() const { return handle_; }
  /// What is put on a device from here on comes after what `before` holds. One caller at a time:
  /// under the lock that is returned.
  [[nodiscard]] std::unique_lock<std::mutex> follow(const c10::Stream& before);

  /// Everything outstanding fails with these words; the communicator is left.
  void close(const std::string& why);
  /// The same, and the other ranks are told.
  void abort(const std::string& why);
  [[nodiscard]] mtResult_t error() const;

 private:
  at::Device home_;
  std::shared_ptr<Communicator> communicator_;
  std::shared_ptr<Pump> pump_;
  std::optional<c10::Stream> stream_;
  mtStream_t handle_ = nullptr;
  std::mutex mutex_;
};

}  // namespace multitree_torch
