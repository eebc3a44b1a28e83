// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedule's own meaning, on floats.
#include "nic/machine/reference.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace multitree::nic {
namespace {

/// SplitMix64 (Steele et al., OOPSLA 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Memory make_inputs(std::uint32_t ranks, std::uint64_t elements) {
  Memory memory(ranks, std::vector<float>(elements));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint64_t e = 0; e < elements; ++e) {
      const std::uint64_t random = mix(std::uint64_t{r} << 40 | e);
      const auto bits = static_cast<std::int32_t>(random >> 40);
      // Of different magnitudes: sums of three equal-sized ones would be the same in any order.
      memory[r][e] =
          std::ldexp(static_cast<float>(bits - (1 << 23)), -23 - static_cast<int>(random & 7));
    }
  }
  return memory;
}

void run_schedule(const Schedule& schedule, Memory& memory) {
  const auto ranges = chunk_ranges(schedule, memory.empty() ? 0 : memory.front().size());
  const auto& transfers = schedule.transfers;
  std::vector<std::vector<float>> sent;
  for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
    sent.clear();
    for (; end < transfers.size() && transfers[end].step == transfers[begin].step; ++end) {
      const ElementRange range = ranges[transfers[end].chunk];
      const auto from =
          memory[index(transfers[end].src)].begin() + static_cast<std::ptrdiff_t>(range.begin);
      sent.emplace_back(from, from + static_cast<std::ptrdiff_t>(range.count));
    }
    for (std::size_t i = begin; i < end; ++i) {
      const ElementRange range = ranges[transfers[i].chunk];
      float* const to = memory[index(transfers[i].dst)].data() + range.begin;
      const std::vector<float>& values = sent[i - begin];
      for (std::uint64_t e = 0; e < range.count; ++e) {
        to[e] = transfers[i].op == Op::Reduce ? to[e] + values[e] : values[e];
      }
    }
  }
}

std::string find_difference(const Schedule& schedule, const Memory& expected, const Memory& got) {
  const auto ranges = chunk_ranges(schedule, expected.empty() ? 0 : expected.front().size());
  for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
    for (std::size_t c = 0; c < ranges.size(); ++c) {
      if (!ends_with(schedule, Rank{r}, static_cast<std::uint32_t>(c))) continue;
      for (std::uint64_t e = ranges[c].begin; e < ranges[c].begin + ranges[c].count; ++e) {
        if (std::bit_cast<std::uint32_t>(expected[r][e]) ==
            std::bit_cast<std::uint32_t>(got[r][e])) {
          continue;
        }
        return fmt::format("rank {}, element {}: expected {}, got {}", r, e, expected[r][e],
                           got[r][e]);
      }
    }
  }
  return {};
}

}  // namespace multitree::nic
