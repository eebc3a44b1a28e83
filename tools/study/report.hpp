// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The study's report: text and figures from results alone, the same bytes for the same results.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/study/plan.hpp"

namespace multitree::tools {

/// The outcome of a point of points_of().
using Lookup = std::function<Outcome(const Point& point)>;
/// What no all-reduce on a network can beat: seconds for that many bytes.
using BoundSeconds = std::function<double(const std::string& network, std::uint64_t bytes)>;

struct ReportInput {
  const StudyPlan& plan;
  Lookup outcome;
  BoundSeconds bound;
  [[nodiscard]] double seconds(const std::string& network, const Contender& contender,
                               std::uint64_t bytes) const {
    return outcome(point_of(plan, network, contender, bytes)).seconds();
  }
};

/// Against a number that the study publishes.
struct Claim {
  std::string what{};
  std::string published{};
  std::string unequal{};  ///< ours with the study's ports
  std::string equal{};    ///< ours with a port for each link for everybody
  std::string why{};      ///< it differs
};

/// One part of the report.
struct Section {
  std::string text;                                            ///< Markdown
  std::vector<std::pair<std::string, std::string>> figures{};  ///< file name, SVG
  std::vector<Claim> claims{};
};

/// \{
Section bandwidth_section(const ReportInput& input);
Section scaling_section(const ReportInput& input);
Section training_section(const ReportInput& input);
Section compatibility_section(const ReportInput& input);
/// \}

/// The whole report; `summary` is its table for the terminal.
struct Report {
  std::string markdown;
  std::string summary;
  std::vector<std::pair<std::string, std::string>> figures;
};
Report make_study_report(const ReportInput& input);

using Rows = std::vector<std::vector<std::string>>;
/// The first row is the head, the first column to the left, the others to the right.
std::string markdown_table(const Rows& rows);
/// Geometric mean; 0 of none. \pre all > 0.
double geometric_mean(const std::vector<double>& values);
/// "1.23x".
std::string times(double ratio);
/// "1.23x to 4.56x", or one of them where they print alike; "-" for none.
std::string range_of_times(const std::vector<double>& ratios);
/// "12 %", "-3 %".
std::string percent(double share);

}  // namespace multitree::tools
