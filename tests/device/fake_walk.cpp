// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective's kernel on the fake device.
#include "fake_walk.hpp"

#include "cpu_cuda/kernels.hpp"
#include "fake_device.hpp"
#include "fake_memory.hpp"

namespace multitree::runtime::test {
namespace {

template <typename Pointer>
Pointer translated(Pointer pointer) {
  std::byte* const found = behind(pointer);
  return found == nullptr ? pointer : reinterpret_cast<Pointer>(const_cast<std::byte*>(found));
}

}  // namespace

FakeWalk::~FakeWalk() {
  for (std::thread& block : blocks_) block.join();
}

bool FakeWalk::is_allocated(const std::byte* begin, std::uint64_t bytes) const {
  return bytes == 0 || allocated(begin, bytes) || is_pinned(begin, bytes);
}

/// Of Work only the slices are used, which lie where the list says that Work is.
bool FakeWalk::is_inside(const device::WalkSpot& spot, std::uint64_t bytes) const {
  switch (spot.memory) {
    case device::WalkMemory::Input:
      return is_allocated(walk_.input + spot.offset, bytes);
    case device::WalkMemory::Output:
      return is_allocated(walk_.output + spot.offset, bytes);
    case device::WalkMemory::Work:
      break;
  }
  return spot.offset + device::walk_slice_bytes(bytes, walk_.blocks) - device::kWalkVector <=
         walk_.work_bytes;
}

bool FakeWalk::translate() {
  const auto* const steps = reinterpret_cast<const std::byte*>(walk_.steps);
  const auto* const lanes = reinterpret_cast<const std::byte*>(walk_.lanes);
  if (!is_allocated(steps, walk_.step_count * sizeof(device::WalkStep)) ||
      !is_allocated(lanes, walk_.lane_count * sizeof(device::WalkLane))) {
    return false;
  }
  steps_.assign(translated(walk_.steps), translated(walk_.steps) + walk_.step_count);
  lanes_.assign(translated(walk_.lanes), translated(walk_.lanes) + walk_.lane_count);
  if (!is_allocated(walk_.work, walk_.blocks * walk_.work_bytes)) return false;
  for (const device::WalkStep& step : steps_) {
    using enum device::WalkAction;
    const bool reads = step.action != Copy && step.action != Divide;
    const bool writes = step.action != Send;
    if ((reads && !is_inside(step.from, step.bytes)) ||
        (writes && !is_inside(step.to, step.bytes))) {
      return false;
    }
  }
  const std::uint64_t places = device::kWalkPlaces * walk_.blocks * walk_.place_bytes;
  const std::uint64_t counters = walk_.blocks * device::kWalkCounterStride;
  for (device::WalkLane& lane : lanes_) {
    for (const std::byte* part : {static_cast<const std::byte*>(lane.places_there), lane.places}) {
      if (!is_allocated(part, places)) return false;
    }
    for (const std::uint64_t* part :
         {static_cast<const std::uint64_t*>(lane.arrived_there), lane.consumed, lane.arrived,
          static_cast<const std::uint64_t*>(lane.consumed_there),
          static_cast<const std::uint64_t*>(lane.passed)}) {
      if (!is_allocated(reinterpret_cast<const std::byte*>(part), counters)) return false;
    }
    lane.places_there = translated(lane.places_there);
    lane.arrived_there = translated(lane.arrived_there);
    lane.consumed = translated(lane.consumed);
    lane.places = translated(lane.places);
    lane.arrived = translated(lane.arrived);
    lane.consumed_there = translated(lane.consumed_there);
    lane.passed = translated(lane.passed);
  }
  walk_.input = translated(walk_.input);
  walk_.output = translated(walk_.output);
  walk_.work = translated(walk_.work);
  return true;
}

std::uint64_t FakeWalk::sent_bytes() const {
  std::uint64_t bytes = 0;
  for (const device::WalkStep& step : steps_) {
    if (step.action == device::WalkAction::Send) bytes += step.bytes;
  }
  return bytes;
}

bool FakeWalk::start() {
  // As the kernel itself: what it would read may be gone.
  if (std::atomic_ref(*const_cast<std::uint32_t*>(walk_.given_up)).load() != 0) return true;
  if (!translate()) return false;
  walk_.steps = steps_.data();
  walk_.lanes = lanes_.data();
  running_ = walk_.blocks;
  for (std::uint32_t block = 0; block < walk_.blocks; ++block) {
    blocks_.emplace_back([this, block] {
      cpu_walk(walk_, type_, op_, block);
      running_.fetch_sub(1, std::memory_order_acq_rel);
    });
  }
  return true;
}

}  // namespace multitree::runtime::test
