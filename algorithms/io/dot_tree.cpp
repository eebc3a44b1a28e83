// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One chunk's way through the network as a Graphviz picture.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <vector>

#include "algorithms/io/io.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Colours of steps, light to dark, from the first step of the drawn phase to the last.
std::string colour(std::uint32_t step, std::uint32_t first, std::uint32_t last) {
  const double position = last == first ? 0 : static_cast<double>(step - first) / (last - first);
  return fmt::format("{:.3f} 0.75 0.75", 0.62 * (1 - position));  // hue from blue to red
}

}  // namespace

std::string write_tree_dot(const Schedule& schedule, const Topology& topology,
                           std::uint32_t chunk) {
  if (chunk >= schedule.chunks.size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a chunk below {}, got {}", schedule.chunks.size(), chunk));
  }
  // The gathering tree; for reductions, whose only transfers reduce, the reducing one.
  const Op drawn = copies(schedule.collective) ? Op::Copy : Op::Reduce;
  std::vector<Transfer> edges;
  for (const Transfer& t : schedule.transfers) {
    if (t.chunk == chunk && t.op == drawn) edges.push_back(t);
  }
  std::map<Rank, std::uint32_t> depth;  // from the tree's root
  depth[schedule.chunks[chunk].root()] = 0;
  const auto parent = [&](const Transfer& t) { return drawn == Op::Copy ? t.src : t.dst; };
  const auto child = [&](const Transfer& t) { return drawn == Op::Copy ? t.dst : t.src; };
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Transfer& t = drawn == Op::Copy ? edges[i] : edges[edges.size() - 1 - i];
    depth.try_emplace(child(t), depth[parent(t)] + 1);
  }
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "digraph \"{} on {}, chunk {}\" {{\n", schedule.algorithm, topology.name(),
                 chunk);
  fmt::format_to(to, "  node [shape=circle fixedsize=true width=0.45 fontname=\"Helvetica\"];\n");
  fmt::format_to(to, "  edge [fontname=\"Helvetica\" fontsize=10];\n");
  std::map<std::uint32_t, std::vector<Rank>> levels;
  for (const auto& [rank, level] : depth) levels[level].push_back(rank);
  for (const auto& [level, ranks] : levels) {
    fmt::format_to(to, "  {{ rank=same;");
    for (const Rank rank : ranks) {
      fmt::format_to(to, " {}{};", index(rank), level == 0 ? " [style=filled fillcolor=gold]" : "");
    }
    fmt::format_to(to, " }}\n");
  }
  for (const Transfer& t : edges) {
    fmt::format_to(to, "  {} -> {} [label=\"{}\" color=\"{}\"];\n", index(t.src), index(t.dst),
                   t.step, colour(t.step, edges.front().step, edges.back().step));
  }
  fmt::format_to(to, "}}\n");
  return fmt::to_string(out);
}

}  // namespace multitree
