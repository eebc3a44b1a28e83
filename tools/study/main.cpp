// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The program `multitree-study`: repeats the MULTITREE study and reports what comes out.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <thread>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/report.hpp"
#include "report/plot.hpp"
#include "tools/command.hpp"
#include "tools/program.hpp"
#include "tools/progress.hpp"
#include "tools/study/inputs.hpp"
#include "tools/study/report.hpp"
#include "tools/study/runner.hpp"
#include "topologies/io/files.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

constexpr const char* kProgram = "multitree-study";

struct Flags {
  std::string output, parts = "bandwidth,scaling,training,compatibility";
  std::string model, machine = "ideal", max_bytes = "64MiB";
  bool quick = false;
  std::vector<std::string> workloads;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
};

StudyPlan plan_of(const Flags& flags) {
  StudyPlan plan;
  plan.parts = for_flag("--part", [&] { return parse_parts(flags.parts); });
  plan.machine = nic::parse_machine(flags.machine);
  const bool is_hardware = plan.machine == nic::Machine::Hardware;
  plan.model = !flags.model.empty() ? nic::parse_model(flags.model)
               : is_hardware        ? nic::Model::Flit
                                    : nic::Model::Message;
  if (is_hardware && plan.model != nic::Model::Flit) {
    throw Error(ErrorCode::InvalidArgument, "--machine: expected --model flit for hardware");
  }
  plan.max_bytes = for_flag("--max-bytes", [&] { return parse_bytes(flags.max_bytes); });
  if (plan.max_bytes < kLeastBytes || plan.max_bytes > kMostBytes) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("--max-bytes: expected a size from {} to {}, got {}", format_bytes(kLeastBytes),
                    format_bytes(kMostBytes), format_bytes(plan.max_bytes)));
  }
  plan.quick = flags.quick;
  if (plan.has(Part::Training)) plan.workloads = read_workload_sets(flags.workloads, plan.quick);
  if (plan.has(Part::Compatibility)) plan.compatibility = read_compatibility();
  return plan;
}

/// Fails now rather than after minutes if there is nothing to draw figures with.
void check_drawing(const StudyPlan& plan) {
  const bool has_figures =
      std::ranges::any_of(plan.parts, [](const Part part) { return part != Part::Compatibility; });
  if (has_figures) report::to_svg(report::Plot{.series = {{.label = "x", .points = {{1, 1}}}}});
}

void make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path)) return;
  throw Error(ErrorCode::Io, fmt::format("{}: cannot make this directory: {}", path,
                                         error ? error.message() : "it is a file"));
}

/// Bounds of networks, each computed when it is first asked for.
BoundSeconds bounds(Progress& progress) {
  struct Bound {
    Topology topology;
    Exact shard_times;
  };
  auto known = std::make_shared<std::map<std::string, Bound>>();
  return [&progress, known](const std::string& network, std::uint64_t bytes) {
    auto found = known->find(network);
    if (found == known->end()) {
      progress.update("computing exact bounds of " + network);
      Topology topology = make_topology(network);
      Exact bound = certify(topology, Collective::AllReduce).certificate.bound;
      found = known->emplace(network, Bound{std::move(topology), std::move(bound)}).first;
    }
    return seconds_of(found->second.shard_times, found->second.topology, bytes);
  };
}

void write_report(const Report& report, const std::string& folder) {
  std::vector<std::pair<std::string, std::string_view>> files{
      {folder + "/report.md", report.markdown}};
  for (const auto& [name, svg] : report.figures) files.emplace_back(folder + "/" + name, svg);
  write_files(files);
}

int study(const Flags& flags) {
  const StudyPlan plan = plan_of(flags);
  check_drawing(plan);
  make_directory(flags.output);
  ResultsFile results(flags.output + "/results.jsonl");
  if (!results.note().empty()) print_error(fmt::format("{}: {}\n", kProgram, results.note()));
  const std::vector<Point> points = points_of(plan);
  std::size_t simulated = 0;
  Report report;
  {
    Progress progress("reading results");
    simulated = run_points(points, results, flags.jobs,
                           [&](std::size_t done, std::size_t all, const std::string& what) {
                             progress.update(fmt::format("{}/{} points, {}", done, all, what),
                                             static_cast<double>(done) / static_cast<double>(all));
                           });
    const Lookup lookup = [&](const Point& point) {
      const auto outcome = results.find(point);
      if (!outcome) throw std::logic_error("no result for " + key_of(point));
      return *outcome;
    };
    progress.update("drawing figures");
    report = make_study_report({plan, lookup, bounds(progress)});
    write_report(report, flags.output);
  }
  print(
      fmt::format("{}{}results  {}/results.jsonl, {} points, {} of them simulated now\n"
                  "report   {}/report.md, {} figures beside it\n",
                  report.summary, report.summary.empty() ? "" : "\n", flags.output, points.size(),
                  simulated, flags.output, report.figures.size()));
  return kOk;
}

void add_flags(CLI::App& app, Flags& flags) {
  app.add_option("-o,--output", flags.output,
                 "Directory of results, report and figures; what it has is not simulated again")
      ->required();
  app.add_option("--part", flags.parts, "Parts, separated by commas")->capture_default_str();
  app.add_option("--model", flags.model,
                 "message, or flit: every flit, for hours; compatibility always takes flit "
                 "(default: message; of the hardware: flit)")
      ->check(one_of({"message", "flit"}));
  app.add_option("--machine", flags.machine,
                 "Interfaces and routers: ideal, or hardware (those of rtl/, to the cycle)")
      ->check(one_of({"ideal", "hardware"}))
      ->capture_default_str();
  app.add_option("--max-bytes", flags.max_bytes, "Largest size of the bandwidth part")
      ->capture_default_str();
  app.add_flag("--quick", flags.quick, "Few and small points of every part, for trying out");
  app.add_option("--workload", flags.workloads,
                 "Layer tables: a file, or a directory of .csv files; several times: each on its "
                 "own (default: the seven networks that come with the program)");
  app.add_option("-j,--jobs", flags.jobs, "Simulations at the same time (default: cores)")
      ->check(number_from(1, 1024));
}

int run(int argc, char** argv) {
  CLI::App app("Repeats the MULTITREE study (ISCA 2021) by simulation, and reports what comes out.",
               kProgram);
  app.set_version_flag("--version", std::string(kProgram) + " " MULTITREE_VERSION);
  app.footer("Example: multitree-study --quick -o study");
  Flags flags;
  add_flags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error);
  }
  return study(flags);
}

}  // namespace
}  // namespace multitree::tools

int main(int argc, char** argv) {
  using namespace multitree::tools;
  return run_program(kProgram, [&] { return run(argc, argv); });
}
