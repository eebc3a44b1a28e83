// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree export`: pictures, and schedules in the formats of other programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/interchange/fewer_pieces.hpp"
#include "algorithms/interchange/interchange.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "report/plot.hpp"
#include "report/raster.hpp"
#include "tools/export/fitted.hpp"
#include "tools/export/mscclpp.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "view/picture.hpp"
#include "view/scene.hpp"

namespace multitree::tools {
namespace {

struct ExportFlags {
  std::string format;
  WorkFlags work{.network = {}, .schedule = {}, .algorithms = {}, .collective = {}};
  std::string output = "-";
  std::uint32_t chunk = 0;
  std::string show;
  MscclOptions msccl;
  std::string limits = "msccl", buffers;
  std::string size, min_bytes, max_bytes;
  std::uint32_t blocks = 0, max_blocks = MscclppOptions{}.max_blocks, ranks_per_host = 0;
  bool channels_given = false;
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

/// Channels that are tried where none are asked for: chunks dealt to more of them are as many, in
/// shorter thread blocks.
constexpr std::uint32_t kChannels[] = {1, 2, 4, 8, 16, 32};

void write_msccl(const ExportFlags& flags, const SchedulePlan& plan, MscclOptions options) {
  const std::vector<std::uint32_t> asked = {options.channels};
  const std::span<const std::uint32_t> tried =
      flags.channels_given ? std::span<const std::uint32_t>(asked) : kChannels;
  std::optional<FittedText> best;
  std::uint32_t channels = 0;
  for (const std::uint32_t one : tried) {
    options.channels = one;
    auto made = fitted_text(plan.schedule, plan.topology,
                            [&](const Schedule& s) { return write_msccl_xml(s, options); });
    if (!made || (best && pieces_of(made->schedule) <= pieces_of(best->schedule))) continue;
    best = std::move(made);
    channels = one;
    if (best->schedule == plan.schedule) break;
  }
  if (!best) {
    options.channels = flags.msccl.channels;
    static_cast<void>(write_msccl_xml(plan.schedule, options));  // throws
    return;
  }
  const bool more = channels != flags.msccl.channels;
  if (more || !(best->schedule == plan.schedule)) {
    tell_change(plan.schedule, plan.topology, best->schedule,
                more ? fmt::format("{} channels", channels) : "");
  }
  write_file(flags.output, best->text);
}

BufferMode buffers_of(const ExportFlags& flags, BufferMode otherwise) {
  if (flags.buffers.empty()) return otherwise;
  return flags.buffers == "inplace"      ? BufferMode::InPlace
         : flags.buffers == "outofplace" ? BufferMode::OutOfPlace
                                         : BufferMode::Either;
}

void export_msccl(const ExportFlags& flags) {
  MscclOptions options = flags.msccl;
  options.min_bytes = bytes_of("--min-bytes", flags.min_bytes, options.min_bytes);
  options.max_bytes = bytes_of("--max-bytes", flags.max_bytes, options.max_bytes);
  options.limits = flags.limits == "none"       ? MscclLimits::None
                   : flags.limits == "executor" ? MscclLimits::Executor
                                                : MscclLimits::Msccl;
  options.buffers = buffers_of(flags, BufferMode::InPlace);
  const SchedulePlan plan = plan_of(flags);
  for_flag("export", [&] { write_msccl(flags, plan, options); });
}

void export_mscclpp(const ExportFlags& flags) {
  const MscclppOptions options{.blocks = flags.blocks,
                               .max_blocks = flags.max_blocks,
                               .ranks_per_host = flags.ranks_per_host,
                               .buffers = buffers_of(flags, BufferMode::Either),
                               .min_bytes = bytes_of("--min-bytes", flags.min_bytes, 0),
                               .max_bytes = bytes_of("--max-bytes", flags.max_bytes, UINT64_MAX)};
  if (!flags.work.schedule.empty()) {
    const Work work = load_work(flags.work, "export");
    return write_mscclpp_plans(work.schedules.front(), work.topology, options, flags.output);
  }
  SchedulePlan plan = plan_of(flags);
  write_mscclpp_plans(for_all_sizes(std::move(plan.schedule)), plan.topology, options,
                      flags.output);
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

/// "tree:3" as "tree" and 3; what has no number has 0.
std::pair<std::string, std::uint32_t> shown(const std::string& show) {
  const std::size_t colon = show.find(':');
  const std::string what = show.substr(0, colon);
  const bool numbered = what == "step" || what == "tree" || what == "cut";
  if (!numbered && (what != "network" && what != "load")) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("--show: expected network, load, step:N, tree:N or cut:N, got '{}'", show));
  }
  if (colon == std::string::npos) return {what, 0};
  const std::string number = show.substr(colon + 1);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (!numbered || error != std::errc() || end != number.data() + number.size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--show: expected {}, got '{}'",
                            numbered ? what + ":N, a number from 0" : what, show));
  }
  return {what, value};
}

view::Scene scene_of(const std::string& show, const SchedulePlan& plan, std::uint64_t bytes) {
  const auto [what, number] = shown(show);
  const Schedule& schedule = plan.schedule;
  if (what == "network") return view::scene_of(plan.topology);
  if (what == "load") return view::load_scene(schedule, plan.topology, bytes);
  if (what == "step") return view::step_scene(schedule, plan.topology, number);
  if (what == "tree") return view::tree_scene(schedule, plan.topology, number);
  return view::cut_scene(certify(plan.topology, schedule.collective, schedule.root), plan.topology,
                         number);
}

void write_picture(const ExportFlags& flags, const std::string& svg) {
  report::check_image_name("--output", flags.output);
  const bool pixels = report::image_of(flags.output) == report::Image::Png;
  write_file(flags.output, pixels ? report::png_of(svg) : svg);
}

void export_picture(const ExportFlags& flags) {
  const WorkFlags& work = flags.work;
  if (work.schedule.empty() && !work.network.topology.empty() && work.algorithms.empty() &&
      (flags.show.empty() || flags.show == "network")) {
    const Topology topology = load_whole_network(work.network);
    return write_picture(flags,
                         view::write_picture(topology, view::scene_of(topology), topology.name()));
  }
  const std::uint64_t bytes =
      std::max<std::uint64_t>(bytes_of("--size", flags.size, kDefaultSize), 1);
  const std::string show = flags.show.empty() ? "load" : flags.show;
  static_cast<void>(shown(show));  // before the work
  const SchedulePlan plan = plan_of(flags);
  const view::Scene scene = for_flag("--show", [&] { return scene_of(show, plan, bytes); });
  const std::string title = fmt::format("{} by {} on {}", to_string(plan.schedule.collective),
                                        plan.schedule.algorithm, plan.topology.name());
  write_picture(flags, view::write_picture(plan.topology, scene, title));
}

/// A network without what happens on it. \param write what throws if the format has none such
void export_network(const ExportFlags& flags, std::string (*write)(const Topology&)) {
  const WorkFlags& work = flags.work;
  if (!work.algorithms.empty() || !work.collective.empty()) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("export: expected no --algorithm or --collective with {}, which has no "
                    "schedule, got '{}'",
                    flags.format, work.algorithms.empty() ? work.collective : work.algorithms));
  }
  if (work.schedule.empty() && work.network.topology.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "export: expected --schedule or --topology, got neither");
  }
  const Topology topology = work.schedule.empty() ? load_whole_network(work.network)
                                                  : load_schedule(work.schedule).topology;
  write_file(flags.output, for_flag("export", [&] { return write(topology); }));
}

void export_astra(const ExportFlags& flags) { export_network(flags, write_topology_astra); }
void export_ns3(const ExportFlags& flags) { export_network(flags, write_topology_ns3); }

struct Format : FormatRow {
  void (*write)(const ExportFlags&);
  std::vector<std::string_view> flags;  ///< those that it knows and others do not
};

const std::array<Format, 7>& formats() {
  static const std::array<Format, 7> all = {{
      {{"picture",
        "the network, or a load, step, tree or cut of a schedule, as SVG; as PNG if the file ends "
        "with .png"},
       export_picture,
       {"--show", "--size"}},
      {{"dot", "the network or a tree of a schedule as Graphviz text, for `dot -Tsvg`"},
       export_dot,
       {"--chunk"}},
      {{"msccl", "a schedule as an algorithm in MSCCL's XML"},
       export_msccl,
       {"--proto", "--channels", "--min-bytes", "--max-bytes", "--buffers", "--limits"}},
      {{"chakra", "a schedule as Chakra execution traces for ASTRA-sim, one file a rank"},
       export_chakra,
       {"--size"}},
      {{"astra-sim-network", "a network for ASTRA-sim's analytical backend"}, export_astra, {}},
      {{"ns3-network", "a network for ASTRA-sim's ns-3 backend"}, export_ns3, {}},
      {{"mscclpp", "a schedule as a plan of MSCCL++, or plans by size in a folder"},
       export_mscclpp,
       {"--min-bytes", "--max-bytes", "--buffers", "--blocks", "--max-blocks", "--ranks-per-host"}},
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
  app.add_option("--show", flags.show,
                 "picture: network, load, step:N, tree:N or cut:N (load; without an algorithm: "
                 "network)");
  app.add_option("--size", flags.size, "chakra: size of the buffer; picture: for loads (64 MiB)");
  app.add_option("--proto", flags.msccl.protocol, "msccl: NCCL's protocol")
      ->check(one_of({"Simple", "LL", "LL128"}))
      ->capture_default_str();
  app.add_option("--channels", flags.msccl.channels,
                 "msccl: channels that chunks are dealt to (default: 1, or as many as it takes)")
      ->check(number_from(1, 32));
  app.add_option("--buffers", flags.buffers,
                 "msccl, mscclpp: the caller's buffers, inplace, outofplace or either (inplace; "
                 "mscclpp: either)")
      ->check(one_of({"inplace", "outofplace", "either"}));
  app.add_option("--limits", flags.limits, "msccl: the runtime that it must fit")
      ->check(one_of({"msccl", "executor", "none"}))
      ->capture_default_str();
  app.add_option("--blocks", flags.blocks, "mscclpp: thread blocks (default: few that fit)")
      ->check(number_from(1, 1024));
  app.add_option("--max-blocks", flags.max_blocks,
                 "mscclpp: thread blocks of 1024 threads that a GPU runs at once (A100: 216)")
      ->check(number_from(1, 1024))
      ->capture_default_str();
  app.add_option("--ranks-per-host", flags.ranks_per_host,
                 "mscclpp: so many, next to each other, share memory; ports lead to the others "
                 "(default: by the names of nodes)")
      ->check(number_from(1));
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
                  "... and this algorithm's schedule on it (multitree; dot, picture: none)");
  app->add_option("-c,--collective", flags->work.collective,
                  "... of this collective (allreduce; dot: "
                  "allgather)");
  app->add_option("-r,--root", flags->work.root, "Root rank, where there is one")
      ->check(number_from(0))
      ->capture_default_str();
  app->add_option("-o,--output", flags->output,
                  "File ('-': standard output); chakra: prefix of the files; mscclpp: or a folder, "
                  "a name that ends with /")
      ->capture_default_str();
  add_format_flags(*app, *flags);
  app->footer(
      "Example: multitree export picture -t torus:4x4 -a multitree --show tree:5 -o tree.svg");
  return {app, [flags, app] {
            const Format& format = find_format(flags->format);
            check_flags(*app, format);
            flags->channels_given = app->count("--channels") > 0;
            format.write(*flags);
            return static_cast<int>(kOk);
          }};
}

}  // namespace multitree::tools
