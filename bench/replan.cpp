// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Repairing schedules after random link failures: seconds, trees kept, load and steps against the
/// bounds of the network that is left.
/// usage: bench_replan [NETWORK ALGORITHM COLLECTIVE FAILURES] ...
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/replan.hpp"
#include "topologies/degrade.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace {

using namespace multitree;

constexpr int kRuns = 3;

/// The network without `count` links that leave it connected.
Topology fail_links(const Topology& whole, std::mt19937& random, std::uint32_t count) {
  Topology left = whole;
  std::string without;
  while (count > 0) {
    const Link& link = whole.link(LinkId{static_cast<std::uint32_t>(random() % whole.num_links())});
    const std::string more = fmt::format("{}{}{}-{}", without, without.empty() ? "" : ",",
                                         whole.node(link.src).name, whole.node(link.dst).name);
    try {
      left = change_network(whole, {.without = more});
    } catch (const Error&) {
      continue;  // it is gone already, or the last one
    }
    without = more;
    --count;
  }
  return left;
}

/// Whether no reduction comes after a copy: then both phases have all links to themselves.
bool is_phased(const Schedule& schedule) {
  std::uint32_t last_reduce = 0, first_copy = schedule.num_steps();
  for (const Transfer& t : schedule.transfers) {
    if (t.op == Op::Reduce) last_reduce = std::max(last_reduce, t.step);
    if (t.op == Op::Copy) first_copy = std::min(first_copy, t.step);
  }
  return last_reduce < first_copy || schedule.collective != Collective::AllReduce;
}

/// The least load of schedules of this kind, and the least steps with chunks of its size.
struct Least {
  Exact load = 0;
  std::uint32_t steps = 0;
};

Least least(const Schedule& schedule, const Topology& topology) {
  const Bounds bounds = compute_bounds(topology);
  const auto of = [&](Collective collective) -> Least {
    const Exact load = certify(topology, bounds, collective).certificate.bound;
    return {load, std::max(bounds.diameter, least_steps(load, schedule))};
  };
  if (schedule.collective != Collective::AllReduce || !is_phased(schedule)) {
    return of(schedule.collective);
  }
  const Least collect = of(Collective::ReduceScatter), gather = of(Collective::AllGather);
  return {Exact(collect.load + gather.load), collect.steps + gather.steps};
}

double ratio(const Exact& value, const Exact& bound) {
  return bound == 0 ? 1 : static_cast<double>(Exact(value / bound));
}

void measure(const std::string& network, const std::string& algorithm, Collective collective,
             std::uint32_t failures) {
  const Topology whole = make_topology(network);
  std::mt19937 random(failures);
  const Topology left = fail_links(whole, random, failures);
  const Schedule old = generate_schedule(algorithm, whole, collective, Rank{0});
  Replan best = replan(old, whole, left);
  for (int run = 1; run < kRuns; ++run) {
    Replan again = replan(old, whole, left);
    if (again.report.seconds < best.report.seconds) best = std::move(again);
  }
  const ReplanReport& report = best.report;
  const Least bound = least(best.schedule, left), before = least(old, whole);
  fmt::print(
      "{:<12} {:<27} {:<13} {:>2} {:>9.4f} {:>6} {:>6} {:>10.4f} {:>10.4f} {:>7.4f} {:>6} "
      "{:>7.4f} {:>7.4f}{}\n",
      network, algorithm, to_string(collective), failures, report.seconds, report.kept,
      report.trees, ratio(report.load_before, before.load), ratio(report.load_after, bound.load),
      static_cast<double>(bound.load), best.schedule.num_steps(),
      static_cast<double>(old.num_steps()) / before.steps,
      static_cast<double>(best.schedule.num_steps()) / bound.steps,
      report.regenerated ? " made anew" : "");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  fmt::print("# best of {} runs; load and steps over the least before and after the failures\n",
             kRuns);
  fmt::print("{:<12} {:<27} {:<13} {:>2} {:>9} {:>6} {:>6} {:>10} {:>10} {:>7} {:>6} {:>7} {:>7}\n",
             "network", "algorithm", "collective", "-", "seconds", "kept", "trees", "load was",
             "load now", "bound", "steps", "was", "now");
  if (!arguments.empty()) {
    for (std::size_t i = 0; i + 4 <= arguments.size(); i += 4) {
      measure(arguments[i], arguments[i + 1], parse_collective(arguments[i + 2]),
              static_cast<std::uint32_t>(std::stoul(arguments[i + 3])));
    }
    return 0;
  }
  for (const char* algorithm : {"multitree", "symmetric"}) {
    measure("torus:32x32", algorithm, Collective::AllGather, 1);
    measure("torus:32x32", algorithm, Collective::AllReduce, 1);
  }
  for (const char* algorithm : {"allreduce-optimal", "allreduce-optimal?trees=2",
                                "allreduce-optimal?trees=4", "double-binary-tree"}) {
    measure("torus:32x32", algorithm, Collective::AllReduce, 1);
  }
  for (std::uint32_t failures = 1; failures <= 8; ++failures) {
    measure("torus:8x8", "multitree", Collective::AllGather, failures);
    measure("torus:8x8", "allreduce-optimal", Collective::AllReduce, failures);
  }
  return 0;
}
