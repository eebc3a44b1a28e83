// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Transfers in canonical order, from arcs most of which are in order already.
#include <algorithm>
#include <compare>

#include "algorithms/replan/forest_internal.hpp"

namespace multitree {
namespace {

/// The canonical order within a step, comparable without a look at the arc.
struct Key {
  std::uint64_t op_chunk = 0;
  Rank dst{}, src{};
  std::uint32_t arc = 0;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const Transfer& arc, std::uint32_t id) {
  return {static_cast<std::uint64_t>(arc.op) << 32 | arc.chunk, arc.dst, arc.src, id};
}

/// Retimed arcs by step.
struct Buckets {
  std::vector<std::uint32_t> begin, arcs;
};

Buckets by_step(const Timing& timing) {
  Buckets buckets;
  std::uint32_t steps = 0;
  for (const std::uint32_t id : timing.retimed) steps = std::max(steps, timing.step[id] + 1);
  buckets.begin.assign(steps + 1, 0);
  for (const std::uint32_t id : timing.retimed) ++buckets.begin[timing.step[id] + 1];
  for (std::uint32_t s = 0; s < steps; ++s) buckets.begin[s + 1] += buckets.begin[s];
  std::vector<std::uint32_t> next(buckets.begin.begin(), buckets.begin.end() - 1);
  buckets.arcs.resize(timing.retimed.size());
  for (const std::uint32_t id : timing.retimed) buckets.arcs[next[timing.step[id]]++] = id;
  return buckets;
}

}  // namespace

Schedule assemble(const Forest& forest, const Timing& timing) {
  Schedule schedule = forest.header;
  schedule.transfers.reserve(forest.inherited + forest.arcs.size() / 8);
  schedule.routes.reserve(forest.routes.size());
  const Buckets retimed = by_step(timing);
  std::vector<Key> keys;
  std::uint32_t next = 0;  // of the arcs that keep their steps: they are in the order of steps
  const auto skip = [&] {
    while (next < forest.inherited && !timing.fixed[next]) ++next;
  };
  skip();
  for (std::uint32_t step = 0; next < forest.inherited || step + 1 < retimed.begin.size(); ++step) {
    keys.clear();
    for (; next < forest.inherited && timing.step[next] == step; ++next, skip()) {
      keys.push_back(key_of(forest.arcs[next], next));
    }
    // Renumbered ranks, or chunks, may stand in another order.
    if (!std::ranges::is_sorted(keys)) std::ranges::sort(keys);
    const auto kept = std::ssize(keys);
    if (step + 1 < retimed.begin.size()) {
      for (std::uint32_t i = retimed.begin[step]; i < retimed.begin[step + 1]; ++i) {
        keys.push_back(key_of(forest.arcs[retimed.arcs[i]], retimed.arcs[i]));
      }
    }
    std::sort(keys.begin() + kept, keys.end());
    std::inplace_merge(keys.begin(), keys.begin() + kept, keys.end());
    for (const Key& key : keys) {
      Transfer t = forest.arcs[key.arc];
      const auto route = forest.route(t);
      t.step = step;
      t.route_begin = add_route(route, schedule.routes);
      schedule.transfers.push_back(t);
    }
  }
  return schedule;
}

}  // namespace multitree
