// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bandwidth against size.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/plot.hpp"
#include "tools/study/report.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

/// Seconds of all contenders at all sizes of a network.
struct Comparison {
  std::string network;
  std::vector<std::uint64_t> sizes;
  std::vector<Contender> contenders;
  std::map<std::string, std::vector<double>, std::less<>> seconds;  // by label
  std::vector<double> bounds;

  Comparison(const ReportInput& input, const std::string& on)
      : network(on), sizes(bandwidth_sizes(input.plan)), contenders(tools::contenders(on)) {
    for (const std::uint64_t bytes : sizes) bounds.push_back(input.bound(network, bytes));
    for (const Contender& contender : contenders) {
      for (const std::uint64_t bytes : sizes) {
        seconds[contender.label].push_back(input.seconds(network, contender, bytes));
      }
    }
  }
  [[nodiscard]] bool has(std::string_view label) const {
    return seconds.find(label) != seconds.end();
  }
  /// How much faster `label` is than `than` at a size.
  [[nodiscard]] double speedup(std::string_view label, std::string_view than,
                               std::size_t size) const {
    return seconds.find(than)->second[size] / seconds.find(label)->second[size];
  }
  [[nodiscard]] std::vector<double> speedups(std::string_view label, std::string_view than) const {
    std::vector<double> all;
    for (std::size_t s = 0; s < sizes.size(); ++s) all.push_back(speedup(label, than, s));
    return all;
  }
  /// Sizes at which `label` is as fast as or faster than every contender without it in its name.
  [[nodiscard]] std::size_t wins(std::string_view label,
                                 const std::vector<std::string>& against) const {
    std::size_t count = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      count += std::ranges::all_of(
          against, [&](const std::string& other) { return speedup(label, other, s) >= 1; });
    }
    return count;
  }
  /// All that the study calls baselines.
  [[nodiscard]] std::vector<std::string> baselines() const {
    std::vector<std::string> labels;
    for (const Contender& contender : contenders) {
      const bool ours = contender.algorithm == "multitree" || contender.algorithm == "symmetric" ||
                        contender.algorithm == "allreduce-optimal" || contender.label == kTwoRings;
      if (!ours) labels.push_back(contender.label);
    }
    return labels;
  }
};

double gigabytes(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / seconds / 1e9;
}

std::string table_of(const Comparison& comparison) {
  Rows rows(1, {"GB/s"});
  for (const std::uint64_t bytes : comparison.sizes) rows[0].push_back(format_bytes(bytes));
  rows[0].emplace_back("of the optimum");
  for (const Contender& contender : comparison.contenders) {
    const std::vector<double>& seconds = comparison.seconds.find(contender.label)->second;
    auto& row = rows.emplace_back(1, contender.label);
    for (std::size_t s = 0; s < seconds.size(); ++s) {
      row.push_back(fmt::format("{:.2f}", gigabytes(comparison.sizes[s], seconds[s])));
    }
    row.push_back(fmt::format("{:.3f}", comparison.bounds.back() / seconds.back()));
  }
  auto& row = rows.emplace_back(1, "optimum without latency");
  for (std::size_t s = 0; s < comparison.sizes.size(); ++s) {
    row.push_back(fmt::format("{:.2f}", gigabytes(comparison.sizes[s], comparison.bounds[s])));
  }
  row.emplace_back("1.000");
  return markdown_table(rows);
}

std::string figure_of(const Comparison& comparison) {
  report::Plot plot{.title = fmt::format("All-reduce on {}", comparison.network),
                    .x_label = "buffer",
                    .y_label = "GB/s",
                    .log_x = true,
                    .bytes_x = true};
  for (const Contender& contender : comparison.contenders) {
    report::Series series{.label = contender.label};
    const std::vector<double>& seconds = comparison.seconds.find(contender.label)->second;
    for (std::size_t s = 0; s < seconds.size(); ++s) {
      series.points.emplace_back(static_cast<double>(comparison.sizes[s]),
                                 gigabytes(comparison.sizes[s], seconds[s]));
    }
    plot.series.push_back(std::move(series));
  }
  plot.limit = {"optimum", gigabytes(comparison.sizes.back(), comparison.bounds.back())};
  return report::to_svg(plot);
}

std::string file_name(std::string network) {
  std::ranges::replace(network, ':', '-');
  return fmt::format("bandwidth-{}.svg", network);
}

void claim_winner(const Comparison& comparison, std::vector<Claim>& claims) {
  std::vector<std::string> everybody = comparison.baselines();
  const std::size_t all = comparison.sizes.size();
  const auto count = [&] {
    return fmt::format("fastest at {} of {} sizes", comparison.wins(kMultitreeMessages, everybody),
                       all);
  };
  Claim claim{.what = comparison.network + ": multitree with messages",
              .published = "fastest at all sizes",
              .unequal = count(),
              .equal = {},
              .why =
                  "two rings, one each way, use two links of a rank where the study's ring "
                  "uses one"};
  everybody.emplace_back(kTwoRings);
  claim.equal = count();
  claims.push_back(std::move(claim));
}

void claim_switched(const Comparison& comparison, std::vector<Claim>& claims) {
  const std::string_view than = comparison.has("HDRM") ? "HDRM" : kRing;
  const std::vector<double> packets = comparison.speedups(kMultitree, than);
  const std::string ours = fmt::format(
      "{} at {}, {} at {}", times(packets.front()), format_bytes(comparison.sizes.front()),
      times(packets.back()), format_bytes(comparison.sizes.back()));
  claims.push_back({.what = fmt::format("{}: multitree over {}", comparison.network, than),
                    .published = "faster for small data, about equal for large",
                    .unequal = ours,
                    .equal = ours,
                    .why = comparison.has("HDRM")
                               ? "sums are added as they arrive, also in HDRM's fewer and larger "
                                 "messages; its simulator: 1.43x on bigraph:4x8 at 64 KiB"
                               : "every rank has one port"});
}

void add_claims(const Comparison& comparison, std::vector<Claim>& claims) {
  if (!comparison.has(kTwoRings)) return claim_switched(comparison, claims);
  claim_winner(comparison, claims);
  if (comparison.network != "mesh:8x8") return;
  const std::string ours = range_of_times(comparison.speedups(kRing2d, kRing));
  claims.push_back({.what = "mesh:8x8: 2D-ring over ring",
                    .published = "may be slower",
                    .unequal = ours,
                    .equal = ours,
                    .why = "a line of a mesh is a ring whose last hop goes all the way back"});
}

}  // namespace

Section bandwidth_section(const ReportInput& input) {
  Section section{.text =
                      "## Bandwidth against size\n\n"
                      "Buffer over time of an all-reduce. \"Of the optimum\": share of what the "
                      "network's cuts allow at the\nlargest size, headers and latency not "
                      "counted. \"1 port\": one interface for all links of a rank, as the\nstudy "
                      "gives ring and tree; all others have one for each link.\n"};
  std::vector<double> shares;
  for (const std::string& network : bandwidth_networks(input.plan)) {
    const Comparison comparison(input, network);
    section.text += fmt::format("\n### {}\n\n![{}]({})\n\n{}", network, network, file_name(network),
                                table_of(comparison));
    section.figures.emplace_back(file_name(network), figure_of(comparison));
    add_claims(comparison, section.claims);
    shares.push_back(comparison.bounds.back() / comparison.seconds.find(kOptimal)->second.back());
  }
  const std::string size = format_bytes(bandwidth_sizes(input.plan).back());
  section.text += fmt::format(
      "\nAt {}, the schedules of `allreduce-optimal` reach {:.1f} % to {:.1f} % of the optimum; "
      "one "
      "header a message\nand the latency of filling the trees make up the rest.\n",
      size, std::ranges::min(shares) * 100, std::ranges::max(shares) * 100);
  const std::string reached = fmt::format("{:.1f} % to {:.1f} %", std::ranges::min(shares) * 100,
                                          std::ranges::max(shares) * 100);
  section.claims.push_back({.what = "our optimal schedules, of the optimum at " + size,
                            .published = "-",
                            .unequal = reached,
                            .equal = reached,
                            .why = "the optimum counts no header and no latency"});
  return section;
}

}  // namespace multitree::tools
