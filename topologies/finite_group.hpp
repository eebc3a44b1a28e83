// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The finite groups whose Cayley graphs are networks: grids that wrap around, and permutations.
#pragma once

#include <cstdint>
#include <vector>

namespace multitree {

/// Elements 0 .. size()-1, 0 the identity. O(sizes) memory.
class FiniteGroup {
 public:
  /// Z_{d0} x Z_{d1} x ..., numbered like the ranks of a grid: x0 + d0*(x1 + d1*(x2 + ...)).
  /// Passing the end of the last coordinate adds `twist` to the first: integers over the lattice of
  /// (d0, 0, ...), ..., (-twist, 0, ..., d_last). \pre the product is below 2^32, twist < d0, and
  /// twist is 0 if there are not two sizes.
  static FiniteGroup grid(std::vector<std::uint32_t> sizes, std::uint32_t twist = 0);

  /// The permutations of 0 .. symbols-1, numbered in lexicographic order of (a(0), a(1), ...);
  /// (a*b)(i) = a(b(i)), so that multiplying by b on the right moves symbols from place to place.
  /// \pre symbols <= kMostSymbols.
  static FiniteGroup permutations(std::uint32_t symbols);
  static constexpr std::uint32_t kMostSymbols = 12;

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t multiply(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] std::uint32_t inverse(std::uint32_t a) const;

  /// Of a grid; empty for permutations.
  [[nodiscard]] const std::vector<std::uint32_t>& sizes() const { return sizes_; }
  [[nodiscard]] std::uint32_t twist() const { return twist_; }
  /// The number of a permutation of 0 .. symbols-1, given as (a(0), a(1), ...).
  static std::uint32_t permutation_number(const std::vector<std::uint32_t>& permutation);

 private:
  FiniteGroup() = default;

  std::vector<std::uint32_t> sizes_;
  std::uint32_t twist_ = 0;
  std::uint32_t symbols_ = 0;
  std::uint32_t size_ = 1;
};

}  // namespace multitree
