// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// NVIDIA DGX boxes and clusters of them, at peak link rates.
///
/// Rates a direction: NVLink 2 and 3 have 25 GB/s a link, NVLink 4 too (half as many lanes, twice
/// the signalling rate). V100: 6 links; A100: 12 = 300 GB/s; H100: 18 = 450 GB/s (NVIDIA V100, A100
/// and H100 architecture white papers). One network adapter a GPU: HDR InfiniBand, 200 Gb/s, in DGX
/// A100; NDR, 400 Gb/s, in DGX H100 (their data sheets). The vendor publishes no latencies: 150ns
/// is the MULTITREE study's, 500ns an assumption for an adapter, its PCIe path and a cable.
#include <fmt/format.h>

#include "topologies/families.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kGpusPerBox = 8;
constexpr Time kNicLatency{500'000};

// The switches of a box act as one crossbar: each GPU spreads its links evenly over all of them.
Topology make_boxes(const Spec& spec, Bandwidth nvlink_default, Bandwidth nic_default) {
  const std::vector<std::uint32_t> dims = spec.dims(1, 1);
  const std::uint32_t boxes = dims[0], ranks = boxes * kGpusPerBox;
  check_size(spec, std::uint64_t{boxes} * kGpusPerBox, std::uint64_t{boxes} * kGpusPerBox * 4);
  const Bandwidth nvlink = read_bandwidth(spec, "nvlink", nvlink_default);
  const Time latency = read_time(spec, "lat", kStudyLink.latency);
  const Bandwidth nic = read_bandwidth(spec, "nic", nic_default);
  const Time nic_latency = read_time(spec, "nic-lat", kNicLatency);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), dims});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_endpoint(fmt::format("box{}gpu{}", rank / kGpusPerBox, rank % kGpusPerBox));
  }
  for (std::uint32_t box = 0; box < boxes; ++box)
    builder.add_switch(fmt::format("nvswitch{}", box));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.add_duplex(NodeId{rank}, NodeId{ranks + rank / kGpusPerBox}, nvlink, latency);
  }
  if (boxes > 1) {
    const NodeId fabric = builder.add_switch("ib0");
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      builder.add_duplex(NodeId{rank}, fabric, nic, nic_latency);
    }
  }
  return std::move(builder).build();
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

Topology make_dgx_a100(const Spec& spec) {
  return make_boxes(spec, {300'000'000'000}, {25'000'000'000});
}

Topology make_dgx_h100(const Spec& spec) {
  return make_boxes(spec, {450'000'000'000}, {50'000'000'000});
}

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
          .make = make_dgx_a100};
}

TopologyFamily dgx_h100_family() {
  TopologyFamily family = dgx_a100_family();
  family.name = "dgx-h100";
  family.parameters =
      "nvlink=450GB/s, lat=150ns: of a GPU to its box's switch; nic=50GB/s, "
      "nic-lat=500ns: of a GPU to the InfiniBand switch of several boxes";
  family.example = "dgx-h100:2";
  family.make = make_dgx_h100;
  return family;
}

}  // namespace multitree
