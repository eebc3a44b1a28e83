// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// BiGraph of EFLOPS (Dong et al., HPCA 2020): two layers of switches, fully linked to each other,
/// with ranks on both.
#include <fmt/format.h>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/spec.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

//  bigraph:2x4 (2 ranks a switch, 4 switches)
//
//    0  1      2  3       rank = M*switch + i, upper switches first
//    |  |      |  |
//     up0       up1        every upper switch has one duplex link to every lower one
//      |  \   /  |
//      |    X    |
//      |  /   \  |
//     low0      low1
//    |  |      |  |
//    4  5      6  7
Topology make_bigraph(const Spec& spec) {
  const std::vector<std::uint32_t> dims = spec.dims(2, 2);
  const std::uint32_t hosts = dims[0], switches = dims[1], half = switches / 2;
  if (switches % 2 != 0) {
    spec.fail(fmt::format("dims: the number of switches must be even, got {}", switches));
  }
  check_size(spec, std::uint64_t{hosts} * switches,
             2 * (std::uint64_t{hosts} * switches + std::uint64_t{half} * half));
  const LinkSpeed speed = read_speed(spec), trunk = read_speed(spec, "uplink", speed);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), dims});
  const std::uint32_t ranks = hosts * switches;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  for (std::uint32_t i = 0; i < switches; ++i) {
    builder.add_switch(i < half ? fmt::format("up{}", i) : fmt::format("low{}", i - half));
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_duplex(NodeId{rank}, NodeId{ranks + rank / hosts}, speed.bandwidth, speed.latency);
  }
  for (std::uint32_t upper = 0; upper < half; ++upper) {
    for (std::uint32_t lower = half; lower < switches; ++lower) {
      builder.add_duplex(NodeId{ranks + upper}, NodeId{ranks + lower}, trunk.bandwidth,
                         trunk.latency);
    }
  }
  return std::move(builder).build();
}

}  // namespace

TopologyFamily bigraph_family() {
  return {.name = "bigraph",
          .dims = "MxN",
          .summary = "EFLOPS: M ranks on each of N switches, upper half linked to lower half",
          .ranks = "M*N",
          .links =
              "M ranks to each of N switches (N even); each of the first half (up) to each of the "
              "second (low)",
          .parameters =
              "bw=16GB/s, lat=150ns: of every link; uplink-bw, uplink-lat: of links "
              "between switches",
          .example = "bigraph:4x8",
          .make = make_bigraph,
          .structure = [](const auto&) { return Structure{.facing_layers = true}; }};
}

}  // namespace multitree
