// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Partial sums with counts: bits of the reliable all-reduce, means of what came, losses as theory
/// has them; and networks that learn from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "training/loss/counted_sums.hpp"
#include "training/loss/lossy_training.hpp"
#include "training/loss/traffic.hpp"

namespace multitree::training {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Schedule schedule_of(const std::string& network, const std::string& algorithm) {
  return make_schedule(algorithm, make_topology(network), Collective::AllReduce);
}

std::vector<std::vector<float>> random_gradients(std::uint32_t ranks, std::size_t numbers) {
  Random random(3);
  std::vector<std::vector<float>> own(ranks, std::vector<float>(numbers));
  for (auto& values : own) {
    for (float& value : values) value = random.normal();
  }
  return own;
}

/// What ranks have after a schedule, as its definition says: read before the step, written after.
std::vector<std::vector<float>> replayed(const Schedule& schedule,
                                         std::vector<std::vector<float>> values) {
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, values[0].size());
  for (std::uint32_t step = 0; step < schedule.num_steps(); ++step) {
    const auto before = values;
    for (const multitree::Transfer& transfer : schedule.transfers) {
      if (transfer.step != step) continue;
      const ElementRange& range = ranges[transfer.chunk];
      for (std::uint64_t i = range.begin; i < range.begin + range.count; ++i) {
        float& to = values[index(transfer.dst)][i];
        const float from = before[index(transfer.src)][i];
        to = transfer.op == Op::Reduce ? to + from : from;
      }
    }
  }
  return values;
}

struct Way {
  std::string network, algorithm;
};

class CountedSumsOf : public ::testing::TestWithParam<Way> {
 protected:
  Schedule schedule_ = schedule_of(GetParam().network, GetParam().algorithm);
};

TEST_P(CountedSumsOf, NothingLostAreTheReliableOnes) {
  for (const std::size_t numbers : {1U, 7U, 1003U}) {
    const auto own = random_gradients(schedule_.ranks, numbers);
    CountedSums sums(schedule_, numbers, 16, {0});
    std::vector<float> result(numbers);
    const LossReport report = sums.sum(own, result, {.part = 0}, 0, Missing::Counted);
    EXPECT_EQ(report.lost, 0U);
    EXPECT_EQ(report.least_count, schedule_.ranks);
    for (const auto& rank : replayed(schedule_, own)) EXPECT_EQ(rank, result);
  }
}

TEST_P(CountedSumsOf, LossesAreMeansOfWhatCame) {
  constexpr std::size_t kNumbers = 4096;
  // Ranks of which each has one number: their means tell who was in it.
  std::vector<std::vector<float>> own;
  for (std::uint32_t rank = 0; rank < schedule_.ranks; ++rank) own.emplace_back(kNumbers, 1.0F);
  CountedSums sums(schedule_, kNumbers, 16, {0, 1000});
  std::vector<float> result(kNumbers), zeros(kNumbers);
  const Losses losses{.part = 0.3, .seed = 5};
  const LossReport report = sums.sum(own, result, losses, 0, Missing::Counted);
  EXPECT_EQ(sums.sum(own, zeros, losses, 0, Missing::Zero).lost, report.lost);
  EXPECT_EQ(report.lost > 0, schedule_.ranks > 1);
  double counted = 0;
  for (const float value : zeros) counted += value;
  EXPECT_EQ(static_cast<std::uint64_t>(counted), report.contributions - report.lost);
  for (const float value : result) EXPECT_NEAR(value, schedule_.ranks, 1e-4);
  std::vector<float> again(kNumbers);
  sums.sum(own, again, losses, 0, Missing::Counted);
  EXPECT_EQ(again, result);
}

TEST_P(CountedSumsOf, LossesAreAsManyAsTheirHopsSay) {
  constexpr std::size_t kNumbers = 4096;
  const auto own = random_gradients(schedule_.ranks, kNumbers);
  CountedSums sums(schedule_, kNumbers, 4, {0});
  std::vector<float> result(kNumbers);
  LossReport all;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const LossReport report = sums.sum(own, result, {.part = 0.1}, i, Missing::Counted);
    all.lost += report.lost;
    all.contributions += report.contributions;
    all.messages += report.messages;
    all.lost_messages += report.lost_messages;
  }
  EXPECT_NEAR(static_cast<double>(all.lost_messages), 0.1 * static_cast<double>(all.messages),
              0.003 * static_cast<double>(all.messages));
  EXPECT_NEAR(all.part_lost(), sums.expected_part_lost(0.1), 0.006);
}

INSTANTIATE_TEST_SUITE_P(Ways, CountedSumsOf,
                         ::testing::Values(Way{"torus:4x2", "multitree"}, Way{"torus:4x2", "ring"},
                                           Way{"mesh:3x3", "allreduce-optimal"},
                                           Way{"fattree:4x4", "multitree"},
                                           Way{"full:5", "multitree"}, Way{"ring:1", "ring"},
                                           Way{"dgx2", "double-binary-tree"}),
                         [](const auto& one) { return "Way" + std::to_string(one.index); });

TEST(CountedSums, LoseOfARingWhatItsHopsSay) {
  // A contribution goes over 0 to 7 messages of a ring of 8, each as often.
  double expected = 0;
  for (int hops = 0; hops < 8; ++hops) expected += (1 - std::pow(0.9, hops)) / 8;
  CountedSums sums(schedule_of("ring:8", "ring"), 64, 16, {0});
  EXPECT_NEAR(sums.expected_part_lost(0.1), expected, 1e-12);
}

TEST(CountedSums, LoseOnlyWhatTheirRuleLets) {
  const Schedule schedule = schedule_of("full:4", "multitree");
  auto own = random_gradients(4, 1000);
  for (auto& values : own) {
    for (std::size_t i = 0; i < 500; ++i) values[i] *= 0.001F;  // of one layer, the small ones
  }
  const auto lost_below = [&](std::string_view rule, std::vector<std::size_t> layers) {
    CountedSums sums(schedule, 1000, 10, std::move(layers));
    std::vector<std::vector<float>> ones(4, std::vector<float>(1000));
    for (auto& values : ones) values = own[0];
    std::vector<float> result(1000);
    sums.sum(ones, result, {.part = 1, .which = rule}, 0, Missing::Zero);
    std::vector<bool> whole(1000);
    for (std::size_t i = 0; i < 1000; ++i) {
      whole[i] = std::abs(result[i] - 4 * own[0][i]) <= 1e-5F * std::abs(own[0][i]);
    }
    return std::pair(std::count(whole.begin(), whole.begin() + 500, false),
                     std::count(whole.begin() + 500, whole.end(), false));
  };
  EXPECT_EQ(lost_below("all", {0}), std::pair(500L, 500L));
  EXPECT_EQ(lost_below("front", {0, 500}), std::pair(500L, 0L));
  EXPECT_EQ(lost_below("back", {0, 500}), std::pair(0L, 500L));
  const auto [small, other] = lost_below("small", {0});
  EXPECT_EQ(small, 500);
  EXPECT_LT(other, 500);
  EXPECT_EQ(lost_below("front-small", {0, 250, 500}).second, 0);
  EXPECT_THAT([&] { find_loss_rule("none"); }, ThrowsMessage<Error>(HasSubstr("one of: all")));
}

TEST(CountedSums, NeedTrees) {
  EXPECT_THAT([] { CountedSums(schedule_of("full:4", "recursive-doubling"), 4, 1, {0}); },
              ThrowsMessage<Error>(HasSubstr("partial sum once")));
  EXPECT_THAT(
      [] {
        CountedSums(make_schedule("ring", make_topology("ring:4"), Collective::AllGather), 4, 1,
                    {0});
      },
      ThrowsMessage<Error>(HasSubstr("expected an all-reduce")));
}

TEST(LossyTraining, IsTheReliableOneWithoutLosses) {
  const auto data = make_clusters(8, 4, 1, Shards::Mixed);
  const Schedule schedule = schedule_of("torus:4x2", "multitree");
  const LossyLesson lesson{.learner = "mlp?hidden=16&depth=1", .iterations = 30};
  const LossyRun reliable = train_with_losses(lesson, *data, schedule, {}, Missing::Zero);
  const LossyRun counted = train_with_losses(lesson, *data, schedule, {}, Missing::Counted);
  EXPECT_EQ(reliable.losses, counted.losses);
  EXPECT_LT(least_mean(reliable.losses, 5), 0.8 * reliable.losses.front());
}

/// The figure to reach, on a small network.
TEST(LossyTraining, NeedsNoMoreIterationsWithCounts) {
  const auto data = make_clusters(8, 4, 1, Shards::Mixed);
  const LossyLesson lesson{.learner = "mlp?hidden=32&depth=1", .iterations = 150};
  for (const char* algorithm : {"multitree", "ring"}) {
    const Schedule schedule = schedule_of("torus:4x2", algorithm);
    const LossyRun reliable = train_with_losses(lesson, *data, schedule, {}, Missing::Counted);
    const double target =
        least_mean(std::vector(reliable.losses.begin(), reliable.losses.begin() + 75), 10);
    const double base = iterations_to(reliable.losses, target, 10);
    const Losses losses{.part = 0.1};
    const auto iterations = [&](Missing missing) {
      return iterations_to(train_with_losses(lesson, *data, schedule, losses, missing).losses,
                           target, 10);
    };
    EXPECT_LE(iterations(Missing::Counted) / base, 1.05) << algorithm;
    EXPECT_GT(iterations(Missing::Zero) / base, 1.1) << algorithm;
  }
}

TEST(IterationsTo, AreCountedBetweenTwo) {
  EXPECT_DOUBLE_EQ(iterations_to({4, 3, 2, 1}, 2.5, 1), 2.5);
  EXPECT_DOUBLE_EQ(iterations_to({4, 3, 2, 1}, 2.5, 2), 3);
  EXPECT_DOUBLE_EQ(iterations_to({4, 3, 2, 1}, 0, 1), 4);
  EXPECT_DOUBLE_EQ(least_mean({4, 3, 2, 3}, 2), 2.5);
}

TEST(TrafficOfARing, SendsAsMuchAsAnAllReduce) {
  const auto flows = find_traffic_pattern("ring").flows({.ranks = 5, .bytes = 1003, .like = {}});
  std::vector<std::uint64_t> sent(5);
  for (const packets::Flow& flow : flows) sent[index(flow.src)] += flow.bytes;
  EXPECT_EQ(flows.size(), 40U);
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : sent) all += bytes;
  EXPECT_EQ(all, 2U * 4 * 1003);
  EXPECT_THAT([] { find_traffic_pattern("mesh"); },
              ThrowsMessage<Error>(HasSubstr("one of: incast server ring")));
}

/// The tail of DLCP is that of its bytes where DCTCP's waits for time-outs.
TEST(TrafficOfAnIncast, HasAShorterTailWithBoundedLoss) {
  const Topology topology = make_topology("star:41?bw=12.5GB/s&lat=1us");
  TrafficRequest request{.ranks = 41, .bytes = 65'536, .like = {}, .jitter = parse_time("5us")};
  const TrafficPattern& incast = find_traffic_pattern("incast");
  request.like = dctcp_flow();
  const packets::Traffic dctcp = packets::simulate(incast.flows(request), topology, {});
  request.like = dlcp_flow(0.1, 0.5);
  const packets::Traffic dlcp = packets::simulate(incast.flows(request), topology, {});
  std::uint64_t time_outs = 0;
  for (const packets::FlowResult& flow : dctcp.flows) time_outs += flow.time_outs;
  EXPECT_GT(time_outs, 0U);
  EXPECT_LT(dlcp.end.seconds(), 0.2 * dctcp.end.seconds());
}

}  // namespace
}  // namespace multitree::training
