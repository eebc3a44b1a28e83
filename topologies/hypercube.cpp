// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Binary hypercube: ranks whose numbers differ in one bit are linked.
#include "topologies/families.hpp"

namespace multitree {

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

}  // namespace multitree
