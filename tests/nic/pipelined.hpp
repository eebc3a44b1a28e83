// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums at the root of a star of links, for tests of receive engines.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/schedule.hpp"
#include "nic/simulate.hpp"
#include "recorder.hpp"

namespace multitree::test::pipelined {

inline constexpr std::uint64_t kFlits = 60;  // payload of a piece: whole shards of up to 6 ranks
inline constexpr std::uint64_t kLag = 5;     // from the issue of a word to its being visible
inline constexpr nic::Parameters kPipelined{.reduction = nic::Reduction::Pipelined,
                                            .watchdog_cycles = 5000};

inline nic::Parameters with(nic::Parameters parameters, std::uint32_t nic::Parameters::*member,
                            std::uint32_t value) {
  parameters.*member = value;
  return parameters;
}

/// A root, rank 0, and children with a link each of so many cycles.
inline Topology star(const std::vector<std::uint64_t>& latencies) {
  TopologyBuilder builder("star of links");
  const NodeId root = builder.add_endpoint("root");
  for (std::size_t c = 0; c < latencies.size(); ++c) {
    builder.add_duplex(root, builder.add_endpoint(fmt::format("child {}", c)),
                       Bandwidth{16'000'000'000},
                       Time{static_cast<std::int64_t>(latencies[c]) * 1000});
  }
  return std::move(builder).build();
}

/// All children send their part of each piece to the root, whose sums are in the children's order.
inline Schedule sums(const Topology& topology, std::uint32_t pieces) {
  Schedule schedule;
  schedule.collective = Collective::Reduce;
  schedule.algorithm = "by hand";
  schedule.ranks = topology.num_ranks();
  schedule.chunks.assign(pieces, {});
  for (std::uint32_t child = 1; child < schedule.ranks; ++child) {
    const LinkId up = topology.out_links(topology.node_of(Rank{child})).front();
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
      schedule.add(piece, Op::Reduce, piece, Rank{child}, Rank{0}, std::vector<LinkId>{up});
    }
  }
  schedule.canonicalize();
  return schedule;
}

struct Sum {
  Recorder seen;
  nic::Simulation result;
};
/// Such a sum of so many pieces of `flits`, with data.
inline Sum run(const std::vector<std::uint64_t>& latencies, std::uint32_t pieces = 1,
               const nic::Parameters& parameters = kPipelined, std::uint64_t flits = kFlits) {
  const Topology topology = star(latencies);
  Sum run;
  run.result = nic::simulate(sums(topology, pieces), topology, pieces * flits * 16, parameters,
                             {.data = true, .observer = &run.seen});
  EXPECT_EQ(run.result.checked, run.result.errors.empty());
  return run;
}

/// Words one after the other, each in a cycle, from `first` on.
inline std::vector<std::uint64_t> in_a_row(std::uint64_t first, std::uint64_t count = kFlits) {
  std::vector<std::uint64_t> cycles(count);
  for (std::uint64_t i = 0; i < count; ++i) cycles[i] = first + i;
  return cycles;
}

}  // namespace multitree::test::pipelined
