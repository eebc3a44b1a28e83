// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who has how much for whom: the matrix of an all-to-all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Row s, column t: what rank s has for rank t, in bytes or any other unit. What a rank has for
/// itself stays where it is.
class Demand {
 public:
  /// The same for everyone, itself included: one unit.
  static Demand uniform(std::uint32_t ranks);
  /// \throws Error(InvalidArgument): not a row for each rank, a row of more than 2^62 / ranks, or
  /// nothing that is for another rank.
  Demand(std::uint32_t ranks, std::vector<std::uint64_t> entries);

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] std::uint64_t at(Rank source, Rank target) const {
    return entries_[std::size_t{index(source)} * ranks_ + index(target)];
  }
  [[nodiscard]] const std::vector<std::uint64_t>& entries() const { return entries_; }
  [[nodiscard]] bool is_uniform() const { return uniform_; }
  /// The largest sum of a row: what is a shard of the whole (Certificate::demand).
  [[nodiscard]] std::uint64_t shard() const { return shard_; }

 private:
  std::uint32_t ranks_ = 0;
  std::vector<std::uint64_t> entries_;
  std::uint64_t shard_ = 0;
  bool uniform_ = false;
};

/// A matrix as text: a line for each rank, with a size for each rank ("0 4096 1KiB"), separated by
/// spaces, tabs or commas; '#' starts a comment. \throws Error(InvalidInput) with file and line:
/// too few or too many rows or columns, what is not a size (negative, infinite, a word), or nothing
/// for another rank.
Demand parse_demand(std::string_view text, const std::string& file, std::uint32_t ranks);

}  // namespace multitree
