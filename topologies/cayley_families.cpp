// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Circulants, twisted tori, networks of permutations (Akers, Krishnamurthy 1989): families that
/// are given by a group and generators.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topologies/cayley.hpp"
#include "topologies/error.hpp"
#include "topologies/families.hpp"
#include "topologies/registry.hpp"
#include "topologies/spec.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

constexpr std::size_t kAnyNumber = SIZE_MAX;
constexpr std::uint32_t kMostSymbols = 9;  // 362,880 ranks

/// The generators that a list names by the ranks that rank 0 is linked to, with their inverses.
CayleyGraph with_inverses(const Spec& spec, FiniteGroup group, std::string_view key) {
  std::vector<std::uint32_t> generators;
  for (const std::uint32_t s : spec.get_numbers(key, "1", 1, group.size() - 1)) {
    if (std::ranges::count(generators, s) != 0) {
      spec.fail(fmt::format("{}: {} or what undoes it is listed before", key, s));
    }
    generators.push_back(s);
    if (group.inverse(s) != s) generators.push_back(group.inverse(s));
  }
  return {std::move(group), std::move(generators)};
}

//   twisted-torus:4x2?twist=2        from the last row a link leads to the first, 2 further on:
//    y=1   4 -- 5 -- 6 -- 7 --(4)      4 - 2, 5 - 3, 6 - 0, 7 - 1
//    y=0   0 -- 1 -- 2 -- 3 --(0)    (Camara et al., Twisted Torus Topologies, 2010)
CayleyGraph twisted_torus(const Spec& spec, std::uint64_t) {
  const std::vector<std::uint32_t> sizes = spec.dims(2, kAnyNumber, 2);
  const std::uint32_t twist = spec.get_number("twist", sizes[0] / 2, 0, sizes[0] - 1);
  FiniteGroup group = FiniteGroup::grid(sizes, twist);
  std::vector<std::uint32_t> generators;
  for (std::uint32_t stride = 1; const std::uint32_t size : sizes) {
    for (const std::uint32_t s : {stride, group.inverse(stride)}) {
      if (std::ranges::count(generators, s) == 0) generators.push_back(s);
    }
    stride *= size;
  }
  return {std::move(group), std::move(generators)};
}

/// `change(order, i)` makes generator i of the order 0, 1, 2, ...
template <class Change>
CayleyGraph of_permutations(const Spec& spec, Change&& change) {
  const std::uint32_t symbols = spec.dims(1, 1)[0];
  if (symbols > kMostSymbols) {
    spec.fail(fmt::format("dims: at most {} symbols, got {}", kMostSymbols, symbols));
  }
  std::vector<std::uint32_t> generators;
  for (std::uint32_t i = 1; i < symbols; ++i) {
    std::vector<std::uint32_t> order(symbols);
    std::iota(order.begin(), order.end(), 0U);
    change(order, i);
    generators.push_back(FiniteGroup::permutation_number(order));
  }
  return {FiniteGroup::permutations(symbols), std::move(generators)};
}

template <CayleyGraph (*graph)(const Spec&, std::uint64_t)>
Topology make(const Spec& spec) {
  return make_cayley_network(spec, graph(spec, Spec::kMaxRanks), spec.dims(1, kAnyNumber));
}

Structure permutations(const std::vector<std::uint32_t>& dims) {
  if (dims.size() != 1 || dims[0] < 1 || dims[0] > kMostSymbols) return {};
  return {.group = FiniteGroup::permutations(dims[0])};
}

CayleyGraph star_graph(const Spec& spec, std::uint64_t) {
  return of_permutations(spec, [](auto& order, std::uint32_t i) { std::swap(order[0], order[i]); });
}

CayleyGraph pancake(const Spec& spec, std::uint64_t) {
  return of_permutations(spec, [](auto& order, std::uint32_t i) {
    std::reverse(order.begin(), order.begin() + i + 1);
  });
}

CayleyGraph bubble_sort(const Spec& spec, std::uint64_t) {
  return of_permutations(spec,
                         [](auto& order, std::uint32_t i) { std::swap(order[i - 1], order[i]); });
}

CayleyGraph circulant(const Spec& spec, std::uint64_t most_ranks) {
  return with_inverses(spec, FiniteGroup::grid(spec.dims(1, 1, 2, most_ranks)), "offsets");
}

CayleyGraph of_grid(const Spec& spec, std::uint64_t) {
  return with_inverses(spec, FiniteGroup::grid(spec.dims(1, kAnyNumber, 2)), "generators");
}

/// Links of circulants and the like lead anywhere: they have a group and are no grid.
Structure only_group(const std::vector<std::uint32_t>& dims) { return {.group = grid_group(dims)}; }

Topology make_twisted_torus(const Spec& spec) {
  const CayleyGraph graph = twisted_torus(spec, Spec::kMaxRanks);
  std::vector<std::uint32_t> dims = graph.group().sizes();
  dims.push_back(graph.group().twist());
  return make_cayley_network(spec, graph, std::move(dims));
}

Structure twisted_structure(const std::vector<std::uint32_t>& dims) {
  if (dims.size() < 3) return {};
  return {.group = grid_group({dims.begin(), dims.end() - 1}, dims.back())};
}

template <CayleyGraph (*graph)(const Spec&, std::uint64_t)>
TopologyFamily family_of_permutations(std::string_view name, std::string_view summary,
                                      std::string_view links, std::string_view example) {
  return {.name = name,
          .dims = "N",
          .summary = summary,
          .ranks = "N!, N <= 9",
          .links = links,
          .parameters = kLinkParameters,
          .example = example,
          .make = make<graph>,
          .structure = permutations,
          .graph = graph};
}

}  // namespace

Topology make_cayley_network(const Spec& spec, const CayleyGraph& graph,
                             std::vector<std::uint32_t> dims) {
  check_size(spec, graph.size(), std::uint64_t{graph.size()} * graph.degree());
  const LinkSpeed speed = read_speed(spec);

  TopologyBuilder builder(spec.text());
  builder.set_shape({spec.name(), std::move(dims)});
  for (std::uint32_t rank = 0; rank < graph.size(); ++rank) builder.add_endpoint();
  for (std::uint32_t rank = 0; rank < graph.size(); ++rank) {
    for (std::uint32_t s = 0; s < graph.degree(); ++s) {
      const std::uint32_t to = graph.apply(rank, s), back = graph.inverse(s);
      // Each duplex link is added once: from the end whose generator comes first, or, if the
      // generator is its own inverse, from the lower rank.
      if (s < back || (s == back && rank < to)) {
        builder.add_duplex(NodeId{rank}, NodeId{to}, speed.bandwidth, speed.latency);
      }
    }
  }
  return std::move(builder).build();
}

TopologyFamily bubble_sort_family() {
  return family_of_permutations<bubble_sort>(
      "bubble-sort", "the N! orders of N symbols, linked where a swap of neighbours leads",
      "ranks are the orders of N symbols, lexicographically; where a swap of neighbours leads",
      "bubble-sort:4");
}

TopologyFamily cayley_family() {
  return {
      .name = "cayley",
      .dims = "AxBx...",
      .summary = "grid of which rank 0, and all alike, is linked to the ranks given",
      .ranks = "A*B*...",
      .links =
          "of rank 0 to the ranks given; the same moves, and those that undo them, from every rank",
      .parameters =
          "generators=1: these ranks, and by what undoes them; bw=16GB/s, lat=150ns: of every link",
      .example = "cayley:4x4?generators=1,4,5",
      .make = make<of_grid>,
      .structure = only_group,
      .graph = of_grid};
}

TopologyFamily circulant_family() {
  return {.name = "circulant",
          .dims = "N",
          .summary = "each rank linked to those that are given offsets before and after it",
          .ranks = "N",
          .links = "ranks that differ by an offset, modulo N",
          .parameters = "offsets=1: list; bw=16GB/s, lat=150ns: of every link",
          .example = "circulant:16?offsets=1,5",
          .make = make<circulant>,
          .structure = only_group,
          .graph = circulant};
}

TopologyFamily pancake_family() {
  return family_of_permutations<pancake>(
      "pancake", "the N! orders of N symbols, linked where turning the first few leads",
      "ranks are the orders of N symbols, lexicographically; where turning the first few leads",
      "pancake:4");
}

TopologyFamily star_graph_family() {
  return family_of_permutations<star_graph>(
      "star-graph", "the N! orders of N symbols, linked where a swap with the first leads",
      "ranks are the orders of N symbols, lexicographically; where a swap with the first leads",
      "star-graph:4");
}

TopologyFamily twisted_torus_family() {
  return {.name = "twisted-torus",
          .dims = "AxBx...",
          .summary = "torus whose last dimension wraps to a place further in the first",
          .ranks = "A*B*...",
          .links = "as torus, but the last dimension wraps to a place twist further in the first",
          .parameters = "twist=A/2: how much further; bw=16GB/s, lat=150ns: of every link",
          .example = "twisted-torus:8x4",
          .make = make_twisted_torus,
          .structure = twisted_structure,
          .graph = twisted_torus};
}

}  // namespace multitree
