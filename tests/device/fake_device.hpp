// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A device on host memory that is as late, as unordered and as unforgiving as a device may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/device/device.hpp"

namespace multitree::runtime::test {

struct FakeOptions {
  std::uint64_t seed = 1;
  std::size_t bytes = 256U << 20;  ///< of device memory, of which what is used is there
  std::string unit = "0";
  bool mappable = false;          ///< whether other fakes of this process can map its memory
  std::uint64_t maps = ~0ULL;     ///< after so many it fails to, although it says that it can
  bool fails_to_share = false;    ///< as where handles cannot leave a container
  bool waits_for_values = true;   ///< whether a stream can be held
  std::uint32_t walk_blocks = 2;  ///< of a collective's kernel; 0: there is none
  std::uint64_t fail_after = 0;   ///< work put on streams until the device fails; 0: never
};

/// What was put on a fake's streams since it was made.
struct FakeCounts {
  std::uint64_t copies = 0, copied_bytes = 0;
  std::uint64_t kernels = 0;  ///< reductions, divisions and walks
  std::uint64_t records = 0, event_waits = 0;
  std::uint64_t sent_bytes = 0;  ///< that walks have written into places of others
  std::uint64_t allocated_bytes = 0;
};
FakeCounts counts_of(const device::Device& device);

/// Streams are queues. Whenever somebody asks for an event, a random number of items of randomly
/// chosen streams run; copies and reductions in two halves, apart in time. Device memory is mapped
/// without any permission, so that the host cannot touch it, poisoned when allocated and freed, and
/// every access is checked against what is allocated.
std::shared_ptr<const device::Device> make_fake_device(const FakeOptions& options);

/// What was recorded from a stream: what is put on it meanwhile does not run, but with launch().
struct FakeGraph;
void begin_capture(const device::Device& device, device::Stream stream);
std::shared_ptr<FakeGraph> end_capture(const device::Device& device, device::Stream stream);
std::size_t items_of(const FakeGraph& graph);
void launch(const device::Device& device, const FakeGraph& graph, device::Stream stream);
inline constexpr std::size_t kItemsOfAWalk = 2;  ///< its start and its end

/// For transports of tests: where the host finds what a device pointer points to; null if it is no
/// fake's memory.
std::byte* behind(const void* pointer);

}  // namespace multitree::runtime::test
