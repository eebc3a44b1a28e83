// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fat trees of two levels (leaf-spine) and three (Al-Fares et al., SIGCOMM 2008).
#include <fmt/format.h>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

// Uplinks of a switch with `down` links below it under `oversubscription=R`.
std::uint32_t read_uplinks(const Spec& spec, std::uint32_t down) {
  const std::uint32_t ratio = spec.get_number("oversubscription", 1, 1, down);
  if (down % ratio != 0) {
    spec.fail(
        fmt::format("oversubscription: {} must divide the {} links below a switch", ratio, down));
  }
  return down / ratio;
}

std::uint32_t read_spines(const Spec& spec, const std::vector<std::uint32_t>& dims) {
  const bool in_dims = dims.size() == 3, as_key = spec.has("spines");
  if (in_dims + as_key + spec.has("oversubscription") > 1) {
    spec.fail("give the spines once: as third size, as spines= or as oversubscription=");
  }
  if (in_dims) return dims[2];
  if (as_key) return spec.get_number("spines", 1, 1, static_cast<std::uint32_t>(Spec::kMaxRanks));
  return read_uplinks(spec, dims[1]);
}

//  fattree:2x4?spines=2 (2 leaves with 4 hosts each, 2 spines)
//
//       spine0    spine1       each leaf has one duplex link to each spine
//         |  \    /  |
//         |   \  /   |
//         |   /  \   |
//       leaf0      leaf1
//      / /  \ \   / /  \ \     rank = hosts*leaf + i
//     0  1  2  3  4  5  6  7
Topology make_fat_tree(const Spec& spec) {
  const std::vector<std::uint32_t> dims = spec.dims(2, 3);
  const std::uint32_t leaves = dims[0], hosts = dims[1], spines = read_spines(spec, dims);
  const std::uint32_t ranks = leaves * hosts;
  check_size(spec, ranks, 2 * (std::uint64_t{ranks} + std::uint64_t{leaves} * spines));
  const LinkSpeed speed = read_speed(spec), uplink = read_speed(spec, "uplink", speed);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {leaves, hosts, spines}});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
    builder.add_switch(fmt::format("leaf{}", leaf));
  for (std::uint32_t i = 0; i < spines; ++i) builder.add_switch(fmt::format("spine{}", i));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_duplex(NodeId{rank}, NodeId{ranks + rank / hosts}, speed.bandwidth, speed.latency);
  }
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    for (std::uint32_t spine = 0; spine < spines; ++spine) {
      builder.add_duplex(NodeId{ranks + leaf}, NodeId{ranks + leaves + spine}, uplink.bandwidth,
                         uplink.latency);
    }
  }
  return std::move(builder).build();
}

//  fattree3:4 (K = 4 pods), one pod drawn; h = K/2
//
//     core0  core1    core2  core3     core = h*agg + c: agg a of every pod links to its h cores
//        \   /           \   /
//        agg0             agg1         a pod: h/R aggregation switches (R: oversubscription)
//         |  \           /  |
//         |    \       /    |
//        edge0          edge1          a pod: h edge switches, each linked to each agg of the pod
//        |   |          |   |
//        0   1          2   3          rank = h*(h*pod + edge) + i
Topology make_fat_tree3(const Spec& spec) {
  const std::uint32_t pods = spec.dims(1, 1, 2)[0], half = pods / 2;
  if (pods % 2 != 0) spec.fail(fmt::format("dims: the number of ports must be even, got {}", pods));
  const std::uint64_t ranks64 = std::uint64_t{pods} * half * half;
  check_size(spec, ranks64, 6 * ranks64);
  const std::uint32_t aggs = read_uplinks(spec, half);
  const LinkSpeed speed = read_speed(spec), uplink = read_speed(spec, "uplink", speed);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {pods}});
  const auto ranks = static_cast<std::uint32_t>(ranks64), edges = pods * half;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) builder.add_endpoint();
  for (std::uint32_t i = 0; i < edges; ++i) builder.add_switch(fmt::format("edge{}", i));
  for (std::uint32_t i = 0; i < pods * aggs; ++i) builder.add_switch(fmt::format("agg{}", i));
  for (std::uint32_t i = 0; i < aggs * half; ++i) builder.add_switch(fmt::format("core{}", i));

  const auto add = [&](std::uint32_t a, std::uint32_t b, const LinkSpeed& link) {
    builder.add_duplex(NodeId{a}, NodeId{b}, link.bandwidth, link.latency);
  };
  const std::uint32_t first_edge = ranks, first_agg = ranks + edges,
                      first_core = first_agg + pods * aggs;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) add(rank, first_edge + rank / half, speed);
  for (std::uint32_t edge = 0; edge < edges; ++edge) {
    for (std::uint32_t a = 0; a < aggs; ++a) {
      add(first_edge + edge, first_agg + edge / half * aggs + a, uplink);
    }
  }
  for (std::uint32_t agg = 0; agg < pods * aggs; ++agg) {
    for (std::uint32_t c = 0; c < half; ++c) {
      add(first_agg + agg, first_core + agg % aggs * half + c, uplink);
    }
  }
  return std::move(builder).build();
}

/// On the leaf, and between leaves over the spine of the rank's number on its leaf.
Structure fat_tree_structure(const std::vector<std::uint32_t>& dims) {
  if (dims.size() != 3 || dims[1] == 0 || dims[2] == 0) return {};
  const auto way_up = [](const RankLevels::Place& place) -> std::vector<std::uint32_t> {
    const std::uint32_t leaves = place.dims[0], hosts = place.dims[1], spines = place.dims[2];
    const std::uint32_t leaf = place.ranks + place.rank / hosts;
    if (place.level == 0) return {leaf};
    return {leaf, place.ranks + leaves + place.rank % hosts % spines};
  };
  return {.levels = RankLevels{.sizes = {dims[1], dims[0]}, .way_up = way_up}};
}

/// Rank i of edge switch e goes up over aggregation switch i and its core e.
Structure fat_tree3_structure(const std::vector<std::uint32_t>& dims) {
  if (dims.size() != 1 || dims[0] < 2) return {};
  const auto way_up = [](const RankLevels::Place& place) {
    const std::uint32_t pods = place.dims[0], half = pods / 2, edge = place.rank / half;
    const std::uint32_t first_agg = place.ranks + pods * half, i = place.rank % half;
    const std::vector<std::uint32_t> all = {place.ranks + edge, first_agg + edge / half * half + i,
                                            first_agg + pods * half + i * half + edge % half};
    return std::vector(all.begin(), all.begin() + place.level + 1);
  };
  const std::uint32_t half = dims[0] / 2;
  return {.levels = RankLevels{.sizes = {half, half, dims[0]}, .way_up = way_up}};
}

}  // namespace

TopologyFamily fattree_family() {
  return {.name = "fattree",
          .dims = "LxH[xS]",
          .summary = "L leaf switches with H ranks each, every leaf linked to S spines (H)",
          .ranks = "L*H",
          .links = "H ranks to each leaf, every leaf to each of S spines",
          .parameters =
              "spines=hosts or oversubscription=1 (hosts over spines); bw=16GB/s, "
              "lat=150ns: of every link; uplink-bw, uplink-lat: of links between switches",
          .example = "fattree:4x4",
          .make = make_fat_tree,
          .structure = fat_tree_structure};
}

TopologyFamily fattree3_family() {
  return {.name = "fattree3",
          .dims = "K",
          .summary = "three levels of K-port switches, K*K*K/4 ranks",
          .ranks = "K^3/4",
          .links = "K pods of K/2 edge and K/2 agg switches, (K/2)^2 cores; K even",
          .parameters =
              "oversubscription=1 (links down over links up at an edge switch); "
              "bw=16GB/s, lat=150ns: of every link; uplink-bw, uplink-lat: of links "
              "between switches",
          .example = "fattree3:4",
          .make = make_fat_tree3,
          .structure = fat_tree3_structure};
}

}  // namespace multitree
