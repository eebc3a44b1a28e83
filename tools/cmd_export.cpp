// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree export`: pictures, and schedules in the formats of other programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "algorithms/interchange/interchange.hpp"
#include "algorithms/io/io.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

struct ExportFlags {
  std::string format;
  WorkFlags work{.network = {}, .schedule = {}, .algorithms = {}, .collective = {}};
  std::string output = "-";
  std::uint32_t chunk = 0;
  MscclOptions msccl;
  std::string limits = "msccl", buffers = "inplace";
  std::string size, min_bytes, max_bytes;
  std::uint32_t blocks = 0;
};

/// The schedule that the flags name; without a collective one of this.
SchedulePlan plan_of(const ExportFlags& flags, std::string_view collective = "allreduce") {
  WorkFlags work = flags.work;
  if (work.collective.empty()) work.collective = collective;
  return load_one(work, "export");
}

std::uint64_t bytes_of(std::string_view flag, const std::string& text, std::uint64_t otherwise) {
  return text.empty() ? otherwise : for_flag(flag, [&] { return parse_bytes(text); });
}

void export_dot(const ExportFlags& flags) {
  const WorkFlags& work = flags.work;
  if (work.schedule.empty() && !work.network.topology.empty() && work.algorithms.empty()) {
    return write_file(flags.output, write_topology_dot(load_network(work.network)));
  }
  // A schedule that does not verify can be looked at, too.
  const SchedulePlan plan =
      work.schedule.empty() ? plan_of(flags, "allgather") : load_schedule(work.schedule);
  write_file(flags.output, for_flag("--chunk", [&] {
               return write_tree_dot(plan.schedule, plan.topology, flags.chunk);
             }));
}

void export_msccl(const ExportFlags& flags) {
  MscclOptions options = flags.msccl;
  options.min_bytes = bytes_of("--min-bytes", flags.min_bytes, options.min_bytes);
  options.max_bytes = bytes_of("--max-bytes", flags.max_bytes, options.max_bytes);
  options.limits = flags.limits == "none"       ? MscclLimits::None
                   : flags.limits == "executor" ? MscclLimits::Executor
                                                : MscclLimits::Msccl;
  options.buffers = flags.buffers == "inplace"      ? BufferMode::InPlace
                    : flags.buffers == "outofplace" ? BufferMode::OutOfPlace
                                                    : BufferMode::Either;
  const SchedulePlan plan = plan_of(flags);
  write_file(flags.output,
             for_flag("export", [&] { return write_msccl_xml(plan.schedule, options); }));
}

void export_mscclpp(const ExportFlags& flags) {
  const MscclppOptions options{.blocks = flags.blocks,
                               .min_bytes = bytes_of("--min-bytes", flags.min_bytes, 0),
                               .max_bytes = bytes_of("--max-bytes", flags.max_bytes, UINT64_MAX)};
  const SchedulePlan plan = plan_of(flags);
  write_file(flags.output,
             for_flag("export", [&] { return write_mscclpp_json(plan.schedule, options); }));
}

void export_chakra(const ExportFlags& flags) {
  if (flags.output == "-") {
    throw Error(ErrorCode::InvalidArgument,
                "--output: expected a prefix, for one file PREFIX.RANK.et a rank, got none");
  }
  if (flags.size.empty()) {
    throw Error(ErrorCode::InvalidArgument, "--size: expected the size of the buffer, got none");
  }
  const std::uint64_t bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  const SchedulePlan plan = plan_of(flags);
  const std::vector<std::string> texts =
      for_flag("--size", [&] { return write_chakra_traces(plan.schedule, bytes); });
  std::vector<std::pair<std::string, std::string_view>> files;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    files.emplace_back(fmt::format("{}.{}.et", flags.output, r), texts[r]);
  }
  write_files(files);
}

struct Format : FormatRow {
  void (*write)(const ExportFlags&);
  std::vector<std::string_view> flags;  ///< those that it knows and others do not
};

const std::array<Format, 4>& formats() {
  static const std::array<Format, 4> all = {{
      {{"dot", "Graphviz text, for `dot -Tsvg`"}, export_dot, {"--chunk"}},
      {{"msccl", "MSCCL's XML"},
       export_msccl,
       {"--proto", "--channels", "--min-bytes", "--max-bytes", "--buffers", "--limits"}},
      {{"chakra", "execution traces for ASTRA-sim, one file a rank"}, export_chakra, {"--size"}},
      {{"mscclpp", "an MSCCL++ plan"}, export_mscclpp, {"--min-bytes", "--max-bytes", "--blocks"}},
  }};
  return all;
}

const Format& find_format(const std::string& name) {
  return *std::ranges::find(formats(), name, &Format::name);
}

/// A flag that the format would ignore is a mistake.
void check_flags(const CLI::App& app, const Format& format) {
  for (const Format& other : formats()) {
    for (const std::string_view flag : other.flags) {
      if (app.count(std::string(flag)) == 0 ||
          std::ranges::find(format.flags, flag) != format.flags.end()) {
        continue;
      }
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("{}: expected only with the format {}, got it with {}", flag,
                              other.name, format.name));
    }
  }
}

void add_format_flags(CLI::App& app, ExportFlags& flags) {
  app.add_option("--chunk", flags.chunk, "dot: whose tree")
      ->check(number_from(0))
      ->capture_default_str();
  app.add_option("--size", flags.size, "chakra: size of the buffer");
  app.add_option("--proto", flags.msccl.protocol, "msccl: NCCL's protocol")
      ->check(one_of({"Simple", "LL", "LL128"}))
      ->capture_default_str();
  app.add_option("--channels", flags.msccl.channels, "msccl: channels that chunks are dealt to")
      ->check(number_from(1, 32))
      ->capture_default_str();
  app.add_option("--buffers", flags.buffers, "msccl: the caller's buffers")
      ->check(one_of({"inplace", "outofplace", "either"}))
      ->capture_default_str();
  app.add_option("--limits", flags.limits, "msccl: the runtime that it must fit")
      ->check(one_of({"msccl", "executor", "none"}))
      ->capture_default_str();
  app.add_option("--blocks", flags.blocks, "mscclpp: thread blocks (default: as few as fit)")
      ->check(number_from(1, 1024));
  app.add_option("--min-bytes", flags.min_bytes, "msccl, mscclpp: smallest message it is for (0)");
  app.add_option("--max-bytes", flags.max_bytes, "msccl, mscclpp: largest (1 TiB; no limit)");
}

}  // namespace

std::vector<FormatRow> export_formats() { return {formats().begin(), formats().end()}; }

Command add_export_command(CLI::App& parent) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* app = parent.add_subcommand(
      "export", "Draw a network or a tree, or write a schedule for another program");
  add_format_argument(*app, flags->format, export_formats());
  auto* schedule = app->add_option("-s,--schedule", flags->work.schedule, "This schedule file");
  app->add_option("-t,--topology", flags->work.network.topology, "This network")
      ->excludes(schedule);
  app->add_option("-a,--algorithm", flags->work.algorithms,
                  "... and this algorithm's schedule on it (multitree; dot: none)");
  app->add_option("-c,--collective", flags->work.collective,
                  "... of this collective (allreduce; dot: "
                  "allgather)");
  app->add_option("-r,--root", flags->work.root, "Root rank, where there is one")
      ->check(number_from(0))
      ->capture_default_str();
  app->add_option("-o,--output", flags->output,
                  "File ('-': standard output); chakra: prefix of the files")
      ->capture_default_str();
  add_format_flags(*app, *flags);
  app->footer(
      "Example: multitree export dot -t torus:4x4 -a multitree --chunk 5 | dot -Tsvg -o tree.svg");
  return {app, [flags, app] {
            const Format& format = find_format(flags->format);
            check_flags(*app, format);
            format.write(*flags);
            return static_cast<int>(kOk);
          }};
}

}  // namespace multitree::tools
