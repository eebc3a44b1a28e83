// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rounds of schedules, held to what they promise.
#include "algorithms/coalesced.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(Levels, OfSwingAreItsRounds) {
  const Schedule schedule = make_schedule("swing?rounds=1&parts=one", make_topology("ring:16"));
  EXPECT_EQ(schedule.coalesces, 131072);
  EXPECT_GT(schedule.num_steps(), 8U);
  std::map<std::uint32_t, std::size_t> transfers;
  for (const std::uint32_t level : levels_of(schedule)) ++transfers[level];
  const std::map<std::uint32_t, std::size_t> rounds{{0, 16 * 8}, {1, 16 * 4}, {2, 16 * 2},
                                                    {3, 16},     {4, 16},     {5, 16 * 2},
                                                    {6, 16 * 4}, {7, 16 * 8}};
  EXPECT_EQ(transfers, rounds);
}

/// What a rank does with its value of a chunk, step by step: a value that was received is passed on
/// in a later round, received again in a later one, and a value that was sent is not overwritten in
/// an earlier one. In one step, what is sent is the value from before.
void expect_order(const Schedule& schedule) {
  struct Last {
    std::int64_t received = -1, sent = -1;
  };
  const std::vector<std::uint32_t> levels = levels_of(schedule);
  std::map<std::pair<Rank, std::uint32_t>, Last> values;
  const auto& all = schedule.transfers;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].step == all[begin].step) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      Last& value = values[{all[i].src, all[i].chunk}];
      EXPECT_GT(std::int64_t{levels[i]}, value.received) << schedule.algorithm << ", " << i;
      value.sent = std::max(value.sent, std::int64_t{levels[i]});
    }
    std::map<std::pair<Rank, std::uint32_t>, std::int64_t> now;
    for (std::size_t i = begin; i < end; ++i) {
      const std::pair at(all[i].dst, all[i].chunk);
      EXPECT_GE(std::int64_t{levels[i]}, values[at].sent) << schedule.algorithm << ", " << i;
      EXPECT_GT(std::int64_t{levels[i]}, values[at].received) << schedule.algorithm << ", " << i;
      now[at] = std::max(now[at], std::int64_t{levels[i]});
    }
    for (const auto& [at, level] : now) values[at].received = level;
  }
}

TEST(Levels, KeepTheOrderOfEachValue) {
  for (const char* spec :
       {"swing", "swing?rounds=1", "bine", "multitree", "ring", "ring2d", "allreduce-optimal",
        "recursive-doubling", "halving-doubling?scatter=2&parts=2", "circulant",
        "circulant?parts=4"}) {
    expect_order(make_schedule(spec, make_topology("torus:4x4")));
  }
  expect_order(make_schedule("hdrm", make_topology("bigraph:4x2")));
  for (const Collective collective : {Collective::Broadcast, Collective::ReduceScatter}) {
    expect_order(make_schedule("forest", make_topology("mesh:3x3"), collective));
  }
}

}  // namespace
}  // namespace multitree
