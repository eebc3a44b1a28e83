// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree simulate`: how long schedules take on a simulated network of interfaces.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/report.hpp"
#include "algorithms/traffic/all_to_all.hpp"
#include "nic/hardware.hpp"
#include "nic/program/program.hpp"
#include "nic/simulate.hpp"
#include "nic/table/with_interfaces.hpp"
#include "report/plot.hpp"
#include "tools/command.hpp"
#include "tools/hardware/hardware.hpp"
#include "tools/late_flags.hpp"
#include "tools/link_flags.hpp"
#include "tools/progress.hpp"
#include "tools/run/benchmark.hpp"
#include "tools/simulate/output.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"

namespace multitree::tools {
namespace {

struct SimulateFlags {
  WorkFlags work;
  std::string first = "32K", last = "64M", increment = "0";
  std::uint32_t factor = 4;
  std::string model = "flit", machine = "ideal", reduction;
  InterfaceFlags interface;
  std::optional<std::uint32_t> ports;
  std::string check = "auto";
  std::vector<std::string> faults;
  LateFlags late;
  std::string link_errors;
  bool json = false, print_config = false;
  std::string json_file, trace, plot;
};

/// Moving numbers takes memory: by default it is done up to this much in all ranks' buffers.
constexpr std::uint64_t kCheckedBytes = std::uint64_t{1} << 30;

nic::Parameters parameters_of(const SimulateFlags& flags) {
  // What is given wins over what the machine is by itself.
  const bool is_hardware = flags.machine == "hardware";
  nic::Parameters p =
      parameters_of(flags.interface,
                    nic::defaults_of(is_hardware ? nic::Machine::Hardware : nic::Machine::Ideal));
  if (!flags.reduction.empty()) {
    p.reduction = flags.reduction == "store"       ? nic::Reduction::Store
                  : flags.reduction == "pipelined" ? nic::Reduction::Pipelined
                                                   : nic::Reduction::Streaming;
  }
  if (is_hardware) for_flag("--machine", [&] { nic::expect_hardware(p); });
  if (flags.model == "rtl") (void)verilated_parameters_of(flags.interface);
  if (flags.ports) p.ports = *flags.ports;
  return p;
}

std::uint64_t parse_number(std::string_view flag, std::string_view text, std::uint64_t below) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && rest == text.data() + text.size() && value < below) return value;
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("{}: expected a number below {}, got '{}'", flag, below, text));
}

/// drop:LINK:CYCLE[:COUNT], corrupt:LINK:CYCLE[:COUNT], dead:LINK:CYCLE, late:RANK:CYCLE.
nic::Fault parse_fault(const std::string& text, const Topology& topology) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  using Kind = nic::Fault::Kind;
  const std::vector<std::pair<std::string, Kind>> kinds = {{"drop", Kind::DropFlit},
                                                           {"corrupt", Kind::CorruptFlit},
                                                           {"dead", Kind::DeadLink},
                                                           {"late", Kind::LateInterface}};
  const auto kind = std::ranges::find(kinds, parts[0], &std::pair<std::string, Kind>::first);
  const bool counts =
      kind != kinds.end() && (kind->second == Kind::DropFlit || kind->second == Kind::CorruptFlit);
  if (kind == kinds.end() || parts.size() < 3 || parts.size() > (counts ? 4U : 3U)) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("--fault: expected drop:LINK:CYCLE[:COUNT], corrupt:LINK:CYCLE[:COUNT], "
                    "dead:LINK:CYCLE or late:RANK:CYCLE, got '{}'",
                    text));
  }
  nic::Fault fault{.kind = kind->second};
  const bool is_late = kind->second == Kind::LateInterface;
  const std::uint64_t place =
      parse_number("--fault", parts[1], is_late ? topology.num_ranks() : topology.num_links());
  if (is_late) {
    fault.rank = Rank{static_cast<std::uint32_t>(place)};
  } else {
    fault.link = LinkId{static_cast<std::uint32_t>(place)};
  }
  fault.cycle = parse_number("--fault", parts[2], std::uint64_t{1} << 31);
  if (parts.size() == 4) fault.count = parse_number("--fault", parts[3], std::uint64_t{1} << 62);
  return fault;
}

bool moves_data(const SimulateFlags& flags, const Work& work, const nic::Parameters& p,
                std::uint64_t bytes) {
  if (flags.check != "auto") return flags.check == "1";
  return bytes * work.topology.num_ranks() <= kCheckedBytes && p.element_bytes == 4 &&
         p.flit_bytes % 4 == 0;
}

class Simulations {
 public:
  Simulations(const SimulateFlags& flags, const Work& work, const nic::Parameters& parameters)
      : flags_(flags),
        work_(work),
        parameters_(parameters),
        model_(for_flag("--model", [&] { return nic::parse_model(flags.model); })) {
    setup_ = {work.topology.name(),
              std::string(to_string(work.collective)),
              work.topology.num_ranks(),
              model_,
              parameters,
              flags.machine == "hardware"};
    for (const std::string& fault : flags.faults) {
      faults_.push_back(parse_fault(fault, work.topology));
    }
    const bool of_links = std::ranges::any_of(faults_, [](const nic::Fault& fault) {
      return fault.kind != nic::Fault::Kind::LateInterface;
    });
    if ((model_ == nic::Model::Message && of_links) ||
        (model_ == nic::Model::AlphaBeta && !faults_.empty())) {
      throw Error(ErrorCode::InvalidArgument,
                  "--fault: expected --model flit, or message for an interface that is late");
    }
    losses_ = losses_of(flags.late, work.topology, parameters);
    if (losses_ && (model_ != nic::Model::Flit || flags.machine != "hardware")) {
      throw Error(ErrorCode::InvalidArgument,
                  "--loss-budget, --straggler: expected --model flit and --machine hardware");
    }
    link_errors_ = link_errors_of(flags.link_errors);
    if (link_errors_ && model_ != nic::Model::Flit) {
      throw Error(ErrorCode::InvalidArgument,
                  "--link-errors: expected --model flit, got " + flags.model);
    }
    if (model_ == nic::Model::Rtl && !faults_.empty()) {
      throw Error(ErrorCode::InvalidArgument, "--fault: expected --model flit, got rtl");
    }
    const bool moves_flits = model_ == nic::Model::Flit || model_ == nic::Model::Rtl;
    if (!moves_flits && parameters_.reduction == nic::Reduction::Pipelined) {
      throw Error(ErrorCode::InvalidArgument,
                  setup_.is_hardware
                      ? "--machine: expected --model flit for hardware"
                      : "--reduction: expected --model flit for pipelined, or streaming or store");
    }
    if (!moves_flits && flags.check == "1") {
      throw Error(ErrorCode::InvalidArgument,
                  "--check: expected --model flit, which moves numbers, or 0");
    }
    nic::check_memory_ports(work.topology, parameters_);
    const Bounds bounds = compute_bounds(work.topology);
    certificate_ =
        work.collective == Collective::AllToAll
            ? route_demand(work.topology, demand_of(work.schedules.front().front().schedule))
                  .certificate
            : certify(work.topology, bounds, work.collective, work.root).certificate;
  }

  [[nodiscard]] const SimulationSetup& setup() const { return setup_; }

  [[nodiscard]] SimulatedRow run(std::size_t algorithm, std::uint64_t bytes, bool trace) const {
    const Schedule& schedule = schedule_for(work_.schedules[algorithm], bytes);
    const nic::Parameters parameters = parameters_for(schedule);
    SimulatedRow row{.algorithm = work_.names[algorithm], .bytes = bytes, .result = {}};
    const std::string what = fmt::format("simulating {} of {} bytes", row.algorithm, bytes);
    Progress progress(what);
    if (model_ == nic::Model::Rtl) {
      row.result = simulate_hardware(schedule, work_.topology, bytes, parameters);
    } else {
      row.result = nic::simulate(
          schedule, work_.topology, bytes, parameters,
          {.model = model_,
           .data = model_ == nic::Model::Flit && moves_data(flags_, work_, parameters, bytes),
           .faults = faults_,
           .trace = trace,
           .progress = [&](double share) { progress.update(what, share); },
           .losses = losses_,
           .link_errors = link_errors_});
    }
    row.bytes = nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks) *
                parameters.element_bytes;
    row.bound_seconds = seconds_of(certificate_.bound, work_.topology, row.bytes);
    row.bus_factor = busbw_factor(work_.collective, schedule.ranks);
    return row;
  }

 private:
  /// The hardware's headers depend on how long routes are.
  [[nodiscard]] nic::Parameters parameters_for(const Schedule& schedule) const {
    return setup_.is_hardware ? nic::with_hardware_headers(parameters_, schedule, work_.topology)
                              : parameters_;
  }

  const SimulateFlags& flags_;
  const Work& work_;
  const nic::Parameters& parameters_;
  nic::Model model_;
  std::vector<nic::Fault> faults_;
  std::optional<nic::Losses> losses_;
  std::optional<nic::LinkErrors> link_errors_;
  Certificate certificate_;
  SimulationSetup setup_;
};

void check_outputs(const SimulateFlags& flags, const Work& work, std::size_t sizes) {
  if (!flags.plot.empty()) report::check_image_name("--plot", flags.plot);
  for (const std::string& file : {flags.json_file, flags.trace, flags.plot}) {
    if (!file.empty()) check_writable(file);
  }
  if (flags.trace.empty()) return;
  if (work.schedules.size() * sizes != 1) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--trace: expected one algorithm and one size, got {} and {}",
                            work.schedules.size(), sizes));
  }
  if (flags.model == "alphabeta" || flags.model == "rtl") {
    throw Error(ErrorCode::InvalidArgument,
                "--trace: expected --model message or flit, got " + flags.model);
  }
}

int run(const SimulateFlags& flags) {
  const nic::Parameters parameters = parameters_of(flags);
  if (flags.print_config) {
    print(nic::write_parameters(parameters));
    return kOk;
  }
  const std::vector<std::uint64_t> sizes =
      sizes_of({for_flag("-b", [&] { return parse_bytes(flags.first); }),
                for_flag("-e", [&] { return parse_bytes(flags.last); }),
                for_flag("-i", [&] { return parse_bytes(flags.increment); }), flags.factor});
  const Work work = load_work(flags.work, "simulate");
  check_outputs(flags, work, sizes.size());
  const Simulations simulations(flags, work, parameters);
  std::vector<SimulatedRow> rows;
  bool failed = false;
  for (const std::uint64_t bytes : sizes) {
    for (std::size_t a = 0; a < work.schedules.size(); ++a) {
      rows.push_back(simulations.run(a, bytes, !flags.trace.empty()));
      const SimulatedRow& row = rows.back();
      // The clock is that of the fastest link, which a simulation tells.
      if (!flags.json && rows.size() == 1) {
        print(simulation_header(simulations.setup(), row.result.clock_hz));
      }
      if (!flags.json) print(simulation_line(row));
      if (!flags.json && row.result.losses) {
        print(losses_line(*row.result.losses, work.topology.num_ranks()));
      }
      if (!flags.json && row.result.link_counts) print(link_counts_line(*row.result.link_counts));
      for (const std::string& error : row.result.errors) print_error("multitree: " + error + "\n");
      failed = failed || !row.result.errors.empty();
    }
  }
  std::vector<std::pair<std::string, std::string>> files;
  if (flags.json) print_json(simulation_json(simulations.setup(), rows));
  if (!flags.json_file.empty()) {
    files.emplace_back(flags.json_file, simulation_json(simulations.setup(), rows).dump(2) + "\n");
  }
  if (!flags.plot.empty()) {
    files.emplace_back(flags.plot,
                       simulation_plot(simulations.setup(), rows, report::image_of(flags.plot)));
  }
  if (!flags.trace.empty()) {
    // Switches that add and copy have rows as well.
    files.emplace_back(flags.trace,
                       simulation_trace(nic::with_interfaces(work.topology), rows.front().result));
  }
  write_files({files.begin(), files.end()});
  return failed ? kNegativeAnswer : kOk;
}

void add_model_flags(CLI::App& app, SimulateFlags& flags) {
  app.add_option(
         "--model", flags.model,
         "flit (every cycle), message (events, within a few percent), alphabeta, or rtl: the "
         "hardware")
      ->check(one_of({"alphabeta", "message", "flit", "rtl"}))
      ->capture_default_str();
  add_interface_flags(app, flags.interface);
  auto* machine =
      app.add_option("--machine", flags.machine,
                     "ideal (an input of a router moves a flit of each virtual channel in a cycle, "
                     "sums take no time) or hardware (that of rtl/)")
          ->check(one_of({"ideal", "hardware"}))
          ->capture_default_str();
  app.add_option("--reduction", flags.reduction, "streaming (the default), store or pipelined")
      ->check(one_of({"streaming", "store", "pipelined"}))
      ->excludes(machine);
  app.add_option("--ports", flags.ports, "Ports of an interface; 0: one a link (the default)")
      ->check(number_from(0, 1024));
  app.add_flag("--print-config", flags.print_config, "Print all parameters as JSON and stop");
  app.add_option("--check", flags.check,
                 "1: move numbers and compare them bit for bit; auto: if they take up to 1 GiB")
      ->check(one_of({"0", "1", "auto"}))
      ->capture_default_str();
  app.add_option("--fault", flags.faults,
                 "drop:LINK:CYCLE[:COUNT], corrupt:LINK:CYCLE[:COUNT], dead:LINK:CYCLE or "
                 "late:RANK:CYCLE; several")
      ->expected(1);
  add_late_flags(app, flags.late);
  add_link_flags(app, flags.link_errors);
}

}  // namespace

Command add_simulate_command(CLI::App& parent) {
  auto flags = std::make_shared<SimulateFlags>();
  CLI::App* app = parent.add_subcommand(
      "simulate", "Simulate schedules on a network of interfaces, routers and links");
  auto* schedule = app->add_option("-s,--schedule", flags->work.schedule,
                                   "Simulate this schedule or plan file ('-': standard input)");
  add_network_flags(*app, flags->work.network)->required(false)->excludes(schedule);
  app->add_option("-a,--algorithm", flags->work.algorithms, "One or several, separated by commas")
      ->capture_default_str()
      ->excludes(schedule);
  add_collective_flags(*app, flags->work.collective, flags->work.root);
  app->add_option("-b,--minbytes", flags->first, "First size")->capture_default_str();
  app->add_option("-e,--maxbytes", flags->last, "Last size")->capture_default_str();
  app->add_option("-i,--stepbytes", flags->increment, "Add this from size to size, instead of -f");
  app->add_option("-f,--stepfactor", flags->factor, "Multiply by this from size to size")
      ->check(number_from(2, 999'999))
      ->capture_default_str();
  add_model_flags(*app, *flags);
  app->add_flag("--json", flags->json, "Print JSON instead of the table");
  app->add_option("-J,--output_file", flags->json_file, "Write the JSON to this file as well");
  app->add_option("--plot", flags->plot,
                  "Write busbw against size as SVG, or as PNG if the name ends in .png");
  app->add_option("--trace", flags->trace,
                  "Write a timeline of links and interfaces for ui.perfetto.dev");
  app->footer(
      "Example: multitree simulate -t torus:4x4 -a ring,multitree -b 32K -e 512K --model message");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
