// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Against cycles of the study's released simulator.
#include <fmt/format.h>

#include "tools/study/report.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

std::string ratio(std::uint64_t cycles, std::uint64_t measured) {
  return fmt::format("{:.3f}", static_cast<double>(cycles) / static_cast<double>(measured));
}

}  // namespace

Section compatibility_section(const ReportInput& input) {
  Rows rows = {
      {"network", "buffer", "algorithm", "measured", "imitated", "ratio", "default", "ratio"}};
  for (const Measured& one : measured(input.plan)) {
    const std::uint64_t imitated = input.outcome(compatible_point(input.plan, one)).cycles;
    const std::uint64_t ours = input.outcome(default_point(one)).cycles;
    rows.push_back({one.network, format_bytes(one.bytes), one.label, fmt::format("{}", one.cycles),
                    fmt::format("{}", imitated), ratio(imitated, one.cycles),
                    fmt::format("{}", ours), ratio(ours, one.cycles)});
  }
  return {.text =
              "## Compatibility\n\nCycles that the study's released simulator takes, against "
              "the flit model with parameters that imitate it\n(`study/compatibility-*.json`) "
              "and with ours. Its 2D-ring is one phase, times two.\n\n" +
              markdown_table(rows)};
}

}  // namespace multitree::tools
