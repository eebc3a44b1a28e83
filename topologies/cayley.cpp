// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Multiplication by generators, as cheap as the group allows.
#include "topologies/cayley.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topologies/error.hpp"

namespace multitree {

CayleyGraph::CayleyGraph(FiniteGroup group, std::vector<std::uint32_t> generators)
    : group_(std::move(group)), size_(group_.size()), generators_(std::move(generators)) {
  std::ranges::sort(generators_);
  pair_inverses();
  set_moves();
}

void CayleyGraph::pair_inverses() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> places;  // of equal generators
  for (std::uint32_t s = 0; s < generators_.size(); ++s) places[generators_[s]].push_back(s);
  moves_.resize(generators_.size());
  for (const auto& [element, own] : places) {
    const bool is_element = element > 0 && element < size_;
    const auto undoing = is_element ? places.find(group_.inverse(element)) : places.end();
    if (undoing == places.end() || undoing->second.size() != own.size()) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("expected generators other than the identity of a group of {} elements, as "
                      "often as their inverses, got {}",
                      size_, fmt::join(generators_, ", ")));
    }
    for (std::size_t i = 0; i < own.size(); ++i) moves_[own[i]].inverse = undoing->second[i];
  }
}

/// Adding an offset to one coordinate needs no table; anything else does.
void CayleyGraph::set_moves() {
  for (std::uint32_t s = 0; s < generators_.size(); ++s) {
    std::uint32_t stride = 1, coordinates = 0;
    for (std::uint32_t rest = generators_[s]; const std::uint32_t size : group_.sizes()) {
      const std::uint32_t offset = rest % size;
      rest /= size;
      if (offset != 0) {
        ++coordinates;
        moves_[s] = {.stride = stride,
                     .size = size,
                     .wrap_from = size - offset,
                     .up = offset * stride,
                     .down = (size - offset) * stride,
                     .inverse = moves_[s].inverse};
      }
      stride *= size;
    }
    if (coordinates == 1 && group_.twist() == 0) continue;
    products_.resize(generators_.size() * std::size_t{size_});
    for (std::uint32_t t = 0; t < generators_.size(); ++t) {
      for (std::uint32_t x = 0; x < size_; ++x) {
        products_[std::size_t{t} * size_ + x] = group_.multiply(x, generators_[t]);
      }
    }
    return;
  }
}

CayleyGraph CayleyGraph::torus(std::vector<std::uint32_t> sizes, bool doubled) {
  std::vector<std::uint32_t> generators;
  for (std::uint32_t stride = 1; const std::uint32_t size : sizes) {
    if (size > 1) generators.push_back(stride);
    if (size > 2 || (size == 2 && doubled)) generators.push_back((size - 1) * stride);
    stride *= size;
  }
  return {FiniteGroup::grid(std::move(sizes)), std::move(generators)};
}

CayleyGraph CayleyGraph::hypercube(std::uint32_t dimensions) {
  return torus(std::vector<std::uint32_t>(dimensions, 2));
}

CayleyGraph CayleyGraph::complete(std::uint32_t size) {
  std::vector<std::uint32_t> generators;
  for (std::uint32_t offset = 1; offset < size; ++offset) generators.push_back(offset);
  return {FiniteGroup::grid({size}), std::move(generators)};
}

}  // namespace multitree
