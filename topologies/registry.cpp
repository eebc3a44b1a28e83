// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of topology families.
#include "topologies/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topologies/degrade.hpp"
#include "topologies/error.hpp"
#include "topologies/families.hpp"

namespace multitree {
namespace {

constexpr std::string_view kLinkParameters = "bw=16GB/s, lat=150ns: of every link";
constexpr std::string_view kGridParameters =
    "bw=16GB/s, lat=150ns: of every link, or a list with one value a dimension";
constexpr std::string_view kTorusParameters =
    "double=0: 1 for two links a pair in size-2 dimensions; bw=16GB/s, lat=150ns: of every link, "
    "or a list with one value a dimension";
constexpr std::string_view kUplinkParameters =
    "bw=16GB/s, lat=150ns: of every link; uplink-bw, uplink-lat: of links between switches";
constexpr std::string_view kFatTreeParameters =
    "spines=hosts or oversubscription=1 (hosts over spines); bw=16GB/s, lat=150ns: of every link; "
    "uplink-bw, uplink-lat: of links between switches";
constexpr std::string_view kFatTree3Parameters =
    "oversubscription=1 (links down over links up at an edge switch); bw=16GB/s, lat=150ns: of "
    "every link; uplink-bw, uplink-lat: of links between switches";
constexpr std::string_view kDragonflyParameters =
    "groups=A*H+1; bw=16GB/s, lat=150ns: of every link; local-bw, local-lat: inside a group; "
    "global-bw, global-lat: between groups";
constexpr std::string_view kA100Parameters =
    "nvlink=300GB/s, lat=150ns: of a GPU to its box's switch; nic=25GB/s, nic-lat=500ns: of a GPU "
    "to the InfiniBand switch of several boxes";
constexpr std::string_view kH100Parameters =
    "nvlink=450GB/s, lat=150ns: of a GPU to its box's switch; nic=50GB/s, nic-lat=500ns: of a GPU "
    "to the InfiniBand switch of several boxes";

constexpr std::array kFamilies = std::to_array<TopologyFamily>({
    {"bigraph", "MxN", "EFLOPS: M ranks on each of N switches, upper half linked to lower half",
     kUplinkParameters, "bigraph:4x8", make_bigraph},
    {"bubble-sort", "N", "the N! orders of N symbols, linked where a swap of neighbours leads",
     kLinkParameters, "bubble-sort:4", make_cayley},
    {"cayley", "AxBx...", "grid of which rank 0, and all alike, is linked to the ranks given",
     "generators=1: these ranks, and by what undoes them; bw=16GB/s, lat=150ns: of every link",
     "cayley:4x4?generators=1,4,5", make_cayley},
    {"circulant", "N", "each rank linked to those that are given offsets before and after it",
     "offsets=1: list; bw=16GB/s, lat=150ns: of every link", "circulant:16?offsets=1,5",
     make_cayley},
    {"dgx-a100", "BOXES", "8 GPUs a box on NVSwitch, boxes on InfiniBand", kA100Parameters,
     "dgx-a100:2", make_dgx_a100},
    {"dgx-h100", "BOXES", "8 GPUs a box on NVSwitch, boxes on InfiniBand", kH100Parameters,
     "dgx-h100:2", make_dgx_h100},
    {"dgx2", "", "16 GPUs on two boards of 6 NVSwitches",
     "nvlink=25GB/s, lat=150ns: of every link; between=200GB/s: of the trunk between two switches "
     "(8 times nvlink)",
     "dgx2", make_dgx2},
    {"dragonfly", "AxHxP", "A routers a group, H global links and P ranks a router",
     kDragonflyParameters, "dragonfly:4x1x2", make_dragonfly},
    {"fattree", "LxH[xS]", "L leaf switches with H ranks each, every leaf linked to S spines (H)",
     kFatTreeParameters, "fattree:4x4", make_fat_tree},
    {"fattree3", "K", "three levels of K-port switches, K*K*K/4 ranks", kFatTree3Parameters,
     "fattree3:4", make_fat_tree3},
    {"full", "N", "a duplex link between every two ranks", kLinkParameters, "full:8", make_full},
    {"hypercube", "D", "2^D ranks, linked where their numbers differ in one bit", kLinkParameters,
     "hypercube:4", make_hypercube},
    {"mesh", "AxBx...", "grid without wrap-around links", kGridParameters, "mesh:4x4", make_mesh},
    {"pancake", "N", "the N! orders of N symbols, linked where turning the first few leads",
     kLinkParameters, "pancake:4", make_cayley},
    {"ring", "N", "each rank linked to the next, the last to the first", kLinkParameters, "ring:8",
     make_ring},
    {"star", "N", "ranks around one switch", kLinkParameters, "star:8", make_star},
    {"star-graph", "N", "the N! orders of N symbols, linked where a swap with the first leads",
     kLinkParameters, "star-graph:4", make_cayley},
    {"torus", "AxBx...", "grid with wrap-around links; a size-2 dimension has one link a pair",
     kTorusParameters, "torus:4x4", make_torus},
    {"twisted-torus", "AxBx...", "torus whose last dimension wraps to a place further in the first",
     "twist=A/2: how much further; bw=16GB/s, lat=150ns: of every link", "twisted-torus:8x4",
     make_cayley},
});

/// What every family takes.
NetworkChanges read_changes(const Spec& spec) {
  return {.without = spec.get("without", ""),
          .dead = spec.get("dead", ""),
          .slow = spec.get("slow", ""),
          .parallel = spec.get("parallel", ""),
          .ranks = spec.get("ranks", "")};
}

}  // namespace

std::span<const TopologyFamily> topology_families() { return kFamilies; }

Topology make_topology(std::string_view text) {
  const Spec spec = Spec::parse(text);
  const auto family = std::ranges::find(kFamilies, spec.name(), &TopologyFamily::name);
  if (family == kFamilies.end()) {
    std::string known;
    for (const TopologyFamily& each : kFamilies) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
    }
    spec.fail(fmt::format("unknown topology '{}'; known are {}", spec.name(), known));
  }
  try {
    const Topology whole = family->make(spec);
    const NetworkChanges changes = read_changes(spec);
    spec.check_all_used();
    try {
      return change_network(whole, changes, spec.text());
    } catch (const Error& error) {
      spec.fail(error.what());
    }
  } catch (const Error& error) {
    // The builder reports a value that is out of range (a latency of 2s, say) without the spec: add
    // it.
    if (error.code() != ErrorCode::InvalidInput) throw;
    spec.fail(error.what());
  }
}

}  // namespace multitree
