// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Trials one after the other, each known one only once.
#include "tools/train/study/plan.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "training/learners/data.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;
using training::Curve;
using training::Shards;
using training::Trial;

/// All that a curve follows from.
std::string key_of(const Trial& trial, Shards shards, const std::string& data) {
  return fmt::format(
      "{} {} {} {} ranks {} seed {} iterations {}/{} batch {} steps {:.9g} {:.9g}{}{}",
      trial.learner, trial.policy, trial.compression, to_string(shards), trial.ranks, trial.seed,
      trial.iterations, trial.points, trial.batch, trial.steps.rate, trial.steps.momentum,
      trial.steps.adamw ? " " + to_string(trial.steps.adamw) : "", data.empty() ? "" : " " + data);
}

/// All trials of a plan, each with its place.
class Study {
 public:
  Study(const StudyPlan& plan, TrialFile& file, const TrialProgress& progress)
      : plan_(plan), file_(file), progress_(progress) {}

  std::vector<Place> run() {
    const std::size_t all = plan_.learners.size() * plan_.ranks.size() * plan_.shards.size() *
                            plan_.techniques.size() * plan_.seeds;
    std::vector<Place> places;
    for (const std::string& learner : plan_.learners) {
      for (const std::uint32_t ranks : plan_.ranks) {
        for (const Shards shards : plan_.shards) {
          places.push_back({learner, ranks, shards, {}});
          places.back().techniques.resize(plan_.techniques.size());
          for (std::uint64_t seed = 1; seed <= plan_.seeds; ++seed) {
            try_all(places.back(), seed, all);
          }
        }
      }
    }
    return places;
  }

 private:
  void try_all(Place& place, std::uint64_t seed, std::size_t all) {
    const auto lessons = study_data(plan_, place.learner, seed, place.shards);
    const auto exam = study_data(plan_, place.learner, seed, Shards::Mixed);
    for (std::size_t t = 0; t < plan_.techniques.size(); ++t) {
      Trial trial = plan_.trial;
      trial.learner = place.learner;
      // Synchronous policies differ in when sums travel, not in what they are.
      const std::string& policy = plan_.techniques[t].policy;
      trial.policy = training::has_rounds(policy) ? policy : "bsp";
      trial.compression = plan_.techniques[t].compression;
      trial.ranks = place.ranks;
      trial.seed = seed;
      const std::string key = key_of(
          trial, place.shards, place.learner.starts_with("transformer") ? plan_.text : plan_.data);
      progress_(over_++, all, key);
      place.techniques[t].push_back(
          file_.of(key, [&] { return run_trial(trial, *lessons, *exam); }));
    }
  }

  const StudyPlan& plan_;
  TrialFile& file_;
  const TrialProgress& progress_;
  std::size_t over_ = 0;
};

}  // namespace

std::string to_string(Shards shards) { return shards == Shards::Mixed ? "mixed" : "sorted"; }

std::unique_ptr<training::DataSet> study_data(const StudyPlan& plan, const std::string& learner,
                                              std::uint64_t seed, Shards shards) {
  constexpr std::size_t kSide = 8, kClasses = 10, kLength = 16, kTokens = 16;
  constexpr float kSpots = 0.25F;  // classes overlap, so that losses do not go to 0
  if (learner.starts_with("transformer")) {
    return plan.text.empty() ? training::make_sequences(kLength, kTokens, seed, shards)
                             : training::read_text(plan.text, kLength, seed, shards);
  }
  return plan.data.empty() ? training::make_clusters(kSide, kClasses, seed, shards, kSpots)
                           : training::read_samples(plan.data, seed, shards);
}

TrialFile::TrialFile(std::string path) : path_(std::move(path)) {
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  const std::string text = read_file(path_);
  std::size_t number = 0, whole = 0;
  while (true) {
    const std::size_t end = text.find('\n', whole);
    if (end == std::string::npos) break;
    ++number;
    try {
      const auto json = ordered_json::parse(text.substr(whole, end - whole));
      Curve curve{.losses = json.at("losses"), .sent = {}};
      curve.sent = {json.at("reduced"), json.at("gathered")};
      curves_.insert_or_assign(json.at("trial"), std::move(curve));
    } catch (const nlohmann::json::exception& error) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}:{}: expected a trial of 'train study', found: {}", path_, number,
                              error.what()));
    }
    whole = end + 1;
  }
  if (whole != text.size()) write_file(path_, text.substr(0, whole));
}

const Curve& TrialFile::of(const std::string& key, const std::function<Curve()>& run) {
  if (const auto found = curves_.find(key); found != curves_.end()) return found->second;
  const Curve& curve = curves_.emplace(key, run()).first->second;
  if (path_.empty()) return curve;
  const ordered_json json = {{"trial", key},
                             {"losses", curve.losses},
                             {"reduced", curve.sent.reduced},
                             {"gathered", curve.sent.gathered}};
  std::ofstream out(path_, std::ios::app);
  out << json.dump() << '\n' << std::flush;
  if (!out) {
    throw Error(ErrorCode::Io, fmt::format("{}: expected to add a trial, could not", path_));
  }
  return curve;
}

std::vector<Place> run_study(const StudyPlan& plan, TrialFile& file,
                             const TrialProgress& progress) {
  return Study(plan, file, progress).run();
}

}  // namespace multitree::tools
