// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What `multitree explore` finds: fronts with their reasons, as text, CSV, JSON and figure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "report/plot.hpp"
#include "tools/explore/area.hpp"
#include "tools/explore/design.hpp"
#include "tools/explore/results.hpp"

namespace multitree::tools {

/// A point with all that is known of it.
struct ExploreRow {
  ExplorePoint point;
  std::uint32_t ranks = 0;
  ExploreOutcome outcome;
  Area area;
  [[nodiscard]] bool is_known() const { return outcome.refused.empty(); }
};

/// \pre the outcome is of that point
ExploreRow row_of(const ExploreDesign& design, const ExplorePoint& point,
                  const ExploreOutcome& outcome, const AreaRecords& records);

/// Points that do the same work, and the best of them.
struct ExploreFront {
  struct Entry {
    std::size_t row = 0;
    std::size_t same = 0;  ///< other rows with the same time and costs
    std::string why;       ///< what changed from which entry, and what that bought and cost
  };
  std::string work;               ///< "allreduce of 1MiB, 64 ranks"
  std::vector<std::size_t> rows;  ///< all of them
  std::vector<Entry> entries;     ///< the fastest first
  bool by_time_alone = false;     ///< no row has an area
};

/// Fronts in the order of the first rows of their work. A row without an area is on none, unless
/// all are without.
std::vector<ExploreFront> fronts_of(const ExploreDesign& design, std::span<const ExploreRow> rows);

std::string explore_text(const ExploreDesign& design, std::span<const ExploreRow> rows,
                         std::span<const ExploreFront> fronts);
/// One line a point.
std::string explore_csv(const ExploreDesign& design, std::span<const ExploreRow> rows,
                        std::span<const ExploreFront> fronts);
nlohmann::ordered_json explore_json(const ExploreDesign& design, std::span<const ExploreRow> rows,
                                    std::span<const ExploreFront> fronts);
/// Time against the first cost: all points, and the front in that plane, for each work.
/// \throws Error(Unsupported) if no point has an area, and as report::to_image()
std::string explore_plot(const ExploreDesign& design, std::span<const ExploreRow> rows,
                         std::span<const ExploreFront> fronts, report::Image image);

}  // namespace multitree::tools
