// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One rank's part in iterations under a policy, and what comes of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/communicator.hpp"
#include "runtime/counted/counted_sums.hpp"
#include "tools/run/crew.hpp"
#include "tools/train/run/course.hpp"
#include "tools/train/run/report.hpp"
#include "tools/train/run/worker.hpp"
#include "topologies/topology.hpp"
#include "training/plan.hpp"

namespace multitree::tools {

/// A compressor that changes no sum: calls are as they are without it.
inline constexpr std::string_view kLossless = "lossless";

struct PlayOptions {
  std::string algorithm;  ///< of collectives; empty: the plan's
  bool host = false;      ///< collectives without messages
  /// The tree of a gradient follows from its place in the model: all plans have the same sums.
  bool same_bits = false;
  std::uint32_t iterations = 10, warmup = 2;
  runtime::Deadline timeout{30'000};
  std::string learner;  ///< empty: computing is sleeping
  std::uint64_t seed = 1;
  Teaching teaching;
  bool paced = false;      ///< a learner's passes last as long as the plan says
  std::string compressor;  ///< of sums; empty: none. Only plans of all-reduces, but for kLossless
  /// Sums go on without late ranks; only plans of all-reduces.
  std::optional<runtime::LossBounds> losses;
  bool shrinks = false;  ///< goes on without ranks that are lost
};

/// Collective in all that it does.
class Play {
 public:
  /// All outlive this. \param data of a learner; else null
  Play(const PlayOptions& options, const Topology& network, const training::DataSet* data,
       std::shared_ptr<runtime::Bootstrap> job)
      : options_(options),
        data_(data),
        crew_(std::move(job), network, {.shrink = options.shrinks}) {}

  /// Of the next plan. With options.shrinks those who are left after a loss go on from the last
  /// iteration that any of them has ended, with its parameters, and say so on stderr.
  /// \throws what transfers and passes throw, Error(Transport) if parameters differ
  Result of(const training::Plan& plan);
  /// Who is left.
  [[nodiscard]] const Crew& crew() const { return crew_; }

 private:
  [[nodiscard]] runtime::Bootstrap& job() const { return *crew_.job(); }
  [[nodiscard]] const Topology& network() const { return crew_.network().network(); }
  [[nodiscard]] training::Plan named(const training::Plan& plan) const;
  Result go_on(const training::Plan& plan, training::Learner* learner, Course& course);
  bool recover(Error error, Course& course);
  [[nodiscard]] std::vector<SizedSchedules> schedules_of(const training::Plan& plan) const;
  [[nodiscard]] std::unique_ptr<const Schedule> sums_of(const training::Plan& plan) const;
  Result play(const training::Plan& plan, runtime::Communicator& communicator, Worker& worker,
              const training::Learner* learner, Course& course);
  /// Null without a budget.
  [[nodiscard]] std::unique_ptr<runtime::CountedAllReduce> counted_for(
      const training::Plan& plan) const;
  Result play_rounds(const training::Plan& plan, runtime::Communicator& communicator,
                     training::Learner& learner, Pupil& pupil, Course& course);
  /// By iteration: the longest of any rank.
  std::vector<double> longest(const std::vector<double>& own);

  const PlayOptions& options_;
  const training::DataSet* data_;
  Crew crew_;
  std::uint32_t plans_ = 0;               ///< so far
  std::unique_ptr<const Schedule> sums_;  ///< that says the tree of each gradient; or null
};

}  // namespace multitree::tools
