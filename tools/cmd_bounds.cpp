// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree bounds`: what no schedule can beat on a network, with proofs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/design/improve.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/io/time_certificate_file.hpp"
#include "algorithms/report.hpp"
#include "tools/all_to_all.hpp"
#include "tools/command.hpp"
#include "tools/large.hpp"
#include "tools/progress.hpp"
#include "tools/proof.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

struct BoundsFlags {
  NetworkFlags network;
  std::string collective = "all";
  std::uint32_t root = 0;
  std::string size = "64MiB", overhead = to_string(kMessageOverhead);
  std::string output;
  std::string check;
  std::string demand;
  bool exact = false, improve = false, seconds = false, json = false;
};

/// What is known of a collective.
struct Known {
  Certified certified;
  TimeCertificate least;  ///< at the size asked for
};

ordered_json to_json(const Known& known, const Bounds& bounds, const Topology& topology,
                     std::uint64_t bytes) {
  const Certified& certified = known.certified;
  const Certificate& certificate = certified.certificate;
  ordered_json json = {{"collective", to_string(certificate.collective)},
                       {"bound_shards", certificate.bound.str()},
                       {"is_optimum", certified.exact},
                       {"seconds", seconds_of(certificate.bound, topology, bytes)},
                       {"least_seconds", known.least.bound.seconds()},
                       {"least_by", to_string(known.least.reason)},
                       {"hops", certificate.hops},
                       {"cuts", certificate.cuts.size()},
                       {"cuts_by_ranks", far_sizes(certificate, topology)}};
  if (has_root(certificate.collective)) json["root"] = index(certificate.root);
  if (certificate.cuts.size() == 1) {
    json["far_side"] = ordered_json::array();
    for (const NodeId node : certificate.cuts.front().far) {
      json["far_side"].push_back(topology.node(node).name);
    }
  }
  if (certificate.collective == Collective::AllReduce) {
    const Exact two_phases = to_exact(bounds.all_reduce());
    json["two_phase_shards"] = two_phases.str();
    json["gain"] = certificate.bound > 0 ? Exact(two_phases / certificate.bound).str() : "1";
  }
  return json;
}

ordered_json to_json(const std::vector<Known>& results, const Bounds& bounds,
                     const Topology& topology, std::uint64_t bytes) {
  ordered_json json = {{"topology", topology.name()},
                       {"ranks", topology.num_ranks()},
                       {"switches", topology.num_nodes() - topology.num_ranks()},
                       {"unit_bandwidth", to_string(topology.unit_bandwidth())},
                       {"diameter", bounds.diameter},
                       {"model", certificate_model(topology)},
                       {"bytes", bytes},
                       {"bounds", ordered_json::array()}};
  for (const Known& result : results) {
    json["bounds"].push_back(to_json(result, bounds, topology, bytes));
  }
  return json;
}

/// What reduce-scatter then all-gather loses.
std::string two_phase_line(const Certificate& certificate, const Bounds& bounds) {
  const Exact two_phases = to_exact(bounds.all_reduce());
  const double gain =
      certificate.bound > 0 ? Exact(two_phases / certificate.bound).convert_to<double>() : 1.0;
  return fmt::format(
      "# reduce-scatter then allgather: {} shard times, {:.3f} times the allreduce bound\n",
      two_phases.str(), gain);
}

std::string to_text(const std::vector<Known>& results, const Bounds& bounds,
                    const Topology& topology, std::uint64_t bytes) {
  std::string text =
      fmt::format("# {}: {} ranks, {} switches, diameter {}; times for {}\n# {}\n", topology.name(),
                  topology.num_ranks(), topology.num_nodes() - topology.num_ranks(),
                  bounds.diameter, format_bytes(bytes), certificate_model(topology));
  std::vector<std::vector<std::string>> rows = {
      {"collective", "shard times", "time", "at least", "by", "hops", "optimum", "proof"}};
  for (const Known& result : results) {
    const Certificate& certificate = result.certified.certificate;
    rows.push_back({std::string(to_string(certificate.collective)), certificate.bound.str(),
                    fmt::format("{:.1f}us", seconds_of(certificate.bound, topology, bytes) * 1e6),
                    fmt::format("{:.1f}us", result.least.bound.seconds() * 1e6),
                    std::string(to_string(result.least.reason)),
                    fmt::format("{}", certificate.hops), result.certified.exact ? "yes" : "unknown",
                    proof_text(certificate, topology)});
  }
  text += format_table(rows);
  const Certificate& first = results.front().certified.certificate;
  if (first.collective == Collective::AllReduce) text += two_phase_line(first, bounds);
  return text;
}

/// The cables that would help most, and what they would do.
int improve(const BoundsFlags& flags, const Topology& topology, Collective collective, Rank root) {
  constexpr std::size_t kShown = 5;
  Improvements found;
  {
    const Progress progress("trying cables in " + topology.name());
    found = improve_by_cable(topology, collective, root);
  }
  std::vector<std::vector<std::string>> rows = {{"cable", "shard times", "of before"}};
  ordered_json cables = ordered_json::array();
  for (const Improvement& cable : found.cables) {
    if (cables.size() == kShown) break;
    const std::string& first = topology.node(topology.node_of(cable.first)).name;
    const std::string& second = topology.node(topology.node_of(cable.second)).name;
    const double share = Exact(cable.bound / found.before).convert_to<double>();
    rows.push_back({first + " - " + second, cable.bound.str(), fmt::format("{:.3f}", share)});
    cables.push_back({{"between", {first, second}}, {"bound_shards", cable.bound.str()}});
  }
  if (flags.json) {
    print_json({{"topology", topology.name()},
                {"collective", to_string(collective)},
                {"bandwidth", to_string(found.bandwidth)},
                {"bound_shards", found.before.str()},
                {"tried", found.tried},
                {"possible", found.possible},
                {"helping", found.cables.size()},
                {"cables", cables}});
    return kOk;
  }
  print(
      fmt::format("# {} on {}: {} shard times; a cable of {} more between two ranks\n"
                  "# {} of {} pairs across a cut that limits tried, {} help\n",
                  to_string(collective), topology.name(), found.before.str(),
                  to_string(found.bandwidth), found.tried, found.possible, found.cables.size()));
  if (!found.cables.empty()) print(format_table(rows));
  return kOk;
}

std::vector<Collective> chosen_collectives(const BoundsFlags& flags) {
  if (flags.collective == "all") {
    const auto all = all_collectives();
    return {all.begin(), all.end()};
  }
  return {for_flag("--collective", [&] { return parse_collective(flags.collective); })};
}

Time overhead_of(const BoundsFlags& flags) {
  return for_flag("--message-overhead", [&] { return parse_time(flags.overhead); });
}

int run(const BoundsFlags& flags) {
  if (!flags.check.empty()) {
    Claims claims;
    if (!flags.network.topology.empty()) claims.topology = load_network(flags.network);
    return check_certificate(read_certificate(flags.check), claims, flags.json);
  }
  if (flags.network.topology.empty()) {
    throw Error(ErrorCode::InvalidArgument, "bounds: expected --topology or --check, got neither");
  }
  const std::vector<Collective> collectives = chosen_collectives(flags);
  if (collectives.front() == Collective::AllToAll) {
    if (flags.improve) {
      throw Error(ErrorCode::InvalidArgument,
                  "--improve: expected a collective along trees, got alltoall");
    }
    return all_to_all_bounds({.network = flags.network,
                              .demand = flags.demand,
                              .size = flags.size,
                              .output = flags.output,
                              .json = flags.json});
  }
  if (!flags.demand.empty()) check_no_demand(flags.collective);
  if (collectives.size() > 1 && !flags.output.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "--output: expected one collective to write the certificate of, got all");
  }
  const std::uint64_t bytes = for_flag("--size", [&] { return parse_bytes(flags.size); });
  const bool of_all = flags.output.empty() && !flags.improve;
  LoadedNetwork network = load_large(flags.network, of_all ? kManyRanks : kNoRanks);
  if (network.alike) {
    check_below("--root", flags.root, network.alike->graph.size());
    return print_bounds(network, collectives, bytes, overhead_of(flags), flags.json);
  }
  const Topology topology = whole_network(std::move(*network.topology));
  const Rank root = check_root(flags.root, topology);
  if (flags.improve) return improve(flags, topology, collectives.front(), root);
  const Progress progress("computing exact bounds of " + topology.name());
  const Bounds bounds = compute_bounds(topology);
  const Time overhead = overhead_of(flags);
  std::vector<Known> results;
  for (const Collective collective : collectives) {
    const std::uint32_t most_nodes = flags.exact ? topology.num_nodes() : kQuickProgramNodes;
    Certified certified = certify(topology, bounds, collective, root, most_nodes);
    TimeCertificate least = LeastTime(topology, certified.certificate, overhead).at(bytes);
    results.push_back({std::move(certified), std::move(least)});
  }
  if (!flags.output.empty()) {
    const auto& [certified, least] = results.front();
    write_file(flags.output, flags.seconds
                                 ? write_time_certificate_json(least, topology)
                                 : write_certificate_json(certified.certificate, topology));
    if (flags.output == "-") return kOk;
  }
  flags.json ? print_json(to_json(results, bounds, topology, bytes))
             : print(to_text(results, bounds, topology, bytes));
  return kOk;
}

}  // namespace

Command add_bounds_command(CLI::App& parent) {
  auto flags = std::make_shared<BoundsFlags>();
  CLI::App* app = parent.add_subcommand(
      "bounds", "What no schedule can beat on a network, exactly, with proofs");
  add_network_flags(*app, flags->network);
  app->add_option("-c,--collective", flags->collective, "all, " + collective_names() + "; alltoall")
      ->capture_default_str();
  app->add_option("-r,--root", flags->root, "Root rank, where there is one")
      ->check(number_from(0))
      ->capture_default_str();
  app->add_option("--size", flags->size, "Buffer size for the times")->capture_default_str();
  add_demand_flag(*app, flags->demand);
  app->add_option("--message-overhead", flags->overhead,
                  "Time that each message occupies its sender (LogP's o)")
      ->capture_default_str();
  app->add_flag("--seconds", flags->seconds,
                "With -o: write the proof of the least time at --size instead");
  app->add_option("-o,--output", flags->output,
                  "Write the certificate of one collective here ('-': standard output)");
  app->add_option(
      "--check", flags->check,
      "Check a certificate file instead, on its own network unless --topology is given");
  app->add_flag("--exact", flags->exact,
                "Solve linear programs of any size, however long that takes (default: of up to 64 "
                "nodes; beyond, the bound of an all-reduce may not be the optimum)");
  app->add_flag("--improve", flags->improve,
                "Instead: which cable more between two ranks would lower the bound most (of 'all': "
                "that of the all-reduce)");
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer("Example: multitree bounds -t mesh:4x4 -c allreduce -o certificate.json");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
