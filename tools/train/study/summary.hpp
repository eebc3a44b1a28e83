// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables and figures of a study of convergence.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/train/study/plan.hpp"

namespace multitree::tools {

/// A technique at a place of the study, beside the first one. Means over seeds.
struct Comparison {
  double bytes = 1;       ///< that travel, over those of the first
  double loss = 0;        ///< at the end, over that of the first with the same seed
  double deviation = 0;   ///< of it, over seeds; 0 for one seed
  double iterations = 0;  ///< to the loss at which the first has gained StudyPlan::gained, over
                          ///< those of the first; infinite if some seed does not come there
};
std::vector<Comparison> comparisons(const StudyPlan& plan, const Place& place);

/// Seconds of an iteration, by technique: of a policy as planned, of a compressor computing and
/// then what its bytes take.
std::vector<double> iteration_seconds(const StudyPlan& plan, const Place& place,
                                      const StudyNetwork& network);

using Table = std::vector<std::vector<std::string>>;
struct TitledTable {
  std::string title;
  Table rows;  ///< the first one names columns
};
/// Losses at all places, and for each network how much sooner techniques are.
std::vector<TitledTable> tables_of(const StudyPlan& plan, const std::vector<Place>& places,
                                   const std::vector<StudyNetwork>& networks);

nlohmann::ordered_json json_of(const StudyPlan& plan, const std::vector<Place>& places,
                               const std::vector<StudyNetwork>& networks);
/// Every point: "learner,ranks,shards,technique,seed,iteration,loss".
std::string curves_csv(const StudyPlan& plan, const std::vector<Place>& places);
/// Names of files and SVG: loss against iterations, and against time on each network.
std::vector<std::pair<std::string, std::string>> figures_of(
    const StudyPlan& plan, const std::vector<Place>& places,
    const std::vector<StudyNetwork>& networks);

}  // namespace multitree::tools
