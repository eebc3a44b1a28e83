// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rail-optimised fat trees: adapter i of every box is on leaf switch i, so that GPUs of one number
/// are one switch apart, and others meet over NVLink or a spine (NVIDIA DGX SuperPOD reference
/// architecture for DGX H100, "Network Fabrics": "each group of 32 nodes is rail-aligned").
///
/// Rates by default are those of DGX H100 (dgx.cpp).
#include <fmt/format.h>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

constexpr Bandwidth kRailNvlink{450'000'000'000}, kRailNic{50'000'000'000};

struct RailSizes {
  std::uint32_t boxes, gpus, spines;
};

RailSizes read_rail_sizes(const Spec& spec) {
  const std::vector<std::uint32_t> dims = spec.dims(2, 3);
  // As many links up as down at a leaf.
  const std::uint32_t spines =
      dims.size() == 3 ? dims[2] : spec.get_number("spines", dims[0], 0, 1U << 16);
  if (dims.size() == 3 && spec.has("spines"))
    spec.fail("give the spines once: as third size or as spines=");
  return {dims[0], dims[1], spines};
}

//  rail:2x3?spines=1        spine0                each rail to each spine
//                         /   |    \              rank = gpus*box + i
//                    rail0  rail1  rail2          GPU i of every box on rail i
//                     | \    | \    | \           and on its box's nvswitch
//              box0: gpu0 gpu1 gpu2  ...
Topology make_rail(const Spec& spec) {
  const RailSizes sizes = read_rail_sizes(spec);
  const std::uint64_t ranks64 = std::uint64_t{sizes.boxes} * sizes.gpus;
  check_size(spec, ranks64, 4 * ranks64 + 2 * std::uint64_t{sizes.gpus} * sizes.spines);
  const Bandwidth nvlink = read_bandwidth(spec, "nvlink", kRailNvlink);
  const Time latency = read_time(spec, "lat", kStudyLink.latency);
  const Bandwidth nic = read_bandwidth(spec, "nic", kRailNic);
  const Time nic_latency = read_time(spec, "nic-lat", kAdapterLatency);
  const LinkSpeed uplink = read_speed(spec, "uplink", {nic, nic_latency});

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {sizes.boxes, sizes.gpus, sizes.spines}});
  const auto ranks = static_cast<std::uint32_t>(ranks64);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_endpoint(fmt::format("box{}gpu{}", rank / sizes.gpus, rank % sizes.gpus));
  }
  for (std::uint32_t i = 0; i < sizes.boxes; ++i) builder.add_switch(fmt::format("nvswitch{}", i));
  for (std::uint32_t i = 0; i < sizes.gpus; ++i) builder.add_switch(fmt::format("rail{}", i));
  for (std::uint32_t i = 0; i < sizes.spines; ++i) builder.add_switch(fmt::format("spine{}", i));
  const std::uint32_t first_rail = ranks + sizes.boxes, first_spine = first_rail + sizes.gpus;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_duplex(NodeId{rank}, NodeId{ranks + rank / sizes.gpus}, nvlink, latency);
    builder.add_duplex(NodeId{rank}, NodeId{first_rail + rank % sizes.gpus}, nic, nic_latency);
  }
  for (std::uint32_t rail = 0; rail < sizes.gpus; ++rail) {
    for (std::uint32_t spine = 0; spine < sizes.spines; ++spine) {
      builder.add_duplex(NodeId{first_rail + rail}, NodeId{first_spine + spine}, uplink.bandwidth,
                         uplink.latency);
    }
  }
  return std::move(builder).build();
}

/// In the box over its switch, between boxes over the rail of the GPU's number.
Structure rail_structure(const std::vector<std::uint32_t>& dims) {
  if (dims.size() != 3) return {};
  const auto way_up = [](const RankLevels::Place& place) -> std::vector<std::uint32_t> {
    const std::uint32_t boxes = place.dims[0], gpus = place.dims[1];
    return {place.ranks + (place.level == 0 ? place.rank / gpus : boxes + place.rank % gpus)};
  };
  return {.levels = RankLevels{.sizes = {dims[1], dims[0]}, .way_up = way_up}};
}

}  // namespace

TopologyFamily rail_family() {
  return {.name = "rail",
          .dims = "BxG[xS]",
          .summary = "B boxes of G GPUs on NVSwitch, GPU i of each on rail i, S spines (B)",
          .ranks = "B*G",
          .links =
              "each GPU to its box's nvswitch and to the rail of its number, every rail to each of "
              "S spines; 0 spines: rails meet in the boxes only",
          .parameters =
              "spines=boxes; nvlink=450GB/s, lat=150ns: of a GPU to its box's switch; nic=50GB/s, "
              "nic-lat=500ns: of a GPU to its rail; uplink-bw, uplink-lat: of a rail to a spine",
          .example = "rail:2x4",
          .make = make_rail,
          .structure = rail_structure};
}

}  // namespace multitree
