// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Specs of networks that look the same from every rank, with a given number of cables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "algorithms/design/design.hpp"
#include "topologies/cayley.hpp"
#include "topologies/finite_group.hpp"

namespace multitree {
namespace {

/// Sets of generators that are looked at, of each group.
constexpr std::uint32_t kSamples = 3000;

/// Distances from the identity.
Spread spread_of_graph(const CayleyGraph& graph) {
  constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> hops(graph.size(), kFar), queue{0};
  hops[0] = 0;
  Spread spread;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    spread.hops = hops[queue[i]];
    spread.distances += hops[queue[i]];
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      const std::uint32_t next = graph.apply(queue[i], s);
      if (hops[next] != kFar) continue;
      hops[next] = hops[queue[i]] + 1;
      queue.push_back(next);
    }
  }
  if (queue.size() < graph.size()) spread.hops = kFar;
  return spread;
}

/// All ways to write a number as a product, factors descending.
void factor(std::uint32_t left, std::uint32_t most, std::vector<std::uint32_t>& sizes,
            std::vector<std::vector<std::uint32_t>>& all) {
  if (left == 1) all.push_back(sizes);
  for (std::uint32_t size = std::min(left, most); size >= 2; --size) {
    if (left % size != 0) continue;
    sizes.push_back(size);
    factor(left / size, size, sizes, all);
    sizes.pop_back();
  }
}

std::vector<std::vector<std::uint32_t>> grids_of(std::uint32_t ranks) {
  std::vector<std::vector<std::uint32_t>> all;
  std::vector<std::uint32_t> sizes;
  factor(ranks, ranks, sizes, all);
  return all;
}

/// Cables of a rank of a torus.
std::uint32_t ports_of_torus(const std::vector<std::uint32_t>& sizes) {
  std::uint32_t ports = 0;
  for (const std::uint32_t size : sizes) ports += size == 2 ? 1 : 2;
  return ports;
}

/// The best of random sets of generators, half of them: the others undo them.
class GeneratorSearch {
 public:
  GeneratorSearch(std::vector<std::uint32_t> sizes, std::uint32_t ports)
      : group_(FiniteGroup::grid(std::move(sizes))), ports_(ports), random_(group_.size()) {}

  /// The generators to name, and how far ranks are apart; empty if there are no such generators.
  std::vector<std::uint32_t> best(Spread& spread) {
    std::vector<std::uint32_t> best;
    spread.hops = std::numeric_limits<std::uint32_t>::max();
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
      const std::vector<std::uint32_t> named = draw();
      if (named.empty()) continue;
      std::vector<std::uint32_t> generators = named;
      for (const std::uint32_t s : named) {
        if (group_.inverse(s) != s) generators.push_back(group_.inverse(s));
      }
      const Spread now = spread_of_graph(CayleyGraph(group_, generators));
      if (now >= spread) continue;
      spread = now;
      best = named;
    }
    return best;
  }

 private:
  /// Elements that with what undoes them are as many as there are ports.
  std::vector<std::uint32_t> draw() {
    std::vector<std::uint32_t> named;
    std::vector<bool> taken(group_.size(), false);
    taken[0] = true;
    std::uint32_t count = 0;
    for (std::uint32_t tries = 0; count < ports_ && tries < 40 * ports_; ++tries) {
      const auto s = static_cast<std::uint32_t>(random_() % group_.size());
      const std::uint32_t back = group_.inverse(s), cables = back == s ? 1 : 2;
      if (taken[s] || count + cables > ports_) continue;
      taken[s] = taken[back] = true;
      count += cables;
      named.push_back(std::min(s, back));
    }
    if (count < ports_) named.clear();
    std::ranges::sort(named);
    return named;
  }

  FiniteGroup group_;
  std::uint32_t ports_;
  std::mt19937_64 random_;
};

}  // namespace

std::vector<NamedSpec> cayley_candidates(std::uint32_t ranks, std::uint32_t ports) {
  std::vector<NamedSpec> specs;
  if (ports == ranks - 1) specs.push_back({"family", fmt::format("full:{}", ranks)});
  Spread best_cayley{std::numeric_limits<std::uint32_t>::max(), 0};
  std::string cayley;
  for (const std::vector<std::uint32_t>& sizes : grids_of(ranks)) {
    const std::string dims = fmt::format("{}", fmt::join(sizes, "x"));
    if (ports_of_torus(sizes) == ports) specs.push_back({"family", "torus:" + dims});
    Spread spread;
    const std::vector<std::uint32_t> named = GeneratorSearch(sizes, ports).best(spread);
    if (named.empty()) continue;
    if (sizes.size() == 1) {
      specs.push_back(
          {"circulant", fmt::format("circulant:{}?offsets={}", ranks, fmt::join(named, ","))});
    } else if (spread < best_cayley) {
      best_cayley = spread;
      cayley = fmt::format("cayley:{}?generators={}", dims, fmt::join(named, ","));
    }
  }
  if (!cayley.empty()) specs.push_back({"cayley", cayley});
  return specs;
}

}  // namespace multitree
