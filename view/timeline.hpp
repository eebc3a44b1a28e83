// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What has passed over the links of a network when: traces of simulations and of runs, for pages
/// that lay them beside each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::view {

/// A message on a link.
struct Passage {
  std::uint32_t row = 0;  ///< of link_rows()
  std::uint32_t step = 0;
  bool reduces = false;
  double begin = 0, end = 0;  ///< seconds from the first message's begin
};

struct Timeline {
  std::string name;               ///< the file's
  std::vector<Passage> passages;  ///< by their begin
};

/// "n0->n1", in the order of links; parallel links share a row.
std::vector<std::string> link_rows(const Topology& topology);

/// Reads what `multitree simulate --trace` or `multitree run --trace` wrote of one algorithm and
/// size on that network. \throws Error(InvalidInput) "file:line: ...": no such trace, several
/// iterations, no messages on links, or links of another network
Timeline parse_timeline(std::string_view text, const std::string& file, const Topology& topology);

}  // namespace multitree::view
