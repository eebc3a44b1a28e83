// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Takes flows apart into paths, widest first, and rounds these.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "algorithms/schedule.hpp"
#include "algorithms/traffic/flow_paths_internal.hpp"

namespace multitree {
namespace {

/// Of a pair, at least; few ranks have few pairs, and the more a rounding of each counts.
constexpr std::uint64_t kLeastParts = 64, kMostParts = 4096, kPartsOfAll = 1U << 18;

struct WeighedPath {
  std::vector<LinkId> links;
  double weight = 0;
};

/// The flow of one source, taken apart from the targets backwards.
class SourceFlow {
 public:
  SourceFlow(const Topology& topology, NodeId source, std::vector<double> flow)
      : topology_(topology), source_(source), flow_(std::move(flow)) {}

  /// Paths of together `wanted` to a target, or a little less where rounding left less.
  std::vector<WeighedPath> take(NodeId target, double wanted, double least) {
    std::vector<WeighedPath> paths;
    for (double left = wanted; left > least;) {
      WeighedPath path = widest(target);
      if (path.weight <= least && !paths.empty()) break;
      path.weight = std::min(path.weight, left);
      left -= path.weight;
      for (const LinkId id : path.links) flow_[index(id)] -= path.weight;
      paths.push_back(std::move(path));
      if (paths.back().weight > 0) continue;
      paths.back().weight = left;  // the first, where rounding has left no flow
      break;
    }
    return paths;
  }

 private:
  /// Follows what carries most, backwards; loops on the way are taken out of the flow.
  WeighedPath widest(NodeId target) {
    std::vector<LinkId> back;
    std::vector<std::size_t> passed(topology_.num_nodes(), 0);  // links behind it, plus 1
    passed[index(target)] = 1;
    NodeId node = target;
    while (node != source_) {
      const auto in = topology_.in_links(node);
      const LinkId link =
          *std::ranges::max_element(in, {}, [&](LinkId id) { return flow_[index(id)]; });
      back.push_back(link);
      node = topology_.link(link).src;
      if (flow_[index(link)] <= 0) return shortest(target);
      if (const std::size_t at = passed[index(node)]; at > 0) {
        cancel(std::span(back).subspan(at - 1));
        for (std::size_t i = at - 1; i < back.size(); ++i) {
          passed[index(topology_.link(back[i]).src)] = 0;
        }
        passed[index(node)] = at;
        back.resize(at - 1);
      } else {
        passed[index(node)] = back.size() + 1;
      }
    }
    WeighedPath path{{back.rbegin(), back.rend()}, std::numeric_limits<double>::infinity()};
    for (const LinkId id : back) path.weight = std::min(path.weight, flow_[index(id)]);
    return path;
  }

  void cancel(std::span<const LinkId> loop) {
    double least = std::numeric_limits<double>::infinity();
    for (const LinkId id : loop) least = std::min(least, flow_[index(id)]);
    for (const LinkId id : loop) flow_[index(id)] -= least;
  }

  /// Any path, of no weight: where rounding has left no flow to follow.
  WeighedPath shortest(NodeId target) {
    std::vector<std::optional<LinkId>> arrival(topology_.num_nodes());
    std::vector<NodeId> queue{source_};
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const LinkId id : topology_.out_links(queue[i])) {
        const NodeId next = topology_.link(id).dst;
        if (next == source_ || arrival[index(next)]) continue;
        arrival[index(next)] = id;
        queue.push_back(next);
      }
    }
    WeighedPath path;
    for (NodeId node = target; node != source_;) {
      path.links.push_back(arrival[index(node)].value());
      node = topology_.link(path.links.back()).src;
    }
    std::ranges::reverse(path.links);
    return path;
  }

  const Topology& topology_;
  NodeId source_;
  std::vector<double> flow_;
};

/// Whole weights in proportion that add up to `whole`: what is left goes to the largest fractions.
std::vector<std::uint64_t> rounded(const std::vector<WeighedPath>& paths, std::uint64_t whole) {
  const double sum =
      std::accumulate(paths.begin(), paths.end(), 0.0,
                      [](double so_far, const WeighedPath& path) { return so_far + path.weight; });
  std::vector<std::uint64_t> weights(paths.size(), 0);
  std::vector<std::pair<double, std::size_t>> fractions;
  std::uint64_t left = whole;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const double exact = static_cast<double>(whole) * (paths[p].weight / sum);
    weights[p] = std::min(left, static_cast<std::uint64_t>(exact));
    left -= weights[p];
    fractions.emplace_back(static_cast<double>(weights[p]) - exact, p);
  }
  std::ranges::sort(fractions);
  for (std::size_t i = 0; left > 0 && i < fractions.size(); ++i, --left) {
    ++weights[fractions[i].second];
  }
  weights[fractions.front().second] += left;
  return weights;
}

/// Small shares go with the others.
void keep_worthwhile(std::vector<WeighedPath>& paths, double least) {
  std::ranges::sort(paths, std::greater<>(), &WeighedPath::weight);
  const auto small =
      std::ranges::find_if(paths, [&](const WeighedPath& path) { return path.weight < least; });
  paths.erase(std::max(small, paths.begin() + 1), paths.end());
}

}  // namespace

std::uint64_t parts_of(const Demand& demand) {
  const std::uint64_t pairs = std::uint64_t{demand.ranks()} * demand.ranks();
  const std::uint64_t parts = std::clamp(kPartsOfAll / pairs, kLeastParts, kMostParts);
  return std::clamp<std::uint64_t>(kMaxWeights / demand.ranks() / demand.shard(), 1, parts);
}

std::vector<FlowPath> paths_of(const ConcurrentFlow& flow, const Demand& demand,
                               std::uint64_t parts, const Topology& topology) {
  std::vector<FlowPath> all;
  for (std::uint32_t s = 0; s < demand.ranks(); ++s) {
    SourceFlow source(topology, topology.node_of(Rank{s}), flow.of_source[s]);
    for (std::uint32_t t = 0; t < demand.ranks(); ++t) {
      const std::uint64_t wanted = demand.at(Rank{s}, Rank{t});
      if (s == t || wanted == 0) continue;
      // Less than this is not worth a path.
      const double least = static_cast<double>(wanted) / kLeastParts;
      auto paths = source.take(topology.node_of(Rank{t}), static_cast<double>(wanted), least / 16);
      keep_worthwhile(paths, least / 2);
      const std::vector<std::uint64_t> weights = rounded(paths, wanted * parts);
      for (std::size_t p = 0; p < paths.size(); ++p) {
        if (weights[p] == 0) continue;
        all.push_back({Rank{s}, Rank{t}, weights[p], std::move(paths[p].links)});
      }
    }
  }
  return all;
}

}  // namespace multitree
