// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of topology families.
#include "topologies/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topologies/error.hpp"
#include "topologies/families.hpp"
#include "topologies/without_internal.hpp"

namespace multitree {
namespace {

constexpr std::string_view kLinkParameters = "bw=16GB/s, lat=150ns: of every link";
constexpr std::string_view kGridParameters =
    "bw=16GB/s, lat=150ns: of every link, or a list with one value a dimension";

constexpr std::array kFamilies = std::to_array<TopologyFamily>({
    {"full", "N", "a duplex link between every two ranks", kLinkParameters, "full:8", make_full},
    {"mesh", "AxBx...", "grid without wrap-around links", kGridParameters, "mesh:4x4", make_mesh},
    {"ring", "N", "each rank linked to the next, the last to the first", kLinkParameters, "ring:8",
     make_ring},
    {"star", "N", "ranks around one switch", kLinkParameters, "star:8", make_star},
    {"torus", "AxBx...", "grid with wrap-around links; a size-2 dimension has one link a pair",
     kGridParameters, "torus:4x4", make_torus},
});

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
    Topology topology = apply_without(spec, family->make(spec));
    spec.check_all_used();
    return topology;
  } catch (const Error& error) {
    // The builder does not know the spec: a latency of 2s, say.
    if (error.code() != ErrorCode::InvalidInput) throw;
    spec.fail(error.what());
  }
}

}  // namespace multitree
