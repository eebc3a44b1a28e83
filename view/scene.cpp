// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Colours and sentences of pictures.
#include "view/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "algorithms/combined_routes.hpp"
#include "topologies/error.hpp"
#include "view/drawing.hpp"

namespace multitree::view {
namespace {

/// A colour for a share from 0 to 1.
std::string shade(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * (kShades.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kShades.size() - 2);
  std::array<int, 3> mixed{};
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const int from = kShades[low][i], to = kShades[low + 1][i];
    mixed[i] = static_cast<int>(std::lround(from + (to - from) * (at - static_cast<double>(low))));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", mixed[0], mixed[1], mixed[2]);
}

Look look_of(bool reduces, std::uint32_t number = 0) {
  return {std::string(reduces ? kReduceColour : kCopyColour), 0.07, reduces, number};
}

void add_operations(Scene& scene) {
  scene.legend = {{std::string(kReduceColour), "is added to what is there (dashed)"},
                  {std::string(kCopyColour), "is copied"}};
}

[[noreturn]] void reject(std::string_view what, std::size_t all, std::size_t found) {
  throw Error(ErrorCode::InvalidArgument,
              all == 0 ? fmt::format("there is no {} here", what)
                       : fmt::format("expected a {} from 0 to {}, got {}", what, all - 1, found));
}

std::string in_units(double seconds) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kUnits{
      {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [factor, unit] : kUnits) {
    if (seconds >= factor) return fmt::format("{:.4g} {}", seconds / factor, unit);
  }
  return fmt::format("{:.4g} s", seconds);
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::vector<double> busy_seconds(const Schedule& schedule, const Topology& topology,
                                 std::uint64_t bytes) {
  const std::uint64_t count = std::max<std::uint64_t>(bytes / schedule.ranks, 1) * schedule.ranks;
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, count);
  std::vector<double> busy(topology.num_links(), 0);
  for_each_message_on_links(schedule, topology, [&](LinkId link, const Transfer& transfer) {
    busy[index(link)] += static_cast<double>(ranges[transfer.chunk].count);
  });
  for (std::uint32_t l = 0; l < busy.size(); ++l) {
    busy[l] /= static_cast<double>(topology.link(LinkId{l}).bandwidth.bytes_per_second);
  }
  return busy;
}

Scene scene_of(const Topology& topology) {
  Scene scene;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) scene.links[l] = {"#7a828c", 0.03};
  const std::size_t switches = topology.num_nodes() - topology.num_ranks();
  scene.told = fmt::format("{}, {} switch{}, {}", counted(topology.num_ranks(), "rank"), switches,
                           switches == 1 ? "" : "es", counted(topology.num_links(), "link"));
  return scene;
}

Scene load_scene(const Schedule& schedule, const Topology& topology, std::uint64_t bytes) {
  const std::vector<double> busy = busy_seconds(schedule, topology, bytes);
  const double most = busy.empty() ? 0 : *std::ranges::max_element(busy);
  Scene scene;
  for (std::uint32_t l = 0; l < busy.size(); ++l) {
    const double share = most == 0 ? 0 : busy[l] / most;
    scene.links[l] = {shade(share), 0.02 + 0.05 * share};
  }
  scene.legend = {{shade(0), "idle"}, {shade(0.5), "half as long"}, {shade(1), "busiest"}};
  const auto used = std::ranges::count_if(busy, [](double b) { return b > 0; });
  scene.told = fmt::format("{} of {} carry data; the busiest is busy for {}", used,
                           counted(busy.size(), "link"), in_units(most));
  return scene;
}

Scene step_scene(const Schedule& schedule, const Topology& topology, std::uint32_t step) {
  if (step >= schedule.num_steps()) reject("step", schedule.num_steps(), step);
  Scene scene;
  add_operations(scene);
  std::size_t messages = 0;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.step != step) continue;
    ++messages;
    for (const LinkId link : schedule.route(transfer)) {
      scene.links[index(link)] = look_of(transfer.op == Op::Reduce);
    }
  }
  scene.told = fmt::format("step {} of {}: {} over {} of {}", step + 1, schedule.num_steps(),
                           counted(messages, "message"), scene.links.size(),
                           counted(topology.num_links(), "link"));
  return scene;
}

Scene tree_scene(const Schedule& schedule, const Topology& topology, std::uint32_t tree) {
  const auto chunk = std::ranges::find(schedule.chunks, tree, &Chunk::tree);
  if (chunk == schedule.chunks.end()) {
    std::set<std::uint32_t> trees;
    for (const Chunk& one : schedule.chunks) trees.insert(one.tree);
    reject("tree", trees.size(), tree);
  }
  const auto number = static_cast<std::uint32_t>(chunk - schedule.chunks.begin());
  Scene scene;
  add_operations(scene);
  std::size_t messages = 0;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.chunk != number) continue;
    ++messages;
    for (const LinkId link : schedule.route(transfer)) {
      scene.links[index(link)] = look_of(transfer.op == Op::Reduce, transfer.step + 1);
    }
  }
  for (const Rank end : {chunk->source, chunk->target}) {
    scene.nodes[index(topology.node_of(end))] = kFarColour;
  }
  scene.told = fmt::format("tree {}, rooted at {}: {}; numbers are steps", tree,
                           words_of(topology, chunk->source), counted(messages, "message"));
  return scene;
}

Scene cut_scene(const Certified& certified, const Topology& topology, std::uint32_t cut) {
  const Certificate& certificate = certified.certificate;
  if (cut >= certificate.cuts.size()) reject("cut", certificate.cuts.size(), cut);
  const WeightedCut& shown = certificate.cuts[cut];
  std::set<std::uint32_t> far;
  Scene scene;
  for (const NodeId node : shown.far) {
    far.insert(index(node));
    scene.nodes[index(node)] = kFarColour;
  }
  const bool gathers = shown.gather.str() != "0", reduces = shown.reduce.str() != "0";
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    const bool from = far.contains(index(link.src)), to = far.contains(index(link.dst));
    if (from == to || !(to ? gathers : reduces)) continue;
    scene.links[l] = look_of(from);
  }
  scene.legend = {{std::string(kFarColour), "one side of the cut"},
                  {std::string(kCopyColour), "links into it"},
                  {std::string(kReduceColour), "links out of it"}};
  const std::size_t others = certificate.cuts.size() - 1;
  scene.told = fmt::format(
      "{} that no schedule takes less than {} shard times",
      others == 0 ? "this cut proves" : fmt::format("this cut and {} more prove", others),
      certificate.bound.str());
  return scene;
}

}  // namespace multitree::view
