// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/node_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "topologies/error.hpp"

namespace multitree::rtl {

NodeNumbers::NodeNumbers(const Topology& topology)
    : topology_(topology), numbers_(topology.num_nodes()) {
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    nodes_.push_back(topology.node_of(Rank{r}));
  }
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    if (topology.node(NodeId{n}).is_switch()) nodes_.push_back(NodeId{n});
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    numbers_[index(nodes_[i])] = static_cast<std::uint16_t>(i);
  }
}

std::string NodeNumbers::name(std::uint32_t number) const {
  return number < topology_.num_ranks() ? fmt::format("rank {}", number)
                                        : "switch " + topology_.node(nodes_[number]).name;
}

std::vector<std::uint32_t> processes_of(const Topology& topology, std::uint32_t processes) {
  const std::uint32_t ranks = topology.num_ranks();
  std::vector<std::uint32_t> places(topology.num_nodes());
  if (processes == places.size()) {
    std::iota(places.begin(), places.end(), 0U);
    return places;
  }
  if (processes != ranks) {
    const std::string each = topology.has_switches()
                                 ? fmt::format(", one a rank, or {}, one a node,", places.size())
                                 : "";
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("nic job: expected {} processes{} for {}, got {}", ranks, each,
                            topology.name(), processes));
  }
  const NodeNumbers numbers(topology);
  std::iota(places.begin(), places.begin() + ranks, 0U);
  std::vector<std::uint32_t> switches(ranks, 0);  // [process]
  for (std::uint32_t i = ranks; i < places.size(); ++i) {
    std::set<std::uint32_t> candidates;
    for (const LinkId link : topology.out_links(numbers.node(i))) {
      const auto& rank = topology.node(topology.link(link).dst).rank;
      if (rank) candidates.insert(index(*rank));
    }
    if (candidates.empty()) candidates.insert(places.begin(), places.begin() + ranks);
    places[i] =
        *std::ranges::min_element(candidates, {}, [&](std::uint32_t r) { return switches[r]; });
    ++switches[places[i]];
  }
  return places;
}

}  // namespace multitree::rtl
