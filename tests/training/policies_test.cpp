// SPDX-License-Identifier: BSD-3-Clause
#include "training/policies.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "topologies/error.hpp"
#include "training/bound.hpp"
#include "training/pricer.hpp"

namespace multitree::training {
namespace {

/// Ready at 4, 7 and 9 s after the start of the backward pass.
const Model kThree{"three",
                   {{"front", 1, 2, {10, 2}}, {"middle", 2, 3, {30}}, {"last", 3, 4, {4}}}};
/// 2 s to start, half a second a byte.
const Costs kCosts = Costs::symmetric({2, 0.5});

double seconds(std::string_view policy, const Model& model = kThree, const Costs& costs = kCosts) {
  return simulate(policy, model, costs).seconds;
}

// Computing takes 6 + 9.
TEST(Policies, ByHand) {
  EXPECT_DOUBLE_EQ(seconds("bsp"), 9 + (2 + 46 * 0.5) + 6);
  // 4..8, 8..25, 25..28, 28..35.
  EXPECT_DOUBLE_EQ(seconds("wfbp"), 35 + 6);
  // {last} 4..8; {middle, 2 of front} 9..27; {10 of front} 27..34.
  EXPECT_DOUBLE_EQ(seconds("ddp?bucket=32&first=4"), 34 + 6);
  // The last layer waits 3 s for the next, more than a start costs; tensors of 12 bytes don't.
  EXPECT_DOUBLE_EQ(seconds("mg-wfbp?small=1"), 8 + (2 + 42 * 0.5) + 6 + 1);
  // Ticks at 5, 10, ...: {last} 5..9, then at 10 all that is left.
  EXPECT_DOUBLE_EQ(seconds("horovod?cycle=5s"), 10 + (2 + 42 * 0.5) + 6);
  // Scattering 4..7, 7..15.5, 15.5..19.5; gathering to 23.5, 32, 34; forward 23.5, 32, 34..37.
  EXPECT_DOUBLE_EQ(seconds("dear?fusion=none"), 37.5 - 0.5);
}

// {last} 4..8, then 2 s and half a second a byte for each chunk.
TEST(Policies, PriorityInTurnByHand) {
  // {middle} 8..25, {front} 25..33; forward of front 33, middle 34, last 36..39.
  EXPECT_DOUBLE_EQ(seconds("priority?order=serial&chunk=30"), 33 + 6);
  // {20 of middle} 8..20, {front} 20..28, {10 of middle} 28..35; forward 28, 35, 37..40.
  const Iteration parts = simulate("priority?order=serial&chunk=20", kThree, kCosts);
  EXPECT_DOUBLE_EQ(parts.seconds, 40);
  EXPECT_EQ(parts.transfers.size(), 4U);
  EXPECT_EQ(parts.order, Order::Serial);
  // Neighbours that are there go together: at 9 the front and the middle, as the last is not over.
  const Iteration fused =
      simulate("priority?order=serial&chunk=64", kThree, Costs::symmetric({4, 0.5}));
  EXPECT_EQ(fused.transfers.size(), 2U);
  EXPECT_DOUBLE_EQ(fused.seconds, 10 + (4 + 21) + 6);
  EXPECT_DOUBLE_EQ(seconds("priority?order=serial"), 39);  // the best of all chunks: one of all
}

// What a start takes is hidden by the next transfer, but after the last.
TEST(Policies, PriorityOverlappingByHand) {
  // {last} 4..6, {middle} 7..22, {front} 22..28, whose sums are there at 30; forward 30..36.
  const Iteration whole = simulate("priority?order=overlapping&chunk=30", kThree, kCosts);
  EXPECT_EQ(whole.order, Order::Overlapping);
  EXPECT_EQ(whole.transfers.size(), 3U);
  EXPECT_DOUBLE_EQ(whole.seconds, 30 + 6);
  for (const char* chunk : {"20", "30", "64", "search"}) {
    EXPECT_LE(seconds(std::string("priority?order=overlapping&chunk=") + chunk),
              seconds(std::string("priority?order=serial&chunk=") + chunk))
        << chunk;
  }
}

TEST(Policies, PriorityTakesTurnsWhereSwitchesAreAndStartsAreCheap) {
  Costs costs = Costs::symmetric({1e-3, 0.5});
  EXPECT_EQ(simulate("priority", kThree, costs).order, Order::Preemptive);
  costs.switched = true;
  EXPECT_EQ(simulate("priority", kThree, costs).order, Order::Serial);
  costs = Costs::symmetric({20, 0.5});
  costs.switched = true;
  EXPECT_EQ(simulate("priority", kThree, costs).order, Order::Preemptive);
}

/// What reduce-scatters and all-gathers cost need not be known for others.
TEST(Policies, SayWhetherTheyHaveHalves) {
  Costs other = kCosts;
  other.reduce_scatter = other.all_gather = {50, 7};
  for (const Policy& policy : policies()) {
    EXPECT_EQ(has_halves(policy.name), seconds(policy.name) != seconds(policy.name, kThree, other))
        << policy.name;
  }
  EXPECT_TRUE(has_halves("dear?fusion=none"));
  EXPECT_FALSE(has_halves("priority?order=serial"));
  EXPECT_FALSE(has_halves("none of them"));
}

/// The same times at all costs as those of transfers one by one.
TEST(Pricers, SayWhatPoliciesTake) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> some(0, 1);
  for (int round = 0; round < 50; ++round) {
    Model model{.name = "random", .layers = {}};
    for (int l = 0; l < 1 + round; ++l) {
      Layer layer{"l", some(random), some(random), {}};
      for (int t = 0; t < l % 3; ++t) layer.tensors.push_back(1 + random() % 1000);
      model.layers.push_back(layer);
    }
    for (const char* policy : {"bsp", "wfbp", "ddp", "ddp?bucket=1500&first=200", "dear",
                               "dear?fusion=none", "dear?fusion=900"}) {
      const Pricer pricer(policy, model);
      for (int cost = 0; cost < 3; ++cost) {
        const Costs costs{.all_reduce = {some(random), 0.002 * some(random)},
                          .reduce_scatter = {some(random), 0.002 * some(random)},
                          .all_gather = {some(random), 0.002 * some(random)},
                          .push_pull = {},
                          .call = some(random) / 10};
        EXPECT_NEAR(pricer.seconds(costs), seconds(policy, model, costs), 1e-9) << policy;
      }
    }
  }
  for (const char* policy :
       {"priority", "ddp?bucket=search", "dear?fusion=tuner", "dear?barrier=no"}) {
    try {
      (void)Pricer(policy, kThree);
      ADD_FAILURE() << policy;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    }
  }
}

// 46 bytes take 25 s as one, 15 s are computing.
TEST(Policies, OfRoundsByHand) {
  EXPECT_DOUBLE_EQ(seconds("pipe-sgd"), 25);
  EXPECT_DOUBLE_EQ(seconds("local-sgd"), 15 + 25.0 / 5);
  EXPECT_DOUBLE_EQ(seconds("local-sgd?every=1"), seconds("bsp"));
  EXPECT_DOUBLE_EQ(seconds("cocod?every=1"), 25);
  EXPECT_DOUBLE_EQ(seconds("cocod"), 15);
  EXPECT_DOUBLE_EQ(seconds("diloco?every=10"), 15 + 2.5);
  EXPECT_DOUBLE_EQ(seconds("diloco?every=2&fragments=4"), (4 * 2 + 23) / 2.0);
  EXPECT_DOUBLE_EQ(seconds("diloco?every=500&fragments=4"), 15);
}

// Halves of an all-reduce take 1 s and a quarter of a second a byte.
TEST(Policies, ShardedByHand) {
  // All in one unit: 9 s, scattered to 21.5, gathered to 34, 6 s.
  EXPECT_DOUBLE_EQ(seconds("fsdp?unit=all"), 9 + 12.5 + 12.5 + 6);
  // Backward of {last} 0..4 beside gathering {middle} 0..8.5; scattering {last} 8.5..10.5; backward
  // of {middle} 8.5..11.5 beside gathering {front} 10.5..14.5; scattering {middle} 14.5..23;
  // backward of {front} 14.5..16.5, scattered 23..27. Gathering {front} 27..31, {middle} 31..39.5
  // beside {front}, {last} 39.5..41.5 beside {middle} 39.5..41.5, and that itself 41.5..44.5.
  EXPECT_DOUBLE_EQ(seconds("fsdp?unit=1"), 44.5);
}

TEST(Policies, ThroughServersTakeTheirCosts) {
  Costs costs = kCosts;
  costs.push_pull = {1, 0.25};
  for (const std::string policy : {"bsp", "wfbp", "bytescheduler"}) {
    EXPECT_DOUBLE_EQ(seconds(policy + "-ps", kThree, costs),
                     seconds(policy, kThree, Costs::symmetric({1, 0.25})));
  }
}

/// DeAR by hand, groups ending behind the layers of these bits.
double dear_with(const Model& model, const Costs& costs, std::uint64_t cuts) {
  struct Group {
    std::size_t first = 0, end = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Group> groups(1);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    groups.back().end = l + 1;
    groups.back().bytes += model.layers[l].bytes();
    if ((cuts >> l & 1) != 0) groups.push_back({l + 1, l + 1, 0});
  }
  const std::vector<double> ready = ready_times(model);
  double now = 0;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    now = std::max(now, ready[group->first]) + costs.reduce_scatter.seconds(group->bytes);
  }
  double gathered = std::max(now, model.backward()), end = model.backward();
  for (const Group& group : groups) {
    gathered += costs.all_gather.seconds(group.bytes);
    end = std::max(end, gathered);
    for (std::size_t l = group.first; l < group.end; ++l) end += model.layers[l].forward;
  }
  return end;
}

/// Where groups should be small and where they should be large, ten trials find it.
TEST(DearTuner, IsNeverWorseThanItsFirstTrial) {
  Model model{"deep", {}};
  for (int l = 0; l < 300; ++l) model.layers.push_back({"layer", 1e-3, 2e-3, {4U << 20}});
  for (const double start : {1e-5, 1e-3, 5e-3, 5e-2}) {
    const Costs costs = Costs::symmetric({start, 1e-9});
    const double tuned = seconds("dear?fusion=tuner", model, costs);
    EXPECT_LE(tuned, seconds("dear?fusion=25MiB", model, costs)) << start;
    EXPECT_EQ(tuned, seconds("dear?fusion=tuner", model, costs));
    double least = HUGE_VAL;
    for (int size = 1; size <= 256; ++size) {
      least = std::min(least, seconds("dear?fusion=" + std::to_string(size) + "MiB", model, costs));
    }
    EXPECT_GE(tuned, least);
    EXPECT_LE(tuned, 1.05 * least) << start;
  }
}

/// Of a few layers every way to cut them is known.
TEST(CutSearch, IsNeverWorseThanLimitsAndOftenTheBest) {
  std::mt19937_64 random(3);
  int best = 0, rounds = 0;
  for (; rounds < 200; ++rounds) {
    Model model{"random", {}};
    for (std::uint64_t l = 1 + random() % 7; l > 0; --l) {
      model.layers.push_back({"layer",
                              static_cast<double>(random() % 20),
                              static_cast<double>(random() % 40),
                              {1 + random() % 100}});
    }
    const Costs costs = Costs::symmetric({static_cast<double>(random() % 30), 0.5});
    const double found = seconds("dear?fusion=search", model, costs);
    EXPECT_LE(found, seconds("dear", model, costs));
    EXPECT_LE(found, seconds("dear?fusion=none", model, costs));
    EXPECT_LE(seconds("ddp?bucket=search", model, costs), seconds("ddp", model, costs));
    // A cut at every layer or not, as a limit that only those layers are told apart by.
    double least = HUGE_VAL;
    for (std::uint64_t cuts = 0; cuts < std::uint64_t{1} << (model.layers.size() - 1); ++cuts) {
      least = std::min(least, dear_with(model, costs, cuts));
    }
    EXPECT_GE(found, least * (1 - 1e-12));
    best += found <= least * (1 + 1e-12);
  }
  EXPECT_GE(best, rounds * 9 / 10);
}

TEST(Policies, SendEveryGradientOnce) {
  for (const Policy& policy : policies()) {
    std::uint64_t reduced = 0, gathered = 0;
    for (const Transfer& transfer : simulate(policy.name, kThree, kCosts).transfers) {
      EXPECT_LE(transfer.ready, transfer.begin) << policy.name;
      EXPECT_LT(transfer.begin, transfer.end) << policy.name;
      if (transfer.collective != Collective::AllGather) reduced += transfer.bytes;
      if (transfer.collective != Collective::ReduceScatter) gathered += transfer.bytes;
    }
    EXPECT_EQ(reduced, kThree.bytes()) << policy.name;
    // Of a unit that the forward pass has left, FSDP gathers the parameters twice.
    const std::uint64_t again = policy.name == "fsdp" ? gathered - kThree.bytes() : 0;
    EXPECT_EQ(gathered - again, kThree.bytes()) << policy.name;
    EXPECT_LE(again, kThree.bytes()) << policy.name;
  }
}

TEST(Policies, WithoutGradientsOnlyCompute) {
  const Model still{"still", {{"a", 1, 2, {}}, {"b", 3, 4, {}}}};
  for (const Policy& policy : policies()) {
    EXPECT_DOUBLE_EQ(seconds(policy.name, still), 10) << policy.name;
  }
}

TEST(Policies, OptionsAreChecked) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"fifo", "one of: bsp wfbp ddp"},
      {"wfbp?bucket=1", "bucket"},
      {"ddp?bucket=0", "bucket: expected a size of at least a byte, got '0'"},
      {"horovod?cycle=0s", "cycle: expected a time with its unit, above 0, got '0s'"},
      {"dear?barrier=maybe", "barrier: expected yes or no, got 'maybe'"},
      {"dear?fusion=some", "fusion: expected a size"},
      {"priority?chunk=-1", "chunk: expected a size"},
      {"priority?order=fifo",
       "order: expected preemptive, serial, overlapping or either, got 'fifo'"},
      {"cocod?every=0", "every: expected a whole number from 1 on, got '0'"},
      {"fsdp?unit=some", "unit: expected a size"},
  };
  for (const auto& [policy, words] : cases) {
    try {
      (void)simulate(policy, kThree, kCosts);
      ADD_FAILURE() << policy;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string(words)));
    }
  }
}

/// Up to 12 layers, some without time or gradients.
Model random_model(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  Model model{"random", {}};
  for (std::uint64_t l = 1 + below(12); l > 0; --l) {
    Layer layer{"layer", static_cast<double>(below(20)), static_cast<double>(below(40)), {}};
    for (std::uint64_t t = below(4); t > 0; --t) layer.tensors.push_back(1 + below(100));
    model.layers.push_back(layer);
  }
  return model;
}

TEST(Bound, NoPolicyIsFasterAndPriorityReachesIt) {
  std::mt19937_64 random(16);
  for (int i = 0; i < 500; ++i) {
    const Model model = random_model(random);
    const double per_byte = static_cast<double>(1 + random() % 16) / 8;
    const double bound = iteration_bound(model, per_byte).seconds;
    const Costs fluid = Costs::symmetric({0, per_byte});
    const Costs costs = Costs::symmetric({static_cast<double>(random() % 5), per_byte}, 0.25);
    for (const Policy& policy : policies()) {
      if (!simulate(policy.name, model, costs).synchronous) continue;
      EXPECT_GE(seconds(policy.name, model, costs), bound * (1 - 1e-12)) << policy.name << ' ' << i;
      EXPECT_GE(seconds(policy.name, model, fluid), bound * (1 - 1e-12)) << policy.name << ' ' << i;
    }
    // A chunk holds up whoever comes while it is sent.
    EXPECT_LE(seconds("priority?chunk=1", model, fluid),
              bound + per_byte * static_cast<double>(model.layers.size()))
        << i;
  }
}

}  // namespace
}  // namespace multitree::training
