// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree import`: schedules of other programs, verified.
#include <fmt/format.h>

#include "algorithms/interchange/interchange.hpp"
#include "algorithms/io/io.hpp"
#include "tools/command.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

struct ImportFlags {
  std::string format;
  std::string file;
  std::string topology;
  std::string collective;
  std::uint32_t segments = 1;
  std::string output = "-";
};

constexpr FormatRow kMsccl{"msccl", "an algorithm in MSCCL's XML"};
constexpr FormatRow kForestcoll{"forestcoll", "the XML of trees that ForestColl writes"};

Schedule parse(const ImportFlags& flags, const Topology& topology) {
  const std::string text = read_file(flags.file);
  const std::string shown = flags.file == "-" ? "standard input" : flags.file;
  if (flags.format == kMsccl.name) return parse_msccl_xml(text, shown, topology);
  ForestcollOptions options;
  options.segments = flags.segments;
  if (!flags.collective.empty()) {
    options.collective =
        for_flag("--collective", [&] { return parse_collective(flags.collective); });
  }
  return for_flag("--collective",
                  [&] { return parse_forestcoll_xml(text, shown, topology, options); });
}

int run(const ImportFlags& flags, const CLI::App& app) {
  for (const char* flag : {"--collective", "--segments"}) {
    if (flags.format != kForestcoll.name && app.count(flag) > 0) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("{}: expected only with the format {}, got it with {}", flag,
                              kForestcoll.name, flags.format));
    }
  }
  check_writable(flags.output);
  const Topology topology = for_flag("--topology", [&] { return load_with_notes(flags.topology); });
  write_file(flags.output, write_schedule_json(parse(flags, topology), topology));
  return kOk;
}

}  // namespace

std::vector<FormatRow> import_formats() { return {kMsccl, kForestcoll}; }

Command add_import_command(CLI::App& parent) {
  auto flags = std::make_shared<ImportFlags>();
  CLI::App* app = parent.add_subcommand(
      "import", "Read a schedule of another program, verify it, and write it as a schedule file");
  add_format_argument(*app, flags->format, import_formats());
  app->add_option("file", flags->file, "File ('-': standard input)")->required();
  app->add_option("-t,--topology", flags->topology, "The network that it is for")->required();
  app->add_option("-c,--collective", flags->collective,
                  "forestcoll: allgather (default), reduce-scatter or allreduce");
  app->add_option("--segments", flags->segments, "forestcoll: pieces of a tree's chunk")
      ->check(number_from(1, 1U << 16))
      ->capture_default_str();
  app->add_option("-o,--output", flags->output, "Schedule file ('-': standard output)")
      ->capture_default_str();
  app->footer(
      "Example: multitree export msccl -t torus:4x4 | multitree import msccl - -t torus:4x4");
  return {app, [flags, app] { return run(*flags, *app); }};
}

}  // namespace multitree::tools
