// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that several messages share, against what theory says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "algorithms/registry.hpp"
#include "nic/simulate.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// A logical ring on a physical one: rank i sends to rank i + stride, over `stride` links, so that
/// each link carries `stride` messages in every step.
Schedule stride_ring(const Topology& topology, std::uint32_t stride) {
  const std::uint32_t n = topology.num_ranks();
  Schedule schedule;
  schedule.algorithm = fmt::format("ring of stride {}", stride);
  schedule.ranks = n;
  schedule.chunks = one_chunk_per_rank(n);
  const auto link_from = [&](std::uint32_t rank) {
    for (const LinkId link : topology.out_links(topology.node_of(Rank{rank}))) {
      if (topology.link(link).dst == topology.node_of(Rank{(rank + 1) % n})) return link;
    }
    throw std::logic_error("expected a ring");
  };
  const auto at = [&](std::uint32_t position) { return position * stride % n; };
  for (std::uint32_t s = 0; s < 2 * (n - 1); ++s) {
    for (std::uint32_t position = 0; position < n; ++position) {
      const std::uint32_t src = at(position), dst = at(position + 1);
      std::vector<LinkId> route;
      for (std::uint32_t h = 0; h < stride; ++h) route.push_back(link_from((src + h) % n));
      const Op op = s < n - 1 ? Op::Reduce : Op::Copy;
      // Reduce-scatter: position p passes on chunk p - 1 - s, ending at its owner; all-gather: what
      // it got in the step before.
      const std::uint32_t hop =
          s < n - 1 ? position + 2 * n - 1 - s : position + 2 * n - (s - (n - 1));
      schedule.add(s, op, at(hop % n), Rank{src}, Rank{dst}, route);
    }
  }
  schedule.canonicalize();
  return schedule;
}

class StrideRing : public testing::TestWithParam<std::pair<std::uint32_t, std::uint32_t>> {};

// Every link carries `stride` messages at a time, each of F flits: they share it, so a step takes
// stride * F flits and the way of the last one. 2 (N - 1) steps follow each other. That takes a
// virtual channel for each of them; of four, the ring's dateline leaves two.
TEST_P(StrideRing, TakesTheShareOfItsLinks) {
  const auto& [ranks, stride] = GetParam();
  const Topology topology = make_topology(fmt::format("ring:{}", ranks));
  const Schedule schedule = stride_ring(topology, stride);
  const std::uint64_t flits = 2048;
  const std::uint64_t bytes = flits * 16 * ranks;
  const std::uint64_t step = stride * (flits + 1) + 150 * stride + 2;
  const std::uint64_t expected = 2 * (ranks - 1) * step;
  for (const nic::Model model : {nic::Model::Flit, nic::Model::Message}) {
    const nic::Simulation result =
        nic::simulate(schedule, topology, bytes, {.virtual_channels = 8},
                      {.model = model, .data = model == nic::Model::Flit});
    ASSERT_TRUE(result.errors.empty()) << result.errors.front();
    EXPECT_EQ(result.checked, model == nic::Model::Flit);
    EXPECT_NEAR(static_cast<double>(result.cycles), static_cast<double>(expected),
                0.05 * static_cast<double>(expected))
        << to_string(model);
    EXPECT_EQ(result.link_flits, std::uint64_t{2} * (ranks - 1) * ranks * stride * (flits + 1));
  }
}

INSTANTIATE_TEST_SUITE_P(Rings, StrideRing,
                         testing::Values(std::pair(8U, 1U), std::pair(8U, 3U), std::pair(7U, 2U),
                                         std::pair(5U, 2U), std::pair(9U, 4U)));

// On a fat tree the exchange of `forest` loads no link twice at a time. With a way into the switch
// for each virtual channel it reaches the bound of the links; inputs that share theirs lose some of
// it.
TEST(SharedInputs, LoseBandwidthThatNoLinkLimits) {
  const Topology topology = make_topology("fattree:4x4");
  const Schedule schedule = make_schedule("forest", topology);
  const auto cycles = [&](bool shared) {
    const nic::Simulation result =
        nic::simulate(schedule, topology, 1 << 18, {.shared_inputs = shared},
                      {.model = nic::Model::Flit, .data = true});
    EXPECT_TRUE(result.checked);
    return result.cycles;
  };
  EXPECT_LT(cycles(false), cycles(true));
  EXPECT_THROW(static_cast<void>(nic::simulate(schedule, topology, 64, {.shared_inputs = true},
                                               {.model = nic::Model::Message})),
               Error);
}

}  // namespace
}  // namespace multitree
