// SPDX-License-Identifier: BSD-3-Clause
/// The message model against the flit model, and against the recurrence where nothing is shared.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "matrix.hpp"
#include "nic/message/max_plus.hpp"
#include "nic/program/program.hpp"
#include "simulation.hpp"

namespace multitree {
namespace {

using nic::FlowControl;
using nic::Model;
using nic::Parameters;

constexpr std::uint64_t kSizes[] = {4'096, 65'536};

/// Whether each link is entered from one port or link only, and buffers hold a round trip.
bool is_private(const Schedule& schedule, const Topology& topology) {
  std::vector<std::uint32_t> from(topology.num_links(), 0);
  for (const Transfer& transfer : schedule.transfers) {
    std::uint32_t before = 1;
    for (const LinkId link : schedule.route(transfer)) {
      std::uint32_t& of = from[index(link)];
      if (of != 0 && of != before) return false;
      of = before;
      before = index(link) + 2;
    }
  }
  return std::ranges::all_of(topology.links(), [](const Link& link) {
    return link.bandwidth.bytes_per_second == 16'000'000'000 && link.latency.picoseconds == 150'000;
  });
}

double deviation(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                 const Parameters& parameters) {
  const auto flit = nic::simulate(schedule, topology, bytes, parameters, {.model = Model::Flit});
  EXPECT_TRUE(flit.errors.empty());
  const std::uint64_t message = test::message_cycles(schedule, topology, bytes, parameters);
  if (flit.cycles == 0) return message == 0 ? 0 : 1;
  return static_cast<double>(message) / static_cast<double>(flit.cycles) - 1;
}

/// Shared links make order matter: which message gets a virtual channel, and which waits behind it.
/// Segments are coarser than flits, so sometimes another one does, and all that follows differs.
constexpr double kMessages = 0.03, kPackets = 0.09, kMean = 0.005;
struct Exception {
  const char *network, *algorithm;
  double limit;
};
constexpr Exception kExceptions[] = {
    {"hypercube:4", "bine", 0.11},
    {"bigraph:4x4", "recursive-doubling", 0.085},
    {"bigraph:4x4", "circulant", 0.085},
    {"dgx2", "recursive-doubling", 0.08},
    {"dragonfly:2x1x2", "halving-doubling", 0.04},
    {"fattree:4x4", "double-binary-tree", 0.04},
    {"mesh:3x5", "halving-doubling", 0.035},
};

double limit_of(const std::string& network, const std::string& algorithm, std::uint64_t bytes,
                FlowControl flow_control) {
  if (flow_control == FlowControl::Packet) return bytes > 4'096 ? kPackets : kMessages;
  for (const Exception& e : kExceptions) {
    if (network == e.network && algorithm.starts_with(e.algorithm)) return e.limit;
  }
  return kMessages;
}

TEST(Models, AgreeOnAllNetworks) {
  fmt::print("| network | algorithm | 4 KiB | 64 KiB | 4 KiB in packets | 64 KiB in packets |\n");
  fmt::print("|---|---|--:|--:|--:|--:|\n");
  double worst = 0, sum = 0, cells = 0;
  std::size_t exact = 0;
  for (const char* network : test::kNetworks) {
    const Topology topology = make_topology(network);
    for (const Schedule& schedule : test::all_schedules(topology)) {
      std::string row = fmt::format("| {} | {} |", network, schedule.algorithm);
      const bool alone = is_private(schedule, topology);
      exact += alone;
      for (const FlowControl flow_control : {FlowControl::Message, FlowControl::Packet}) {
        for (const std::uint64_t bytes : kSizes) {
          const double error = deviation(schedule, topology, bytes, {.flow_control = flow_control});
          const double limit = limit_of(network, schedule.algorithm, bytes, flow_control);
          EXPECT_LE(std::abs(error), alone ? 0 : limit)
              << network << " " << schedule.algorithm << " " << bytes;
          row += error == 0 ? " 0 |" : fmt::format(" {:+.2f} % |", 100 * error);
          worst = std::max(worst, std::abs(error));
          sum += std::abs(error);
          ++cells;
        }
      }
      fmt::print("{}\n", row);
    }
  }
  fmt::print("\nmean: {:.2f} %, worst: {:.2f} %\n", 100 * sum / cells, 100 * worst);
  EXPECT_LE(sum / cells, kMean);
  EXPECT_GT(exact, 40U);
}

// Where each link has one sender the recurrence is the model: each message starts when its port is
// free and what it needs is there.
TEST(Models, AgreeWithTheRecurrence) {
  for (const char* network : {"torus:4x4", "mesh:3x5", "ring:8", "hypercube:4", "torus:2x2x2"}) {
    const Topology topology = make_topology(network);
    for (const Schedule& schedule : test::all_schedules(topology)) {
      if (std::ranges::any_of(schedule.transfers,
                              [](const Transfer& t) { return t.route_size != 1; })) {
        continue;
      }
      for (const std::uint32_t packet : {0U, 256U}) {
        const std::uint64_t elements = nic::padded_elements(65'536, 4, schedule.ranks);
        const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = elements});
        const std::uint64_t cycles =
            nic::evaluate(tables, topology, {.latency = 151, .packet_bytes = packet}).cycles;
        Parameters parameters;
        if (packet != 0) parameters.flow_control = FlowControl::Packet;
        const std::uint64_t simulated =
            test::message_cycles(schedule, topology, 65'536, parameters);
        EXPECT_EQ(simulated, cycles) << network << " " << schedule.algorithm;
      }
    }
  }
}

}  // namespace
}  // namespace multitree
