// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce by boxes: one rank's part against the schedule written out, and its time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/symmetric/alike_network.hpp"
#include "algorithms/symmetric/alike_times.hpp"
#include "algorithms/symmetric/boxed_schedule.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

using Row = std::tuple<std::uint32_t, Op, std::uint32_t, Rank, Rank>;

class Boxed : public testing::TestWithParam<const char*> {
 protected:
  Topology topology = make_topology(GetParam());
  std::string reason;
  AlikeNetwork network = find_alike_network(topology, reason).value();
  std::vector<Boxes> ladder = box_ladder(network.ranks(), reason);

  Schedule written_out(const Boxes& boxes) const {
    return make_schedule(fmt::format("symmetric?within={}", box_size(boxes)), topology);
  }
};

TEST_P(Boxed, BoxesGrowToTheWholeNetwork) {
  ASSERT_FALSE(ladder.empty()) << reason;
  EXPECT_EQ(box_size(ladder.back()), topology.num_ranks());
  for (std::size_t i = 1; i < ladder.size(); ++i) {
    EXPECT_GT(box_size(ladder[i]), box_size(ladder[i - 1]));
  }
}

TEST_P(Boxed, EveryRanksPartIsThatOfTheVerifiedSchedule) {
  for (const Boxes& boxes : ladder) {
    SCOPED_TRACE(box_size(boxes));
    const Schedule schedule = written_out(boxes);
    EXPECT_TRUE(verify(schedule, topology, {.replay_always = true}).ok());
    const BoxedSchedule boxed(network.ranks(), boxes);
    EXPECT_EQ(schedule.num_steps(), boxed.num_steps());
    EXPECT_EQ(schedule.transfers.size(), boxed.num_messages());
    EXPECT_EQ(load_of(schedule, topology), to_exact(boxed.load()));
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      std::vector<Row> whole, one;
      for (const Transfer& t : schedule.transfers) {
        if (t.src == Rank{r} || t.dst == Rank{r}) {
          whole.emplace_back(t.step, t.op, t.chunk, t.src, t.dst);
        }
      }
      for (std::uint32_t step = 0; step < boxed.num_steps(); ++step) {
        for (const auto& m : boxed.messages_of_rank(r, step)) {
          one.emplace_back(m.step, m.op, m.chunk, m.src, m.dst);
        }
      }
      ASSERT_EQ(one, whole) << "rank " << r;
    }
  }
}

/// The rounds take exactly what they take written out. The trees serve messages in another order
/// (alike_times.hpp), and are priced as if all ranks began the last phase with the last one.
TEST_P(Boxed, TimeIsThatOfTheWholeSchedule) {
  for (const Boxes& boxes : ladder) {
    SCOPED_TRACE(box_size(boxes));
    const Schedule schedule = written_out(boxes);
    const BoxedSchedule boxed(network.ranks(), boxes);
    for (const Time overhead : {Time{}, kMessageOverhead}) {
      for (const std::uint64_t bytes :
           {std::uint64_t{8}, std::uint64_t{1} << 16, std::uint64_t{64} << 20}) {
        const double whole = predict_time(schedule, topology, bytes, {overhead}).seconds();
        const double one = predict_time(boxed, bytes, overhead).seconds();
        if (boxed.chunks() == 1) {
          EXPECT_NEAR(one, whole, 1e-11 + 1e-9 * whole) << bytes;
        } else {
          EXPECT_LE(one, 1.1 * whole) << bytes;
          EXPECT_GE(one, (network.ranks().levels.empty() ? 0.85 : 0.68) * whole) << bytes;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Boxed,
                         testing::Values("torus:1", "torus:8", "torus:4x4", "torus:8x8",
                                         "torus:4x4x4", "torus:6x4", "torus:5x3",
                                         "torus:4x2x2?lat=100ns,200ns,300ns", "hypercube:4",
                                         "full:6", "star:5", "star:8", "dgx-a100:1", "dgx-a100:4",
                                         "dgx-a100:3", "rail:3x4", "fattree:3x2x4", "fattree3:4"),
                         [](const auto& c) {
                           std::string name = c.param;
                           std::ranges::replace_if(
                               name, [](char x) { return !std::isalnum(x); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace multitree
