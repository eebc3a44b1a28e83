// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// AMD Instinct MI300X platforms and clusters of them, at peak link rates.
///
/// Eight GPUs, each with a link of 16 lanes of Infinity Fabric to each of the seven others; 32 Gb/s
/// a lane make 64 GB/s a direction, 128 GB/s both (AMD CDNA 3 architecture white paper, 2023). One
/// adapter of 400 Gb/s a GPU, as the platform is built by most. No latencies are published: 150ns
/// is the MULTITREE study's, 500ns an assumption for an adapter, its PCIe path and a cable.
#include <fmt/format.h>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kMi300xGpus = 8;
constexpr Bandwidth kMi300xFabric{64'000'000'000}, kMi300xNic{50'000'000'000};

//    gpu0 -- gpu1 ..       every two GPUs of a box, and each to net0 if there are several boxes
//      | \  / |
//    gpu2 -- gpu3 ..
Topology make_mi300x(const Spec& spec) {
  const std::vector<std::uint32_t> dims = spec.dims(1, 1);
  const std::uint32_t ranks = dims[0] * kMi300xGpus;
  check_size(spec, std::uint64_t{dims[0]} * kMi300xGpus,
             std::uint64_t{dims[0]} * kMi300xGpus * (kMi300xGpus + 1));
  const Bandwidth fabric = read_bandwidth(spec, "fabric", kMi300xFabric);
  const Time latency = read_time(spec, "lat", kStudyLink.latency);
  const Bandwidth nic = read_bandwidth(spec, "nic", kMi300xNic);
  const Time nic_latency = read_time(spec, "nic-lat", kAdapterLatency);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), dims});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_endpoint(fmt::format("box{}gpu{}", rank / kMi300xGpus, rank % kMi300xGpus));
  }
  for (std::uint32_t a = 0; a < ranks; ++a) {
    const std::uint32_t end = a - a % kMi300xGpus + kMi300xGpus;
    for (std::uint32_t b = a + 1; b < end; ++b) {
      builder.add_duplex(NodeId{a}, NodeId{b}, fabric, latency);
    }
  }
  if (dims[0] > 1) {
    const NodeId network = builder.add_switch("net0");
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      builder.add_duplex(NodeId{rank}, network, nic, nic_latency);
    }
  }
  return std::move(builder).build();
}

/// In the box by a link, between boxes over the network.
Structure mi300x_structure(const std::vector<std::uint32_t>& dims) {
  if (dims.size() != 1) return {};
  const auto way_up = [](const RankLevels::Place& place) {
    return place.level == 0 ? std::vector<std::uint32_t>{} : std::vector{place.ranks};
  };
  return {.levels = RankLevels{.sizes = {kMi300xGpus, dims[0]}, .way_up = way_up}};
}

}  // namespace

TopologyFamily mi300x_family() {
  return {.name = "mi300x",
          .dims = "BOXES",
          .summary = "8 GPUs a box, each linked to all others, boxes on a network",
          .ranks = "8*BOXES",
          .links = "every two GPUs of a box, and each GPU to net0 if there are several boxes",
          .parameters =
              "fabric=64GB/s, lat=150ns: between two GPUs of a box; nic=50GB/s, nic-lat=500ns: of "
              "a GPU to the switch of several boxes",
          .example = "mi300x:2",
          .make = make_mi300x,
          .structure = mi300x_structure};
}

}  // namespace multitree
