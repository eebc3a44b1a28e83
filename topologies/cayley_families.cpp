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
CayleyGraph twisted_torus(const Spec& spec, std::uint64_t most_ranks) {
  const std::vector<std::uint32_t> sizes = spec.dims(2, kAnyNumber, 2, most_ranks);
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

}  // namespace

std::optional<FiniteGroup> layout_group(const Shape& shape) {
  const auto& [family, dims] = shape;
  const auto product_fits = [](const std::vector<std::uint32_t>& sizes) {
    std::uint64_t product = 1;
    for (const std::uint32_t size : sizes) {
      product *= size;
      if (product == 0 || product > UINT32_MAX) return false;
    }
    return !sizes.empty();
  };
  const bool one = dims.size() == 1;
  if (family == "torus" || family == "cayley") {
    return product_fits(dims) ? std::optional(FiniteGroup::grid(dims)) : std::nullopt;
  }
  if (family == "twisted-torus" && dims.size() >= 3) {
    const std::vector<std::uint32_t> sizes(dims.begin(), dims.end() - 1);
    if (!product_fits(sizes) || dims.back() >= sizes[0]) return std::nullopt;
    return FiniteGroup::grid(sizes, dims.back());
  }
  if (one && dims[0] >= 1 && (family == "ring" || family == "full" || family == "circulant")) {
    return FiniteGroup::grid(dims);
  }
  if (one && dims[0] < 32 && family == "hypercube") {
    return FiniteGroup::grid(std::vector<std::uint32_t>(dims[0], 2));
  }
  if (one && dims[0] >= 1 && dims[0] <= kMostSymbols &&
      (family == "star-graph" || family == "pancake" || family == "bubble-sort")) {
    return FiniteGroup::permutations(dims[0]);
  }
  return std::nullopt;
}

std::optional<CayleyGraph> cayley_graph(const Spec& spec, std::uint64_t most_ranks) {
  const std::string& family = spec.name();
  if (family == "torus") {
    const bool doubled = spec.get_number("double", 0, 0, 1) == 1;
    return CayleyGraph::torus(spec.dims(1, kAnyNumber, 1, most_ranks), doubled);
  }
  if (family == "ring") return CayleyGraph::torus(spec.dims(1, 1, 1, most_ranks));
  if (family == "hypercube") {
    const std::uint32_t dimensions = spec.dims(1, 1, 0)[0];
    if (dimensions >= 32 || std::uint64_t{1} << dimensions > most_ranks) {
      spec.fail(fmt::format("dims: at most {} ranks, got 2^{}", most_ranks, dimensions));
    }
    return CayleyGraph::hypercube(dimensions);
  }
  if (family == "full") return CayleyGraph::complete(spec.dims(1, 1)[0]);
  if (family == "circulant") {
    return with_inverses(spec, FiniteGroup::grid(spec.dims(1, 1, 2, most_ranks)), "offsets");
  }
  if (family == "cayley") {
    return with_inverses(spec, FiniteGroup::grid(spec.dims(1, kAnyNumber, 2)), "generators");
  }
  if (family == "twisted-torus") return twisted_torus(spec, Spec::kMaxRanks);
  if (family == "star-graph") {
    return of_permutations(spec,
                           [](auto& order, std::uint32_t i) { std::swap(order[0], order[i]); });
  }
  if (family == "pancake") {
    return of_permutations(spec, [](auto& order, std::uint32_t i) {
      std::reverse(order.begin(), order.begin() + i + 1);
    });
  }
  if (family == "bubble-sort") {
    return of_permutations(spec,
                           [](auto& order, std::uint32_t i) { std::swap(order[i - 1], order[i]); });
  }
  return std::nullopt;
}

Topology make_cayley(const Spec& spec) {
  const CayleyGraph graph = *cayley_graph(spec);
  check_size(spec, graph.size(), std::uint64_t{graph.size()} * graph.degree());
  const LinkSpeed speed = read_speed(spec);

  Shape shape{spec.name(), spec.dims(1, kAnyNumber)};
  if (spec.name() == "twisted-torus") shape.dims.push_back(graph.group().twist());
  TopologyBuilder builder(spec.text());
  builder.set_shape(std::move(shape));
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

}  // namespace multitree
