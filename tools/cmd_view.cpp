// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree view`: a network and its schedules as a page for a browser.
#include "view/page.hpp"

#include <fmt/format.h>

#include "tools/progress.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

struct ViewFlags {
  WorkFlags work{.network = {}, .schedule = {}, .algorithms = "allreduce-optimal,multitree,ring"};
  std::string output = "view.html", size = "64MiB";
  std::vector<std::string> traces;
};

/// Names of pictures and documents are for other commands.
void check_page_name(const std::string& output) {
  for (const std::string_view ending : {".svg", ".png", ".pdf", ".json"}) {
    if (!output.ends_with(ending)) continue;
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("--output: expected a name that ends with .html, got '{}'; pictures are "
                    "of 'multitree export picture'",
                    output));
  }
}

int run(ViewFlags flags) {
  const std::uint64_t bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  if (bytes == 0)
    throw Error(ErrorCode::InvalidArgument, "--size: expected at least 1 byte, got 0");
  check_page_name(flags.output);
  check_writable(flags.output);
  flags.work.bytes = bytes;
  const Work work = load_work(flags.work, "view");
  std::vector<view::Timeline> timelines;
  for (const std::string& file : flags.traces) {
    timelines.push_back(view::parse_timeline(read_file(file), file, work.topology));
  }
  std::vector<Schedule> schedules;
  for (const SizedSchedules& sized : work.schedules) {
    schedules.push_back(schedule_for(sized, bytes));
  }
  Progress progress("proving the bound of " + work.topology.name());
  const Certified certified = certify(work.topology, work.collective, work.root);
  progress.update("writing the page");
  const view::Subject subject{.topology = work.topology,
                              .certified = certified,
                              .schedules = schedules,
                              .bytes = bytes,
                              .cost = {.message_overhead = kMessageOverhead},
                              .places_of = nullptr,
                              .timelines = timelines};
  write_file(flags.output, view::write_page(subject));
  return kOk;
}

}  // namespace

Command add_view_command(CLI::App& parent) {
  auto flags = std::make_shared<ViewFlags>();
  CLI::App* app = parent.add_subcommand(
      "view", "A network, its schedules and the proof of their bound as a page for a browser");
  CLI::Option* topology = add_network_flags(*app, flags->work.network);
  app->add_option("-s,--schedule", flags->work.schedule,
                  "Show this schedule or plan file ('-': standard input)")
      ->excludes(topology);
  app->add_option("-a,--algorithm", flags->work.algorithms, "One or several by commas, or all")
      ->capture_default_str();
  add_collective_flags(*app, flags->work.collective, flags->work.root);
  app->add_option("--size", flags->size, "Buffer size for times and loads")->capture_default_str();
  app->add_option("--trace", flags->traces,
                  "Lay these beside each other, one or several by commas: what --trace of simulate "
                  "and of run wrote of one algorithm and size on this network")
      ->delimiter(',');
  app->add_option("-o,--output", flags->output, "Write the page here ('-': standard output)")
      ->capture_default_str();
  app->footer(
      "The page needs no network access.\n"
      "Example: multitree view -t mesh:4x4 -o mesh.html");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
