// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Buffers that executions hand on to one another.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace multitree::runtime {

/// Receive buffers, kept from one collective to the next.
class ScratchPool {
 public:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes = 0;
  };
  /// A block of at least `bytes`, uninitialised.
  Block take(std::size_t bytes);
  void give(Block block);

 private:
  std::vector<Block> free_;
};

}  // namespace multitree::runtime
