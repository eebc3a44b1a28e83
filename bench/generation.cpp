// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long the exact generators take: bounds, strength, packings, interchange.
/// usage: bench_generation [--quick]   (--quick leaves out what takes over a second)
/// One core; CPU seconds, the least of several runs where they are short. Loads are checked against
/// the bound in the same run.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/strength.hpp"
#include "algorithms/interchange/interchange.hpp"
#include "algorithms/packing/trees/gather_packing.hpp"
#include "algorithms/packing/trees/spanning_trees.hpp"
#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace {

using namespace multitree;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Least of up to five runs, as long as they take less than a second together.
double least_seconds(const std::function<void()>& work) {
  double least = 1e30, sum = 0;
  for (int run = 0; run < 5 && (run == 0 || sum < 1); ++run) {
    const double start = cpu_seconds();
    work();
    const double took = cpu_seconds() - start;
    least = std::min(least, took);
    sum += took;
  }
  return least;
}

void print_row(std::string_view what, std::string_view network, double took, double target,
               std::string_view quality) {
  fmt::print("{:<34} {:<26} {:>10.4f} s   target {:>6.3g} s   {:>5.2f} of it   {}\n", what, network,
             took, target, took / target, quality);
  std::fflush(stdout);
}

Exact exact(const Rational& value) { return {value.numerator(), value.denominator()}; }

void bound(const std::string& spec, double target) {
  const Topology topology = make_topology(spec);
  Bounds bounds;
  const double took = least_seconds([&] { bounds = compute_bounds(topology); });
  print_row("exact all-gather bound", spec, took, target,
            fmt::format("1/x* = {}", exact(bounds.all_gather).str()));
}

void gather(const std::string& spec, double target) {
  const Topology topology = make_topology(spec);
  TreePacking packing;
  const double took = least_seconds([&] { packing = pack_all_gather(topology); });
  const Exact ratio = load(packing, topology) / exact(compute_bounds(topology).all_gather);
  print_row("exact all-gather packing", spec, took, target,
            fmt::format("load/bound {}, depth {}", ratio.str(), depth(packing)));
}

void reduce(const std::string& spec, double target) {
  const Topology topology = make_topology(spec);
  TreePacking packing;
  const double took = least_seconds([&] { packing = pack_spanning_trees(topology); });
  const Exact optimum = Exact(topology.num_ranks()) / strength(topology).value;
  print_row("exact all-reduce packing", spec, took, target,
            fmt::format("load/bound {}, depth {}", Exact(load(packing, topology) / optimum).str(),
                        depth(packing)));
}

void interchange(const std::string& spec, double target) {
  const Topology topology = make_topology(spec);
  const Schedule schedule = make_schedule("symmetric", topology);
  std::size_t bytes = 0;
  const double took = least_seconds([&] { bytes = write_msccl_xml(schedule).size(); });
  print_row("MSCCL XML of an all-reduce", spec, took, target,
            fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6));
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  bound("torus:32x32", 0.1);
  bound("mesh:32x32", 0.1);
  gather("torus:8x8", 0.02);
  gather("mesh:8x8", 0.02);
  gather("torus:8x8?without=0-1,20-28", 0.02);
  gather("torus:16x16", 1);
  gather("torus:16x16?without=0-1,100-101", 1);
  gather("fattree:8x8", 0.1);
  gather("dgx-a100:8", 0.1);
  gather("dgx-a100:128", 5);
  reduce("mesh:8x8", 0.02);
  reduce("torus:8x8?without=0-1", 0.02);
  reduce("torus:16x16?without=0-1", 1);
  interchange("torus:16x16", 0.5);
  if (quick) return 0;
  gather("torus:32x32", 60);
  gather("mesh:32x32", 60);
  gather("hypercube:10", 60);
  gather("torus:32x32?without=0-1", 60);
  reduce("torus:32x32?without=0-1", 60);
}
