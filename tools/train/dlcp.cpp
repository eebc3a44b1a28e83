// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree train dlcp`: what an iteration sends as packets through switches that drop, all of it
/// as TCP would, and with losses within bounds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/progress.hpp"
#include "tools/train/setting.hpp"
#include "topologies/units.hpp"
#include "training/loss/traffic.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using training::TrafficPattern;
using training::TrafficRequest;

struct DlcpFlags {
  NetworkFlags network;
  std::string patterns = "incast", sizes = "64KiB,128KiB,256KiB,512KiB,1MiB,2MiB";
  std::string time_out = "10ms", jitter = "5us", computing = "0us";
  double budget = 0.1, droppable = 0.5;
  std::uint32_t trials = 100, senders = 0;
  packets::Parameters packets;
  bool hash = false, json = false;
};

/// Of many iterations.
struct PacketTimes {
  std::vector<double> flows, iterations;  ///< seconds
  std::uint64_t packets = 0, dropped = 0, lost = 0, time_outs = 0, questions = 0;
  std::uint32_t most_waiting = 0;
};

struct Cell {
  TrafficPattern pattern;
  std::uint64_t bytes = 0;
  PacketTimes dctcp, dlcp;
};

double percentile_of(std::vector<double> values, double part) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::lround(part * last));
  std::ranges::nth_element(values, at);
  return *at;
}

PacketTimes packet_times(const Topology& topology, const DlcpFlags& flags,
                         const TrafficPattern& pattern, TrafficRequest request) {
  const Time computing = for_flag("--computing", [&] { return parse_time(flags.computing); });
  PacketTimes all;
  for (std::uint32_t trial = 0; trial < flags.trials; ++trial) {
    packets::Parameters parameters = flags.packets;
    parameters.seed = request.seed = flags.packets.seed + trial;
    const packets::Traffic traffic =
        packets::simulate(pattern.flows(request), topology, parameters);
    for (const packets::FlowResult& flow : traffic.flows) {
      all.flows.push_back(flow.seconds());
      all.packets += flow.packets;
      all.dropped += flow.dropped;
      all.lost += flow.lost;
      all.time_outs += flow.time_outs;
      all.questions += flow.questions;
    }
    all.most_waiting = std::max(all.most_waiting, traffic.most_waiting);
    all.iterations.push_back(computing.seconds() + traffic.end.seconds());
  }
  return all;
}

std::vector<Cell> cells_of(const DlcpFlags& flags, const Topology& topology) {
  TrafficRequest request;
  request.ranks = flags.senders == 0 ? topology.num_ranks() : flags.senders + 1;
  if (request.ranks > topology.num_ranks() || request.ranks < 2) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--senders: expected 1 to {}, as {} has {} ranks, got {}",
                            std::max(topology.num_ranks(), 2U) - 1, topology.name(),
                            topology.num_ranks(), request.ranks - 1));
  }
  request.jitter = for_flag("--jitter", [&] { return parse_time(flags.jitter); });
  const Progress progress("simulating packets on " + topology.name());
  std::vector<Cell> cells;
  for (const std::string& name : split_list(flags.patterns)) {
    const TrafficPattern& pattern = for_flag("--pattern", [&]() -> const TrafficPattern& {
      return training::find_traffic_pattern(name);
    });
    for (const std::string& size : split_list(flags.sizes)) {
      request.bytes = for_flag("--sizes", [&] { return parse_bytes(size); });
      Cell cell{.pattern = pattern, .bytes = request.bytes, .dctcp = {}, .dlcp = {}};
      request.like = training::dctcp_flow();
      cell.dctcp = packet_times(topology, flags, pattern, request);
      request.like = training::dlcp_flow(flags.budget, flags.droppable);
      if (flags.hash) request.like.spread = packets::Spread::Hash;
      cell.dlcp = packet_times(topology, flags, pattern, request);
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

/// How much shorter, in percent.
double shorter_by(double than, double value) { return 100 * (1 - value / than); }

double part_lost(const PacketTimes& outcome) {
  return outcome.packets == 0
             ? 0
             : static_cast<double>(outcome.lost) / static_cast<double>(outcome.packets);
}

void print_cells(const std::vector<Cell>& cells, const DlcpFlags& flags, const Topology& topology) {
  print(fmt::format(
      "# {}, ports of {} packets, threshold {}, {} iterations; flows in ms, DCTCP / DLCP\n",
      topology.name(), flags.packets.queue, flags.packets.threshold, flags.trials));
  std::vector<std::vector<std::string>> rows = {{"pattern", "bytes", "median", "",
                                                 "99th percentile", "", "shorter", "iteration", "",
                                                 "time-outs", "lost"}};
  const auto text = [](double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); };
  for (const Cell& cell : cells) {
    const double before = percentile_of(cell.dctcp.flows, 0.99);
    const double after = percentile_of(cell.dlcp.flows, 0.99);
    rows.push_back(
        {std::string(cell.pattern.name), format_bytes(cell.bytes),
         text(percentile_of(cell.dctcp.flows, 0.5)), text(percentile_of(cell.dlcp.flows, 0.5)),
         text(before), text(after), fmt::format("{:.1f} %", shorter_by(before, after)),
         text(percentile_of(cell.dctcp.iterations, 0.5)),
         text(percentile_of(cell.dlcp.iterations, 0.5)), std::to_string(cell.dctcp.time_outs),
         fmt::format("{:.1f} %", 100 * part_lost(cell.dlcp))});
  }
  print(format_table(rows));
}

ordered_json json_of(const PacketTimes& outcome) {
  return {{"flow_median", percentile_of(outcome.flows, 0.5)},
          {"flow_99", percentile_of(outcome.flows, 0.99)},
          {"iteration_median", percentile_of(outcome.iterations, 0.5)},
          {"iteration_99", percentile_of(outcome.iterations, 0.99)},
          {"dropped", outcome.dropped},
          {"lost", part_lost(outcome)},
          {"time_outs", outcome.time_outs},
          {"questions", outcome.questions},
          {"most_waiting", outcome.most_waiting}};
}

int run_dlcp(DlcpFlags flags) {
  if (flags.network.topology.empty()) flags.network.topology = "star:10?bw=12.5GB/s&lat=1us";
  flags.packets.time_out = for_flag("--time-out", [&] { return parse_time(flags.time_out); });
  const Topology topology = load_whole_network(flags.network);
  const std::vector<Cell> cells = cells_of(flags, topology);
  if (!flags.json) {
    print_cells(cells, flags, topology);
    return kOk;
  }
  ordered_json json = {{"network", topology.name()}, {"cells", ordered_json::array()}};
  for (const Cell& cell : cells) {
    json["cells"].push_back({{"pattern", cell.pattern.name},
                             {"bytes", cell.bytes},
                             {"dctcp", json_of(cell.dctcp)},
                             {"dlcp", json_of(cell.dlcp)}});
  }
  print_json(json);
  return kOk;
}

}  // namespace

Command add_train_dlcp(CLI::App& train) {
  auto flags = std::make_shared<DlcpFlags>();
  CLI::App* app = train.add_subcommand(
      "dlcp", "What an iteration sends, through switches that drop packets: DCTCP against DLCP");
  add_network_flags(*app, flags->network)->required(false);
  app->add_option("--pattern", flags->patterns, "incast, server, ring, by commas")
      ->capture_default_str();
  app->add_option("-b,--sizes", flags->sizes, "Bytes that each rank sends, by commas")
      ->capture_default_str();
  app->add_option("--senders", flags->senders, "Ranks beside the first; by default all")
      ->check(number_from(1));
  app->add_option("--budget", flags->budget, "Part of a flow that DLCP may lose")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  app->add_option("--droppable", flags->droppable,
                  "Part of DLCP's packets that are dropped at the threshold, not marked")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--queue", flags->packets.queue, "Packets that a port holds")
      ->check(number_from(1))
      ->capture_default_str();
  app->add_option("--threshold", flags->packets.threshold, "Packets from which it marks and drops")
      ->capture_default_str();
  app->add_option("--packet", flags->packets.packet_bytes, "Bytes of a packet")
      ->capture_default_str();
  app->add_option("--first-window", flags->packets.first_window,
                  "Packets that a sender has under way at first")
      ->check(number_from(1, 1024))
      ->capture_default_str();
  app->add_option("--time-out", flags->time_out, "Of DCTCP")->capture_default_str();
  app->add_option("--jitter", flags->jitter, "Ranks begin within it")->capture_default_str();
  app->add_option("--computing", flags->computing, "Of an iteration, before it sends")
      ->capture_default_str();
  app->add_option("--trials", flags->trials, "Iterations of each")
      ->check(number_from(1, 1 << 20))
      ->capture_default_str();
  app->add_option("--seed", flags->packets.seed, "Of beginnings and paths")->capture_default_str();
  app->add_flag("--hash", flags->hash, "DLCP's flows take one path each, too");
  app->add_flag("--json", flags->json, "Print JSON");
  return {app, [flags] { return run_dlcp(*flags); }};
}

}  // namespace multitree::tools
