// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Arithmetic of wrapped grids and of permutations.
#include "topologies/finite_group.hpp"

#include <array>
#include <span>

namespace multitree {
namespace {

using Permutation = std::array<std::uint8_t, FiniteGroup::kMostSymbols>;

/// Digit i of the factorial number system says how many symbols after place i are smaller.
Permutation permutation_of(std::uint32_t number, std::uint32_t symbols) {
  Permutation digits{}, permutation{};
  for (std::uint32_t i = symbols; i-- > 0;) {
    digits[i] = static_cast<std::uint8_t>(number % (symbols - i));
    number /= symbols - i;
  }
  std::uint32_t unused = (1U << symbols) - 1;
  for (std::uint32_t i = 0; i < symbols; ++i) {
    std::uint32_t rest = unused;
    for (std::uint32_t skip = digits[i]; skip > 0; --skip) rest &= rest - 1;
    permutation[i] = static_cast<std::uint8_t>(__builtin_ctz(rest));
    unused &= ~(1U << permutation[i]);
  }
  return permutation;
}

std::uint32_t number_of(std::span<const std::uint8_t> permutation) {
  std::uint32_t number = 0, unused = (1U << permutation.size()) - 1;
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const std::uint32_t smaller = unused & ((1U << permutation[i]) - 1);
    number = number * static_cast<std::uint32_t>(permutation.size() - i) +
             static_cast<std::uint32_t>(__builtin_popcount(smaller));
    unused &= ~(1U << permutation[i]);
  }
  return number;
}

}  // namespace

FiniteGroup FiniteGroup::grid(std::vector<std::uint32_t> sizes, std::uint32_t twist) {
  FiniteGroup group;
  group.sizes_ = std::move(sizes);
  group.twist_ = twist;
  for (const std::uint32_t size : group.sizes_) group.size_ *= size;
  return group;
}

FiniteGroup FiniteGroup::permutations(std::uint32_t symbols) {
  FiniteGroup group;
  group.symbols_ = symbols;
  for (std::uint32_t i = 2; i <= symbols; ++i) group.size_ *= i;
  return group;
}

std::uint32_t FiniteGroup::multiply(std::uint32_t a, std::uint32_t b) const {
  if (symbols_ > 0) {
    const Permutation left = permutation_of(a, symbols_), right = permutation_of(b, symbols_);
    Permutation product{};
    for (std::uint32_t i = 0; i < symbols_; ++i) product[i] = left[right[i]];
    return number_of(std::span(product).first(symbols_));
  }
  std::uint32_t result = 0, stride = 1;
  bool wraps = false;  // of the last coordinate
  for (const std::uint32_t size : sizes_) {
    const std::uint32_t sum = a % size + b % size;
    wraps = sum >= size;
    result += (wraps ? sum - size : sum) * stride;
    a /= size;
    b /= size;
    stride *= size;
  }
  if (twist_ == 0 || !wraps) return result;
  const std::uint32_t first = result % sizes_[0], room = sizes_[0] - twist_;
  return first < room ? result + twist_ : result - room;
}

std::uint32_t FiniteGroup::inverse(std::uint32_t a) const {
  if (symbols_ > 0) {
    const Permutation permutation = permutation_of(a, symbols_);
    Permutation inverted{};
    for (std::uint8_t i = 0; i < symbols_; ++i) inverted[permutation[i]] = i;
    return number_of(std::span(inverted).first(symbols_));
  }
  std::uint32_t negative = 0, stride = 1;
  for (std::uint32_t rest = a; const std::uint32_t size : sizes_) {
    negative += (size - rest % size) % size * stride;
    rest /= size;
    stride *= size;
  }
  // With a twist, negating each coordinate is off by what the wrap of their sum adds.
  const std::uint32_t first = multiply(a, negative);
  return first == 0 ? negative : multiply(negative, sizes_[0] - first);
}

std::uint32_t FiniteGroup::permutation_number(const std::vector<std::uint32_t>& permutation) {
  Permutation symbols{};
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    symbols[i] = static_cast<std::uint8_t>(permutation[i]);
  }
  return number_of(std::span(symbols).first(permutation.size()));
}

}  // namespace multitree
