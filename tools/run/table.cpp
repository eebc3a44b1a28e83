// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Formats rows the way nccl-tests does, so that eyes and scripts need not relearn.
#include "tools/run/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

std::string op_name(const Row& row, const BenchmarkOptions& options) {
  return reduces(options.collective) ? std::string(runtime::to_string(row.key.op)) : "none";
}

std::string root_name(const BenchmarkOptions& options) {
  return has_root(options.collective) ? fmt::format("{}", index(options.root)) : "-1";
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string mode_columns(const Measurement& m, bool checked) {
  return fmt::format(" {:>10.2f} {:>7.3f} {:>7.3f} {:>6}", m.seconds * 1e6, m.algbw, m.busbw,
                     checked ? fmt::format("{}", m.wrong) : "N/A");
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// What the table says of a run above its rows.
std::string run_words(const AlgorithmRun& run) {
  if (!run.report) return "the memory of one host, no messages, no schedule";
  return fmt::format("{}, {}, at least {}, ratio {:.3f}, verified",
                     counted(run.report->ranks, "rank"), counted(run.report->total_steps, "step"),
                     run.report->bound_total_steps, run.report->bound_ratio);
}

ordered_json mode_json(const Measurement& m, bool checked) {
  ordered_json json = {{"time", m.seconds * 1e6}, {"alg_bw", m.algbw}, {"bus_bw", m.busbw}};
  json["nwrong"] = checked ? ordered_json(m.wrong) : ordered_json("N/A");
  if (checked) json["digest"] = fmt::format("{:016x}", m.digest);
  return json;
}

/// Titles and units of the columns after nccl-tests'.
std::pair<std::string, std::string> more_titles(const TableColumns& columns) {
  std::pair<std::string, std::string> lines;
  const auto add = [&](std::string_view title, std::string_view unit) {
    lines.first += title;
    lines.second += unit;
  };
  if (columns.predicted) add(" |  predicted", " |       (us)");
  if (columns.algorithm) add(fmt::format("  {:<24}", "algorithm"), fmt::format("  {:<24}", ""));
  if (columns.digest) add(fmt::format("  {:<16}", "digest"), fmt::format("  {:<16}", ""));
  if (columns.busiest) add("  busiest link", "  (B)");
  return lines;
}

std::string more_columns(const Row& row, const RowDetails& details, const TableColumns& columns) {
  std::string text;
  if (columns.predicted) {
    text += details.predicted_seconds
                ? fmt::format(" | {:>10.2f}", *details.predicted_seconds * 1e6)
                : fmt::format(" | {:>10}", "-");
  }
  if (columns.algorithm) text += fmt::format("  {:<24}", details.algorithm);
  if (columns.digest) text += fmt::format("  {:016x}", row.out_of_place.digest);
  if (columns.busiest) {
    const LinkBytes* link = details.busiest();
    text += link == nullptr ? "  -" : fmt::format("  {}->{} {}", link->from, link->to, link->bytes);
  }
  return text;
}

ordered_json link_json(const LinkBytes& link) {
  return {{"from", link.from}, {"to", link.to}, {"bytes", link.bytes}};
}

/// What is known of a row besides nccl-tests' keys. \pre rows and details are of one run.
void add_details(ordered_json& json, const AlgorithmRun& run, const Row& row) {
  const auto found = std::ranges::find(run.details, row.key, &RowDetails::key);
  if (found == run.details.end()) return;
  json["algorithm"] = found->algorithm;
  if (found->predicted_seconds) json["predicted_time"] = *found->predicted_seconds * 1e6;
  if (found->links.empty()) return;
  if (const LinkBytes* busiest = found->busiest()) json["busiest_link"] = link_json(*busiest);
  for (const LinkBytes& link : found->links) json["links"].push_back(link_json(link));
}

}  // namespace

std::uint64_t AlgorithmRun::wrong() const {
  std::uint64_t sum = 0;
  for (const Row& row : rows) sum += row.out_of_place.wrong + row.in_place.wrong;
  return sum;
}

double AlgorithmRun::mean_busbw() const {
  double sum = 0;
  for (const Row& row : rows) sum += row.out_of_place.busbw + row.in_place.busbw;
  return rows.empty() ? 0 : sum / (2 * static_cast<double>(rows.size()));
}

double AlgorithmRun::best_busbw() const {
  double best = 0;
  for (const Row& row : rows) best = std::max({best, row.out_of_place.busbw, row.in_place.busbw});
  return best;
}

std::string table_header(const AlgorithmRun& run, const BenchmarkOptions& options,
                         const TableColumns& columns) {
  const auto [titles, more_units] = more_titles(columns);
  std::string text = fmt::format("# {} by {} on {}: {}\n", to_string(options.collective),
                                 run.algorithm, run.topology, run_words(run));
  text += without_trailing_blanks(fmt::format("#{:>11} {:>12} {:>8} {:>6} {:>5} |{:^33} |{:^33}",
                                              "", "", "", "", "", "out-of-place", "in-place"));
  const std::string mode =
      fmt::format(" {:>10} {:>7} {:>7} {:>6}", "time", "algbw", "busbw", "#wrong");
  text +=
      without_trailing_blanks(fmt::format("#{:>11} {:>12} {:>8} {:>6} {:>5} |{} |{}{}", "size",
                                          "count", "type", "redop", "root", mode, mode, titles));
  const std::string units =
      fmt::format(" {:>10} {:>7} {:>7} {:>6}", "(us)", "(GB/s)", "(GB/s)", "");
  text += without_trailing_blanks(fmt::format("#{:>11} {:>12} {:>8} {:>6} {:>5} |{} |{}{}", "(B)",
                                              "(elements)", "", "", "", units, units, more_units));
  return text;
}

std::string table_row(const Row& row, const RowDetails& details, const BenchmarkOptions& options,
                      const TableColumns& columns) {
  return without_trailing_blanks(
      fmt::format(" {:>11} {:>12} {:>8} {:>6} {:>5} |{} |{}{}", row.key.bytes, row.count,
                  runtime::to_string(row.key.type), op_name(row, options), root_name(options),
                  mode_columns(row.out_of_place, options.check),
                  mode_columns(row.in_place, options.check), more_columns(row, details, columns)));
}

std::string table_footer(const AlgorithmRun& run) {
  return fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.4f}\n#\n",
                     run.wrong(), run.wrong() == 0 ? "OK" : "FAILED", run.mean_busbw());
}

std::string summary_table(const std::vector<AlgorithmRun>& runs) {
  std::vector<std::vector<std::string>> rows = {
      {"algorithm", "steps", "least", "ratio", "best busbw (GB/s)", "avg busbw (GB/s)", "#wrong"}};
  for (const AlgorithmRun& run : runs) {
    const auto& report = run.report;
    rows.push_back({run.algorithm, report ? fmt::format("{}", report->total_steps) : "-",
                    report ? fmt::format("{}", report->bound_total_steps) : "-",
                    report ? fmt::format("{:.3f}", report->bound_ratio) : "-",
                    fmt::format("{:.3f}", run.best_busbw()),
                    fmt::format("{:.3f}", run.mean_busbw()), fmt::format("{}", run.wrong())});
  }
  return format_table(rows);
}

ordered_json run_json(const std::vector<AlgorithmRun>& runs, const BenchmarkOptions& options,
                      std::uint32_t ranks, const std::string& launch) {
  ordered_json list = ordered_json::array();
  for (const AlgorithmRun& run : runs) {
    ordered_json rows = ordered_json::array();
    for (const Row& row : run.rows) {
      ordered_json entry = {
          {"size", row.key.bytes},
          {"count", row.count},
          {"type", runtime::to_string(row.key.type)},
          {"redop", op_name(row, options)},
          {"root", has_root(options.collective) ? static_cast<int>(index(options.root)) : -1},
          {"out_of_place", mode_json(row.out_of_place, options.check)},
          {"in_place", mode_json(row.in_place, options.check)}};
      add_details(entry, run, row);
      rows.push_back(std::move(entry));
    }
    ordered_json json = {{"algorithm", run.algorithm}, {"topology", run.topology}};
    if (run.report) {
      json["steps"] = run.report->steps;
      json["bound_steps"] = run.report->bound_steps;
      json["bound_ratio"] = run.report->bound_ratio;
    }
    json["results"] = rows;
    json["nwrong"] = run.wrong();
    json["average_bus_bandwidth"] = run.mean_busbw();
    list.push_back(json);
  }
  return {{"config",
           {{"collective", to_string(options.collective)},
            {"ranks", ranks},
            {"launch", launch},
            {"transport", options.communicator.transport},
            {"iterations", options.iterations},
            {"warmup", options.warmup},
            {"seed", options.seed}}},
          {"runs", list}};
}

}  // namespace multitree::tools
