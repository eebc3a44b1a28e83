// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks where every rank is one hop from all: a duplex link each pair, or one switch.
#include "topologies/cayley.hpp"
#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/spec.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

// Links by ascending pair: 0-1, 0-2, ..., 0-(n-1), 1-2, ...
Topology make_full(const Spec& spec) {
  const std::uint32_t ranks = spec.dims(1, 1)[0];
  check_size(spec, ranks, std::uint64_t{ranks} * (ranks - 1));
  const LinkSpeed speed = read_speed(spec);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {ranks}});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = a + 1; b < ranks; ++b) {
      builder.add_duplex(NodeId{a}, NodeId{b}, speed.bandwidth, speed.latency);
    }
  }
  return std::move(builder).build();
}

Topology make_star(const Spec& spec) {
  const std::uint32_t ranks = spec.dims(1, 1)[0];
  const LinkSpeed speed = read_speed(spec);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {ranks}});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  const NodeId center = builder.add_switch("sw0");
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_duplex(NodeId{rank}, center, speed.bandwidth, speed.latency);
  }
  return std::move(builder).build();
}

/// All meet at the switch.
Structure star_structure(const std::vector<std::uint32_t>& dims) {
  const auto way_up = [](const RankLevels::Place& place) { return std::vector{place.ranks}; };
  return {.levels = RankLevels{.sizes = dims, .way_up = way_up}};
}

}  // namespace

TopologyFamily full_family() {
  return {.name = "full",
          .dims = "N",
          .summary = "a duplex link between every two ranks",
          .ranks = "N",
          .links = "every two ranks",
          .parameters = kLinkParameters,
          .example = "full:8",
          .make = make_full,
          .structure = [](const auto& dims) { return grid_structure(dims, Line::Complete); },
          .graph = [](const Spec& spec,
                      std::uint64_t) { return CayleyGraph::complete(spec.dims(1, 1)[0]); }};
}

TopologyFamily star_family() {
  return {.name = "star",
          .dims = "N",
          .summary = "ranks around one switch",
          .ranks = "N",
          .links = "each rank to the switch sw0",
          .parameters = kLinkParameters,
          .example = "star:8",
          .make = make_star,
          .structure = star_structure};
}

}  // namespace multitree
