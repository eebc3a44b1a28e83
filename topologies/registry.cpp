// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The table of topology families.
#include "topologies/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "topologies/cayley.hpp"
#include "topologies/degrade.hpp"
#include "topologies/error.hpp"
#include "topologies/families.hpp"
#include "topologies/spec.hpp"
#include "topologies/structure.hpp"
#include "topologies/words.hpp"

namespace multitree {

// A family is a row of this list, one a line, and a file with <row>_family() in it.
// clang-format off
#define MULTITREE_FAMILIES(row) \
  row(bigraph)                  \
  row(bubble_sort)              \
  row(cayley)                   \
  row(circulant)                \
  row(dgx_a100)                 \
  row(dgx_b200)                 \
  row(dgx_h100)                 \
  row(dgx2)                     \
  row(dragonfly)                \
  row(fattree)                  \
  row(fattree3)                 \
  row(full)                     \
  row(hypercube)                \
  row(hyperx)                   \
  row(mesh)                     \
  row(mi300x)                   \
  row(nvl72)                    \
  row(pancake)                  \
  row(rail)                     \
  row(ring)                     \
  row(slimfly)                  \
  row(star)                     \
  row(star_graph)               \
  row(torus)                    \
  row(tpu_v4)                   \
  row(twisted_torus)
// clang-format on

#define MULTITREE_DECLARE(name) TopologyFamily name##_family();
MULTITREE_FAMILIES(MULTITREE_DECLARE)

namespace {

constexpr std::array kAliases = {
    Alias{"clos", "fattree"},   Alias{"leaf-spine", "fattree"}, Alias{"grid", "mesh"},
    Alias{"full-mesh", "full"}, Alias{"complete", "full"},      Alias{"line", "mesh"},
    Alias{"switch", "star"},    Alias{"a100", "dgx-a100"},      Alias{"h100", "dgx-h100"},
    Alias{"b200", "dgx-b200"},  Alias{"gb200", "nvl72"},        Alias{"slim-fly", "slimfly"},
    Alias{"tpuv4", "tpu-v4"}};

const TopologyFamily* find_family(std::string_view name) {
  const auto families = topology_families();
  const auto known = meant(name, names_of(families), kAliases);
  return known ? &*std::ranges::find(families, *known, &TopologyFamily::name) : nullptr;
}

/// "torus4x2", or "torus-4x2", is torus:4x2.
std::string with_colon(std::string_view name, std::span<const std::string_view> known) {
  std::string_view longest;
  for (const std::string_view family : known) {
    if (name.starts_with(family) && family.size() > longest.size()) longest = family;
  }
  std::string_view dims = name.substr(longest.size());
  if (!dims.empty() && std::string_view("-_= (").find(dims.front()) != std::string_view::npos) {
    dims.remove_prefix(1);
  }
  const bool are_sizes =
      !dims.empty() && dims.find_first_not_of("0123456789x") == std::string_view::npos;
  if (longest.empty() || !are_sizes) return {};
  return fmt::format("; did you mean '{}:{}'?", longest, dims);
}

/// What every family takes.
NetworkChanges read_changes(const Spec& spec) {
  return {.without = spec.get("without", ""),
          .dead = spec.get("dead", ""),
          .slow = spec.get("slow", ""),
          .parallel = spec.get("parallel", ""),
          .switches = spec.get("switches", ""),
          .ranks = spec.get("ranks", "")};
}

}  // namespace

std::span<const TopologyFamily> topology_families() {
#define MULTITREE_ROW(name) name##_family(),
  static const std::array list = {MULTITREE_FAMILIES(MULTITREE_ROW)};
  return list;
}

Structure family_structure(const Shape& shape) {
  const TopologyFamily* family = find_family(shape.family);
  return family != nullptr && family->structure != nullptr ? family->structure(shape.dims)
                                                           : Structure{};
}

std::optional<CayleyGraph> cayley_graph(const Spec& spec, std::uint64_t most_ranks) {
  const TopologyFamily* family = find_family(spec.name());
  if (family == nullptr || family->graph == nullptr) return std::nullopt;
  return family->graph(spec, most_ranks);
}

std::vector<LinkSpeed> cayley_speeds(const Spec& spec, const CayleyGraph& graph) {
  const auto& sizes = graph.group().sizes();
  const TopologyFamily& family = *find_family(spec.name());
  const bool by_dimension = family.speeds_by_dimension;
  const auto given =
      read_speeds(spec, by_dimension ? sizes.size() : 1, {family.bandwidth, kStudyLink.latency});
  std::vector<LinkSpeed> speeds;
  for (std::uint32_t element : graph.generators()) {
    std::size_t dimension = 0;
    for (; by_dimension && element % sizes[dimension] == 0; ++dimension) {
      element /= sizes[dimension];
    }
    speeds.push_back(given[dimension]);
  }
  return speeds;
}

CayleyGraph uniform_cayley_graph(const Spec& spec, std::uint64_t most_ranks) {
  auto graph = cayley_graph(spec, most_ranks);
  if (!graph) {
    spec.fail("expected a network that looks the same from every rank, such as a torus");
  }
  // How fast the links are does not matter, as long as all are alike.
  const std::vector<LinkSpeed> speeds = cayley_speeds(spec, *graph);
  for (const LinkSpeed& speed : speeds) {
    if (speed.bandwidth != speeds.front().bandwidth) spec.fail("bw: bandwidths differ");
  }
  spec.check_all_used();
  return std::move(*graph);
}

Topology make_topology(std::string_view text) {
  Spec spec = Spec::parse(text);
  const TopologyFamily* family = find_family(spec.name());
  if (family == nullptr) {
    const auto known = names_of(topology_families());
    const std::string colon = with_colon(spec.name(), known);
    spec.fail(fmt::format("unknown topology '{}'; known are {}{}", spec.name(),
                          fmt::join(known, ", "),
                          colon.empty() ? did_you_mean(spec.name(), known) : colon));
  }
  spec.call(family->name, family->dims);
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
