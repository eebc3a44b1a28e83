// SPDX-License-Identifier: BSD-3-Clause
/// Our times of whole collectives against SimGrid's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "nic/message/max_plus.hpp"
#include "nic/table/table.hpp"
#include "tests/nic/simgrid/oracle.hpp"
#include "topologies/error.hpp"
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
};

/// For the messages of GoogleTest.
void PrintTo(const Case& c, std::ostream* out) { *out << c.topology << ' ' << c.algorithm; }

/// Where no link is shared, both models say the same but for the order of messages of one step.
constexpr double kUncontended = 0.001;
/// The same by the cost model, which knows no headers.
constexpr double kWithoutHeaders = 0.01;
/// Where links are shared, models may differ: SimGrid gives all messages on a link equal parts, and
/// what is slowed down at its last link blocks the queue at its first; the cost model serves one
/// message after the other, step by step, and lets switches store what waits. So these are shown.
constexpr std::optional<double> kShown;

const Case kCases[] = {
    // Direct networks, routes of one link: every queue has its link for itself.
    {"torus:4x4", "multitree", 64 * kKiB, kUncontended},
    {"torus:4x4", "multitree", 256 * kKiB, kUncontended},
    {"torus:4x4", "multitree", 256 * kKiB, kUncontended, 256},
    {"torus:4x4", "symmetric", 256 * kKiB, kUncontended},
    {"torus:4x4", "forest", 256 * kKiB, kUncontended},
    {"torus:4x4", "ring", 256 * kKiB, kUncontended},
    {"torus:4x4", "ring2d", 256 * kKiB, kUncontended},
    {"torus:8x8", "multitree", 64 * kKiB, kUncontended},
    {"torus:8x8", "multitree", 1024 * kKiB, kUncontended},
    {"torus:8x8", "symmetric", 1024 * kKiB, kUncontended},
    {"mesh:4x4", "multitree", 256 * kKiB, kUncontended},
    {"mesh:3x5", "multitree", 256 * kKiB, kUncontended},
    {"mesh:3x5", "multitree", 256 * kKiB, kUncontended, 256},
    {"ring:8", "ring", 64 * kKiB, kUncontended},
    {"ring:8", "bidirectional-ring", 1024 * kKiB, kUncontended},
    {"hypercube:4", "multitree", 256 * kKiB, kUncontended},
    {"hypercube:4", "halving-doubling", 256 * kKiB, kUncontended},
    // Direct networks, longer routes: ranks forward for others.
    {"mesh:3x5", "ring", 256 * kKiB, kWithoutHeaders},
    {"mesh:4x4", "ring2d", 256 * kKiB, kShown},
    {"torus:4x4", "double-binary-tree", 256 * kKiB, kShown},
    {"torus:8x8", "halving-doubling", 1024 * kKiB, kShown},
    // Switches.
    {"star:8", "ring", 256 * kKiB, kWithoutHeaders},
    {"star:8", "multitree", 256 * kKiB, kWithoutHeaders},
    {"star:8", "double-binary-tree", 1024 * kKiB, kShown},
    {"fattree:4x4", "multitree", 256 * kKiB, kWithoutHeaders},
    {"fattree:4x4", "ring", 1024 * kKiB, kWithoutHeaders},
    {"fattree:4x4", "double-binary-tree", 256 * kKiB, kShown},
    {"fattree:4x4", "halving-doubling", 256 * kKiB, kShown},
    {"fattree:4x4x2", "halving-doubling", 256 * kKiB, kShown},
    {"fattree:8x8", "multitree", 1024 * kKiB, kWithoutHeaders},
    {"bigraph:4x4", "multitree", 256 * kKiB, kShown},
    {"bigraph:4x8", "multitree", 1024 * kKiB, kWithoutHeaders},
    {"bigraph:4x8", "hdrm", 1024 * kKiB, kWithoutHeaders},
    {"bigraph:4x8", "forest", 1024 * kKiB, kShown},
    {"dgx-a100:2", "forest", 1024 * kKiB, kShown},
    {"dgx-a100:2", "multitree", 1024 * kKiB, kShown},
    {"dgx2", "ring", 1024 * kKiB, kWithoutHeaders},
};

bool has_single_link_routes(const Schedule& schedule) {
  return std::ranges::all_of(schedule.transfers,
                             [](const Transfer& t) { return t.route_size == 1; });
}

/// The tables' time; empty where they do not exist or do not tell it (shared links).
std::optional<std::uint64_t> table_cycles(const Schedule& schedule, const Topology& topology,
                                          const Case& c) {
  if (!has_single_link_routes(schedule)) return {};
  try {
    const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = c.bytes / 4});
    return nic::evaluate(tables, topology, {.packet_bytes = c.packet_bytes}).cycles;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    return {};
  }
}

/// What we say: the tables' time, or else that of the cost model.
double our_cycles(const Schedule& schedule, const Topology& topology, const Case& c) {
  if (const auto cycles = table_cycles(schedule, topology, c)) {
    return static_cast<double>(*cycles);
  }
  return static_cast<double>(predict_time(schedule, topology, c.bytes).picoseconds) / 1000;
}

/// Cycles that the busiest link needs for all that it carries.
double busiest_link(const Schedule& schedule, const Topology& topology, const Case& c) {
  const auto ranges = chunk_ranges(schedule, c.bytes / 4);
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
  const double ours = our_cycles(schedule, topology, c);
  const auto oracle = static_cast<double>(
      test::simgrid_cycles(schedule, topology, c.bytes, {.packet_bytes = c.packet_bytes}));
  const double deviation = ours / oracle - 1;
  fmt::print("{:<14} {:<20} {:>5} KiB {:<7}  SimGrid {:>9.0f}  ours {:>9.0f}  {:+.3f} %\n",
             c.topology, c.algorithm, c.bytes / kKiB, c.packet_bytes == 0 ? "message" : "packets",
             oracle, ours, deviation * 100);
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
