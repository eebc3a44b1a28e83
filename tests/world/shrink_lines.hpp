// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lines of the model of shrinking, and sets of ranks as bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "runtime/job/origin_internal.hpp"
#include "tests/world/shrink_model.hpp"

namespace multitree::runtime::world {

[[nodiscard]] inline std::uint8_t bit(std::uint8_t rank) {
  return static_cast<std::uint8_t>(1U << rank);
}
[[nodiscard]] inline Members members_in(std::uint8_t mask) {
  Members members;
  for (std::uint8_t r = 0; r < kMost; ++r) {
    if ((mask & bit(r)) != 0) members.push_back(Origin{r});
  }
  return members;
}
[[nodiscard]] inline std::uint8_t mask_of(const Members& members) {
  std::uint8_t mask = 0;
  for (const Origin one : members) mask |= bit(static_cast<std::uint8_t>(index(one)));
  return mask;
}
[[nodiscard]] inline std::vector<Members> memberships_in(const Unsettled& masks) {
  std::vector<Members> all;
  for (const std::uint8_t mask : masks) {
    if (mask != 0) all.push_back(members_in(mask));
  }
  return all;
}
[[nodiscard]] inline Unsettled masks_of(const std::vector<Members>& all) {
  Unsettled masks{};
  if (all.size() > masks.size()) std::abort();
  std::ranges::transform(all, masks.begin(), mask_of);
  return masks;
}
std::string words_of_members(std::uint8_t mask);

[[nodiscard]] inline std::span<Line> lines(ShrinkState& state) {
  return {state.lines.data(), state.lines_count};
}
[[nodiscard]] inline std::span<const Line> lines(const ShrinkState& state) {
  return {state.lines.data(), state.lines_count};
}
/// \pre there is room: more would be a mistake of the model
inline Line& add_line(ShrinkState& state, std::uint8_t rank, std::uint8_t host) {
  if (state.lines_count == state.lines.size()) std::abort();
  Line& line = state.lines[state.lines_count++];
  line = {};
  line.rank = rank;
  line.host = host;
  line.rank_open = line.host_open = 1;
  return line;
}
/// The one that the rank holds; null: none.
[[nodiscard]] inline Line* line_of(ShrinkState& state, std::uint8_t rank) {
  const auto all = lines(state);
  const auto found = std::ranges::find_if(
      all, [&](const Line& line) { return line.rank == rank && line.rank_open != 0; });
  return found == all.end() ? nullptr : &*found;
}
/// That and nothing more.
[[nodiscard]] inline Words says(Says what) { return {what, 0, 0, {}}; }
inline void push(Queue& queue, const Words& words) {
  if (queue.count == queue.words.size()) std::abort();
  queue.words[queue.count++] = words;
}
inline Words pop(Queue& queue) {
  const Words first = queue.words[0];
  std::shift_left(queue.words.begin(), queue.words.end(), 1);
  queue.words[--queue.count] = {};
  return first;
}
/// Nobody reads there any more; what was sent from there is still under way.
inline void close_rank(Line& line) {
  line.rank_open = 0;
  line.down = {};
}
inline void close_host(Line& line) {
  line.host_open = 0;
  line.up = {};
  line.known = line.asked = line.gathered = line.leaving = 0;
}
/// Drops lines that have ended at both ends, and puts the others in an order that does not say when
/// they began.
void tidy(ShrinkState& state);

}  // namespace multitree::runtime::world
