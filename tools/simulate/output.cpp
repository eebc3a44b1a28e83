// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Table, JSON and figure of simulations.
#include "tools/simulate/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/plot.hpp"
#include "tools/late_flags.hpp"
#include "tools/link_flags.hpp"

namespace multitree::tools {

using nlohmann::ordered_json;

namespace {

/// Whose routers are simulated, where there are any.
std::string_view machine_words(const SimulationSetup& setup) {
  if (setup.is_hardware) return " of the hardware";
  const bool has_routers = setup.model == nic::Model::Flit || setup.model == nic::Model::Message;
  return has_routers ? " of ideal routers" : "";
}

}  // namespace

double SimulatedRow::algbw() const {
  const double seconds = result.seconds();
  return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0;
}

double SimulatedRow::busbw() const { return algbw() * bus_factor; }

double SimulatedRow::of_bound() const {
  const double seconds = result.seconds();
  return seconds > 0 ? bound_seconds / seconds : 1;
}

std::string simulation_header(const SimulationSetup& setup, std::uint64_t clock_hz) {
  const nic::Parameters& p = setup.parameters;
  return fmt::format(
      "# {} on {}, {} ranks; model {}{}, {} flow control, {} issue\n"
      "# time in us of {} cycles a us; algbw, busbw in GB/s; bound: share of the speed that no "
      "schedule exceeds\n"
      "{:>12} {:<24} {:>12} {:>12} {:>9} {:>9} {:>7} {:>7} {:>6}\n",
      setup.collective, setup.topology, setup.ranks, to_string(setup.model), machine_words(setup),
      p.flow_control == nic::FlowControl::Message ? "message" : "packet",
      p.issue == nic::Issue::Dependency ? "dependency" : "lockstep",
      static_cast<double>(clock_hz) / 1e6, "size", "algorithm", "cycles", "time", "algbw", "busbw",
      "bound", "link", "check");
}

std::string simulation_line(const SimulatedRow& row) {
  const nic::Simulation& r = row.result;
  const bool has_links = r.busiest_link_flits > 0 && r.cycles > 0;
  // The time of what was not completed is no speed.
  return fmt::format("{:>12} {:<24} {:>12} {:>12.3f} {:>9.3f} {:>9.3f} {:>7} {:>7} {:>6}\n",
                     row.bytes, row.algorithm, r.cycles, r.seconds() * 1e6, row.algbw(),
                     row.busbw(), r.errors.empty() ? fmt::format("{:.3f}", row.of_bound()) : "-",
                     has_links ? fmt::format("{:.3f}", static_cast<double>(r.busiest_link_flits) /
                                                           static_cast<double>(r.cycles))
                               : "-",
                     !r.errors.empty() ? "FAILED"
                     : r.checked       ? "OK"
                                       : "-");
}

ordered_json simulation_json(const SimulationSetup& setup, const std::vector<SimulatedRow>& rows) {
  ordered_json results = ordered_json::array();
  for (const SimulatedRow& row : rows) {
    const nic::Simulation& r = row.result;
    results.push_back({{"algorithm", row.algorithm},
                       {"size", row.bytes},
                       {"cycles", r.cycles},
                       {"time_us", r.seconds() * 1e6},
                       {"algbw_gbps", row.algbw()},
                       {"busbw_gbps", row.busbw()},
                       {"bound_us", row.bound_seconds * 1e6},
                       {"of_bound", row.of_bound()},
                       {"messages", r.messages},
                       {"link_flits", r.link_flits},
                       {"busiest_link_flits", r.busiest_link_flits},
                       {"checked", r.checked},
                       {"errors", r.errors}});
    if (r.losses) results.back()["losses"] = losses_json(*r.losses);
    if (r.link_counts) results.back()["links"] = link_counts_json(*r.link_counts);
  }
  return {{"topology", setup.topology},
          {"collective", setup.collective},
          {"ranks", setup.ranks},
          {"model", to_string(setup.model)},
          {"clock_hz", rows.empty() ? setup.parameters.clock_hz : rows.front().result.clock_hz},
          {"parameters", ordered_json::parse(nic::write_parameters(setup.parameters))},
          {"results", std::move(results)}};
}

std::string simulation_plot(const SimulationSetup& setup, const std::vector<SimulatedRow>& rows,
                            report::Image image) {
  report::Plot plot;
  plot.title = fmt::format("{} on {}, {} model{}", setup.collective, setup.topology,
                           to_string(setup.model), machine_words(setup));
  plot.x_label = "size";
  plot.y_label = "busbw (GB/s)";
  plot.log_x = plot.bytes_x = true;
  for (const SimulatedRow& row : rows) {
    auto series = std::ranges::find(plot.series, row.algorithm, &report::Series::label);
    if (series == plot.series.end()) {
      series = plot.series.insert(series, report::Series{.label = row.algorithm});
    }
    if (row.bytes > 0) series->points.emplace_back(static_cast<double>(row.bytes), row.busbw());
  }
  // Large vectors come near the bound; its bandwidth does not depend on the size.
  const auto last = std::ranges::max_element(rows, {}, &SimulatedRow::bytes);
  if (last != rows.end() && last->bound_seconds > 0) {
    plot.limit = {"bound",
                  static_cast<double>(last->bytes) / last->bound_seconds * 1e-9 * last->bus_factor};
  }
  return report::to_image(plot, image);
}

}  // namespace multitree::tools
