// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Collectives on device memory against reference results; for the fake and for CUDA alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fake_device.hpp"
#include "runtime/communicator.hpp"
#include "runtime/device/device.hpp"
#include "support.hpp"

namespace multitree::runtime::test {

/// How the fakes of a test reach each other; Walked: by one kernel a collective, which asks for a
/// device of its own for each rank.
enum class Reach : std::uint8_t { Staged, Mapped, Walked };
inline constexpr std::array kReaches{Reach::Staged, Reach::Mapped, Reach::Walked};
constexpr const char* name_of(Reach reach) {
  return std::array{"Staged", "Mapped", "Walked"}[static_cast<std::size_t>(reach)];
}
/// Of the rank at `seat`.
FakeOptions fake_options(Reach reach, std::uint64_t seed, Seat seat);

/// Each rank has a fake of its own, which all others map.
std::shared_ptr<const device::Device> walking_fake(const Bootstrap& bootstrap, std::uint64_t seed,
                                                   std::uint32_t blocks = 2);
/// Over messages in memory, with segments of so many bytes.
CommunicatorOptions walking(std::shared_ptr<const device::Device> fake, std::size_t segment);

/// Memory of a device, freed at the end.
class DeviceBuffer {
 public:
  DeviceBuffer(const device::Device& device, std::size_t bytes)
      : device_(device), memory_(device.allocate(bytes + 1)) {}
  ~DeviceBuffer() { device_.free(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  const device::Device& device_;
  void* memory_;
};

/// A stream, destroyed at the end.
class OwnedStream {
 public:
  explicit OwnedStream(const device::Device& device)
      : device_(device), stream_(device.create_stream(false)) {}
  ~OwnedStream() { device_.destroy_stream(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  [[nodiscard]] device::Stream get() const { return stream_; }

 private:
  const device::Device& device_;
  device::Stream stream_;
};

/// A collective as check_collective() has it, with its buffers on the device. The input is put
/// there by `stream` and the result taken from there by it, without any wait between; or, with
/// `blocking`, by the call without a stream. Begins and ends with barriers. Throws
/// std::runtime_error if an element is wrong.
void check_on_device(Communicator& communicator, const device::Device& device,
                     device::Stream stream, Collective collective, Rank root, std::size_t count,
                     DataType type, ReduceOp op, bool in_place, bool blocking = false);

/// Starts a collective of any kind in the order of a stream.
Request start_on(Communicator& communicator, Collective collective, const void* send, void* recv,
                 std::size_t count, DataType type, ReduceOp op, device::Stream stream);

/// What a stream runs before what comes after it: nothing, until `*flag` is 1.
void hold_stream(const device::Device& device, device::Stream stream, std::uint32_t* flag);

/// Lets all that is on the stream run; throws std::runtime_error after 30 s.
void synchronize(const device::Device& device, device::Stream stream);

/// Host to device and back by pinned memory and `stream`, and waits for it.
void upload(const device::Device& device, void* to, const void* from, std::size_t bytes,
            device::Stream stream);
void download(const device::Device& device, void* to, const void* from, std::size_t bytes,
              device::Stream stream);

}  // namespace multitree::runtime::test
