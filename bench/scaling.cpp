// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How generation, verification and bounds grow with the network: CPU seconds per square torus, and
/// the exponent in the number of ranks. usage: bench_scaling [algorithm [largest side]]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace {

using namespace multitree;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Median CPU seconds of an action: of five runs, or of one if that takes long.
double measure(const std::function<void()>& action) {
  std::vector<double> times;
  while (times.size() < 5 && (times.empty() || times.front() < 1.0)) {
    const double start = cpu_seconds();
    action();
    times.push_back(cpu_seconds() - start);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

struct Row {
  double ranks = 0;
  double generate = 0, verify = 0, bound = 0;
};

Row measure_side(const std::string& algorithm, unsigned side) {
  const Topology topology = make_topology(fmt::format("torus:{0}x{0}", side));
  Row row{.ranks = static_cast<double>(topology.num_ranks())};
  Schedule schedule;
  row.generate = measure(
      [&] { schedule = generate_schedule(algorithm, topology, Collective::AllReduce, Rank{0}); });
  bool ok = true;
  row.verify = measure([&] { ok = verify(schedule, topology).ok(); });
  Bounds bounds;
  row.bound = measure([&] { bounds = compute_bounds(topology); });
  const auto least = static_cast<double>(
      2 * boost::rational_cast<std::int64_t>(bounds.all_gather + Rational(3, 4)));
  fmt::print("{:>8} {:>6.0f} {:>10} {:>8} {:>8.3f} {:>12.6f} {:>12.6f} {:>12.6f} {:>10.0f} {}\n",
             topology.name(), row.ranks, schedule.transfers.size(), schedule.num_steps(),
             schedule.num_steps() / least, row.generate, row.verify, row.bound,
             row.generate * 1e9 / static_cast<double>(schedule.transfers.size()),
             ok ? "ok" : "WRONG");
  return row;
}

/// Slope of the least-squares line through (log ranks, log seconds).
double exponent(const std::vector<Row>& rows, double Row::*seconds) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const Row& row : rows) {
    const double x = std::log(row.ranks), y = std::log(std::max(row.*seconds, 1e-6));
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const auto n = static_cast<double>(rows.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string algorithm = argc > 1 ? argv[1] : "multitree";
  const unsigned largest = argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 48;
  fmt::print("# allreduce by {}; CPU seconds, medians; ratio = steps / (2 ceil((N-1)/4))\n",
             algorithm);
  fmt::print("{:>8} {:>6} {:>10} {:>8} {:>8} {:>12} {:>12} {:>12} {:>10}\n", "network", "ranks",
             "transfers", "steps", "ratio", "generate", "verify", "bounds", "ns/transfer");
  std::vector<Row> rows;
  for (const unsigned side : {4U, 6U, 8U, 12U, 16U, 24U, 32U, 48U}) {
    if (side <= largest) rows.push_back(measure_side(algorithm, side));
  }
  fmt::print(
      "# growth exponent in ranks: generate {:.2f}, verify {:.2f}, bounds {:.2f} (the output has "
      "2)\n",
      exponent(rows, &Row::generate), exponent(rows, &Row::verify), exponent(rows, &Row::bound));
  return 0;
}
