// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From one period to the turns of many.
#include "algorithms/packing/steps/periodic_trees.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/packing/steps/tree_plan_internal.hpp"

namespace multitree {

Schedule periodic_trees(const TreePacking& packing, const Topology& topology, const Period& period,
                        std::uint32_t periods) {
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t chunks : period.chunks) counts.push_back(chunks * periods);
  const PackingPlan plan = plan_packing(packing, topology, {}, cut_into_chunks(packing, counts));
  std::vector<std::pair<std::uint64_t, Turn>> timed;
  timed.reserve(period.arcs.size() * periods);
  for (std::uint32_t k = 0; k < periods; ++k) {
    for (const PeriodicArc& arc : period.arcs) {
      const std::uint32_t chunk =
          plan.chunking.first[arc.tree] + k * period.chunks[arc.tree] + arc.copy;
      timed.emplace_back(arc.start + k * period.slots, Turn{chunk, arc.arc});
    }
  }
  std::ranges::stable_sort(timed, {}, &std::pair<std::uint64_t, Turn>::first);
  std::vector<Turn> turns;
  turns.reserve(timed.size());
  for (const auto& [start, turn] : timed) turns.push_back(turn);
  return number_steps(plan, turns);
}

}  // namespace multitree
