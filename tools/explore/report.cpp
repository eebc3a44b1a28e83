// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fronts as text, CSV, JSON and figure.
#include "tools/explore/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "tools/explore/front.hpp"
#include "tools/explore/words.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

std::string plural(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Texts that some of the rows have, with how many have each, the most frequent first. Those that
/// differ in numbers alone are one: the first stands for all.
std::string tally(const std::vector<std::string>& texts) {
  struct Group {
    std::string shape, first;
    std::size_t count = 0;
  };
  std::vector<Group> groups;
  for (const std::string& text : texts) {
    std::string shape;
    for (const char c : text) {
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit || !shape.ends_with('0')) shape += is_digit ? '0' : c;
    }
    auto group = std::ranges::find(groups, shape, &Group::shape);
    if (group == groups.end()) group = groups.insert(group, {std::move(shape), text});
    ++group->count;
  }
  std::ranges::stable_sort(groups, std::ranges::greater{}, &Group::count);
  std::vector<std::string> parts;
  for (const Group& group : groups) {
    parts.push_back(fmt::format("{} ({})", group.first, group.count));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Values of axes that vary, or of those that do not.
std::vector<std::string> values(const ExploreDesign& design, const ExplorePoint& point,
                                bool varying) {
  std::vector<std::string> texts;
  for (std::size_t a = 0; a < design.axes.size(); ++a) {
    const Axis& axis = design.axes[a];
    if (axis.kind != AxisKind::Design || (axis.values.size() > 1) != varying) continue;
    texts.push_back(fmt::format("{} {}", axis.name, axis.values[point.at[a]].text));
  }
  return texts;
}

std::string microseconds(const ExploreRow& row) {
  return fmt::format("{:.3f}us", row.outcome.seconds() * 1e6);
}

std::string summary(const ExploreDesign& design, std::span<const ExploreRow> rows) {
  std::vector<std::string> models, refused;
  for (const ExploreRow& row : rows) {
    if (!row.is_known()) {
      refused.push_back(row.outcome.refused);
      continue;
    }
    models.push_back(fmt::format("{} model, {}", row.outcome.model, row.outcome.why));
  }
  std::string text = fmt::format("# {}: {}\n", plural(rows.size(), "point"),
                                 models.empty() ? "none has a result" : tally(models));
  if (!refused.empty()) {
    text += fmt::format("# {} without a result: {}\n", refused.size(), tally(refused));
  }
  return text +
         fmt::format("# everywhere: {}\n", fmt::join(values(design, rows[0].point, false), ", "));
}

/// Rows of a work that are simulated and have no area.
std::string without_area(const ExploreDesign& design, std::span<const ExploreRow> rows,
                         const ExploreFront& front) {
  std::vector<std::string> reasons;
  const ExploreRow* fastest = nullptr;
  for (const std::size_t r : front.rows) {
    const ExploreRow& row = rows[r];
    if (!row.is_known() || row.area.kind != AreaKind::Unknown) continue;
    reasons.push_back(row.area.source);
    if (fastest == nullptr || row.outcome.seconds() < fastest->outcome.seconds()) fastest = &row;
  }
  if (fastest == nullptr || design.costs.empty()) return "";
  std::vector<std::string> words = values(design, fastest->point, true);
  words.insert(words.begin(), microseconds(*fastest));
  return fmt::format("# {} without a record of area: {}\n# the fastest of them: {}\n",
                     plural(reasons.size(), "point"), tally(reasons), fmt::join(words, ", "));
}

std::string front_text(const ExploreDesign& design, std::span<const ExploreRow> rows,
                       const ExploreFront& front) {
  const bool with_costs = !front.by_time_alone;
  std::vector<std::string> names = {"time"};
  if (with_costs) {
    for (const Cost cost : design.costs) names.emplace_back(unit_of(cost));
  }
  std::string text =
      fmt::format("#\n# {}: {} of {} on the front of {}\n", front.work, front.entries.size(),
                  plural(front.rows.size(), "point"), fmt::join(names, ", "));
  if (front.entries.empty()) return text;
  std::vector<std::vector<std::string>> table = {{"#"}};
  table[0].insert(table[0].end(), names.begin(), names.end());
  if (with_costs) table[0].emplace_back("area");
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < design.axes.size(); ++a) {
    if (design.axes[a].kind == AxisKind::Design && design.axes[a].values.size() > 1) {
      axes.push_back(a);
      table[0].push_back(design.axes[a].name);
    }
  }
  for (const ExploreFront::Entry& entry : front.entries) {
    const ExploreRow& row = rows[entry.row];
    std::vector<std::string> cells = {fmt::format("{}", table.size()), microseconds(row)};
    if (with_costs) {
      for (const Cost cost : design.costs) {
        cells.push_back(grouped(static_cast<double>(cost_of(row, cost))));
      }
      cells.emplace_back(to_string(row.area.kind));
    }
    for (const std::size_t a : axes) cells.push_back(design.axes[a].values[row.point.at[a]].text);
    table.push_back(std::move(cells));
  }
  // Reasons stand behind the columns, from the left.
  const std::string columns = format_table(table);
  std::size_t begin = 0;
  for (std::size_t line = 0; line < table.size(); ++line) {
    const std::size_t end = columns.find('\n', begin);
    text += fmt::format("{}  {}\n", columns.substr(begin, end - begin),
                        line == 0 ? "why" : front.entries[line - 1].why);
    begin = end + 1;
  }
  return text + without_area(design, rows, front);
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

std::vector<bool> on_front(std::size_t rows, std::span<const ExploreFront> fronts) {
  std::vector<bool> is(rows, false);
  for (const ExploreFront& front : fronts) {
    for (const ExploreFront::Entry& entry : front.entries) is[entry.row] = true;
  }
  return is;
}

ordered_json row_json(const ExploreDesign& design, const ExploreRow& row) {
  ordered_json json = {
      {"id", row.point.id}, {"ranks", row.ranks}, {"values", ordered_json::array()}};
  for (std::size_t a = 0; a < design.axes.size(); ++a) {
    const Axis& axis = design.axes[a];
    json["values"].push_back(
        {{"name", axis.name}, {"value", ordered_json::parse(axis.values[row.point.at[a]].json)}});
  }
  if (!row.is_known()) {
    json["refused"] = row.outcome.refused;
    return json;
  }
  json["model"] = row.outcome.model;
  json["why"] = row.outcome.why;
  json["cycles"] = row.outcome.cycles;
  json["clock_hz"] = row.outcome.clock_hz;
  json["time_us"] = row.outcome.seconds() * 1e6;
  json["messages"] = row.outcome.messages;
  json["link_flits"] = row.outcome.link_flits;
  json["busiest_link_flits"] = row.outcome.busiest_link_flits;
  json["area"] = to_string(row.area.kind);
  json["area_source"] = row.area.source;
  if (row.area.kind != AreaKind::Unknown) {
    json["cells"] = row.area.cells;
    json["memory_bits"] = row.area.memory_bits;
  }
  return json;
}

}  // namespace

std::string value_text(const ExploreDesign& design, const ExplorePoint& point,
                       std::string_view axis) {
  const auto found = std::ranges::find(design.axes, axis, &Axis::name);
  return found->values[point.at[static_cast<std::size_t>(found - design.axes.begin())]].text;
}

std::uint64_t cost_of(const ExploreRow& row, Cost cost) {
  return cost == Cost::Cells ? row.area.cells : row.area.memory_bits;
}

std::string_view unit_of(Cost cost) { return cost == Cost::Cells ? "cells" : "memory bits"; }

std::string grouped(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string explore_text(const ExploreDesign& design, std::span<const ExploreRow> rows,
                         std::span<const ExploreFront> fronts) {
  std::string text = summary(design, rows);
  for (const ExploreFront& front : fronts) text += front_text(design, rows, front);
  return text;
}

std::string explore_csv(const ExploreDesign& design, std::span<const ExploreRow> rows,
                        std::span<const ExploreFront> fronts) {
  std::vector<std::string> cells = {"id"};
  for (const Axis& axis : design.axes) cells.push_back(axis.name);
  for (const char* name : {"ranks", "model", "why", "cycles", "clock_hz", "time_us", "cells",
                           "memory_bits", "area", "area_source", "front", "refused"}) {
    cells.emplace_back(name);
  }
  std::string text = fmt::format("{}\n", fmt::join(cells, ","));
  const std::vector<bool> is_on_front = on_front(rows.size(), fronts);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const ExploreRow& row = rows[r];
    cells = {row.point.id};
    for (std::size_t a = 0; a < design.axes.size(); ++a) {
      const Axis::Value& value = design.axes[a].values[row.point.at[a]];
      cells.push_back(quoted(design.axes[a].name == "bytes" ? value.json : value.text));
    }
    cells.push_back(fmt::format("{}", row.ranks));
    if (row.is_known()) {
      const bool has_area = row.area.kind != AreaKind::Unknown;
      cells.insert(cells.end(),
                   {row.outcome.model, quoted(row.outcome.why),
                    fmt::format("{}", row.outcome.cycles), fmt::format("{}", row.outcome.clock_hz),
                    fmt::format("{:.6f}", row.outcome.seconds() * 1e6),
                    has_area ? fmt::format("{}", row.area.cells) : "",
                    has_area ? fmt::format("{}", row.area.memory_bits) : "",
                    std::string(to_string(row.area.kind)), quoted(row.area.source),
                    is_on_front[r] ? "1" : "0", ""});
    } else {
      cells.insert(cells.end(), 10, "");
      cells.push_back(quoted(row.outcome.refused));
    }
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

ordered_json explore_json(const ExploreDesign& design, std::span<const ExploreRow> rows,
                          std::span<const ExploreFront> fronts) {
  ordered_json json = {{"costs", ordered_json::array()},
                       {"points", ordered_json::array()},
                       {"fronts", ordered_json::array()}};
  for (const Cost cost : design.costs) json["costs"].push_back(to_string(cost));
  for (const ExploreRow& row : rows) json["points"].push_back(row_json(design, row));
  for (const ExploreFront& front : fronts) {
    ordered_json entries = ordered_json::array();
    for (const ExploreFront::Entry& entry : front.entries) {
      entries.push_back(
          {{"id", rows[entry.row].point.id}, {"point", entry.row}, {"why", entry.why}});
    }
    json["fronts"].push_back({{"work", front.work},
                              {"points", front.rows.size()},
                              {"by_time_alone", front.by_time_alone},
                              {"entries", std::move(entries)}});
  }
  return json;
}

std::string explore_plot(const ExploreDesign& design, std::span<const ExploreRow> rows,
                         std::span<const ExploreFront> fronts, report::Image image) {
  const Cost cost = design.costs.empty() ? Cost::Cells : design.costs.front();
  report::Plot plot{.title = "time against area",
                    .x_label = fmt::format("{} of interface and router", unit_of(cost)),
                    .y_label = "time (us)",
                    .series = {}};
  for (const ExploreFront& front : fronts) {
    std::vector<std::vector<double>> points;
    for (const std::size_t r : front.rows) {
      if (!rows[r].is_known() || rows[r].area.kind == AreaKind::Unknown) continue;
      points.push_back(
          {static_cast<double>(cost_of(rows[r], cost)), rows[r].outcome.seconds() * 1e6});
    }
    if (points.empty()) continue;
    report::Series line{.label = "front of " + front.work};
    report::Series rest{.label = "all points of it"};
    for (const std::size_t at : pareto_front(points)) {
      line.points.emplace_back(points[at][0], points[at][1]);
    }
    for (const auto& point : points) rest.points.emplace_back(point[0], point[1]);
    rest.joined = false;
    plot.series.push_back(std::move(line));
    plot.series.push_back(std::move(rest));
  }
  if (plot.series.empty()) {
    throw Error(ErrorCode::Unsupported,
                "--plot: expected a point whose area is known, got none; --csv has all points");
  }
  return report::to_image(plot, image);
}

}  // namespace multitree::tools
