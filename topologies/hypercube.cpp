// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Binary hypercube: ranks whose numbers differ in one bit are linked.
#include <fmt/format.h>

#include "topologies/cayley.hpp"
#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/spec.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

//       6 ------- 7
//      /|        /|        D = 3: bit 0 is x, bit 1 is y, bit 2 is z
//     4 ------- 5 |
//     | 2 ------|-3        neighbour of a rank in dimension b: rank ^ (1 << b)
//     |/        |/
//     0 ------- 1
Topology make_hypercube(const Spec& spec) {
  constexpr std::uint32_t kMaxDimensions = 20;
  const std::uint32_t dimensions = spec.dims(1, 1, 0)[0];
  if (dimensions > kMaxDimensions) {
    spec.fail("dims: at most " + std::to_string(kMaxDimensions) + " dimensions, got " +
              std::to_string(dimensions));
  }
  const std::uint32_t ranks = 1U << dimensions;
  check_size(spec, ranks, std::uint64_t{ranks} * dimensions);
  const LinkSpeed speed = read_speed(spec);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {dimensions}});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t bit = 1; bit < ranks; bit <<= 1) {
      if ((rank & bit) != 0) continue;
      builder.add_duplex(NodeId{rank}, NodeId{rank | bit}, speed.bandwidth, speed.latency);
    }
  }
  return std::move(builder).build();
}

Structure structure(const std::vector<std::uint32_t>& dims) {
  if (dims.size() != 1 || dims[0] >= 32) return {};
  return grid_structure(std::vector<std::uint32_t>(dims[0], 2), Line::Ring);
}

CayleyGraph hypercube_graph(const Spec& spec, std::uint64_t most_ranks) {
  const std::uint32_t dimensions = spec.dims(1, 1, 0)[0];
  if (dimensions >= 32 || std::uint64_t{1} << dimensions > most_ranks) {
    spec.fail(fmt::format("dims: at most {} ranks, got 2^{}", most_ranks, dimensions));
  }
  return CayleyGraph::hypercube(dimensions);
}

}  // namespace

TopologyFamily hypercube_family() {
  return {.name = "hypercube",
          .dims = "D",
          .summary = "2^D ranks, linked where their numbers differ in one bit",
          .ranks = "2^D, D <= 20",
          .links = "ranks that differ in one bit",
          .parameters = kLinkParameters,
          .example = "hypercube:4",
          .make = make_hypercube,
          .structure = structure,
          .graph = hypercube_graph};
}

}  // namespace multitree
