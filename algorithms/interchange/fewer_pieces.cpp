// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Keeps the first chunk of each tree and pipelines it anew.
#include "algorithms/interchange/fewer_pieces.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/compose.hpp"

namespace multitree {
namespace {

using Tree = std::tuple<Rank, Rank, std::uint32_t>;

Tree tree_of(const Chunk& chunk) { return {chunk.source, chunk.target, chunk.tree}; }

std::map<Tree, std::vector<std::uint32_t>> chunks_by_tree(const Schedule& schedule) {
  std::map<Tree, std::vector<std::uint32_t>> trees;
  for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
    trees[tree_of(schedule.chunks[c])].push_back(c);
  }
  return trees;
}

/// A transfer without its time.
using Arc = std::tuple<Op, Rank, Rank, std::vector<LinkId>>;

/// Of each chunk, sorted.
std::vector<std::vector<Arc>> ways_of(const Schedule& schedule) {
  std::vector<std::vector<Arc>> ways(schedule.chunks.size());
  for (const Transfer& t : schedule.transfers) {
    const auto route = schedule.route(t);
    ways[t.chunk].emplace_back(t.op, t.src, t.dst, std::vector(route.begin(), route.end()));
  }
  for (auto& way : ways) std::ranges::sort(way);
  return ways;
}

bool travel_alike(const std::map<Tree, std::vector<std::uint32_t>>& trees,
                  const std::vector<std::vector<Arc>>& ways) {
  return std::ranges::all_of(trees, [&](const auto& tree) {
    return std::ranges::all_of(
        tree.second, [&](std::uint32_t chunk) { return ways[chunk] == ways[tree.second.front()]; });
  });
}

/// The first chunk of each tree with the weight of all; its transfers keep their steps.
Schedule first_chunks(const Schedule& schedule,
                      const std::map<Tree, std::vector<std::uint32_t>>& trees) {
  constexpr std::uint32_t kLeftOut = UINT32_MAX;
  std::vector<std::uint32_t> number(schedule.chunks.size(), kLeftOut);
  Schedule result;
  result.collective = schedule.collective;
  result.algorithm = schedule.algorithm;
  result.root = schedule.root;
  result.ranks = schedule.ranks;
  for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
    const std::vector<std::uint32_t>& all = trees.at(tree_of(schedule.chunks[c]));
    if (all.front() != c) continue;
    number[c] = static_cast<std::uint32_t>(result.chunks.size());
    Chunk whole = schedule.chunks[c];
    whole.weight = 0;
    for (const std::uint32_t one : all) whole.weight += schedule.chunks[one].weight;
    result.chunks.push_back(whole);
  }
  for (const Transfer& t : schedule.transfers) {
    if (number[t.chunk] == kLeftOut) continue;
    result.add(t.step, t.op, number[t.chunk], t.src, t.dst, schedule.route(t));
  }
  return result;
}

/// Smallest weights of the same proportions.
void reduce_weights(Schedule& schedule) {
  std::uint64_t divisor = 0;
  for (const Chunk& chunk : schedule.chunks) divisor = std::gcd(divisor, chunk.weight);
  for (Chunk& chunk : schedule.chunks) chunk.weight /= divisor;
}

}  // namespace

std::uint32_t pieces_of(const Schedule& schedule) {
  std::size_t most = 0;
  for (const auto& [tree, chunks] : chunks_by_tree(schedule)) most = std::max(most, chunks.size());
  return static_cast<std::uint32_t>(most);
}

std::optional<Schedule> in_pieces(const Schedule& schedule, std::uint32_t pieces,
                                  const Topology& topology) {
  const auto trees = chunks_by_tree(schedule);
  if (trees.empty() || !travel_alike(trees, ways_of(schedule))) return std::nullopt;
  Schedule whole = first_chunks(schedule, trees);
  reduce_weights(whole);
  std::uint64_t sum = 0;
  for (const Chunk& chunk : whole.chunks) {
    if (chunk.weight > (kMaxWeights - sum) / pieces) return std::nullopt;
    sum += chunk.weight * pieces;
  }
  return pipelined(whole, pieces, topology);
}

std::optional<Schedule> fitting(const Schedule& schedule, const Topology& topology,
                                const std::function<bool(const Schedule&)>& fits) {
  expect_no_switches_at_work(schedule, "export");
  if (fits(schedule)) return schedule;
  std::optional<Schedule> best;
  for (std::uint32_t pieces = 1; pieces < pieces_of(schedule); pieces *= 2) {
    std::optional<Schedule> made = in_pieces(schedule, pieces, topology);
    if (!made || !fits(*made)) break;
    best = std::move(made);
  }
  return best;
}

}  // namespace multitree
