// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `auto` by trying: what was fastest rather than what is predicted to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "tools/run/benchmark.hpp"
#include "tools/run/crew.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// A schedule and the seconds that it took, a value a round.
struct Tried {
  Schedule schedule;
  std::vector<double> seconds;
};

/// What one size came to.
struct TriedSize {
  std::uint64_t bytes = 0;
  std::vector<Tried> tried;  ///< the fastest first; those that were hopeless have fewer rounds
};

/// Median. \pre not empty
double typical(std::vector<double> seconds);

/// Sorts by typical() time; equal ones stay in their order.
void rank_tried(std::vector<Tried>& tried);

/// For each size its fastest; between two sizes the boundary is their geometric mean, and the last
/// serves all larger ones. \pre ascending sizes, at least one, something tried for each
SizedSchedules plan_of(std::span<const TriedSize> sizes);

/// A line a size: the fastest, and how much slower the next was.
std::string trial_words(std::span<const TriedSize> sizes);

/// Collective over the crew: every schedule that a job has the time to make for `topology`, and
/// those of `predicted`, run at each of the sizes, `rounds` times in turns, with the iterations,
/// the first type and the first operator of `options`; results are not checked here. What takes
/// more than 1.5 times as long as the fastest in the first round is not run again. The same answer
/// at every rank. \throws as run_benchmark()
std::vector<TriedSize> try_all(const SizedSchedules& predicted, const Topology& topology,
                               Crew& crew, const BenchmarkOptions& options, std::uint32_t rounds);

}  // namespace multitree::tools
