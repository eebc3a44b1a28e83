// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a study of convergence tries, and what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "topologies/topology.hpp"
#include "training/convergence/trial.hpp"
#include "training/costs.hpp"

namespace multitree::tools {

/// What is compared.
struct Technique {
  std::string policy, compression = "none";
  /// "cocod?every=2", "int8": sums of the first policy that are compressed.
  [[nodiscard]] const std::string& name() const {
    return compression == "none" ? policy : compression;
  }
  /// Its losses are those of all synchronous policies.
  [[nodiscard]] bool is_synchronous() const {
    return compression == "none" && !training::has_rounds(policy);
  }
};

/// A network with what collectives cost on it.
struct StudyNetwork {
  Topology topology;
  training::Costs costs;
};

struct StudyPlan {
  std::vector<std::string> learners;
  std::vector<Technique> techniques;  ///< all others are compared with the first
  std::vector<std::uint32_t> ranks;
  std::vector<training::Shards> shards;
  std::uint64_t seeds = 3;  ///< 1, 2, ...
  training::Trial trial;    ///< for all: iterations, points, batch, steps
  double pace = 0;          ///< seconds that computing takes in an iteration
  double gained = 0.95;     ///< of what the first technique gains: there times are compared
  std::string data, text;   ///< files; empty: made up
  std::string algorithm;    ///< of the collectives
};

std::string to_string(training::Shards shards);

/// What a learner of a study learns from. \throws Error as read_text(), read_samples()
std::unique_ptr<training::DataSet> study_data(const StudyPlan& plan, const std::string& learner,
                                              std::uint64_t seed, training::Shards shards);

/// Of all seeds, in their order.
using Curves = std::vector<training::Curve>;

/// One place of the study for all techniques, in their order.
struct Place {
  std::string learner;
  std::uint32_t ranks = 0;
  training::Shards shards = training::Shards::Mixed;
  std::vector<Curves> techniques;
};

/// Trials that are known, by key; finds or adds.
class TrialFile {
 public:
  /// \param path empty: nothing is kept. A last line that an interrupted run left half written is
  /// dropped. \throws Error(Io), Error(InvalidInput) "file:line: ..."
  explicit TrialFile(std::string path);
  const training::Curve& of(const std::string& key, const std::function<training::Curve()>& run);
  [[nodiscard]] bool has(const std::string& key) const { return curves_.contains(key); }

 private:
  std::string path_;
  std::map<std::string, training::Curve> curves_;
};

/// Told before each trial: how many are over, of how many, and which is next.
using TrialProgress = std::function<void(std::size_t, std::size_t, const std::string&)>;

/// Tries everything. \throws what trials throw
std::vector<Place> run_study(const StudyPlan& plan, TrialFile& file, const TrialProgress& progress);

}  // namespace multitree::tools
