// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// HyperX with one rank a router (Ahn et al., SC 2009): a grid whose lines are complete graphs, as
/// in the flattened butterfly (Kim, Dally, Abts, ISCA 2007).
#include <utility>

#include "topologies/cayley.hpp"
#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/spec.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

//   hyperx:3x2       3 -- 4 -- 5 -(3)     rank = x + A*(y + B*...)
//                    |    |    |          two ranks are linked if they differ in one coordinate
//                    0 -- 1 -- 2 -(0)
CayleyGraph hyperx_graph(const Spec& spec, std::uint64_t most_ranks) {
  std::vector<std::uint32_t> sizes = spec.dims(1, SIZE_MAX, 1, most_ranks);
  std::vector<std::uint32_t> generators;
  for (std::uint32_t stride = 1; const std::uint32_t size : sizes) {
    for (std::uint32_t offset = 1; offset < size; ++offset) generators.push_back(offset * stride);
    stride *= size;
  }
  return {FiniteGroup::grid(std::move(sizes)), std::move(generators)};
}

}  // namespace

TopologyFamily hyperx_family() {
  return {
      .name = "hyperx",
      .dims = "AxBx...",
      .summary = "grid in which all ranks of a line are linked to each other",
      .ranks = "A*B*...",
      .links = "every two ranks that differ in one coordinate",
      .parameters = kLinkParameters,
      .example = "hyperx:4x4",
      .make =
          [](const Spec& spec) {
            return make_cayley_network(spec, hyperx_graph(spec, Spec::kMaxRanks),
                                       spec.dims(1, SIZE_MAX));
          },
      .structure = [](const auto& dims) { return grid_structure(dims, Line::Complete, "hyperx"); },
      .graph = hyperx_graph};
}

}  // namespace multitree
