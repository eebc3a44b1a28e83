// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recursive halving and doubling. R. Thakur, R. Rabenseifner, W. Gropp: "Optimization of
/// collective communication operations in MPICH", IJHPCA 19(1), 2005
/// (DOI 10.1177/1094342005051521).
#include "algorithms/generators/recursive_doubling_internal.hpp"

#include <bit>

namespace multitree {

FoldedLabels::FoldedLabels(std::uint32_t ranks, Rank first) {
  const std::uint32_t size = std::bit_floor(ranks);
  for (std::uint32_t label = 0; label < ranks; ++label) {
    const Rank rank{(index(first) + label) % ranks};
    (label < size ? core : folded).push_back(rank);
  }
}

void add_doubling(std::span<const Rank> core, const LabelChunks& chunks,
                  std::vector<Message>& messages) {
  for (std::uint32_t bit = 1; bit < core.size(); bit *= 2) {
    for (std::uint32_t label = 0; label < core.size(); ++label) {
      const std::uint32_t first = label & ~(bit - 1);
      for (std::uint32_t held = first; held < first + bit; ++held) {
        for (const std::uint32_t chunk : chunks(held)) {
          messages.push_back({Op::Copy, chunk, core[label], core[label ^ bit]});
        }
      }
    }
  }
}

void add_halving(std::span<const Rank> core, std::vector<Message>& messages) {
  for (auto bit = static_cast<std::uint32_t>(core.size() / 2); bit > 0; bit /= 2) {
    for (std::uint32_t label = 0; label < core.size(); ++label) {
      const std::uint32_t partner = label ^ bit, first = partner & ~(bit - 1);
      for (std::uint32_t chunk = first; chunk < first + bit; ++chunk) {
        messages.push_back({Op::Reduce, chunk, core[label], core[partner]});
      }
    }
  }
}

void add_scatter_doubling(std::span<const Rank> core, std::vector<Message>& messages) {
  const auto size = static_cast<std::uint32_t>(core.size());
  std::vector<bool> has(std::size_t{size} * size, false);
  for (std::uint32_t chunk = 0; chunk < size; ++chunk) has[chunk] = true;
  const auto send = [&](std::uint32_t from, std::uint32_t to, std::uint32_t first,
                        std::uint32_t end) {
    for (std::uint32_t chunk = first; chunk < end; ++chunk) {
      if (has[std::size_t{to} * size + chunk]) continue;
      has[std::size_t{to} * size + chunk] = true;
      messages.push_back({Op::Copy, chunk, core[from], core[to]});
    }
  };
  for (std::uint32_t bit = size / 2; bit > 0; bit /= 2) {
    for (std::uint32_t label = 0; label < size; label += 2 * bit) {
      send(label, label + bit, label + bit, label + 2 * bit);
    }
  }
  for (std::uint32_t bit = 1; bit < size; bit *= 2) {
    for (std::uint32_t label = 0; label < size; ++label) {
      const std::uint32_t first = label & ~(bit - 1);
      send(label, label ^ bit, first, first + bit);
    }
  }
}

}  // namespace multitree
