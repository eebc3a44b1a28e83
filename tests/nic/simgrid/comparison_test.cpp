// SPDX-License-Identifier: BSD-3-Clause
/// Our times of whole collectives against SimGrid's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "nic/simulate.hpp"
#include "tests/nic/simgrid/oracle.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::uint64_t kKiB = 1024;

/// One comparison. Without a tolerance the deviation is only printed.
struct Case {
  const char* topology;
  const char* algorithm;
  std::uint64_t bytes;
  std::optional<double> tolerance;
  std::uint32_t packet_bytes = 0;  ///< payload behind each header; 0: one header a message
  bool flits = false;              ///< compares the flit model as well
};

/// For the messages of GoogleTest.
void PrintTo(const Case& c, std::ostream* out) { *out << c.topology << ' ' << c.algorithm; }

/// Where no link is shared, both say the same, but that our interfaces take a cycle at each end.
constexpr double kUncontended = 0.005;
/// Switches whose links are shared for short times, or by few.
constexpr double kShared = 0.05;
/// Where many messages share links for long, the models are of different things. SimGrid gives all
/// messages on a link equal parts (max-min), holds nothing on the way, and what one is slowed down
/// at its last link keeps the port at its first from sending others. We have buffers of some
/// hundred flits, so that a message that has left its port is in the way of nobody there, but is in
/// the way of others where it waits; and routers serve inputs in turn, not messages, so that
/// messages do not get equal parts. These are shown.
constexpr std::optional<double> kShown;

const Case kCases[] = {
    // Direct networks, routes of one link: every queue has its link for itself.
    {"torus:4x4", "multitree", 64 * kKiB, kUncontended, 0, true},
    {"torus:4x4", "multitree", 256 * kKiB, kUncontended},
    {"torus:4x4", "multitree", 256 * kKiB, kUncontended, 256, true},
    {"torus:4x4", "symmetric", 256 * kKiB, kUncontended},
    {"torus:4x4", "forest", 256 * kKiB, kUncontended},
    {"torus:4x4", "ring", 256 * kKiB, kUncontended},
    {"torus:4x4", "ring2d", 256 * kKiB, kUncontended},
    {"torus:8x8", "multitree", 64 * kKiB, kUncontended},
    {"torus:8x8", "multitree", 1024 * kKiB, kUncontended},
    {"torus:8x8", "symmetric", 1024 * kKiB, kUncontended},
    {"mesh:4x4", "multitree", 256 * kKiB, kUncontended},
    {"mesh:3x5", "multitree", 256 * kKiB, kUncontended, 0, true},
    {"mesh:3x5", "multitree", 256 * kKiB, kUncontended, 256},
    {"ring:8", "ring", 64 * kKiB, kUncontended, 0, true},
    {"ring:8", "bidirectional-ring", 1024 * kKiB, kUncontended},
    {"hypercube:4", "multitree", 256 * kKiB, kUncontended},
    {"hypercube:4", "halving-doubling", 256 * kKiB, kUncontended, 0, true},
    // Direct networks, longer routes through routers of other ranks.
    {"mesh:3x5", "ring", 256 * kKiB, kUncontended, 0, true},
    {"mesh:4x4", "ring2d", 256 * kKiB, kShown, 0, true},
    {"torus:4x4", "double-binary-tree", 256 * kKiB, kShared, 0, true},
    {"torus:8x8", "halving-doubling", 1024 * kKiB, kShown},
    // Switches.
    {"star:8", "ring", 256 * kKiB, kUncontended, 0, true},
    {"star:8", "multitree", 256 * kKiB, kUncontended, 0, true},
    {"star:8", "double-binary-tree", 1024 * kKiB, kShared},
    {"fattree:4x4", "multitree", 256 * kKiB, kShared, 0, true},
    {"fattree:4x4", "ring", 1024 * kKiB, kUncontended},
    {"fattree:4x4", "double-binary-tree", 256 * kKiB, kShown, 0, true},
    {"fattree:4x4", "halving-doubling", 256 * kKiB, kShared, 0, true},
    {"fattree:4x4x2", "halving-doubling", 256 * kKiB, kShared},
    {"fattree:8x8", "multitree", 1024 * kKiB, kShared},
    {"bigraph:4x4", "multitree", 256 * kKiB, kShown, 0, true},
    {"bigraph:4x8", "multitree", 1024 * kKiB, kShared},
    {"bigraph:4x8", "hdrm", 1024 * kKiB, kShared},
    {"bigraph:4x8", "forest", 1024 * kKiB, kShown},
    {"dgx-a100:2", "forest", 1024 * kKiB, kShown},
    {"dgx-a100:2", "multitree", 1024 * kKiB, kShown},
    {"dgx2", "ring", 1024 * kKiB, kShared},
};

nic::Parameters parameters_of(const Topology& topology, const Case& c) {
  // SimGrid's links never wait for credits, and it has no interfaces: ours are as short as may be.
  nic::Parameters parameters{.buffer_flits = nic::round_trip_flits(topology, {}),
                             .interface_cycles = 1};
  if (c.packet_bytes != 0) {
    parameters.flow_control = nic::FlowControl::Packet;
    parameters.packet_bytes = c.packet_bytes;
  }
  return parameters;
}

/// Nanoseconds, by one of our models. Clocks differ: that of the fastest link is ours.
double our_time(const Schedule& schedule, const Topology& topology, const Case& c,
                nic::Model model) {
  const auto result =
      nic::simulate(schedule, topology, c.bytes, parameters_of(topology, c), {.model = model});
  EXPECT_TRUE(result.errors.empty());
  return result.seconds() * 1e9;
}

/// Our buffers are filled up to whole shards.
std::uint64_t padded_bytes(const Schedule& schedule, const Case& c) {
  return nic::padded_elements(c.bytes, 4, schedule.ranks) * 4;
}

/// Cycles that the busiest link needs for all that it carries.
double busiest_link(const Schedule& schedule, const Topology& topology, const Case& c) {
  const auto ranges = chunk_ranges(schedule, padded_bytes(schedule, c) / 4);
  std::vector<double> load(topology.num_links());
  for (const Transfer& t : schedule.transfers) {
    const std::uint64_t bytes =
        test::wire_bytes(ranges[t.chunk].count * 4, {.packet_bytes = c.packet_bytes});
    for (const LinkId id : schedule.route(t)) {
      load[index(id)] += static_cast<double>(bytes) /
                         static_cast<double>(topology.link(id).bandwidth.bytes_per_second);
    }
  }
  return std::ranges::max(load) * 1e9;
}

class SimgridComparison : public testing::TestWithParam<Case> {};

TEST_P(SimgridComparison, Agrees) {
  const Case& c = GetParam();
  const Topology topology = make_topology(c.topology);
  const Schedule schedule = make_schedule(c.algorithm, topology);
  const double ours = our_time(schedule, topology, c, nic::Model::Message);
  const auto oracle = static_cast<double>(test::simgrid_cycles(
      schedule, topology, padded_bytes(schedule, c), {.packet_bytes = c.packet_bytes}));
  const double deviation = ours / oracle - 1;
  std::string flits = "";
  if (c.flits) {
    const double by_flits = our_time(schedule, topology, c, nic::Model::Flit) / oracle - 1;
    flits = fmt::format("{:+.2f} %", by_flits * 100);
    if (c.tolerance) {
      EXPECT_LE(std::abs(by_flits), *c.tolerance);
    }
  }
  fmt::print("| {} | {} | {} KiB{} | {:.0f} | {:.0f} | {:+.2f} % | {} |\n", c.topology, c.algorithm,
             c.bytes / kKiB, c.packet_bytes == 0 ? "" : " in packets", oracle, ours,
             deviation * 100, flits);
  std::fflush(stdout);  // or the next child prints it again
  EXPECT_GT(oracle, busiest_link(schedule, topology, c));
  if (c.tolerance) {
    EXPECT_LE(std::abs(deviation), *c.tolerance);
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  std::string name = fmt::format("{}_{}_{}K{}", c.topology, c.algorithm, c.bytes / kKiB,
                                 c.packet_bytes == 0 ? "" : "_packets");
  std::ranges::replace_if(
      name, [](char l) { return std::isalnum(l) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, SimgridComparison, testing::ValuesIn(kCases), name_of);

}  // namespace
}  // namespace multitree
