// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What decides, where theory says what does.
#include "algorithms/tuning/reason.hpp"

#include <gtest/gtest.h>

#include "topologies/registry.hpp"

namespace multitree {
namespace {

std::vector<Reason> reasons_on(const std::string& network, const TuneOptions& options) {
  const Topology topology = make_topology(network);
  return reasons(tune(topology, Collective::AllReduce, Rank{0}, options), topology, options);
}

TEST(Reasons, AddUpAndFollowTheSize) {
  TuneOptions options;
  options.cost.message_overhead = kMessageOverhead;
  const auto all = reasons_on("torus:4x4", options);
  ASSERT_GT(all.size(), 4U);
  for (const Reason& reason : all) {
    EXPECT_NEAR(reason.bytes_part + reason.messages_part + reason.latency_part, 1, 1e-9);
    EXPECT_GE(reason.latency_part, 0);
    ASSERT_TRUE(reason.next.has_value());
    EXPECT_NE(*reason.next, reason.candidate);
    // Windows that gain less than 1% are left to those beside them.
    EXPECT_GE(reason.next_time.seconds(), reason.time.seconds() * 0.985) << reason.bytes;
  }
  EXPECT_EQ(all.front().decides(), "messages");  // 1us each, beside 150 ns of latency
  EXPECT_EQ(all.back().decides(), "bytes");
  EXPECT_GT(all.back().bytes_part, 0.9);
}

TEST(Reasons, LatencyDecidesWhereMessagesAreFree) {
  const auto all = reasons_on("ring:4", {});
  EXPECT_EQ(all.front().decides(), "latency");
  EXPECT_EQ(all.front().messages_part, 0);
}

TEST(Reasons, OneAlgorithmHasNoNext) {
  TuneOptions options;
  options.algorithms = {"ring"};
  for (const Reason& reason : reasons_on("ring:4", options)) EXPECT_FALSE(reason.next);
}

}  // namespace
}  // namespace multitree
