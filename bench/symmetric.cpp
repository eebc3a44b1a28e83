// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules of networks that look the same from every rank: steps and depth against their bounds,
/// CPU seconds and memory.
/// usage: bench_symmetric [--explicit SIDE | --exhaustive RANKS | NETWORK[*CHUNKS] ...]
///   --explicit SIDE     an all-gather on torus:SIDExSIDE written out and verified (64)
///   --exhaustive RANKS  all tori of up to so many ranks, and how many of them are optimal
#include <fmt/format.h>
#include <sys/resource.h>

#include <ctime>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "algorithms/symmetric/symmetric_schedule.hpp"
#include "algorithms/verify.hpp"
#include "topologies/registry.hpp"

namespace {

using namespace multitree;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Of the process so far; networks are measured in ascending size.
double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double ratio(double value, double bound) { return bound == 0 ? 1 : value / bound; }

void measure(const std::string& text) {
  const std::size_t star = text.find('*');
  const Spec spec = Spec::parse(text.substr(0, star));
  const auto graph = cayley_graph(spec, 1U << 24);
  if (!graph) spec.fail("expected a network whose ranks are all alike");
  const auto chunks =
      star == std::string::npos ? 1 : static_cast<std::uint32_t>(std::stoul(text.substr(star + 1)));
  const double start = cpu_seconds();
  const SymmetricSchedule schedule(*graph, chunks, Collective::AllGather);
  const double made = cpu_seconds();
  const bool right = !find_fault(schedule.graph(), schedule.tree());
  fmt::print(
      "{:<24} {:>9} {:>9} {:>7.4f} {:>7.4f} {:>7.4f} {:>10.6f} {:>10.6f} {:>9.1f} {:>8.1f} {}\n",
      text, graph->size(), schedule.num_steps(),
      ratio(schedule.num_steps(), schedule.bound_steps()),
      ratio(schedule.tree().depth, schedule.tree().diameter),
      ratio(boost::rational_cast<double>(schedule.load()),
            boost::rational_cast<double>(schedule.load_bound())),
      made - start, cpu_seconds() - made, static_cast<double>(schedule.memory()) / (1 << 20),
      peak_mebibytes(), right ? "ok" : "WRONG");
}

void measure_explicit(const std::string& side) {
  const Topology topology = make_topology(fmt::format("torus:{0}x{0}", side));
  const double start = cpu_seconds();
  const Schedule schedule =
      generate_schedule("symmetric", topology, Collective::AllGather, Rank{0});
  const double made = cpu_seconds();
  const bool right = verify(schedule, topology).ok();
  fmt::print(
      "allgather on {}: {} transfers, {:.3f} s to generate, {:.3f} s to verify, {:.1f} MiB peak, "
      "{}\n",
      topology.name(), schedule.transfers.size(), made - start, cpu_seconds() - made,
      peak_mebibytes(), right ? "ok" : "WRONG");
}

struct Tally {
  std::uint64_t tori = 0, most_steps = 0, more_depth = 0;
  double worst_ratio = 1;
};

/// All tori with ascending sizes of 2 and more that begin with `sizes`.
void count_optimal(std::vector<std::uint32_t>& sizes, std::uint32_t size, std::uint32_t most,
                   Tally& tally) {
  for (std::uint32_t n = sizes.empty() ? 2 : sizes.back(); size * n <= most; ++n) {
    sizes.push_back(n);
    const CayleyGraph graph = CayleyGraph::torus(sizes);
    const TranslationTree tree = make_translation_tree(graph);
    const std::string name = fmt::format("torus:{}", fmt::join(sizes, "x"));
    if (const auto fault = find_fault(graph, tree)) fmt::print("{}: {}\n", name, *fault);
    ++tally.tori;
    tally.worst_ratio = std::max(tally.worst_ratio, ratio(tree.steps, tree.least_steps));
    if (tree.steps > tree.least_steps) {
      ++tally.most_steps;
      fmt::print("{}: {} steps, bound {}\n", name, tree.steps, tree.least_steps);
    }
    if (tree.depth > tree.diameter) ++tally.more_depth;
    count_optimal(sizes, size * n, most, tally);
    sizes.pop_back();
  }
}

void measure_exhaustively(std::uint32_t most) {
  Tally tally;
  std::vector<std::uint32_t> sizes;
  count_optimal(sizes, 1, most, tally);
  fmt::print(
      "tori of up to {} ranks: {}; {} above the step bound (worst ratio {:.4f}), {} deeper than "
      "the "
      "diameter; {:.1f} s\n",
      most, tally.tori, tally.most_steps, tally.worst_ratio, tally.more_depth, cpu_seconds());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--exhaustive") {
    measure_exhaustively(static_cast<std::uint32_t>(std::stoul(arguments[1])));
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "--explicit") {
    measure_explicit(arguments[1]);
    return 0;
  }
  if (arguments.empty()) {
    arguments = {"torus:8x8",      "torus:8x8*4",       "torus:16x16",  "pancake:8",
                 "torus:64x64",    "torus:16x16x16",    "star-graph:8", "bubble-sort:8",
                 "torus:256x256",  "torus:100x100x100", "hypercube:20", "torus:1024x1024",
                 "torus:4096x4096"};
  }
  fmt::print("# allgather, implicit; ratios to bounds (steps, diameter, bandwidth); CPU seconds\n");
  fmt::print("{:<24} {:>9} {:>9} {:>7} {:>7} {:>7} {:>10} {:>10} {:>9} {:>8}\n", "network", "ranks",
             "steps", "steps", "depth", "load", "generate", "verify", "MiB kept", "MiB peak");
  for (const std::string& argument : arguments) measure(argument);
  return 0;
}
