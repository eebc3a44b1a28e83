// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the meeting point of a job knows of its links.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "runtime/job/links.hpp"
#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

/// Rank -> where those of its links lead that it has not given up.
using LinksLeft = std::map<std::uint32_t, std::vector<std::uint32_t>>;

/// Whether a rank is among `ranks`, ascending, and its place in them.
bool has(const std::vector<std::uint32_t>& ranks, std::uint32_t rank);
std::uint32_t place_of(const std::vector<std::uint32_t>& ranks, std::uint32_t rank);

/// Links between ranks, by the numbers with which they came.
class DeadLinks {
 public:
  void add(std::uint32_t one, std::uint32_t other) { links_.insert(link_between(one, other)); }

  /// Takes out those all of whose links to the others are dead. `ranks`: ascending; if nobody would
  /// be left, the first stays. `left`: of ranks that have given a link up.
  void leave_out_cut_off(std::vector<std::uint32_t>& ranks, const LinksLeft& left) const;

  /// Those between `ranks`, ascending, by their places in it.
  [[nodiscard]] std::vector<DeadLink> among(const std::vector<std::uint32_t>& ranks) const;
  void write(const std::vector<std::uint32_t>& ranks, Writer& writer) const;

 private:
  std::set<DeadLink> links_;
};

}  // namespace multitree::runtime
