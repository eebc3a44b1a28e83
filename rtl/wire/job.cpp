// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "nic/program/program.hpp"
#include "rtl/sim/data.hpp"
#include "rtl/sim/network.hpp"
#include "rtl/wire/gathering.hpp"
#include "rtl/wire/station.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

using Clock = Station::Clock;
using namespace std::chrono_literals;

/// A rank that does not answer for so long is gone.
constexpr auto kMostSilence = 10s;
/// Of frames between ranks of one thread.
constexpr std::size_t kMemoryFrame = 1500;
/// Turns in which nothing moves, after which interfaces are asked what is wrong.
constexpr int kStill = 1000;
/// Turns of a process, of a millisecond at most, after which its interface is asked.
constexpr int kAsk = 100;

void check(const WireJob& job) {
  if (job.topology.num_nodes() != job.topology.num_ranks()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("nic job: expected a network of ranks without switches, got {}",
                            job.topology.name()));
  }
  check_verilated(job.topology, job.parameters);
}

/// What all ranks know: tables, what they begin with, and what is to come of it.
struct Plan {
  explicit Plan(const WireJob& job)
      : elements(nic::padded_elements(job.bytes, bytes_of(job.type), job.schedule.ranks)),
        tables(nic::compile_tables(job.schedule, job.topology, {.elements = elements})),
        collective{.tables = tables,
                   .parameters = job.parameters,
                   .type = job.type,
                   .step_lengths = {},
                   .watchdog = 0},  // it counts cycles, and others need time
        inputs(make_inputs(job.schedule.ranks, elements, job.type)),
        expected(inputs) {
    check_channels(tables, job.topology, job.parameters.virtual_channels);
    run_schedule(job.schedule, job.type, expected);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::uint64_t elements;
  nic::Tables tables;
  Collective collective;
  Buffers inputs, expected;
};

std::unique_ptr<Station> make_station(const WireJob& job, const Plan& plan, std::uint32_t rank,
                                      std::uint32_t number, std::size_t frame_bytes,
                                      const OpenPort& open) {
  const Places places{job.parameters.virtual_channels, job.parameters.buffer_flits};
  auto cables =
      std::make_unique<Cables>(make_cables(job.topology, Rank{rank}, number, frame_bytes, places));
  const Part part{job.topology, plan.collective, Rank{rank}, *cables};
  auto endpoint = job.is_hardware[rank] ? make_hardware_endpoint(part, job.adders)
                                        : make_software_endpoint(part);
  std::ranges::copy(plan.inputs[rank], endpoint->buffer().begin());
  std::vector<Way> ways;
  for (const Cable& cable : cables->all) ways.push_back(cable.way());
  auto port = open(number, ways);
  if (job.drop > 0) port = std::make_unique<LossyPort>(std::move(port), job.drop, rank);
  return std::make_unique<Station>(std::move(endpoint), std::move(cables), std::move(port), number);
}

void check_errors(std::uint32_t rank, Station& station) {
  if (const std::string error = station.endpoint().error(); !error.empty()) {
    throw Error(ErrorCode::InvalidInput, fmt::format("rank {}: its interface: {}", rank, error));
  }
}

WireReport report_of(const WireJob& job, const Plan& plan, std::uint32_t rank, Station& station,
                     Clock::time_point started) {
  const Cable::Counts counts = station.counts();
  Buffers got = plan.expected;
  const auto buffer = station.endpoint().buffer();
  got[rank].assign(buffer.begin(), buffer.end());
  return {.is_hardware = job.is_hardware[rank],
          .flits = counts.flits,
          .frames = counts.frames,
          .again = counts.again,
          .bad = station.bad_frames(),
          .seconds = std::chrono::duration<double>(Clock::now() - started).count(),
          .wrong = find_difference(job.schedule, job.type, plan.expected, got)};
}

[[noreturn]] void time_out(const WireJob& job, const std::string& who) {
  throw Error(ErrorCode::Timeout,
              fmt::format("nic job: expected all interfaces to be done within {} s; {}",
                          static_cast<double>(job.timeout.count()) / 1000, who));
}

/// What is said of a rank, in the words of all_gather().
std::string words_of(const WireReport& report) {
  return fmt::format("{} {} {} {} {} {} {}", report.is_hardware ? 1 : 0, report.flits,
                     report.frames, report.again, report.bad, report.seconds, report.wrong);
}

WireReport report_from(const std::string& words) {
  WireReport report;
  int is_hardware = 0;
  int end = 0;
  if (std::sscanf(words.c_str(), "%d %lu %lu %lu %lu %lf %n", &is_hardware, &report.flits,
                  &report.frames, &report.again, &report.bad, &report.seconds, &end) != 6) {
    throw Error(ErrorCode::InvalidInput, "nic job: a rank runs another version of the program");
  }
  report.is_hardware = is_hardware != 0;
  report.wrong = words.substr(static_cast<std::size_t>(end));
  return report;
}

}  // namespace

void check_channels(const nic::Tables& tables, const Topology& topology, std::uint32_t channels) {
  // Where there are fewer channels than classes, each class has one channel, and the last have
  // none.
  const std::uint32_t end = std::min(tables.classes, channels);
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (const nic::TableRoute& route : tables.routes[r]) {
      NodeId node = topology.node_of(Rank{r});
      for (const nic::TableRoute::Hop& hop : route.hops) {
        const Link& link = topology.link(topology.out_links(node)[hop.port]);
        if (hop.vc_class >= end) {
          throw Error(ErrorCode::Unsupported,
                      fmt::format("nic job: rank {}: its route to rank {} takes virtual channel {} "
                                  "of link {} -> {}, expected one below {} (virtual_channels {})",
                                  r, index(route.peer), hop.vc_class, topology.node(link.src).name,
                                  topology.node(link.dst).name, end, channels));
        }
        node = link.dst;
      }
    }
  }
}

std::vector<WireReport> run_in_memory(const WireJob& job) {
  check(job);
  const Plan plan(job);
  MemoryWires wires(job.schedule.ranks);
  std::vector<std::unique_ptr<Station>> stations;
  for (std::uint32_t r = 0; r < job.schedule.ranks; ++r) {
    stations.push_back(make_station(job, plan, r, 0, kMemoryFrame,
                                    [&](std::uint32_t, const auto&) { return wires.port(r); }));
  }
  const auto started = Clock::now();
  for (auto& station : stations) station->endpoint().start();
  const auto is_done = [](auto& station) { return station->endpoint().is_done(); };
  for (int still = 0; !std::ranges::all_of(stations, is_done);) {
    bool moves = false;
    for (auto& station : stations) moves = station->turn() || moves;
    still = moves ? 0 : still + 1;
    if (still % kStill == kStill - 1) {
      for (std::uint32_t r = 0; r < stations.size(); ++r) check_errors(r, *stations[r]);
    }
    if (Clock::now() - started <= job.timeout) continue;
    std::vector<std::uint32_t> late;
    for (std::uint32_t r = 0; r < stations.size(); ++r) {
      if (!is_done(stations[r])) late.push_back(r);
    }
    time_out(job, fmt::format("not done: {}", fmt::join(late, ", ")));
  }
  std::vector<WireReport> reports;
  for (std::uint32_t r = 0; r < stations.size(); ++r) {
    reports.push_back(report_of(job, plan, r, *stations[r], started));
  }
  return reports;
}

std::vector<WireReport> run_on_wires(const WireJob& job, runtime::Bootstrap& bootstrap,
                                     std::size_t frame_bytes, const OpenPort& open) {
  check(job);
  const Plan plan(job);
  const auto rank = static_cast<std::uint32_t>(index(bootstrap.seat()));
  const auto number = static_cast<std::uint32_t>(bootstrap.name() ^ bootstrap.name() >> 32);
  const auto station = make_station(job, plan, rank, number, frame_bytes, open);
  // Who is armed takes flits, also of those that start before it.
  bootstrap.barrier(job.timeout);
  const auto started = Clock::now();
  station->endpoint().start();
  // Others send through this rank until they are done as well, so it works while it waits for them.
  std::optional<Gathering> all;
  std::optional<WireReport> mine;
  int still = 0;
  for (std::uint64_t turns = 0; !all || !all->is_over();) {
    const bool moves = station->turn();
    still = moves ? 0 : still + 1;
    if (!moves) station->wait(1ms);
    if (!mine && station->endpoint().is_done()) {
      mine = report_of(job, plan, rank, *station, started);
      all.emplace(bootstrap, words_of(*mine), job.timeout);
    }
    if (turns++ % kAsk == 0) check_errors(rank, *station);
    if (mine) continue;
    if (still % kStill != kStill - 1 && Clock::now() - started <= job.timeout) continue;
    if (const auto failure = bootstrap.failure()) throw Error(ErrorCode::Transport, *failure);
    if (const auto who = station->silent(kMostSilence); !who.empty()) time_out(job, who);
    if (Clock::now() - started > job.timeout) {
      time_out(job, fmt::format("rank {} still waits for messages", rank));
    }
  }
  std::vector<WireReport> reports;
  for (const std::string& words : all->get()) reports.push_back(report_from(words));
  return reports;
}

}  // namespace multitree::rtl
