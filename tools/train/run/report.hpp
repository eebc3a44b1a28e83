// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How iterations on real ranks went, as a table and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "runtime/counted/counted_sums.hpp"
#include "tools/train/run/worker.hpp"
#include "topologies/topology.hpp"
#include "training/plan.hpp"

namespace multitree::tools {

/// How iterations of a plan went, seen from one rank.
struct Result {
  std::vector<double> seconds;       ///< by iteration: the longest of any rank
  std::vector<double> own_seconds;   ///< the same of this rank
  std::vector<Pupil::Grade> grades;  ///< by forward pass: means over ranks
  std::uint64_t digest = 0;          ///< of the parameters of a learner
  training::SimulatedPlan last;      ///< iteration, of this rank
  runtime::LossCount losses;         ///< of all iterations, with a budget
};

/// A plan beside it.
struct ResultRow {
  const training::Plan* plan;
  const Result* outcome;
  double bound;      ///< seconds
  bool bound_holds;  ///< the policy does what the bound is for
};

/// What the table is about.
struct RunWords {
  std::uint32_t iterations = 0, warmup = 0;
  bool host = false, learns = false, loses = false;
  std::size_t batch = 0;  ///< of a learner
};

void print_rows(const std::vector<ResultRow>& rows, const RunWords& run, const Topology& topology);
nlohmann::ordered_json json_of(const ResultRow& row);

}  // namespace multitree::tools
