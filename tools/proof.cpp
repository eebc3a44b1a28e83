// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates in words.
#include "tools/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace multitree::tools {
namespace {

std::uint32_t rank_count(const std::vector<NodeId>& nodes, const Topology& topology) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(nodes, [&](NodeId n) { return !topology.node(n).is_switch(); }));
}

/// "a, b, c, ... (12 nodes)".
std::string names(const std::vector<NodeId>& nodes, const Topology& topology) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown;
  for (const NodeId node : nodes) {
    if (shown.size() == kShown) break;
    shown.push_back(topology.node(node).name);
  }
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     nodes.size() > kShown ? fmt::format(", ... ({} nodes)", nodes.size()) : "");
}

}  // namespace

std::string far_sizes(const Certificate& certificate, const Topology& topology) {
  std::map<std::uint32_t, std::uint32_t> count;
  for (const WeightedCut& cut : certificate.cuts) ++count[rank_count(cut.far, topology)];
  std::vector<std::string> parts;
  for (const auto& [ranks, cuts] : count) parts.push_back(fmt::format("{} x {}", cuts, ranks));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string proof_text(const Certificate& certificate, const Topology& topology) {
  if (certificate.cuts.empty()) return "nothing to move";
  if (certificate.cuts.size() > 1) {
    return fmt::format("cuts x ranks: {}", far_sizes(certificate, topology));
  }
  const WeightedCut& cut = certificate.cuts.front();
  return fmt::format("{} {}", cut.gather > 0 ? "into" : "out of", names(cut.far, topology));
}

std::string limiting_links(const Certificate& certificate, const Topology& topology) {
  if (certificate.cuts.empty()) return {};
  if (certificate.cuts.size() == 1) return "the links " + proof_text(certificate, topology);
  return fmt::format("the links around {} ({} such groups)",
                     names(certificate.cuts.front().far, topology), certificate.cuts.size());
}

}  // namespace multitree::tools
