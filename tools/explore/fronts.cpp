// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who is on the front, and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "nic/network/ports.hpp"
#include "tools/explore/front.hpp"
#include "tools/explore/report.hpp"
#include "tools/explore/words.hpp"

namespace multitree::tools {
namespace {

AreaQuestion question_of(const ExploreDesign& design, const ExplorePoint& point,
                         const ExploreOutcome& outcome) {
  const Topology& topology = design.topologies[point.topology].topology;
  AreaQuestion question{.is_hardware = point.is_hardware,
                        .parameters = point.parameters,
                        .adders = point.adders,
                        .ranks = topology.num_ranks(),
                        .has_switches = topology.num_nodes() > topology.num_ranks(),
                        .exchanges = outcome.exchanges};
  question.parameters.header_flits = outcome.header_flits;
  for (const std::uint32_t ports : nic::ports_of(topology, point.parameters).count) {
    question.ports = std::max(question.ports, ports);
  }
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const std::size_t links = topology.out_links(topology.node_of(Rank{r})).size();
    question.links = std::max(question.links, static_cast<std::uint32_t>(links));
  }
  return question;
}

std::string work_of(const ExploreDesign& design, const ExploreRow& row) {
  std::string work =
      fmt::format("{} of {} on {} rank{}", to_string(row.point.collective),
                  value_text(design, row.point, "bytes"), row.ranks, row.ranks == 1 ? "" : "s");
  for (const char* name : {"stragglers", "background"}) {
    const std::string text = value_text(design, row.point, name);
    if (text != "none") work += fmt::format(", {} {}", name, text);
  }
  return work;
}

/// What is to be small: time, then the costs.
std::vector<double> figures_of(const ExploreDesign& design, const ExploreRow& row,
                               bool with_costs) {
  std::vector<double> figures = {row.outcome.seconds()};
  if (!with_costs) return figures;
  for (const Cost cost : design.costs) figures.push_back(static_cast<double>(cost_of(row, cost)));
  return figures;
}

/// Axes of the design in which two points differ.
std::vector<std::size_t> changes(const ExploreDesign& design, const ExplorePoint& from,
                                 const ExplorePoint& to) {
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < design.axes.size(); ++a) {
    if (design.axes[a].kind == AxisKind::Design && from.at[a] != to.at[a]) axes.push_back(a);
  }
  return axes;
}

/// "saves 120 cells (3.1 %)", "costs ..."; empty if it is the same.
std::string difference(double from, double to, std::string_view unit) {
  if (from == to) return "";
  const double change = std::abs(to - from);
  const std::string share = from > 0 ? fmt::format(" ({:.1f} %)", 100 * change / from) : "";
  return fmt::format("{} {} {}{}", to < from ? "saves" : "costs", grouped(change), unit, share);
}

std::string reason(const ExploreDesign& design, const ExploreRow& from, std::size_t from_number,
                   const ExploreRow& to, bool with_costs) {
  std::vector<std::string> changed, effects;
  for (const std::size_t a : changes(design, from.point, to.point)) {
    const Axis& axis = design.axes[a];
    changed.push_back(fmt::format("{} {} to {}", axis.name, axis.values[from.point.at[a]].text,
                                  axis.values[to.point.at[a]].text));
  }
  const double before = from.outcome.seconds(), after = to.outcome.seconds();
  const double slower = 100 * (after / before - 1);
  effects.push_back(after == before ? std::string("as fast")
                    : slower < 0.05 ? std::string("less than 0.1 % slower")
                                    : fmt::format("{:.1f} % slower", slower));
  if (with_costs) {
    for (const Cost cost : design.costs) {
      std::string effect = difference(static_cast<double>(cost_of(from, cost)),
                                      static_cast<double>(cost_of(to, cost)), unit_of(cost));
      if (!effect.empty()) effects.push_back(std::move(effect));
    }
  }
  return fmt::format("from {}: {}: {}", from_number, fmt::join(changed, ", "),
                     fmt::join(effects, ", "));
}

/// Of the entries before `at` the one that differs in fewest parameters, the nearest of those.
std::size_t neighbour(const ExploreDesign& design, std::span<const ExploreRow> rows,
                      const std::vector<ExploreFront::Entry>& entries, std::size_t at) {
  std::size_t best = at - 1, fewest = ~std::size_t{0};
  for (std::size_t e = at; e-- > 0;) {
    const std::size_t count =
        changes(design, rows[entries[e].row].point, rows[entries[at].row].point).size();
    if (count < fewest) {
      fewest = count;
      best = e;
    }
  }
  return best;
}

void find_front(const ExploreDesign& design, std::span<const ExploreRow> rows,
                ExploreFront& front) {
  std::vector<std::size_t> known, with_area;
  for (const std::size_t r : front.rows) {
    if (!rows[r].is_known()) continue;
    known.push_back(r);
    if (rows[r].area.kind != AreaKind::Unknown) with_area.push_back(r);
  }
  front.by_time_alone = with_area.empty() || design.costs.empty();
  const std::vector<std::size_t>& candidates = front.by_time_alone ? known : with_area;
  std::vector<std::vector<double>> figures;
  for (const std::size_t r : candidates) {
    figures.push_back(figures_of(design, rows[r], !front.by_time_alone));
  }
  for (const std::size_t at : pareto_front(figures)) {
    const auto same = static_cast<std::size_t>(std::ranges::count(figures, figures[at]));
    front.entries.push_back({.row = candidates[at], .same = same - 1, .why = {}});
  }
  for (std::size_t e = 0; e < front.entries.size(); ++e) {
    ExploreFront::Entry& entry = front.entries[e];
    const std::size_t base = e == 0 ? 0 : neighbour(design, rows, front.entries, e);
    entry.why = e == 0 ? "the fastest"
                       : reason(design, rows[front.entries[base].row], base + 1, rows[entry.row],
                                !front.by_time_alone);
    if (entry.same > 0) {
      entry.why +=
          fmt::format("; {} other{} with the same figures", entry.same, entry.same == 1 ? "" : "s");
    }
  }
}

}  // namespace

ExploreRow row_of(const ExploreDesign& design, const ExplorePoint& point,
                  const ExploreOutcome& outcome, const AreaRecords& records) {
  ExploreRow row{.point = point,
                 .ranks = design.topologies[point.topology].topology.num_ranks(),
                 .outcome = outcome,
                 .area = {}};
  if (row.is_known()) row.area = area_of(question_of(design, point, outcome), records);
  return row;
}

std::vector<ExploreFront> fronts_of(const ExploreDesign& design, std::span<const ExploreRow> rows) {
  std::vector<ExploreFront> fronts;
  std::map<std::string, std::size_t> of_work;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string work = work_of(design, rows[r]);
    const auto [found, is_new] = of_work.try_emplace(work, fronts.size());
    if (is_new) fronts.push_back({.work = std::move(work), .rows = {}, .entries = {}});
    fronts[found->second].rows.push_back(r);
  }
  for (ExploreFront& front : fronts) find_front(design, rows, front);
  return fronts;
}

}  // namespace multitree::tools
