// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree explore`: which interfaces are worth building.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "report/plot.hpp"
#include "tools/command.hpp"
#include "tools/explore/report.hpp"
#include "tools/explore/runner.hpp"
#include "tools/progress.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

struct ExploreFlags {
  std::string design, output, part, csv, plot;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool json = false;
};

std::atomic<bool> interrupted{false};

/// SIGINT gives up what is under way, once; a second one ends the program at once.
class Interruption {
 public:
  Interruption() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~Interruption() { sigaction(SIGINT, &before_, nullptr); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  struct sigaction before_ = {};
};

/// "3/8".
PartOf parse_part(const std::string& text) {
  PartOf part;
  if (text.empty()) return part;
  const std::size_t slash = text.find('/');
  const auto read = [](std::string_view digits, std::uint32_t& value) {
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && rest == digits.data() + digits.size() && !digits.empty();
  };
  const std::string_view view = text;
  if (slash != std::string::npos && read(view.substr(0, slash), part.number) &&
      read(view.substr(slash + 1), part.of) && part.number >= 1 && part.number <= part.of) {
    return part;
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--part: expected I/N with I from 1 to N, such as 1/8, got '{}'", text));
}

void check_flags(const ExploreFlags& flags, PartOf part) {
  if (part.of > 1 && flags.output.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "--part: expected --output, where the parts meet, got none");
  }
  if (part.of > 1 && (flags.json || !flags.csv.empty() || !flags.plot.empty())) {
    throw Error(ErrorCode::InvalidArgument,
                "--part: expected no --json, --csv or --plot, which are for all parts: the same "
                "command without --part makes them");
  }
  if (!flags.plot.empty()) report::check_image_name("--plot", flags.plot);
  for (const std::string& file : {flags.csv, flags.plot}) {
    if (!file.empty()) check_writable(file);
  }
}

/// Every N-th point: neighbours take about as long.
std::vector<ExplorePoint> points_of(const ExploreDesign& design, PartOf part) {
  std::vector<ExplorePoint> points;
  for (std::size_t p = part.number - 1; p < design.num_points(); p += part.of) {
    points.push_back(design.point(p));
  }
  return points;
}

/// Ends as a program that SIGINT ended.
int end_interrupted(const ExploreResults& results, std::size_t known, std::size_t all) {
  print_error(
      results.path().empty()
          ? std::string("multitree: interrupted; with --output the points would have been kept\n")
          : fmt::format("multitree: interrupted: {} of {} points are in {}; the same command goes "
                        "on from there\n",
                        known, all, results.path()));
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
  return kTransport;
}

int write_all(const ExploreFlags& flags, const ExploreDesign& design,
              const std::vector<ExploreRow>& rows) {
  const std::vector<ExploreFront> fronts = fronts_of(design, rows);
  std::vector<std::pair<std::string, std::string>> files;
  if (!flags.csv.empty()) files.emplace_back(flags.csv, explore_csv(design, rows, fronts));
  if (!flags.plot.empty()) {
    files.emplace_back(flags.plot,
                       explore_plot(design, rows, fronts, report::image_of(flags.plot)));
  }
  write_files({files.begin(), files.end()});
  flags.json ? print_json(explore_json(design, rows, fronts))
             : print(explore_text(design, rows, fronts));
  return kOk;
}

int run(const ExploreFlags& flags) {
  const PartOf part = parse_part(flags.part);
  const ExploreDesign design = read_explore_design(read_file(flags.design), flags.design);
  check_flags(flags, part);
  const std::vector<ExplorePoint> points = points_of(design, part);
  ExploreResults results(flags.output, part);
  for (const std::string& note : results.notes()) print_error("multitree: " + note + "\n");
  std::size_t simulated = 0;
  {
    const Interruption interruption;
    Progress progress("exploring");
    simulated = explore(design, points, results, flags.jobs, interrupted,
                        [&](std::size_t done, std::size_t all) {
                          progress.update(fmt::format("{} of {} points", done, all),
                                          static_cast<double>(done) / static_cast<double>(all));
                        });
  }
  std::vector<ExploreRow> rows;
  for (const ExplorePoint& point : points) {
    if (const ExploreOutcome* const outcome = results.find(point)) {
      rows.push_back(row_of(design, point, *outcome, area_records()));
    }
  }
  if (rows.size() < points.size()) return end_interrupted(results, rows.size(), points.size());
  results.put_in_order(points);
  if (part.of > 1) {
    print(fmt::format("part {} of {}: {} points, {} simulated now, in {}\n", part.number, part.of,
                      points.size(), simulated, results.path()));
    return kOk;
  }
  return write_all(flags, design, rows);
}

}  // namespace

Command add_explore_command(CLI::App& parent) {
  auto flags = std::make_shared<ExploreFlags>();
  CLI::App* app = parent.add_subcommand(
      "explore",
      "Simulate every combination of values, and say which interfaces are worth building");
  app->add_option("-c,--config", flags->design,
                  "The design: JSON with the values of each parameter ('-': standard input)")
      ->required();
  app->add_option("-o,--output", flags->output,
                  "Results, point by point; what it has is not simulated again");
  app->add_option("-j,--jobs", flags->jobs, "Simulations at the same time (default: cores)")
      ->check(number_from(1, 1024));
  app->add_option("--part", flags->part,
                  "I/N: only every N-th point from the I-th on, into a file beside --output; the "
                  "command without --part joins them");
  app->add_flag("--json", flags->json, "Print JSON instead of the table");
  app->add_option("--csv", flags->csv, "Write all points as CSV");
  app->add_option("--plot", flags->plot,
                  "Write time against area as SVG, or as PNG if the name ends in .png");
  app->footer(
      "Example: printf '{\"schema\": \"multitree/exploration/1\", \"topology\": \"torus:4x4\", "
      "\"algorithm\": [\"ring\", \"multitree\"], \"bytes\": \"64KiB\", \"machine\": \"ideal\"}' | "
      "multitree explore -c -");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
