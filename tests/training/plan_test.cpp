// SPDX-License-Identifier: BSD-3-Clause
/// Plans as files, and carried out on simulated networks.
#include "training/plan.hpp"

#include <gmock/gmock.h>

#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "training/bound.hpp"
#include "training/network_costs.hpp"
#include "training/policies.hpp"

namespace multitree::training {
namespace {

constexpr std::string_view kAlgorithm = "multitree";

const Model kModel{"four",
                   {{"embedding", 1e-4, 2e-4, {3 << 20}},
                    {"pool", 1e-4, 1e-4, {}},
                    {"middle", 2e-4, 4e-4, {1 << 20, 1 << 10}},
                    {"last", 1e-4, 3e-4, {2 << 20}}}};

TEST(Plan, FilesHoldAllOfIt) {
  const Topology mesh = make_topology("mesh:2x2");
  for (const Policy& policy : policies()) {
    if (!simulate(policy.name, kModel, Costs::symmetric({1e-5, 1e-9})).plannable) continue;
    const Plan plan =
        make_plan(policy.name, kModel, Costs::symmetric({1e-5, 1e-9}, 1e-6), kAlgorithm);
    const PlanFile read = parse_iteration_plan(write_json(plan, mesh), "plan.json");
    EXPECT_EQ(read.plan, plan) << policy.name;
    EXPECT_EQ(read.topology, mesh);
  }
}

TEST(Plan, FilesHoldAllOfAnOverlappingOne) {
  const Topology mesh = make_topology("mesh:2x2");
  const Plan plan = make_plan("priority?order=overlapping&chunk=512KiB", kModel,
                              Costs::symmetric({1e-5, 1e-9}), kAlgorithm);
  EXPECT_EQ(plan.order, Order::Overlapping);
  ASSERT_GT(plan.transfers.size(), kModel.layers.size());
  for (const PlannedTransfer& transfer : plan.transfers) {
    EXPECT_EQ(transfer.priority, transfer.first);
  }
  const std::string text = write_json(plan, mesh);
  EXPECT_THAT(text, testing::HasSubstr("\"order\": \"overlapping\""));
  EXPECT_EQ(parse_iteration_plan(text, "plan.json").plan, plan);
}

TEST(Plan, OfAPreemptivePolicyHasALayerOnce) {
  const Plan plan =
      make_plan("priority?chunk=64KiB", kModel, Costs::symmetric({1e-5, 1e-9}), kAlgorithm);
  ASSERT_EQ(plan.transfers.size(), 3U);
  for (const PlannedTransfer& transfer : plan.transfers) {
    EXPECT_EQ(transfer.bytes, kModel.layers[transfer.first].bytes());
    EXPECT_EQ(transfer.priority, transfer.first);
  }
}

TEST(Plan, OfAPreemptivePolicyHasLargeLayersInParts) {
  const Plan plan = make_plan("priority?chunk=64KiB&part=1MB", kModel,
                              Costs::symmetric({1e-5, 1e-9}), kAlgorithm);
  std::vector<std::uint64_t> sent(kModel.layers.size(), 0);
  for (const PlannedTransfer& transfer : plan.transfers) {
    EXPECT_LE(transfer.bytes, 1'000'000U);
    EXPECT_LE(transfer.begin, transfer.end);
    sent[transfer.first] += transfer.bytes;
  }
  for (std::size_t l = 0; l < sent.size(); ++l) EXPECT_EQ(sent[l], kModel.layers[l].bytes());
  EXPECT_LT(plan.transfers.size(), 16U);
}

TEST(Plan, HoldsNoServersAndNoRounds) {
  for (const char* policy : {"wfbp-ps", "cocod", "fsdp"}) {
    try {
      (void)make_plan(policy, kModel, Costs::symmetric({1e-5, 1e-9}), kAlgorithm);
      ADD_FAILURE() << policy;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_THAT(error.what(), testing::StartsWith(policy));
    }
  }
}

/// Each policy's plan in both simulators: near what it expects, and never below the bound.
TEST(SimulatedPlan, TakesWhatIsExpected) {
  for (const char* network : {"mesh:2x2", "torus:4x4", "fattree:2x4"}) {
    const Topology topology = make_topology(network);
    const Costs costs = network_costs(topology, kAlgorithm, nic::Model::Message);
    const double bound = certify_iteration(kModel, topology).bound.seconds;
    for (const Policy& policy : policies()) {
      if (!simulate(policy.name, kModel, costs).plannable) continue;
      const Plan plan = make_plan(policy.name, kModel, costs, kAlgorithm);
      const SimulatedPlan message = simulate_plan(plan, topology, nic::Model::Message);
      EXPECT_GE(message.seconds, bound) << network << ' ' << policy.name;
      EXPECT_NEAR(message.seconds / plan.seconds, 1, 0.05) << network << ' ' << policy.name;
      ASSERT_EQ(message.transfers.size(), plan.transfers.size());
      for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
        EXPECT_GE(message.transfers[t].begin * (1 + 1e-9), plan.transfers[t].hold);
        EXPECT_GE(message.transfers[t].begin,
                  message.backward[plan.transfers[t].first].end * (1 - 1e-9));
      }
      EXPECT_EQ(message.forward.back().end, message.seconds);
    }
  }
}

/// At ports of switches collectives under way at once hold each other up: alone they do not.
TEST(SimulatedPlan, OfPrioritiesIsNearTheBoundOnSwitches) {
  const Topology fat_tree = make_topology("fattree:4x4");
  Model model = kModel;
  for (Layer& layer : model.layers) {
    for (std::uint64_t& bytes : layer.tensors) bytes *= 16;
  }
  const Costs costs = network_costs(fat_tree, kAlgorithm, nic::Model::Message);
  const double bound = certify_iteration(model, fat_tree).bound.seconds;
  const Plan plan = make_plan("priority", model, costs, kAlgorithm);
  EXPECT_EQ(plan.order, Order::Serial);
  EXPECT_LE(simulate_plan(plan, fat_tree, nic::Model::Message).seconds, 1.03 * bound);
}

/// On a mesh the optimum for large vectors has hundreds of pieces, which small layers needn't have.
TEST(SimulatedPlan, OfPrioritiesIsNearTheBoundWithSmallLayers) {
  const Topology mesh = make_topology("mesh:8x8");
  const char* algorithm = "allreduce-optimal";
  Model model{"small and large", {}};
  for (int pair = 0; pair < 4; ++pair) {
    model.layers.push_back({"small" + std::to_string(pair), 5e-5, 1e-4, {4 << 10}});
    model.layers.push_back({"large" + std::to_string(pair), 5e-5, 1e-4, {4 << 20}});
  }
  const Costs costs = network_costs(mesh, algorithm, nic::Model::Message);
  const Plan plan = make_plan("priority", model, costs, algorithm);
  ASSERT_EQ(plan.order, Order::Preemptive);
  const double bound = certify_iteration(model, mesh).bound.seconds;
  EXPECT_LE(simulate_plan(plan, mesh, nic::Model::Message).seconds, 1.03 * bound);

  PlanSchedules schedules(plan, mesh, Time{});
  const Schedule& whole = schedules.whole(Collective::AllReduce);
  EXPECT_EQ(&schedules.of(Collective::AllReduce, 4 << 20), &whole);
  EXPECT_LT(schedules.of(Collective::AllReduce, 4 << 10).chunks.size(), whole.chunks.size() / 8);
  const std::vector<SizedSchedules> all = schedules.all(), wholes = schedules.wholes();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].size(), 2U);
  ASSERT_EQ(wholes.size(), 1U);
  ASSERT_EQ(wholes[0].size(), 1U);
  EXPECT_EQ(wholes[0][0].schedule, whole);
}

/// Refined, a plan takes no longer than with any pieces that it tries, and less than unrefined
/// here.
TEST(RefinedPlan, TakesTheFastestPieces) {
  const Topology mesh = make_topology("mesh:4x4");
  Model model{"large first", {}};
  model.layers.push_back({"large", 1e-5, 1e-5, {16 << 20}});
  for (int layer = 0; layer < 4; ++layer) {
    model.layers.push_back({"small" + std::to_string(layer), 5e-5, 1e-4, {1 << 20}});
  }
  const Costs costs = network_costs(mesh, "allreduce-optimal", nic::Model::Message);
  const Plan plan = make_plan("priority", model, costs, "allreduce-optimal");
  const auto [refined, times] = refine_plan(plan, costs, mesh, nic::Model::Message, 0);
  const auto seconds = [&](const Plan& one) {
    return simulate_plan(one, mesh, nic::Model::Message).seconds;
  };
  EXPECT_NE(refined.algorithm, plan.algorithm);
  EXPECT_LT(seconds(refined), seconds(plan));
  Plan other = plan;
  for (const char* fill : {"12", "10", "8", "6"}) {
    other.algorithm = std::string("allreduce-optimal?fill=") + fill;
    EXPECT_LE(seconds(refined), seconds(other)) << fill;
  }
  EXPECT_EQ(refined.transfers, plan.transfers);
  // What is at its bound stays as it is, and takes what it takes.
  const RefinedPlan same = refine_plan(plan, costs, mesh, nic::Model::Message, seconds(plan));
  EXPECT_EQ(same.plan, plan);
  EXPECT_EQ(same.times.seconds, seconds(plan));
}

/// What is shared or left out changes nothing: none that is always tried is faster by itself.
TEST(RefinedPlan, TakesNoLongerThanEachByItself) {
  for (const char* network : {"mesh:3x3", "dgx-a100:2"}) {
    const Topology topology = make_topology(network);
    const Costs costs = network_costs(topology, "allreduce-optimal", nic::Model::Message);
    const Plan plan = make_plan("priority?order=preemptive", kModel, costs, "allreduce-optimal");
    const auto seconds = [&](const Plan& one) {
      return simulate_plan(one, topology, nic::Model::Message).seconds;
    };
    const RefinedPlan best = refine_plan(plan, costs, topology, nic::Model::Message, 0);
    const double refined = best.times.seconds;
    EXPECT_EQ(refined, seconds(best.plan)) << network;
    EXPECT_LE(refined, seconds(plan)) << network;
    Plan other = plan;
    for (const char* fill : {"12", "10", "8", "6"}) {
      other.algorithm = std::string("allreduce-optimal?fill=") + fill;
      EXPECT_LE(refined, seconds(other)) << network << ' ' << fill;
    }
  }
}

/// Of 1.6 MB pieces of 16 KiB fill no pipeline of 14 hops.
TEST(RefinedPlan, HasVeryFinePiecesForSmallModels) {
  const Topology mesh = make_topology("mesh:8x8");
  const Model model{"one", {{"layer", 1e-6, 1e-6, {1'607'680}}}};
  const Costs costs = network_costs(mesh, "allreduce-optimal", nic::Model::Message);
  const Plan plan = make_plan("priority", model, costs, "allreduce-optimal");
  const auto [refined, times] = refine_plan(plan, costs, mesh, nic::Model::Message, 0);
  EXPECT_LT(simulate_plan(refined, mesh, nic::Model::Message).seconds,
            0.85 * simulate_plan(plan, mesh, nic::Model::Message).seconds);
}

/// 31 KB are under way for 16 hops otherwise, and meet each other.
TEST(RefinedPlan, HasTreesOfFewHopsForFewBytes) {
  const Topology torus = make_topology("torus:8x8");
  const Model model{"one", {{"layer", 1.2e-5, 1.2e-5, {31'400}}}};
  const Costs costs = Costs::symmetric({3e-6, 3.1e-11});
  const Plan plan = make_plan("priority", model, costs, "allreduce-optimal");
  const double bound = certify_iteration(model, torus).bound.seconds;
  EXPECT_GT(simulate_plan(plan, torus, nic::Model::Message).seconds, 1.04 * bound);
  const RefinedPlan refined = refine_plan(plan, costs, torus, nic::Model::Message, bound);
  EXPECT_LE(refined.times.seconds, 1.03 * bound);
  EXPECT_EQ(refine_plan(plan, costs, torus, nic::Model::Message, bound).plan, refined.plan);
}

/// A front layer that is ready last, and needed first, behind others.
const Model kLargeFirst{"large first",
                        {{"large", 2e-5, 2e-5, {12 << 20}},
                         {"next", 5e-5, 1e-4, {2 << 20}},
                         {"more", 5e-5, 1e-4, {2 << 20}},
                         {"last", 5e-5, 1e-4, {2 << 20}}}};

/// On chains of boxes messages of transfers under way at once do not meet.
TEST(RefinedPlan, OverlapsWhereANetworkHasBoxes) {
  const Topology boxes = make_topology("dgx-a100:2");
  const Costs costs = network_costs(boxes, "allreduce-optimal", nic::Model::Message, 0, false);
  const double bound = certify_iteration(kLargeFirst, boxes).bound.seconds;
  const Plan plan = make_plan("priority", kLargeFirst, costs, "allreduce-optimal");
  EXPECT_NE(plan.order, Order::Overlapping);
  const RefinedPlan refined = refine_plan(plan, costs, boxes, nic::Model::Message, bound);
  EXPECT_EQ(refined.plan.order, Order::Overlapping);
  EXPECT_EQ(refined.plan.policy, plan.policy);
  EXPECT_GE(refined.times.seconds, bound);
  EXPECT_LE(refined.times.seconds, 1.03 * bound);
  // From a file it takes the same, and the same is found again.
  const PlanFile read = parse_iteration_plan(write_json(refined.plan, boxes), "plan.json");
  EXPECT_EQ(read.plan, refined.plan);
  EXPECT_EQ(simulate_plan(read.plan, read.topology, nic::Model::Message).seconds,
            refined.times.seconds);
  EXPECT_EQ(refine_plan(plan, costs, boxes, nic::Model::Message, bound).plan, refined.plan);
  // One after the other the same transfers take longer.
  Plan serial = refined.plan;
  serial.order = Order::Serial;
  EXPECT_GT(simulate_plan(serial, boxes, nic::Model::Message).seconds, refined.times.seconds);
}

/// Whichever order is chosen.
TEST(RefinedPlan, TakesNoLongerThanInTurns) {
  for (const char* network : {"dgx-a100:2", "rail:2x4", "mesh:2x3"}) {
    const Topology topology = make_topology(network);
    const Costs costs = network_costs(topology, "allreduce-optimal", nic::Model::Message, 0, false);
    for (const Model& model : {kLargeFirst, kModel}) {
      const double bound = certify_iteration(model, topology).bound.seconds;
      const Plan plan = make_plan("priority", model, costs, "allreduce-optimal");
      EXPECT_LE(refine_plan(plan, costs, topology, nic::Model::Message, bound).times.seconds,
                simulate_plan(plan, topology, nic::Model::Message).seconds)
          << model.name << " on " << network;
    }
  }
}

/// An order that is asked for stays.
TEST(RefinedPlan, HasTheOrderThatItIsAskedFor) {
  const Topology boxes = make_topology("dgx-a100:2");
  const Costs costs = network_costs(boxes, "allreduce-optimal", nic::Model::Message, 0, false);
  for (const char* policy : {"priority?order=serial", "priority?order=overlapping", "wfbp"}) {
    const Plan plan = make_plan(policy, kModel, costs, "allreduce-optimal");
    EXPECT_EQ(refine_plan(plan, costs, boxes, nic::Model::Message, 0).plan, plan) << policy;
  }
}

TEST(RefinedPlan, IsAsItWasWhereNothingIsToChoose) {
  const Topology mesh = make_topology("mesh:2x2");
  for (const char* algorithm : {"ring", "allreduce-optimal?segments=4"}) {
    const Costs costs = network_costs(mesh, algorithm, nic::Model::Message);
    const Plan plan = make_plan("priority", kModel, costs, algorithm);
    EXPECT_EQ(refine_plan(plan, costs, mesh, nic::Model::Message, 0).plan, plan) << algorithm;
  }
  const Costs costs = network_costs(mesh, kAlgorithm, nic::Model::Message);
  const Plan serial = make_plan("wfbp", kModel, costs, "allreduce-optimal");
  EXPECT_EQ(refine_plan(serial, costs, mesh, nic::Model::Message, 0).plan, serial);
}

TEST(SimulatedPlan, OfTheFlitModelAgrees) {
  Model small = kModel;
  for (Layer& layer : small.layers) {
    layer.forward /= 64, layer.backward /= 64;
    for (std::uint64_t& bytes : layer.tensors) bytes /= 64;
  }
  const Topology torus = make_topology("torus:4x4");
  const Costs costs = network_costs(torus, kAlgorithm, nic::Model::Message);
  for (const char* policy : {"wfbp", "priority", "dear?fusion=none"}) {
    const Plan plan = make_plan(policy, small, costs, kAlgorithm);
    EXPECT_NEAR(simulate_plan(plan, torus, nic::Model::Message).seconds /
                    simulate_plan(plan, torus, nic::Model::Flit).seconds,
                1, 0.03)
        << policy;
  }
}

TEST(SimulatedPlan, WaitsForASlowRank) {
  const Topology mesh = make_topology("mesh:2x2");
  const Plan plan =
      make_plan("wfbp", kModel, network_costs(mesh, kAlgorithm, nic::Model::Message), kAlgorithm);
  const double even = simulate_plan(plan, mesh, nic::Model::Message).seconds;
  const double slow = simulate_plan(plan, mesh, nic::Model::Message, {1, 1, 2, 1}).seconds;
  EXPECT_GE(slow, 2 * (kModel.forward() + kModel.backward()));
  EXPECT_GT(slow, even);
}

/// Of one rank there is nothing to send.
TEST(SimulatedPlan, OfOneRankIsComputing) {
  const Topology one = make_topology("mesh:1");
  const Plan plan =
      make_plan("priority", kModel, network_costs(one, "ring", nic::Model::Message), "ring");
  EXPECT_NEAR(simulate_plan(plan, one, nic::Model::Message).seconds,
              kModel.forward() + kModel.backward(), 1e-7);
}

TEST(PlanFile, SaysWhatIsWrongAndWhere) {
  const Topology mesh = make_topology("mesh:2");
  const std::string good = write_json(
      make_plan("dear?fusion=none", kModel, Costs::symmetric({1e-5, 1e-9}), kAlgorithm), mesh);
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::pair<std::string, std::string> cases[] = {
      {"{", "plan.json:1: "},
      {changed("multitree/iteration-plan/1", "other"), "schema"},
      {changed("\"serial\"", "\"random\""),
       "expected serial, preemptive or overlapping, found 'random'"},
      {changed("\"serial\"", "\"overlapping\""),
       "expected allreduce in a plan with the order overlapping, found "
       "reduce-scatter"},
      {changed("\"bytes\": 2097152", "\"bytes\": 2097151"), "expected transfers of"},
      {changed("\"layers\": [\n    3,\n    3", "\"layers\": [\n    3,\n    4"),
       "expected an integer from 3 to 3"},
      {changed("\"forward\": 0.0001", "\"forward\": -1"), "'forward': expected a number from 0 on"},
      {changed("\"together\": false", "\"together\": 0"), "expected true or false"},
      {changed("\"reduce-scatter\"", "\"broadcast\""),
       "expected allreduce, reduce-scatter or allgather"},
      {changed("\"policy\"", "\"polices\""), "polic"},
  };
  for (const auto& [text, words] : cases) {
    try {
      (void)parse_iteration_plan(text, "plan.json");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
      EXPECT_THAT(error.what(), testing::StartsWith("plan.json:")) << words;
      EXPECT_THAT(error.what(), testing::HasSubstr(words));
    }
  }
}

}  // namespace
}  // namespace multitree::training
