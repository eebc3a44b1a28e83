// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How far the best schedule is from the least time, on families, groups and random networks.
/// usage: bench_survey [COLLECTIVE [RANDOM [SEED [PART PARTS]]]]
/// A line for each network and size, its fields separated by tabs: class, network, collective,
/// bytes, best algorithm, its predicted time in ps, the proven least time in ps, what proves it,
/// the larger of the longest way and the bandwidth bound in ps. bench/survey makes tables of them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/report.hpp"
#include "algorithms/tuning/tune.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace {

using namespace multitree;

constexpr std::uint64_t kSizes[] = {8,       1 << 10,  std::uint64_t{64} << 10,
                                    1 << 20, 64 << 20, 1 << 30};

const std::vector<std::string> kFamilies = {"ring:16",
                                            "torus:4x4",
                                            "torus:8x8",
                                            "torus:4x4x4",
                                            "torus:5x3",
                                            "hypercube:5",
                                            "full:8",
                                            "circulant:16?offsets=1,5",
                                            "twisted-torus:8x4",
                                            "star-graph:4",
                                            "hyperx:4x4",
                                            "slimfly:3",
                                            "mesh:3x3",
                                            "mesh:4x4",
                                            "mesh:2x8",
                                            "mesh:8x8",
                                            "mesh:4x4x4",
                                            "torus:4x4?without=0-1",
                                            "torus:4x4?slow=5:0.25",
                                            "star:8",
                                            "star:8?slow=3:0.25",
                                            "fattree:4x4",
                                            "fattree:8x8",
                                            "bigraph:4x8",
                                            "dragonfly:4x2x2",
                                            "rail:2x4",
                                            "rail:3x4",
                                            "dgx2",
                                            "dgx-a100:2",
                                            "dgx-a100:4",
                                            "dgx-h100:2",
                                            "dgx-b200:2",
                                            "mi300x:2",
                                            "nvl72:2?gpus=8",
                                            "tpu-v4:4x2x2"};
const std::vector<std::string> kGroups = {
    "torus:4x4?ranks=0-5",         "torus:8x8?ranks=0-30:2",       "mesh:4x4?ranks=0-3,12-15",
    "mesh:5x5?ranks=0-24:3",       "dgx-a100:2?ranks=0-3,8-11",    "dgx-a100:4?ranks=0-31:4",
    "dgx-h100:2?ranks=0,1,8,9,10", "fattree:4x4?ranks=0-2,5,9-12", "hypercube:4?ranks=0-10",
    "ring:12?ranks=0,1,5,6,9"};

/// A kind of random network.
struct Kind {
  const char* name;
  std::uint64_t least_ranks, ranks;  ///< so many from the least on
  std::uint64_t switches;            ///< at most, in every other network; at least one
  std::uint64_t fastest;             ///< links move 1 GB/s to as many
};
constexpr Kind kRandom{"random", 3, 10, 5, 8}, kUneven{"uneven", 24, 9, 8, 97};

/// Links take 100 ns to 1 us and are the same both ways.
Topology random_network(const Kind& kind, std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15ULL + 1);
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  TopologyBuilder builder(fmt::format("{}:{}", kind.name, seed));
  const auto ranks = static_cast<std::uint32_t>(kind.least_ranks + pick(kind.ranks));
  const auto switches = static_cast<std::uint32_t>(seed % 2 == 0 ? 0 : 1 + pick(kind.switches));
  std::vector<NodeId> nodes;
  for (std::uint32_t r = 0; r < ranks; ++r) nodes.push_back(builder.add_endpoint());
  for (std::uint32_t s = 0; s < switches; ++s) {
    const auto at = static_cast<std::ptrdiff_t>(pick(nodes.size() + 1));
    nodes.insert(nodes.begin() + at, builder.add_switch(fmt::format("s{}", s)));
  }
  const auto link = [&](std::size_t a, std::size_t b) {
    if (a == b) return;
    const Bandwidth there{(1 + pick(kind.fastest)) * 1'000'000'000};
    const Time latency{static_cast<std::int64_t>(100 + pick(901)) * 1000};
    builder.add_duplex(nodes[a], nodes[b], there, latency);
  };
  for (std::size_t i = 1; i < nodes.size(); ++i) link(pick(i), i);
  for (std::size_t i = 0; i < nodes.size(); ++i) link(pick(nodes.size()), pick(nodes.size()));
  return std::move(builder).build();
}

/// For so many small random networks one large uneven one, which takes as much longer.
constexpr std::uint64_t kFewer = 4;

/// The schedules of a network, each made once for all sizes unless it asks for the size.
class Candidates {
 public:
  Candidates(const Topology& topology, Collective collective)
      : topology_(topology), collective_(collective), specs_(candidate_specs()) {
    for (const std::string& spec : specs_) {
      const bool sized = told(spec, 8, kMessageOverhead) != spec;
      schedules_.push_back(sized ? std::vector<Schedule>{} : made(spec));
    }
  }

  /// The fastest for a size, and its time.
  [[nodiscard]] std::pair<std::string, Time> best(std::uint64_t bytes) const {
    const CostModel cost{kMessageOverhead};
    std::pair<std::string, Time> best{"-", Time{INT64_MAX}};
    for (std::size_t s = 0; s < specs_.size(); ++s) {
      const std::string sized = told(specs_[s], bytes, kMessageOverhead);
      for (const Schedule& schedule : sized == specs_[s] ? schedules_[s] : made(sized)) {
        const Time time = predict_time(schedule, topology_, bytes, cost);
        if (time < best.second) best = {schedule.algorithm, time};
      }
    }
    return best;
  }

 private:
  /// None where the network does not allow it.
  [[nodiscard]] std::vector<Schedule> made(const std::string& spec) const {
    std::vector<Schedule> made;
    try {
      made.push_back(generate_schedule(spec, topology_, collective_, Rank{0}));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported) throw;
    }
    return made;
  }

  const Topology& topology_;
  Collective collective_;
  std::vector<std::string> specs_;
  std::vector<std::vector<Schedule>> schedules_;  // of specs_, those that are for all sizes
};

void survey(const char* kind, const Topology& topology, Collective collective) {
  const Certificate certificate = certify(topology, collective).certificate;
  const LeastTime least(topology, certificate, kMessageOverhead);
  const Candidates candidates(topology, collective);
  TimeCertificate way = least.at(0);
  way.reason = TimeReason::Path;
  way.path = certificate.far_apart;
  for (const std::uint64_t bytes : kSizes) {
    const auto [algorithm, time] = candidates.best(bytes);
    const TimeCertificate proof = least.at(bytes);
    way.bytes = bytes;
    const double bandwidth = seconds_of(certificate.bound, topology, bytes) * 1e12;
    const double larger =
        std::max(bandwidth, static_cast<double>(evaluate_time(way, topology).picoseconds));
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{:.0f}\n", kind, topology.name(),
               to_string(collective), bytes, algorithm, time.picoseconds, proof.bound.picoseconds,
               to_string(proof.reason), larger);
  }
  std::fflush(stdout);
}

std::uint64_t number(const char* text) { return std::stoull(text); }

}  // namespace

int main(int argc, char** argv) {
  try {
    const Collective collective = parse_collective(argc > 1 ? argv[1] : "allreduce");
    const std::uint64_t networks = argc > 2 ? number(argv[2]) : 60;
    const std::uint64_t seed = argc > 3 ? number(argv[3]) : 1;
    const std::uint64_t part = argc > 5 ? number(argv[4]) : 0;
    const std::uint64_t parts = argc > 5 ? number(argv[5]) : 1;
    std::uint64_t count = 0;
    const auto is_mine = [&] { return count++ % parts == part; };
    for (const std::string& spec : kFamilies) {
      if (is_mine()) survey("families", make_topology(spec), collective);
    }
    for (const std::string& spec : kGroups) {
      if (is_mine()) survey("groups", make_topology(spec), collective);
    }
    for (std::uint64_t n = 0; n < networks; ++n) {
      if (is_mine()) survey("random", random_network(kRandom, seed + n), collective);
    }
    for (std::uint64_t n = 0; n < networks / kFewer; ++n) {
      if (is_mine()) survey("uneven", random_network(kUneven, seed + n), collective);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_survey: {}\n", error.what());
    return 2;
  }
}
