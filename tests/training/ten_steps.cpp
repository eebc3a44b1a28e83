// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks in one process, plans as images of tables.
#include "tests/training/ten_steps.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <memory>

#include "nic/program/program.hpp"
#include "topologies/registry.hpp"
#include "training/learners/learner.hpp"
#include "training/learners/rounds.hpp"
#include "training/plan.hpp"
#include "training/policies.hpp"

namespace multitree::training {
namespace {

constexpr int kSteps = 10;
constexpr std::size_t kBatch = 4;
constexpr std::uint64_t kSeed = 1;
constexpr Steps kRates{.rate = 0.05F, .momentum = 0.9F};
constexpr const char* kLearner = "mlp?hidden=24";

/// A table of samples. All tensors have as many numbers as 8 ranks share evenly, as tables of
/// hardware have them.
class Samples {
 public:
  Samples() : name_(testing::TempDir() + fmt::format("ten_steps.{}.csv", getpid())) {
    std::ofstream file(name_);
    Random random(kSeed);
    for (std::size_t sample = 0; sample < 64; ++sample) {
      const std::size_t label = random.below(8);
      for (std::size_t i = 0; i < 32; ++i) {
        file << random.uniform() + (i % 8 == label ? 1.0F : 0.0F) << ',';
      }
      file << label << '\n';
    }
  }
  ~Samples() { std::remove(name_.c_str()); }
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// FNV-1a, as `train run` prints it.
std::string digest_of(std::span<const float> parameters) {
  std::uint64_t digest = 0xcbf29ce484222325ULL;
  for (const std::byte byte : std::as_bytes(parameters)) {
    digest = (digest ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3ULL;
  }
  return fmt::format("{:016x}", digest);
}

/// Layers that take a while, so that gradients are ready one after the other.
Model model_of(const Learner& learner) {
  Model model{.name = learner.name(), .layers = {}};
  for (std::size_t l = 0; l < learner.layers(); ++l) {
    Layer& layer = model.layers.emplace_back();
    layer.name = learner.layer(l).name();
    layer.forward = 2e-6;
    layer.backward = 3e-6;
    for (const std::size_t tensor : learner.layer(l).tensors()) {
      layer.tensors.push_back(tensor * sizeof(float));
    }
  }
  return model;
}

/// An iteration's transfers as images.
class InterfacePlan {
 public:
  InterfacePlan(const TenSteps& steps, const Learner& learner, const Topology& topology)
      : topology_(topology),
        plan_(make_plan(steps.policy, model_of(learner), Costs::symmetric({1e-6, 1e-9}),
                        steps.algorithm)),
        schedules_(plan_, topology, Time{}),
        ready_(ready_times(plan_.model)) {
    place(learner);
    for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
      if (phases_.empty() || after(phases_.back(), t)) phases_.emplace_back();
      add(phases_.back(), t);
    }
    for (Phase& phase : phases_) compile(phase);
  }

  /// All of it: gradients are those of this rank, and end as the sums.
  void run(std::span<const std::unique_ptr<Learner>> learners, const SumUp& sum_up) const {
    std::vector<nic::Memory> shards(plan_.transfers.size());  // what reduce-scatters have left
    for (const Phase& phase : phases_) {
      nic::Memory memory(learners.size(), std::vector<float>(phase.image.elements, 0));
      for (std::size_t g = 0; g < phase.jobs.size(); ++g) {
        for (std::size_t r = 0; r < learners.size(); ++r) {
          fill(phase, g, r, learners[r]->gradients(), shards, memory[r]);
        }
      }
      sum_up(phase, topology_, memory);
      for (std::size_t g = 0; g < phase.jobs.size(); ++g) {
        for (std::size_t r = 0; r < learners.size(); ++r) {
          take(phase, g, memory[r], learners[r]->gradients(), shards[phase.transfers[g]]);
        }
      }
    }
  }

  [[nodiscard]] std::size_t transfers() const { return plan_.transfers.size(); }

 private:
  struct Stretch {
    std::size_t begin = 0, count = 0;  // of the gradients
    std::size_t pair = 0;              // of an all-gather its reduce-scatter; else itself
  };

  /// Where each transfer's gradients lie.
  void place(const Learner& learner) {
    std::vector<std::size_t> ends;  // [layer]: of its gradients that no transfer has yet
    for (std::size_t l = 0; l < learner.layers(); ++l) {
      ends.push_back(learner.begin(l) + learner.layer(l).parameters());
    }
    for (const PlannedTransfer& transfer : plan_.transfers) {
      if (transfer.collective == Collective::AllGather) {
        const auto scatter = std::ranges::find_if(plan_.transfers, [&](const auto& one) {
          return one.first == transfer.first && one.last == transfer.last;
        });
        const auto pair = static_cast<std::size_t>(scatter - plan_.transfers.begin());
        stretches_.push_back(stretches_.at(pair));
        continue;
      }
      // Of a layer that goes in parts, the back part first.
      const std::size_t numbers = transfer.bytes / sizeof(float);
      const std::size_t end = ends[transfer.last];
      ends[transfer.last] = end - std::min(end, numbers);
      stretches_.push_back({end - numbers, numbers, stretches_.size()});
    }
  }

  /// Whether it takes what one of that phase has left.
  [[nodiscard]] bool after(const Phase& phase, std::size_t transfer) const {
    return stretches_[transfer].pair != transfer &&
           std::ranges::count(phase.transfers, stretches_[transfer].pair) != 0;
  }

  void add(Phase& phase, std::size_t transfer) {
    const PlannedTransfer& planned = plan_.transfers[transfer];
    phase.transfers.push_back(transfer);
    phase.jobs.push_back({.schedule = &schedules_.of(planned.collective, planned.bytes),
                          .bytes = planned.bytes,
                          .ready = Time{static_cast<std::int64_t>(ready_[planned.first] * 1e12)},
                          .delay = Time{static_cast<std::int64_t>(plan_.call * 1e12)},
                          .priority = planned.priority});
    if (plan_.order == Order::Serial && phase.jobs.size() > 1) {
      phase.jobs.back().after = {static_cast<std::uint32_t>(phase.jobs.size() - 2)};
    }
  }

  void compile(Phase& phase) const {
    std::vector<nic::GroupSource> sources;
    for (const nic::Job& job : phase.jobs) {
      sources.push_back(
          {.schedule = job.schedule,
           .elements = nic::padded_elements(job.bytes, sizeof(float), topology_.num_ranks()),
           .priority = job.priority});
    }
    phase.image = nic::compile_groups(sources, topology_);
  }

  /// A group's part of a rank's memory before it starts. Of an all-gather that is the shard alone
  /// that the rank has summed up; what the others will send is not there yet.
  void fill(const Phase& phase, std::size_t group, std::size_t rank,
            std::span<const float> gradients, const std::vector<nic::Memory>& shards,
            std::vector<float>& memory) const {
    const std::size_t transfer = phase.transfers[group];
    const nic::TableGroup& place = phase.image.groups[group];
    const auto [begin, count, pair] = stretches_[transfer];
    const auto to = memory.begin() + static_cast<std::ptrdiff_t>(place.first_element);
    if (pair == transfer) {
      std::copy_n(gradients.begin() + static_cast<std::ptrdiff_t>(begin), count, to);
      return;
    }
    const std::size_t shard = place.elements / topology_.num_ranks();
    const auto first = static_cast<std::ptrdiff_t>(rank * shard);
    std::copy_n(shards[pair][rank].begin() + first, shard, to + first);
  }

  void take(const Phase& phase, std::size_t group, const std::vector<float>& memory,
            std::span<float> gradients, nic::Memory& shards) const {
    const nic::TableGroup& place = phase.image.groups[group];
    const Stretch& stretch = stretches_[phase.transfers[group]];
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(place.first_element);
    if (place.collective == Collective::ReduceScatter) {
      shards.emplace_back(from, from + static_cast<std::ptrdiff_t>(place.elements));
    } else {
      std::copy_n(from, stretch.count,
                  gradients.begin() + static_cast<std::ptrdiff_t>(stretch.begin));
    }
  }

  const Topology& topology_;
  Plan plan_;
  PlanSchedules schedules_;
  std::vector<double> ready_;
  std::vector<Stretch> stretches_;  // [transfer]
  std::vector<Phase> phases_;
};

}  // namespace

std::string name_of(const testing::TestParamInfo<TenSteps>& info) {
  const auto& [network, policy, algorithm] = info.param;
  std::string name = fmt::format("{}_{}_{}", network, policy.substr(0, policy.find('?')),
                                 algorithm.substr(0, algorithm.find('?')));
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::string digest_of_ranks(const TenSteps& steps) {
  const Samples samples;
  const std::string command = fmt::format(
      "'{}' train run --json --learner '{}' -p '{}' -t '{}' -a '{}' -w 0 -n {} --batch {} --rate "
      "{} --momentum {} --seed {} --data '{}' 2>&1",
      MULTITREE_PROGRAM, kLearner, steps.policy, steps.network, steps.algorithm, kSteps, kBatch,
      kRates.rate, kRates.momentum, kSeed, samples.name());
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  const std::string key = "\"parameters\": \"";
  const std::size_t at = text.find(key);
  EXPECT_NE(at, std::string::npos) << command << "\n" << text;
  return at == std::string::npos ? std::string() : text.substr(at + key.size(), 16);
}

std::string train(const TenSteps& steps, const SumUp& sum_up) {
  const Samples samples;
  const Topology topology = make_topology(steps.network);
  const std::uint32_t ranks = topology.num_ranks();
  const auto data = read_samples(samples.name(), kSeed, Shards::Mixed);
  std::vector<std::unique_ptr<Learner>> learners;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    learners.push_back(make_learner(kLearner, data->shape(), kSeed));
  }
  const InterfacePlan iteration(steps, *learners.front(), topology);
  EXPECT_GE(iteration.transfers(), steps.policy == "bsp" ? 1 : 2) << steps.policy;
  for (int i = 0; i <= kSteps && !testing::Test::HasFailure(); ++i) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      Learner& learner = *learners[r];
      for (std::size_t l = 0; l < learner.layers(); ++l) {
        if (i > 0) step_with_sums(learner, l, kRates, ranks);
        if (l == 0) learner.show(data->batch(static_cast<std::uint64_t>(i), r, ranks, kBatch));
        learner.forward(l);
      }
      for (std::size_t l = learner.layers(); l-- > 0;) learner.backward(l);
    }
    if (i < kSteps) iteration.run(learners, sum_up);
  }
  for (const auto& learner : learners) {
    EXPECT_EQ(digest_of(learner->parameters()), digest_of(learners.front()->parameters()));
  }
  return digest_of(learners.front()->parameters());
}

}  // namespace multitree::training
