// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic cosim`: the C++ model and the hardware side by side.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "nic/parameters.hpp"
#include "tools/command.hpp"
#include "tools/hardware/hardware.hpp"
#include "tools/image_jobs.hpp"
#include "tools/late_flags.hpp"
#include "tools/link_flags.hpp"
#include "tools/work.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct CosimFlags {
  WorkFlags work;
  std::string sizes = "64KiB";
  InterfaceFlags interface;
  std::uint32_t ports_per_unit = 0;  // 0: as the configuration says
  ImageFlags image;                  // instead of work
  LateFlags late;
  std::string link_errors;
  CosimRequest request;
  bool json = false;
};

nic::Parameters parameters_of(const CosimFlags& flags) {
  nic::Parameters p = verilated_parameters_of(flags.interface);
  if (flags.ports_per_unit != 0) p.ports_per_unit = flags.ports_per_unit;
  return p;
}

bool is_equal(const CosimRow& row) { return row.difference.empty() && row.errors.empty(); }

std::string line_of(const std::string& algorithm, const CosimRow& row) {
  return fmt::format("{:>12} {:<24} {:>9} {:>12} {:>12} {:>12} {:>7.3f} {:>11.0f} {:>7}\n",
                     row.bytes, algorithm, row.messages, row.model_cycles, row.hardware_cycles,
                     row.events, row.busiest, row.cycles_per_second,
                     is_equal(row) ? "EQUAL" : "DIFFER");
}

ordered_json json_of(const std::string& algorithm, const CosimRow& row) {
  ordered_json json = {{"algorithm", algorithm},
                       {"size", row.bytes},
                       {"messages", row.messages},
                       {"model_cycles", row.model_cycles},
                       {"hardware_cycles", row.hardware_cycles},
                       {"events", row.events},
                       {"busiest_link", row.busiest},
                       {"first_difference", row.difference},
                       {"errors", row.errors}};
  if (row.losses) json["losses"] = losses_json(*row.losses);
  if (row.link_counts) json["links"] = link_counts_json(*row.link_counts);
  return json;
}

/// \param what is run
std::string header_of(const CosimFlags& flags, const std::string& what, const Topology& topology) {
  return fmt::format(
      "# {} on {}, {} ranks: C++ model and hardware, every cycle; {}\n"
      "# link: share of the cycles in which the busiest link carries a flit\n"
      "{:>12} {:<24} {:>9} {:>12} {:>12} {:>12} {:>7} {:>11} {:>7}\n",
      what, topology.name(), topology.num_ranks(), flags.request.data_type, "size", "algorithm",
      "messages", "model", "hardware", "events", "link", "cycles/s", "cycles");
}

void check_wave(const CosimFlags& flags, std::size_t runs) {
  if (flags.request.wave.empty()) return;
  check_writable(flags.request.wave);
  if (runs != 1) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--wave: expected one algorithm and one size, got {} runs", runs));
  }
}

void print_problems(const CosimRow& row) {
  if (!row.difference.empty()) print_error("multitree: " + row.difference + "\n");
  for (const std::string& error : row.errors) print_error("multitree: " + error + "\n");
}

int print_results(const CosimFlags& flags, const Topology& topology, ordered_json results,
                  bool all_equal) {
  if (flags.json) {
    print_json({{"topology", topology.name()},
                {"ranks", topology.num_ranks()},
                {"datatype", flags.request.data_type},
                {"results", std::move(results)}});
  }
  return all_equal ? kOk : kNegativeAnswer;
}

/// The groups of an image.
int run_image(const CosimFlags& flags) {
  if (!flags.work.schedule.empty()) {
    throw Error(ErrorCode::InvalidArgument, "--image: expected no --schedule, for it has its own");
  }
  if (flags.late.budget || !flags.late.stragglers.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "--image: expected no --loss-budget and --straggler, which are of one all-reduce");
  }
  ImageFlags image = flags.image;
  image.network = flags.work.network;
  const LoadedImage loaded = load_image(image);
  if (!is_right(loaded)) return kNegativeAnswer;
  check_wave(flags, 1);
  const auto type = flags.request.data_type;
  const std::uint32_t element = type == "float" || type == "int32" ? 4 : 2;
  const GroupJobs groups = jobs_of_groups(loaded, image.doorbells, element, "nic cosim");
  CosimRequest request = flags.request;
  request.link_errors = link_errors_of(flags.link_errors);
  const CosimRow row =
      cosimulate(loaded.tables, groups.jobs, loaded.topology, parameters_of(flags), request);
  const std::string name = fmt::format("{} groups", groups.jobs.size());
  if (!flags.json) print(header_of(flags, image.image, loaded.topology) + line_of(name, row));
  if (!flags.json && row.link_counts) print(link_counts_line(*row.link_counts));
  print_problems(row);
  return print_results(flags, loaded.topology, ordered_json::array({json_of(name, row)}),
                       is_equal(row));
}

int run(const CosimFlags& flags) {
  if (!flags.image.image.empty()) return run_image(flags);
  const nic::Parameters parameters = parameters_of(flags);
  std::vector<std::uint64_t> sizes;
  for (const std::string& size : for_flag("--size", [&] { return split_list(flags.sizes); })) {
    sizes.push_back(for_flag("--size", [&] { return parse_bytes(size); }));
  }
  const Work work = load_work(flags.work, "nic cosim");
  check_wave(flags, sizes.size() * work.schedules.size());
  CosimRequest request = flags.request;
  request.losses = losses_of(flags.late, work.topology, parameters);
  request.link_errors = link_errors_of(flags.link_errors);
  ordered_json results = ordered_json::array();
  bool all_equal = true;
  for (const std::uint64_t bytes : sizes) {
    for (const SizedSchedules& schedules : work.schedules) {
      const Schedule& schedule = schedule_for(schedules, bytes);
      const CosimRow row = cosimulate(schedule, work.topology, bytes, parameters, request);
      // Not before it is known that the network can be run.
      if (!flags.json && results.empty()) {
        print(header_of(flags, std::string(to_string(work.collective)), work.topology));
      }
      results.push_back(json_of(schedule.algorithm, row));
      if (!flags.json) print(line_of(schedule.algorithm, row));
      if (!flags.json && row.losses) print(losses_line(*row.losses, work.topology.num_ranks()));
      if (!flags.json && row.link_counts) print(link_counts_line(*row.link_counts));
      print_problems(row);
      all_equal = all_equal && is_equal(row);
    }
  }
  return print_results(flags, work.topology, std::move(results), all_equal);
}

void add_image_flags(CLI::App& app, CosimFlags& flags) {
  auto* image =
      app.add_option("--image", flags.image.image,
                     "Instead of a schedule: an image of groups, as of 'nic tables --plan'");
  app.add_option("--plan", flags.image.plan,
                 "Plan that the image was made of: its network, and when doorbells ring")
      ->needs(image);
  app.add_option("--doorbells", flags.image.doorbells,
                 "When each group starts, a time for each (default: as in --plan, or 0)")
      ->needs(image);
}

}  // namespace

Command add_nic_cosim_command(CLI::App& nic) {
  auto flags = std::make_shared<CosimFlags>();
  CLI::App* app = nic.add_subcommand(
      "cosim", "Run the C++ model and the hardware side by side, and compare every cycle");
  auto* schedule =
      app->add_option("-s,--schedule", flags->work.schedule, "Schedule file; '-': standard input");
  add_network_flags(*app, flags->work.network)->required(false)->excludes(schedule);
  app->add_option("-a,--algorithm", flags->work.algorithms, "One or several, separated by commas")
      ->capture_default_str()
      ->excludes(schedule);
  add_collective_flags(*app, flags->work.collective, flags->work.root);
  app->add_option("--size", flags->sizes, "Buffer, rounded up to whole shards; several, by commas")
      ->capture_default_str();
  app->add_option("-d,--datatype", flags->request.data_type, "float, int32, bfloat16 or half")
      ->check(one_of({"float", "int32", "bfloat16", "half"}))
      ->capture_default_str();
  add_image_flags(*app, *flags);
  add_late_flags(*app, flags->late);
  add_link_flags(*app, flags->link_errors);
  add_interface_flags(*app, flags->interface);
  app->add_option("--ports-per-unit", flags->ports_per_unit,
                  "Ports that share a reduction unit: 1 (the default) or 2")
      ->check(CLI::Range(1, 2));
  app->add_flag("--fast", flags->request.fast,
                "Sums by a C function instead of the hardware's adders, no assertions");
  app->add_option("--wave", flags->request.wave, "Write waves of all nodes (FST, for GTKWave)");
  app->add_flag("--json", flags->json, "Print JSON instead of the table");
  app->footer("Example: multitree nic cosim -t torus:4x4 -a multitree,ring --size 64KiB");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
