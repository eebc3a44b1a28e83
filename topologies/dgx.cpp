// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// NVIDIA DGX boxes and clusters of them, at peak link rates.
///
/// Rates a direction: NVLink 2 and 3 have 25 GB/s a link, NVLink 4 too (half as many lanes, twice
/// the signalling rate). V100: 6 links; A100: 12 = 300 GB/s; H100: 18 = 450 GB/s (NVIDIA V100, A100
/// and H100 architecture white papers). One network adapter a GPU: HDR InfiniBand, 200 Gb/s, in DGX
/// A100; NDR, 400 Gb/s, in DGX H100 (their data sheets). NVLink 5 has 50 GB/s a link: the switches
/// of a DGX B200 carry 14.4 TB/s, both directions of 8 GPUs, so 900 GB/s; one 400 Gb/s ConnectX-7 a
/// GPU (DGX B200 user guide, "Introduction"). A rack of a GB200 NVL72 has 72 GPUs with a link to
/// each of 18 switch chips, 1.8 TB/s both ways (DGX SuperPOD reference architecture for GB200,
/// "Network Fabrics"), and a 400 Gb/s adapter a GPU. The vendor publishes no latencies: 150ns is
/// the MULTITREE study's, 500ns an assumption for an adapter, its PCIe path and a cable.
#include <fmt/format.h>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kGpusPerBox = 8;

/// A kind of box, and the rates of its GPUs.
struct Box {
  Bandwidth nvlink, nic;
  std::uint32_t gpus = kGpusPerBox;
  std::string_view name = "box";
};

// The switches of a box act as one crossbar: each GPU spreads its links evenly over all of them.
Topology make_boxes(const Spec& spec, const Box& kind) {
  const std::vector<std::uint32_t> dims = spec.dims(1, 1);
  // Racks are sold with a part of their GPUs, boxes are not.
  const bool partial = kind.gpus > kGpusPerBox;
  const std::uint32_t gpus = partial ? spec.get_number("gpus", kind.gpus, 1, kind.gpus) : kind.gpus;
  const std::uint32_t boxes = dims[0], ranks = boxes * gpus;
  check_size(spec, std::uint64_t{boxes} * gpus, std::uint64_t{boxes} * gpus * 4);
  const Bandwidth nvlink = read_bandwidth(spec, "nvlink", kind.nvlink);
  const Time latency = read_time(spec, "lat", kStudyLink.latency);
  const Bandwidth nic = read_bandwidth(spec, "nic", kind.nic);
  const Time nic_latency = read_time(spec, "nic-lat", kAdapterLatency);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), dims});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_endpoint(fmt::format("{}{}gpu{}", kind.name, rank / gpus, rank % gpus));
  }
  for (std::uint32_t box = 0; box < boxes; ++box)
    builder.add_switch(fmt::format("nvswitch{}", box));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_duplex(NodeId{rank}, NodeId{ranks + rank / gpus}, nvlink, latency);
  }
  if (boxes > 1) {
    const NodeId fabric = builder.add_switch("ib0");
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      builder.add_duplex(NodeId{rank}, fabric, nic, nic_latency);
    }
  }
  return std::move(builder).build();
}

/// In the box over its switch, between boxes over InfiniBand.
Structure boxes_structure(const std::vector<std::uint32_t>& dims) {
  if (dims.size() != 1 || dims[0] == 0) return {};
  const auto way_up = [](const RankLevels::Place& place) -> std::vector<std::uint32_t> {
    const std::uint32_t boxes = place.dims[0];
    return {place.ranks + (place.level == 0 ? place.rank / (place.ranks / boxes) : boxes)};
  };
  return {.levels = RankLevels{.sizes = {0, dims[0]}, .way_up = way_up}};
}

// DGX-2 (Ishii et al., "NVSwitch and DGX-2", Hot Chips 30, 2018): two boards of 8 V100 and 6
// NVSwitches. Each GPU has one NVLink to each switch of its board; switch k of board 0 has 8 links
// to switch k of board 1, here one link of 8 times the bandwidth.
//
//    gpu0 .. gpu7            gpu8 .. gpu15
//     | each to all 6 |       | each to all 6 |
//    sw0  sw1 ..  sw5        sw6  sw7 .. sw11      switch = 6*board + k
//     |    |       |          |    |       |
//     +----|-------|----------+    |       |       sw0-sw6, sw1-sw7, ...: 8 links each
//          +-------|---------------+       |
Topology make_dgx2(const Spec& spec) {
  constexpr std::uint32_t kBoards = 2, kSwitchesPerBoard = 6, kGpus = kBoards * kGpusPerBox;
  constexpr std::uint32_t kLinksBetweenSwitches = 8;
  if (!spec.dims_text().empty()) {
    spec.fail(fmt::format("dims: dgx2 has none, got '{}'", spec.dims_text()));
  }
  const Bandwidth nvlink = read_bandwidth(spec, "nvlink", {25'000'000'000});
  const Time latency = read_time(spec, "lat", kStudyLink.latency);
  const Bandwidth between =
      read_bandwidth(spec, "between", {nvlink.bytes_per_second * kLinksBetweenSwitches});

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), {}});
  for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) builder.add_endpoint(fmt::format("gpu{}", gpu));
  for (std::uint32_t i = 0; i < kBoards * kSwitchesPerBoard; ++i) {
    builder.add_switch(fmt::format("sw{}", i));
  }
  for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
    const std::uint32_t first = kGpus + gpu / kGpusPerBox * kSwitchesPerBoard;
    for (std::uint32_t k = 0; k < kSwitchesPerBoard; ++k) {
      builder.add_duplex(NodeId{gpu}, NodeId{first + k}, nvlink, latency);
    }
  }
  for (std::uint32_t k = 0; k < kSwitchesPerBoard; ++k) {
    builder.add_duplex(NodeId{kGpus + k}, NodeId{kGpus + kSwitchesPerBoard + k}, between, latency);
  }
  return std::move(builder).build();
}

constexpr Box kA100{{300'000'000'000}, {25'000'000'000}};
constexpr Box kH100{{450'000'000'000}, {50'000'000'000}};
constexpr Box kB200{{900'000'000'000}, {50'000'000'000}};
constexpr Box kNvl72{{900'000'000'000}, {50'000'000'000}, 72, "rack"};

}  // namespace

TopologyFamily dgx2_family() {
  return {.name = "dgx2",
          .dims = "",
          .summary = "16 GPUs on two boards of 6 NVSwitches",
          .ranks = "16",
          .links =
              "2 boards of 8 GPUs and 6 switches sw; a link a GPU and switch, 8-fold trunks "
              "between boards",
          .parameters =
              "nvlink=25GB/s, lat=150ns: of every link; between=200GB/s: of the trunk "
              "between two switches (8 times nvlink)",
          .example = "dgx2",
          .make = make_dgx2};
}

TopologyFamily dgx_a100_family() {
  return {.name = "dgx-a100",
          .dims = "BOXES",
          .summary = "8 GPUs a box on NVSwitch, boxes on InfiniBand",
          .ranks = "8*BOXES",
          .links = "each GPU to its box's nvswitch, and to ib0 if there are several boxes",
          .parameters =
              "nvlink=300GB/s, lat=150ns: of a GPU to its box's switch; nic=25GB/s, "
              "nic-lat=500ns: of a GPU to the InfiniBand switch of several boxes",
          .example = "dgx-a100:2",
          .make = [](const Spec& spec) { return make_boxes(spec, kA100); },
          .structure = boxes_structure};
}

TopologyFamily dgx_h100_family() {
  TopologyFamily family = dgx_a100_family();
  family.name = "dgx-h100";
  family.parameters =
      "nvlink=450GB/s, lat=150ns: of a GPU to its box's switch; nic=50GB/s, "
      "nic-lat=500ns: of a GPU to the InfiniBand switch of several boxes";
  family.example = "dgx-h100:2";
  family.make = [](const Spec& spec) { return make_boxes(spec, kH100); };
  return family;
}

TopologyFamily dgx_b200_family() {
  TopologyFamily family = dgx_a100_family();
  family.name = "dgx-b200";
  family.parameters =
      "nvlink=900GB/s, lat=150ns: of a GPU to its box's switch; nic=50GB/s, "
      "nic-lat=500ns: of a GPU to the InfiniBand switch of several boxes";
  family.example = "dgx-b200:2";
  family.make = [](const Spec& spec) { return make_boxes(spec, kB200); };
  return family;
}

TopologyFamily nvl72_family() {
  return {.name = "nvl72",
          .dims = "RACKS",
          .summary = "72 GPUs a rack on NVSwitch (GB200), racks on InfiniBand",
          .ranks = "72*RACKS",
          .links = "each GPU to its rack's nvswitch, and to ib0 if there are several racks",
          .parameters =
              "gpus=72: of each rack; nvlink=900GB/s, lat=150ns: of a GPU to its rack's switch; "
              "nic=50GB/s, nic-lat=500ns: of a GPU to the InfiniBand switch of several racks",
          .example = "nvl72:2?gpus=18",
          .make = [](const Spec& spec) { return make_boxes(spec, kNvl72); },
          .structure = boxes_structure};
}

}  // namespace multitree
