// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What each generator reaches of the proven optimum, on every family.
/// usage: bench_optimality [NETWORK ...]
/// Loads are exact: shard times of the busiest link over those of the certificate. Times are
/// predict_time() at 64 MiB over the certificate's bound.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace {

using namespace multitree;

constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;

const std::vector<std::string> kNetworks = {
    "ring:16",
    "torus:4x4",
    "torus:8x8",
    "torus:16x16",
    "torus:2x16",
    "torus:4x4x4",
    "hypercube:6",
    "full:8",
    "circulant:16?offsets=1,5",
    "twisted-torus:8x4",
    "star-graph:4",
    "mesh:3x3",
    "mesh:4x4",
    "mesh:2x8",
    "mesh:8x8",
    "mesh:16x16",
    "mesh:4x4x4",
    "torus:4x4?without=0-1",
    "torus:8x8?without=0-1",
    "torus:8x8?without=0-1,10-11,20-28,35-43,49-50,54-62,5-6,56-57",
    "torus:4x4?slow=5:0.25",
    "star:8",
    "star:8?slow=3:0.25",
    "fattree:4x4",
    "fattree:8x8",
    "bigraph:4x8",
    "bigraph:4x16",
    "dragonfly:4x2x2",
    "dgx2",
    "dgx-a100:2",
    "dgx-a100:4",
    "dgx-h100:2"};

/// Seconds that the bound allows for kBytes.
double seconds(const Exact& shard_times, const Topology& topology) {
  return shard_times.convert_to<double>() * static_cast<double>(kBytes) / topology.num_ranks() /
         static_cast<double>(topology.unit_bandwidth().bytes_per_second);
}

/// "load ratio/time ratio" of an algorithm, or "-" where it does not serve the network.
std::string ratios(std::string_view algorithm, const Topology& topology, Collective collective,
                   const Exact& bound) {
  try {
    const Schedule schedule = make_schedule(algorithm, topology, collective);
    const Exact load = load_of(schedule, topology) / bound;
    return fmt::format(
        "{:.3f}/{:.3f}", load.convert_to<double>(),
        predict_time(schedule, topology, kBytes).seconds() / seconds(bound, topology));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Unsupported) throw;
    return "-";
  }
}

void print_row(const std::string& spec) {
  const Topology topology = make_topology(spec);
  const Bounds bounds = compute_bounds(topology);
  const Certified gather = certify(topology, bounds, Collective::AllGather);
  const Certified reduce = certify(topology, bounds, Collective::AllReduce);
  const auto row = [&](std::string_view algorithm, Collective collective) {
    const bool gathers = collective == Collective::AllGather;
    return ratios(algorithm, topology, collective,
                  gathers ? gather.certificate.bound : reduce.certificate.bound);
  };
  const Exact two_phases(bounds.all_reduce().numerator(), bounds.all_reduce().denominator());
  constexpr Collective kGather = Collective::AllGather, kReduce = Collective::AllReduce;
  fmt::print("{:<28} {:>5} {:>9} {:>12} {:>12} {:>12} | {:>10}{} {:>6.3f} {:>13} {:>13} {:>13}\n",
             spec.size() > 28 ? spec.substr(0, 25) + "..." : spec, topology.num_ranks(),
             gather.certificate.bound.str(), row("multitree", kGather), row("symmetric", kGather),
             row("forest", kGather), reduce.certificate.bound.str(), reduce.exact ? ' ' : '?',
             Exact(two_phases / reduce.certificate.bound).convert_to<double>(),
             row("ring", kReduce), row("multitree", kReduce), row("allreduce-optimal", kReduce));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  fmt::print("# exact load and predicted time at 64 MiB, over the bound\n");
  fmt::print("{:<28} {:>5} {:>9} {:>12} {:>12} {:>12} | {:>11} {:>6} {:>13} {:>13} {:>13}\n",
             "network", "ranks", "allgather", "multitree", "symmetric", "forest", "allreduce",
             "RS+AG", "ring", "multitree", "allr.-optimal");
  try {
    const std::vector<std::string> asked(argv + 1, argv + argc);
    for (const std::string& spec : asked.empty() ? kNetworks : asked) print_row(spec);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_optimality: {}\n", error.what());
    return 2;
  }
}
