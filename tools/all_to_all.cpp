// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bounds and schedules of all-to-alls for the program.
#include "tools/all_to_all.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/cost.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/report.hpp"
#include "algorithms/traffic/all_to_all.hpp"
#include "tools/progress.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// A routed demand with what it is of.
struct Routed {
  Topology topology;
  Demand demand;
  RoutedDemand routes;
  std::uint64_t bytes = 0;  ///< of what all ranks put in, as large as the largest
  double seconds = 0;       ///< that routing took
};

Demand demand_of(const AllToAllFlags& flags, const Topology& topology) {
  if (flags.demand.empty()) return Demand::uniform(topology.num_ranks());
  return parse_demand(read_text_file(flags.demand),
                      flags.demand == "-" ? "standard input" : flags.demand, topology.num_ranks());
}

Routed route(const AllToAllFlags& flags) {
  Topology topology = load_whole_network(flags.network);
  Demand demand = for_flag("--topology", [&] { return demand_of(flags, topology); });
  const std::uint64_t bytes =
      topology.num_ranks() * (demand.is_uniform()
                                  ? for_flag("--size", [&] { return parse_bytes(flags.size); })
                                  : demand.shard());
  const Progress progress("routing an all-to-all on " + topology.name());
  const double start = cpu_seconds();
  RoutedDemand routes = route_demand(topology, demand);
  return {std::move(topology), std::move(demand), std::move(routes), bytes, cpu_seconds() - start};
}

double over_bound(const Routed& routed) {
  const Exact& bound = routed.routes.certificate.bound;
  return bound > 0 ? Exact(routed.routes.load / bound).convert_to<double>() : 1;
}

ordered_json to_json(const Routed& routed) {
  const Certificate& certificate = routed.routes.certificate;
  return {{"topology", routed.topology.name()},
          {"collective", to_string(certificate.collective)},
          {"ranks", routed.topology.num_ranks()},
          {"model", certificate_model(routed.topology)},
          {"bytes", routed.bytes},
          {"bound_shards", certificate.bound.str()},
          {"bound_seconds", seconds_of(certificate.bound, routed.topology, routed.bytes)},
          {"load_shards", routed.routes.load.str()},
          {"load_seconds", seconds_of(routed.routes.load, routed.topology, routed.bytes)},
          {"load_over_bound", over_bound(routed)},
          {"is_optimum", routed.routes.load == certificate.bound},
          {"hops", certificate.hops},
          {"priced_links", certificate.links.size()},
          {"paths", routed.routes.paths.size()},
          {"routing_seconds", routed.seconds}};
}

/// As a fraction where that is short.
std::string shards_text(const Exact& shards) {
  const std::string text = shards.str();
  return text.size() <= 12 ? text : fmt::format("{:.6f}", shards.convert_to<double>());
}

std::string to_text(const Routed& routed) {
  const Topology& topology = routed.topology;
  const Certificate& certificate = routed.routes.certificate;
  const auto row = [&](std::string name, const Exact& shards, std::string what) {
    return std::vector<std::string>{
        std::move(name), shards_text(shards),
        fmt::format("{:.1f}us", seconds_of(shards, topology, routed.bytes) * 1e6), std::move(what)};
  };
  const bool exact = routed.routes.load == certificate.bound;
  return fmt::format(
             "# alltoall on {}: {} ranks, {} switches, {} hops; times for {} of each rank\n"
             "# {}\n",
             topology.name(), topology.num_ranks(), topology.num_nodes() - topology.num_ranks(),
             certificate.hops, format_bytes(routed.bytes / topology.num_ranks()),
             certificate_model(topology)) +
         format_table(
             {{"alltoall", "shard times", "time", ""},
              row("at least", certificate.bound,
                  fmt::format("prices of {} links", certificate.links.size())),
              row("routed", routed.routes.load,
                  exact ? "optimum" : fmt::format("{:.4f} of the bound", over_bound(routed)))});
}

}  // namespace

void add_demand_flag(CLI::App& app, std::string& demand) {
  app.add_option("--demand", demand,
                 "Of alltoall: file with a row for each rank of what it has for each rank, in "
                 "bytes ('-': standard input; default: the same for everyone)");
}

void check_no_demand(std::string_view collective) {
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("--demand: expected --collective alltoall, got {}", collective));
}

int all_to_all_bounds(const AllToAllFlags& flags) {
  const Routed routed = route(flags);
  if (!flags.output.empty()) {
    write_file(flags.output, write_certificate_json(routed.routes.certificate, routed.topology));
    if (flags.output == "-") return kOk;
  }
  flags.json ? print_json(to_json(routed)) : print(to_text(routed));
  return kOk;
}

int all_to_all_schedules(const AllToAllFlags& flags) {
  if (!flags.output.empty()) check_writable(flags.output);
  const Routed routed = route(flags);
  const CostModel cost{for_flag("--message-overhead", [&] { return parse_time(flags.overhead); })};
  const Schedule schedule = all_to_all_schedule(routed.routes, routed.demand, routed.topology);
  const double predicted =
      static_cast<double>(predict_time(schedule, routed.topology, routed.bytes, cost).picoseconds) /
      1e12;
  const bool to_stdout = flags.output == "-" || (flags.output.empty() && !flags.json);
  if (to_stdout || !flags.output.empty()) {
    write_file(to_stdout ? "-" : flags.output,
               write_schedule_json(schedule, routed.topology, &routed.routes.certificate));
  }
  const double least = seconds_of(routed.routes.certificate.bound, routed.topology, routed.bytes);
  if (flags.json) {
    ordered_json json = to_json(routed);
    json["chunks"] = schedule.chunks.size();
    json["transfers"] = schedule.transfers.size();
    json["steps"] = schedule.num_steps();
    json["verified"] = true;
    json["predicted_seconds"] = predicted;
    to_stdout ? print_error(json.dump(2) + "\n") : print_json(json);
    return kOk;
  }
  const std::string text =
      to_text(routed) +
      fmt::format("# {} steps, {} chunks, verified; predicted {:.1f}us, {:.3f} of the least time\n",
                  schedule.num_steps(), schedule.chunks.size(), predicted * 1e6,
                  least > 0 ? predicted / least : 1.0);
  to_stdout ? print_error(text) : print(text);
  return kOk;
}

}  // namespace multitree::tools
