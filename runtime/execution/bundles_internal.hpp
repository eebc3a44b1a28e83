// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How far messages of several tasks are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/execution/program_internal.hpp"
#include "runtime/execution/scratch_pool_internal.hpp"

namespace multitree::runtime {

/// Of one execution: which of its bundles wait for tasks, and what is on its way.
class Bundles {
 public:
  /// Both outlive it.
  Bundles(const Program& program, ScratchPool& pool) : program_(program), pool_(pool) {
    if (program.bundles.empty()) return;
    blocks_.resize(program.bundles.size());
    for (const Bundle& bundle : program.bundles) {
      left_.push_back(static_cast<std::uint32_t>(bundle.tasks.size()));
    }
  }
  ~Bundles() {
    for (std::uint32_t bundle = 0; bundle < blocks_.size(); ++bundle) drop(bundle);
  }
  Bundles(const Bundles&) = delete;
  Bundles& operator=(const Bundles&) = delete;

  /// One more of its tasks is ready to be sent, or has been taken from what came. Whether it is the
  /// last; of a task that is alone it is.
  bool count(std::uint32_t bundle) { return bundle == Task::kAlone || --left_[bundle] == 0; }
  /// Memory for the message of a bundle, until it is dropped.
  std::byte* take(std::uint32_t bundle) {
    blocks_[bundle] = pool_.take(program_.bundles[bundle].bytes);
    return blocks_[bundle].data.get();
  }
  void drop(std::uint32_t bundle) {
    if (bundle == Task::kAlone || blocks_[bundle].data == nullptr) return;
    pool_.give(std::move(blocks_[bundle]));
    blocks_[bundle] = {};
  }

 private:
  const Program& program_;
  ScratchPool& pool_;
  std::vector<std::uint32_t> left_;
  std::vector<ScratchPool::Block> blocks_;
};

}  // namespace multitree::runtime
