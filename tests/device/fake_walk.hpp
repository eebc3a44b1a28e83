// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective's kernel on the fake device: the source of CUDA's, a thread of the host for each
/// block.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/device/walk.hpp"
#include "runtime/kernels/data_type.hpp"

namespace multitree::runtime::test {

class FakeWalk {
 public:
  FakeWalk(const device::Walk& walk, DataType type, ReduceOp op)
      : walk_(walk), type_(type), op_(op) {}
  /// Waits for the blocks, which end when their peers' do or the host gives up.
  ~FakeWalk();
  FakeWalk(const FakeWalk&) = delete;
  FakeWalk& operator=(const FakeWalk&) = delete;

  /// False if something that it would touch is not allocated.
  bool start();
  /// Once started: of all its messages.
  [[nodiscard]] std::uint64_t sent_bytes() const;
  [[nodiscard]] bool over() const { return running_.load(std::memory_order_acquire) == 0; }

 private:
  bool translate();
  [[nodiscard]] bool is_allocated(const std::byte* begin, std::uint64_t bytes) const;
  [[nodiscard]] bool is_inside(const device::WalkSpot& spot, std::uint64_t bytes) const;

  device::Walk walk_;
  DataType type_;
  ReduceOp op_;
  std::vector<device::WalkStep> steps_;
  std::vector<device::WalkLane> lanes_;
  std::vector<std::thread> blocks_;
  std::atomic<std::uint32_t> running_{0};
};

}  // namespace multitree::runtime::test
