// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory of a run, and copies between a device's and its twin.
#include "tools/run/buffer.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using runtime::device::Device;

constexpr auto kLongestCopy = std::chrono::minutes(1);

/// A stream of the device and a mark behind what was put on it.
class Queue {
 public:
  explicit Queue(const Device& device)
      : device_(device), stream_(device.create_stream(false)), mark_(device.create_event()) {}
  ~Queue() {
    device_.destroy_event(mark_);
    device_.destroy_stream(stream_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    device_.copy(to, from, bytes, stream_);
    device_.record(mark_, stream_);
    const auto until = std::chrono::steady_clock::now() + kLongestCopy;
    while (!device_.query(mark_)) {
      if (std::chrono::steady_clock::now() > until) {
        throw Error(ErrorCode::Cuda,
                    fmt::format("--device: a copy of {} bytes did not end within 60 s on {}", bytes,
                                device_.table().description));
      }
      std::this_thread::yield();
    }
  }

 private:
  const Device& device_;
  runtime::device::Stream stream_;
  runtime::device::Event mark_;
};

}  // namespace

Buffer::Buffer(runtime::Communicator& communicator, const BufferPlace& place, std::size_t bytes)
    : device_(place.device), bytes_(bytes) {
  if (device_ != nullptr) {
    data_ = static_cast<std::byte*>(device_->allocate(bytes));
    try {
      host_ = static_cast<std::byte*>(device_->allocate_pinned(bytes));
    } catch (...) {
      device_->free(data_);
      throw;
    }
    return;
  }
  if (place.shared) {
    communicator_ = &communicator;
    data_ = static_cast<std::byte*>(communicator.allocate(bytes));
  } else {
    own_.resize(bytes);
    data_ = own_.data();
  }
  host_ = data_;
}

Buffer::~Buffer() {
  if (device_ != nullptr) {
    device_->free(data_);
    device_->free_pinned(host_);
  }
  if (communicator_ == nullptr) return;
  try {
    communicator_->deallocate(data_);
  } catch (const Error&) {  // it has failed; its memory goes with it
  }
}

void Buffer::upload() const { copy(data_, host_); }
void Buffer::download() const { copy(host_, data_); }

void Buffer::copy(std::byte* to, const std::byte* from) const {
  if (device_ != nullptr) Queue(*device_).copy(to, from, bytes_);
}

}  // namespace multitree::tools
