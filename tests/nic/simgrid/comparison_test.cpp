// SPDX-License-Identifier: BSD-3-Clause
/// Our times of whole collectives against SimGrid's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
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
};

/// Where no link is shared, both models say the same but for the order of messages of one step.
constexpr double kUncontended = 0.001;

const Case kCases[] = {
    // Direct networks, routes of one link: every queue has its link for itself.
    {"torus:4x4", "multitree", 64 * kKiB, kUncontended},
    {"torus:4x4", "multitree", 256 * kKiB, kUncontended},
    {"torus:4x4", "symmetric", 256 * kKiB, kUncontended},
    {"torus:4x4", "forest", 256 * kKiB, kUncontended},
    {"torus:4x4", "ring", 256 * kKiB, kUncontended},
    {"torus:4x4", "ring2d", 256 * kKiB, {}},
    {"torus:8x8", "multitree", 64 * kKiB, kUncontended},
    {"torus:8x8", "multitree", 1024 * kKiB, kUncontended},
    {"torus:8x8", "symmetric", 1024 * kKiB, kUncontended},
    {"mesh:4x4", "multitree", 256 * kKiB, kUncontended},
    {"mesh:3x5", "multitree", 256 * kKiB, kUncontended},
    {"ring:8", "ring", 64 * kKiB, kUncontended},
    {"ring:8", "bidirectional-ring", 1024 * kKiB, kUncontended},
    {"hypercube:4", "multitree", 256 * kKiB, kUncontended},
    {"hypercube:4", "halving-doubling", 256 * kKiB, {}},
    // Direct networks, longer routes: ranks forward for others.
    {"mesh:3x5", "ring", 256 * kKiB, {}},
    {"mesh:4x4", "ring2d", 256 * kKiB, {}},
    {"torus:4x4", "double-binary-tree", 256 * kKiB, {}},
    {"torus:8x8", "halving-doubling", 1024 * kKiB, {}},
    // Switches.
    {"star:8", "ring", 256 * kKiB, {}},
    {"star:8", "multitree", 256 * kKiB, {}},
    {"star:8", "double-binary-tree", 1024 * kKiB, {}},
    {"fattree:4x4", "multitree", 256 * kKiB, {}},
    {"fattree:4x4", "ring", 1024 * kKiB, {}},
    {"fattree:4x4", "double-binary-tree", 256 * kKiB, {}},
    {"fattree:4x4", "halving-doubling", 256 * kKiB, {}},
    {"fattree:4x4x2", "halving-doubling", 256 * kKiB, {}},
    {"fattree:8x8", "multitree", 1024 * kKiB, {}},
    {"bigraph:4x4", "multitree", 256 * kKiB, {}},
    {"bigraph:4x8", "multitree", 1024 * kKiB, {}},
    {"bigraph:4x8", "hdrm", 1024 * kKiB, {}},
    {"bigraph:4x8", "forest", 1024 * kKiB, {}},
    {"dgx-a100:2", "forest", 1024 * kKiB, {}},
    {"dgx-a100:2", "multitree", 1024 * kKiB, {}},
    {"dgx2", "ring", 1024 * kKiB, {}},
};

bool has_single_link_routes(const Schedule& schedule) {
  return std::ranges::all_of(schedule.transfers,
                             [](const Transfer& t) { return t.route_size == 1; });
}

/// The tables' time; empty where they do not exist (no trees) or do not tell it (shared links).
std::optional<std::uint64_t> table_cycles(const Schedule& schedule, const Topology& topology,
                                          std::uint64_t bytes) {
  if (!has_single_link_routes(schedule)) return {};
  try {
    const nic::Tables tables = nic::compile_tables(schedule, topology, {.elements = bytes / 4});
    return nic::evaluate(tables, topology, {}).cycles;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    return {};
  }
}

/// What we say. Where links are shared this is the cost model, which knows no headers.
double our_cycles(const Schedule& schedule, const Topology& topology, std::uint64_t bytes) {
  if (const auto cycles = table_cycles(schedule, topology, bytes)) {
    return static_cast<double>(*cycles);
  }
  return static_cast<double>(predict_time(schedule, topology, bytes).picoseconds) / 1000;
}

class SimgridComparison : public testing::TestWithParam<Case> {};

TEST_P(SimgridComparison, Agrees) {
  const Case& c = GetParam();
  const Topology topology = make_topology(c.topology);
  const Schedule schedule = make_schedule(c.algorithm, topology);
  const double ours = our_cycles(schedule, topology, c.bytes);
  const auto oracle = static_cast<double>(test::simgrid_cycles(schedule, topology, c.bytes));
  const double deviation = ours / oracle - 1;
  fmt::print("{:<14} {:<20} {:>8} KiB  SimGrid {:>9.0f}  ours {:>9.0f}  {:+.3f} %\n", c.topology,
             c.algorithm, c.bytes / kKiB, oracle, ours, deviation * 100);
  if (c.tolerance) {
    EXPECT_LE(std::abs(deviation), *c.tolerance);
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name =
      fmt::format("{}_{}_{}K", info.param.topology, info.param.algorithm, info.param.bytes / kKiB);
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, SimgridComparison, testing::ValuesIn(kCases), name_of);

}  // namespace
}  // namespace multitree
