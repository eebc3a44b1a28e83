// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Weak scaling on square tori.
#include <fmt/format.h>

#include <map>

#include "report/plot.hpp"
#include "tools/study/report.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

/// Seconds by label, one a network, for one size a rank.
using Columns = std::map<std::string, std::vector<double>, std::less<>>;

std::string network_of(std::uint32_t side) { return fmt::format("torus:{0}x{0}", side); }

Columns columns_of(const ReportInput& input, std::uint64_t bytes_per_rank) {
  Columns columns;
  for (const std::uint32_t side : scaling_sides(input.plan)) {
    const std::string network = network_of(side);
    for (const Contender& contender : scaling_contenders(network)) {
      columns[contender.label].push_back(
          input.seconds(network, contender, bytes_per_rank * side * side));
    }
  }
  return columns;
}

std::vector<double> speedups(const Columns& columns, std::string_view label,
                             std::string_view than) {
  std::vector<double> ratios;
  const auto& fast = columns.find(label)->second;
  const auto& slow = columns.find(than)->second;
  for (std::size_t i = 0; i < fast.size(); ++i) ratios.push_back(slow[i] / fast[i]);
  return ratios;
}

constexpr std::string_view kOurs[] = {kMultitree, kMultitreeMessages, kSymmetric, kOptimal};
constexpr std::string_view kBaselines[] = {kRingOnePort, kTwoRings, kRing2d};

std::string table_of(const ReportInput& input, const Columns& columns) {
  Rows rows(1, {"speed-up"});
  for (const std::uint32_t side : scaling_sides(input.plan)) {
    rows[0].push_back(fmt::format("{} ranks", side * side));
  }
  for (const std::string_view baseline : kBaselines) {
    for (const std::string_view ours : kOurs) {
      auto& row = rows.emplace_back(1, fmt::format("{} over {}", ours, baseline));
      for (const double ratio : speedups(columns, ours, baseline)) row.push_back(times(ratio));
    }
  }
  return markdown_table(rows);
}

std::string figure_of(const ReportInput& input, const Columns& columns) {
  report::Plot plot{.title = "Weak scaling on square tori, 375 KiB a rank",
                    .x_label = "ranks",
                    .y_label = "times as fast as the ring with one port"};
  for (const auto& contender : scaling_contenders("torus:4x4")) {
    if (contender.label == kRingOnePort) continue;
    report::Series series{.label = contender.label};
    const std::vector<double> ratios = speedups(columns, contender.label, kRingOnePort);
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      const double side = scaling_sides(input.plan)[i];
      series.points.emplace_back(side * side, ratios[i]);
    }
    plot.series.push_back(std::move(series));
  }
  return report::to_svg(plot);
}

Claim claim(const Columns& columns, std::string_view ours) {
  const auto over = [&](std::string_view baseline) {
    return range_of_times(speedups(columns, ours, baseline));
  };
  return {.what = fmt::format("weak scaling, {} over ring / 2D-ring", ours),
          .published = "about 3x / 1.4x",
          .unequal = fmt::format("{} / {}", over(kRingOnePort), over(kRing2d)),
          .equal = fmt::format("{}, {} over a ring each way / {}", over(kRing), over(kTwoRings),
                               over(kRing2d)),
          .why =
              "sums are added as they arrive, here; the study stores each chunk first, and "
              "its routers hold packets up"};
}

}  // namespace

Section scaling_section(const ReportInput& input) {
  Section section{.text =
                      "## Weak scaling\n\nSquare tori; the buffer grows with the ranks. The study "
                      "says 375 KiB a rank, its script has 384 KiB.\n"};
  for (const std::uint64_t bytes : kScalingBytes) {
    const Columns columns = columns_of(input, bytes);
    section.text +=
        fmt::format("\n### {} a rank\n\n", format_bytes(bytes)) + table_of(input, columns);
    if (bytes != kScalingBytes[0]) continue;
    section.figures.emplace_back("scaling.svg", figure_of(input, columns));
    section.claims = {claim(columns, kMultitree), claim(columns, kMultitreeMessages)};
  }
  section.text += "\n![weak scaling](scaling.svg)\n";
  return section;
}

}  // namespace multitree::tools
