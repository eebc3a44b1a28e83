// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tree of a gradient follows from its place in the model, whatever it travels with.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "algorithms/schedule.hpp"

namespace multitree::tools {

/// A tree on which numbers are added, by rank: whose sums come in, in their order.
using SumTree = std::vector<std::vector<std::uint32_t>>;
/// The trees of a schedule that sums up, each with its share of the numbers, in units of which
/// there are as many as all shares together.
using SumTrees = std::map<SumTree, std::uint64_t>;
/// \throws Error(Unsupported) if a chunk is not added on a tree
SumTrees sum_trees(const Schedule& schedule);

/// How a stretch of a model's gradients lies in a vector that a schedule sums up: so that each
/// number is added on the tree that its place in the model says, and not its place in the vector.
/// Between them are numbers that mean nothing.
class Arrangement {
 public:
  /// \param begin, count the stretch, in numbers
  Arrangement(const Schedule& schedule, std::size_t begin, std::size_t count);
  /// Length of the vector; where the collective has shards, a multiple of the ranks.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// \param stretch of `count` numbers; `vector` of size()
  /// \{
  void pack(std::span<const float> stretch, std::span<float> vector) const;
  void unpack(std::span<const float> vector, std::span<float> stretch) const;
  /// \}

 private:
  /// Numbers that are neighbours in both.
  struct Run {
    std::size_t in_stretch, in_vector, count;
  };
  std::size_t size_ = 0;
  std::vector<Run> runs_;
};

}  // namespace multitree::tools
