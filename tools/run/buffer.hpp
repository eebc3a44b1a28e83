// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory that a run's collectives work on: our own, the communicator's, or a device's.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/device/device.hpp"

namespace multitree::tools {

struct BufferPlace {
  bool shared = false;  ///< of Communicator::allocate()
  /// Where it lies, if not null; `shared` is then not looked at.
  std::shared_ptr<const runtime::device::Device> device = nullptr;
};

/// What collectives use, and where the host fills it and looks at it: the same memory, but where it
/// lies on a device. `bytes` is at least 1.
class Buffer {
 public:
  /// \throws Error(Cuda) if the device has not so much memory
  Buffer(runtime::Communicator& communicator, const BufferPlace& place, std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::byte* host() const { return host_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

  /// What the host has written, to where collectives find it; and what they have, back. They wait
  /// until that is done. \throws Error(Cuda) if the device fails or takes longer than a minute
  void upload() const;
  void download() const;

 private:
  void copy(std::byte* to, const std::byte* from) const;

  runtime::Communicator* communicator_ = nullptr;
  std::shared_ptr<const runtime::device::Device> device_;
  std::vector<std::byte> own_;
  std::byte *data_ = nullptr, *host_ = nullptr;
  std::size_t bytes_;
};

}  // namespace multitree::tools
