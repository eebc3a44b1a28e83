// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ten steps of training with sums made by simulated interfaces, from one image of tables a step:
/// the parameters of real ranks, bit by bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/machine/machine.hpp"
#include "nic/machine/reference.hpp"
#include "nic/program/job_program.hpp"
#include "nic/program/program.hpp"
#include "nic/table/table.hpp"
#include "rtl/sim/cosim.hpp"
#include "topologies/registry.hpp"
#include "training/learners/learner.hpp"
#include "training/learners/rounds.hpp"
#include "training/plan.hpp"
#include "training/policies.hpp"

namespace multitree::rtl {
namespace {

constexpr int kSteps = 10;
constexpr std::size_t kBatch = 4;
constexpr std::uint64_t kSeed = 1;
constexpr training::Steps kRates{.rate = 0.005F, .momentum = 0.9F};
constexpr const char* kLearner = "mlp?hidden=24";
/// One tree: the sum of a number is made in one order, whatever it travels with.
constexpr const char* kOneTree = "allreduce-optimal?trees=1&segments=1";

/// Digests of the parameters that real ranks end with, a process each, one for each policy.
std::vector<std::string> digests_of_ranks(const std::string& network, const std::string& policies) {
  const std::string command = fmt::format(
      "'{}' train run --json --learner '{}' -p '{}' -t '{}' -a '{}' -w 0 -n {} --batch {} --rate "
      "{} "
      "--momentum {} --seed {} 2>&1",
      MULTITREE_PROGRAM, kLearner, policies, network, kOneTree, kSteps, kBatch, kRates.rate,
      kRates.momentum, kSeed);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  std::vector<std::string> digests;
  const std::string key = "\"parameters\": \"";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    digests.push_back(text.substr(at + key.size(), 16));
  }
  EXPECT_FALSE(digests.empty()) << command << "\n" << text;
  return digests;
}

/// FNV-1a, as `train run` prints it.
std::string digest_of(std::span<const float> parameters) {
  std::uint64_t digest = 0xcbf29ce484222325ULL;
  for (const std::byte byte : std::as_bytes(parameters)) {
    digest = (digest ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ULL;
  }
  return fmt::format("{:016x}", digest);
}

/// An iteration's transfers as groups of one image.
class Step {
 public:
  Step(const std::string& policy, const training::Learner& learner, const Topology& topology)
      : topology_(topology),
        plan_(training::make_plan(policy, model_of(learner),
                                  training::Costs::symmetric({1e-6, 1e-9}), kOneTree)),
        schedules_(plan_, topology, Time{}) {
    const std::vector<double> ready = training::ready_times(plan_.model);
    std::vector<nic::GroupSource> sources;
    std::vector<std::size_t> ends;  // [layer]: of its gradients that no transfer has yet
    for (std::size_t l = 0; l < learner.layers(); ++l) {
      ends.push_back(learner.begin(l) + learner.layer(l).parameters());
    }
    for (const training::PlannedTransfer& transfer : plan_.transfers) {
      // Of a layer that goes in parts, the back part first.
      const std::size_t numbers = transfer.bytes / sizeof(float);
      const std::size_t end = ends[transfer.last];
      ends[transfer.last] = end - std::min(end, numbers);
      const Schedule& schedule = schedules_.of(transfer.collective, transfer.bytes);
      jobs.push_back({.schedule = &schedule,
                      .bytes = transfer.bytes,
                      .ready = Time{static_cast<std::int64_t>(ready[transfer.first] * 1e12)},
                      .delay = Time{static_cast<std::int64_t>(plan_.call * 1e12)},
                      .priority = transfer.priority});
      if (plan_.order == training::Order::Serial && jobs.size() > 1) {
        jobs.back().after = {static_cast<std::uint32_t>(jobs.size() - 2)};
      }
      sources.push_back(
          {.schedule = &schedule,
           .elements = nic::padded_elements(transfer.bytes, sizeof(float), topology.num_ranks()),
           .priority = transfer.priority});
      begins.push_back(end - numbers);
      counts.push_back(numbers);
    }
    image = nic::compile_groups(sources, topology);
  }

  std::vector<nic::Job> jobs;
  std::vector<std::size_t> begins, counts;  ///< [group]: its stretch of the gradients
  nic::Tables image;

 private:
  /// Layers that take a while, so that gradients are ready one after the other.
  static training::Model model_of(const training::Learner& learner) {
    training::Model model{.name = learner.name(), .layers = {}};
    for (std::size_t l = 0; l < learner.layers(); ++l) {
      training::Layer& layer = model.layers.emplace_back();
      layer.name = learner.layer(l).name();
      layer.forward = 2e-6;
      layer.backward = 3e-6;
      for (const std::size_t tensor : learner.layer(l).tensors()) {
        layer.tensors.push_back(tensor * sizeof(float));
      }
    }
    return model;
  }

  const Topology& topology_;
  training::Plan plan_;
  training::PlanSchedules schedules_;
};

/// Makes all sums of a step, in place: [rank], a vector of the image's elements.
using SumUp = void (*)(const Step& step, const Topology& topology, nic::Memory& memory);

/// By verilated interfaces, which the C++ model is compared with in every cycle.
void by_hardware(const Step& step, const Topology& topology, nic::Memory& memory) {
  Buffers buffers;
  for (const std::vector<float>& numbers : memory) {
    const auto bytes = std::as_bytes(std::span(numbers));
    buffers.emplace_back(bytes.begin(), bytes.end());
  }
  const CosimResult result = cosimulate(step.image, step.jobs, topology, {},
                                        {.adders = Adders::Hardware, .buffers = &buffers});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong
                               << (result.hardware.errors.empty() ? "" : result.hardware.errors[0]);
  for (std::size_t r = 0; r < memory.size(); ++r) {
    std::memcpy(memory[r].data(), buffers[r].data(), memory[r].size() * sizeof(float));
  }
}

/// By interfaces and routers in C++, flit by flit: those of the study, and those of the hardware.
template <nic::Reduction reduction>
void by_flits(const Step& step, const Topology& topology, nic::Memory& memory) {
  nic::Parameters parameters;
  if (reduction == nic::Reduction::Pipelined) {
    std::vector<const Schedule*> schedules;
    for (const nic::Job& job : step.jobs) schedules.push_back(job.schedule);
    parameters = hardware_parameters(parameters, schedules, HardwareType::Fp32);
  }
  const nic::Program program = nic::compile_jobs(step.jobs, topology, parameters, {});
  const nic::Simulation simulation =
      nic::run_flit_level(program, topology, parameters, {}, &memory);
  for (const std::string& error : simulation.errors) ADD_FAILURE() << error;
}

/// Trains as real ranks do, but for who sums up.
std::string train(const std::string& network, const std::string& policy, SumUp sum_up) {
  const Topology topology = make_topology(network);
  const std::uint32_t ranks = topology.num_ranks();
  const auto data = training::make_clusters(28, 10, kSeed, training::Shards::Mixed);
  std::vector<std::unique_ptr<training::Learner>> learners;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    learners.push_back(training::make_learner(kLearner, data->shape(), kSeed));
  }
  const Step step(policy, *learners.front(), topology);
  EXPECT_GE(step.jobs.size(), policy == "bsp" ? 1 : 3);
  nic::Memory memory(ranks, std::vector<float>(step.image.elements, 0));
  for (int i = 0; i <= kSteps; ++i) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      training::Learner& learner = *learners[r];
      for (std::size_t l = 0; l < learner.layers(); ++l) {
        if (i > 0) training::step_with_sums(learner, l, kRates, ranks);
        if (l == 0) learner.show(data->batch(static_cast<std::uint64_t>(i), r, ranks, kBatch));
        learner.forward(l);
      }
      for (std::size_t l = learner.layers(); i < kSteps && l-- > 0;) learner.backward(l);
      for (std::size_t g = 0; g < step.jobs.size(); ++g) {
        std::copy_n(
            learner.gradients().begin() + static_cast<std::ptrdiff_t>(step.begins[g]),
            step.counts[g],
            memory[r].begin() + static_cast<std::ptrdiff_t>(step.image.groups[g].first_element));
      }
    }
    if (i == kSteps) break;
    sum_up(step, topology, memory);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      for (std::size_t g = 0; g < step.jobs.size(); ++g) {
        std::copy_n(
            memory[r].begin() + static_cast<std::ptrdiff_t>(step.image.groups[g].first_element),
            step.counts[g],
            learners[r]->gradients().begin() + static_cast<std::ptrdiff_t>(step.begins[g]));
      }
    }
    if (testing::Test::HasFailure()) break;
  }
  for (const auto& learner : learners) {
    EXPECT_EQ(digest_of(learner->parameters()), digest_of(learners.front()->parameters()));
  }
  return digest_of(learners.front()->parameters());
}

TEST(TenSteps, GiveTheParametersOfRealRanks) {
  const std::string network = "mesh:2x2";
  const std::vector<std::string> real = digests_of_ranks(network, "bsp,priority");
  ASSERT_EQ(real.size(), 2);
  EXPECT_EQ(real[0], real[1]);
  EXPECT_EQ(train(network, "priority", by_hardware), real[0]);
  EXPECT_EQ(train(network, "wfbp", by_hardware), real[0]);
  EXPECT_EQ(train(network, "bsp", by_hardware), real[0]);
  EXPECT_EQ(train(network, "priority", by_flits<nic::Reduction::Pipelined>), real[0]);
  EXPECT_EQ(train(network, "priority", by_flits<nic::Reduction::Streaming>), real[0]);
}

}  // namespace
}  // namespace multitree::rtl
