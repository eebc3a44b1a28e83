// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic`: tables of network interfaces.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "nic/encode/image.hpp"
#include "nic/encode/route_layout.hpp"
#include "nic/losses.hpp"
#include "nic/program/program.hpp"
#include "nic/program/switches.hpp"
#include "nic/table/relative.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"
#include "training/plan.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kElementBytes = 4;  // float
/// Relative tables are as long as there are ranks.
constexpr std::uint64_t kMostRelativeRanks = 1U << 24;

struct NicFlags {
  WorkFlags work{.network = {}, .schedule = {}, .algorithms = {}};
  std::string size = "1MiB";
  bool nops = false, relative = false, roll_call = false, json = false;
  std::string output, memory;  // tables
  std::string plan;            // tables
  std::string image;           // show
  std::optional<std::uint32_t> rank;
};

/// Whole shards of whole elements, as the runtime pads them.
nic::TableOptions options_of(const NicFlags& flags, std::uint32_t ranks) {
  const std::uint64_t bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  const std::uint64_t unit = std::uint64_t{kElementBytes} * ranks;
  return {.elements = (bytes + unit - 1) / unit * ranks, .nops = flags.nops};
}

nic::Tables compile_relative(const NicFlags& flags) {
  const WorkFlags& work = flags.work;
  if (!work.schedule.empty() || work.network.topology.empty() ||
      !work.network.changes.given().empty() ||
      (!work.algorithms.empty() && work.algorithms != "symmetric")) {
    throw Error(
        ErrorCode::InvalidArgument,
        "--relative: expected --topology without changes and algorithm symmetric, for other "
        "schedules are not the same for all ranks");
  }
  const Collective collective =
      for_flag("--collective", [&] { return parse_collective(work.collective); });
  return for_flag("--topology", [&] {
    const Spec spec = Spec::parse(work.network.topology);
    CayleyGraph graph = uniform_cayley_graph(spec, kMostRelativeRanks);
    const nic::TableOptions options = options_of(flags, graph.size());
    return nic::compile_relative_tables(SymmetricSchedule(std::move(graph), 1, collective),
                                        options);
  });
}

/// A group for each transfer of an iteration, as it plans them.
nic::Tables compile_plan(const NicFlags& flags) {
  const WorkFlags& work = flags.work;
  if (!work.schedule.empty() || !work.algorithms.empty() || flags.relative || flags.nops) {
    throw Error(
        ErrorCode::InvalidArgument,
        "--plan: expected no --schedule, --algorithm, --relative or --nops, for a plan says "
        "what its schedules are");
  }
  training::PlanFile file = training::parse_iteration_plan(read_file(flags.plan), flags.plan);
  if (!work.network.topology.empty()) file.topology = load_network(work.network);
  training::PlanSchedules schedules(file.plan, file.topology, Time{});
  std::vector<nic::GroupSource> groups;
  for (const training::PlannedTransfer& transfer : file.plan.transfers) {
    groups.push_back(
        {.schedule = &schedules.of(transfer.collective, transfer.bytes),
         .elements = nic::padded_elements(transfer.bytes, kElementBytes, file.topology.num_ranks()),
         .priority = transfer.priority});
  }
  if (groups.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--plan: expected one transfer at least, got {} without", flags.plan));
  }
  return nic::compile_groups(groups, file.topology);
}

nic::Tables compile(const NicFlags& flags) {
  if (flags.roll_call && (flags.nops || flags.relative || !flags.plan.empty())) {
    throw Error(ErrorCode::InvalidArgument,
                "--roll-call: expected one all-reduce without --plan, --relative and --nops");
  }
  if (!flags.plan.empty()) return compile_plan(flags);
  if (flags.relative) return compile_relative(flags);
  const SchedulePlan plan = load_one(flags.work, "nic");
  if (flags.roll_call) {
    for_flag("--roll-call", [&] { nic::check_losses({}, plan.schedule); });
    const Schedule call = nic::roll_call_of(plan.schedule);
    return nic::compile_groups(
        nic::counted_groups(call, plan.schedule, options_of(flags, plan.schedule.ranks).elements),
        plan.topology);
  }
  const nic::TableOptions options = options_of(flags, plan.schedule.ranks);
  if (!plan.schedule.in_network) {
    return nic::compile_tables(plan.schedule, plan.topology, options);
  }
  nic::expect_hardware_switches(plan.topology);
  const nic::SwitchesAsRanks made =
      nic::switches_as_ranks(plan.schedule, plan.topology, options.elements);
  return nic::compile_tables(made.schedule, made.topology, options);
}

/// Of the file with its table: a rank's number, or a switch's name without what files' names should
/// not have.
std::string file_of(const nic::Tables& tables, std::uint32_t rank) {
  const std::uint32_t ranks = tables.contributors();
  if (rank < ranks) return fmt::format("{}", rank);
  std::string name = tables.switches[rank - ranks];
  std::ranges::replace_if(
      name,
      [](unsigned char letter) {
        return std::isalnum(letter) == 0 && letter != '-' && letter != '.';
      },
      '_');
  return name;
}

std::string_view name_of(nic::Opcode op) {
  constexpr std::array<std::string_view, 3> kNames = {"nop", "reduce", "gather"};
  return kNames[static_cast<std::size_t>(op)];
}

/// The entries of a rank.
std::string entries_text(const nic::Tables& tables, Rank rank) {
  const bool has_groups = !tables.groups.empty();
  std::string text = has_groups ? fmt::format("{:>6} {:>8} ", "group", "priority") : "";
  text += fmt::format("{:>6} {:>5} {:>5} {:<6} {:>5} {:>4} {:>5} {:>4} {:>4} {:>5} {:>10} {:>10}\n",
                      "step", "flow", "piece", "op", "peer", "port", "route", "wait", "turn",
                      "after", "start", "size");
  for (const nic::Entry& e : tables.of_rank[index(rank)]) {
    if (has_groups) text += fmt::format("{:>6} {:>8} ", e.group, e.priority);
    text += e.op == nic::Opcode::Nop
                ? fmt::format("{:>6} {:>5} {:>5} nop\n", e.step, "-", "-")
                : fmt::format(
                      "{:>6} {:>5} {:>5} {:<6} {:>5} {:>4} {:>5} {:>4} {:>4} {:>5} {:>10} {:>10}\n",
                      e.step, e.flow, e.piece, name_of(e.op), index(e.peer), e.port, e.route,
                      e.wait, e.turn, e.after, e.start, e.size);
  }
  return text;
}

/// The groups of an image; empty if there are none.
std::string groups_text(const nic::Tables& tables) {
  std::string text;
  for (std::size_t g = 0; g < tables.groups.size(); ++g) {
    const nic::TableGroup& group = tables.groups[g];
    text += fmt::format("# group {}: {} of {} elements from {} on, {} steps, flows from {} on\n", g,
                        to_string(group.collective), group.elements, group.first_element,
                        group.steps, group.first_flow);
  }
  return text;
}

/// The routes of a rank; hops as port:class.
std::string routes_text(const nic::Tables& tables, Rank rank) {
  std::string text =
      fmt::format("{:>6} {:>5} {:>5} {:>9} hops\n", "route", "peer", "port", "ejection");
  const std::vector<nic::TableRoute>& routes = tables.routes[index(rank)];
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const nic::TableRoute& route = routes[i];
    text += fmt::format("{:>6} {:>5} {:>5} {:>9}", i, index(route.peer), route.port,
                        tables.relative ? "-" : fmt::format("{}", route.ejection));
    for (const nic::TableRoute::Hop& hop : route.hops) {
      text += fmt::format(" {}:{}", hop.port, hop.vc_class);
    }
    text += tables.relative ? " -\n" : "\n";
  }
  return text;
}

/// What `show` prints. Only a number that means something is there: a NOP has but its step.
ordered_json table_json(const nic::Tables& tables, Rank rank) {
  ordered_json groups = ordered_json::array(), entries = groups, routes = groups;
  for (const nic::TableGroup& group : tables.groups) {
    groups.push_back({{"collective", to_string(group.collective)},
                      {"elements", group.elements},
                      {"first_element", group.first_element},
                      {"steps", group.steps},
                      {"first_flow", group.first_flow}});
  }
  for (const nic::Entry& e : tables.of_rank[index(rank)]) {
    ordered_json& entry =
        entries.emplace_back(ordered_json{{"op", name_of(e.op)}, {"step", e.step}});
    if (!tables.groups.empty()) entry.update({{"group", e.group}, {"priority", e.priority}});
    if (e.op == nic::Opcode::Nop) continue;
    entry.update({{"flow", e.flow},
                  {"piece", e.piece},
                  {"peer", index(e.peer)},
                  {"port", e.port},
                  {"route", e.route},
                  {"wait", e.wait},
                  {"turn", e.turn},
                  {"after", e.after},
                  {"start", e.start},
                  {"size", e.size}});
  }
  for (const nic::TableRoute& route : tables.routes[index(rank)]) {
    ordered_json& one = routes.emplace_back(ordered_json{
        {"peer", index(route.peer)}, {"port", route.port}, {"hops", ordered_json::array()}});
    if (!tables.relative) one["ejection"] = route.ejection;
    for (const nic::TableRoute::Hop& hop : route.hops) {
      one["hops"].push_back({{"port", hop.port}, {"class", hop.vc_class}});
    }
  }
  ordered_json json = {{"collective", to_string(tables.collective)},
                       {"elements", tables.elements},
                       {"ranks", tables.contributors()},
                       {"switches", tables.switches},
                       {"steps", tables.steps},
                       {"relative", tables.relative}};
  if (!tables.relative) json["rank"] = index(rank);
  json.update({{"groups", groups}, {"entries", entries}, {"routes", routes}});
  return json;
}

/// How large tables are; the paper's has 200 bits an entry and 128 entries.
ordered_json sizes(const nic::Tables& tables) {
  constexpr std::uint32_t kPaperBits = 200;
  const nic::Layout layout = nic::layout_of(tables);
  std::size_t most = 0, all = 0;
  for (const auto& entries : tables.of_rank) {
    most = std::max(most, entries.size());
    all += entries.size();
  }
  const nic::RouteLayout route_layout = nic::route_layout_of(tables);
  std::size_t most_routes = 0;
  std::uint64_t most_route_bits = 0;
  for (const auto& routes : tables.routes) {
    std::uint64_t bits = 0;
    for (const nic::TableRoute& route : routes) bits += nic::bits_of(route, route_layout);
    most_routes = std::max(most_routes, routes.size());
    most_route_bits = std::max(most_route_bits, bits);
  }
  ordered_json widths;
  for (std::size_t f = 0; f < nic::kFields; ++f) widths[nic::kFieldNames[f]] = layout.width[f];
  return {{"ranks", tables.contributors()},
          {"switches", tables.switches.size()},
          {"steps", tables.steps},
          {"elements", tables.elements},
          {"entries_most", most},
          {"entries_all", all},
          {"entry_bits", layout.bits()},
          {"widths", widths},
          {"table_bytes_most", (most * layout.bits() + 7) / 8},
          {"paper_bytes_most", (most * kPaperBits + 7) / 8},
          {"classes", tables.classes},
          {"routes_most", most_routes},
          {"route_bytes_most", (most_route_bits + 7) / 8}};
}

std::string to_text(const ordered_json& json) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_object()) {
      text += fmt::format("{:<17} {}\n", key, value.dump());
      continue;
    }
    text += fmt::format("{:<17}", key);
    for (const auto& [field, width] : value.items()) {
      text += fmt::format(" {} {}", field, width.get<int>());
    }
    text += "\n";
  }
  return text;
}

void print_sizes(const nic::Tables& tables, const NicFlags& flags) {
  const ordered_json json = sizes(tables);
  flags.json ? print_json(json) : print(to_text(json));
}

int write_tables(const NicFlags& flags) {
  const nic::Tables tables = compile(flags);
  std::vector<std::pair<std::string, std::string>> files{{flags.output, nic::write_image(tables)}};
  if (!flags.memory.empty()) {
    for (std::uint32_t r = 0; r < tables.of_rank.size(); ++r) {
      files.emplace_back(fmt::format("{}{}.memh", flags.memory, file_of(tables, r)),
                         nic::memory_file(tables, Rank{r}));
    }
    files.emplace_back(flags.memory + "pkg.sv", nic::systemverilog_package(tables));
  }
  write_files({files.begin(), files.end()});
  print_sizes(tables, flags);
  return kOk;
}

int show(const NicFlags& flags) {
  const nic::Tables tables = nic::read_image(read_file(flags.image), flags.image);
  const std::uint32_t rank = flags.rank.value_or(0);
  if (rank >= tables.of_rank.size()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("--rank: expected a rank below {}, got {}",
                                                        tables.of_rank.size(), rank));
  }
  if (flags.json) {
    print_json(table_json(tables, Rank{rank}));
    return kOk;
  }
  print(fmt::format("# {} of {} elements, {} ranks, {} steps; {}\n", to_string(tables.collective),
                    tables.elements, tables.contributors(), tables.steps,
                    tables.relative ? "any rank, relative" : tables.name_of(rank)));
  print(groups_text(tables));
  print(entries_text(tables, Rank{rank}));
  print(routes_text(tables, Rank{rank}));
  return kOk;
}

int size(const NicFlags& flags) {
  print_sizes(compile(flags), flags);
  return kOk;
}

void add_source_flags(CLI::App& app, NicFlags& flags) {
  add_network_flags(app, flags.work.network)->required(false);
  app.add_option("-s,--schedule", flags.work.schedule, "Schedule file; '-': standard input");
  app.add_option("-a,--algorithm", flags.work.algorithms,
                 "Without a file: what makes the schedule (default: multitree)");
  add_collective_flags(app, flags.work.collective, flags.work.root);
  app.add_option("--size", flags.size, "Buffer of floats, rounded up to whole shards")
      ->capture_default_str();
  app.add_flag("--relative", flags.relative,
               "One table for all ranks of a network that looks the same from each");
  app.add_flag("--nops", flags.nops, "An entry for each step without a message, as in the paper");
}

}  // namespace

Command add_nic_command(CLI::App& parent) {
  auto flags = std::make_shared<NicFlags>();
  CLI::App* app = parent.add_subcommand("nic", "Schedule tables of network interfaces");
  app->require_subcommand(1);
  CLI::App* tables = app->add_subcommand("tables", "Write the tables of all ranks as one image");
  add_source_flags(*tables, *flags);
  tables->add_option("-o,--output", flags->output, "Image file")->required();
  tables->add_flag("--json", flags->json, "Print how large they are as JSON");
  tables->add_option("--memory", flags->memory,
                     "Also write PREFIX<rank>.memh for $readmemh, and PREFIXpkg.sv");
  tables->add_option("--plan", flags->plan,
                     "Plan of 'train plan': a group for each of its transfers, with its priority");
  tables->add_flag("--roll-call", flags->roll_call,
                   "Put a group in front in which the ranks agree whose contributions are late");
  CLI::App* shown = app->add_subcommand("show", "Print a rank's table of an image");
  shown->add_option("image", flags->image, "Image file")->required();
  shown->add_option("-r,--rank", flags->rank, "Rank (default: 0)")->check(number_from(0));
  shown->add_flag("--json", flags->json, "Print JSON");
  CLI::App* sized = app->add_subcommand("size", "Print how large the tables are");
  add_source_flags(*sized, *flags);
  sized->add_flag("--json", flags->json, "Print JSON");
  Command cosim = add_nic_cosim_command(*app);
  Command job = add_nic_job_command(*app);
  Command top = add_nic_top_command(*app);
  Command verified = add_nic_verify_command(*app);
  Command simulated = add_nic_run_command(*app);
  const std::string size_example = "Example: multitree nic size -t torus:4x4 -a multitree";
  const std::string image = "Example: multitree nic tables -t torus:4x4 -o tables.bin";
  app->footer(size_example);
  sized->footer(size_example);
  tables->footer(image + " --memory torus-");
  shown->footer(image + " && multitree nic show tables.bin -r 5");
  top.app->footer("Example: multitree nic top -t torus:2x2 -o top");
  verified.app->footer(image + " && multitree nic verify tables.bin -t torus:4x4");
  simulated.app->footer(
      "Example: multitree train plan -t torus:2x2 -m lenet5 -o plan.json && multitree nic tables "
      "--plan plan.json -o image.bin && multitree nic run image.bin --plan plan.json");
  return {app, [flags, tables, shown, cosim, job, top, verified, simulated] {
            if (cosim.app->parsed()) return cosim.run();
            if (job.app->parsed()) return job.run();
            if (top.app->parsed()) return top.run();
            if (verified.app->parsed()) return verified.run();
            if (simulated.app->parsed()) return simulated.run();
            if (tables->parsed()) return write_tables(*flags);
            return shown->parsed() ? show(*flags) : size(*flags);
          }};
}

}  // namespace multitree::tools
