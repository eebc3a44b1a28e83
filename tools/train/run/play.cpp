// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Iterations, timed, and what ranks find together.
#include "tools/train/run/play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "tools/run/check.hpp"
#include "tools/train/run/arrangement.hpp"
#include "tools/train/run/player.hpp"
#include "topologies/error.hpp"
#include "training/learners/rounds.hpp"

namespace multitree::tools {
namespace {

using runtime::Bootstrap;
using training::Plan;

/// Collective: numbers of all ranks, combined one by one.
template <typename Combine>
std::vector<double> combined(Bootstrap& job, const std::vector<double>& own,
                             runtime::Deadline deadline, const Combine& combine) {
  std::vector<double> all(own.size());
  const std::size_t bytes = own.size() * sizeof(double);
  const std::string blob(reinterpret_cast<const char*>(own.data()), bytes);
  const runtime::Gathered blobs = job.all_gather(blob, deadline);
  for (std::size_t rank = 0; rank < blobs.size(); ++rank) {
    std::vector<double> values(own.size());
    std::memcpy(values.data(), blobs[rank].data(), std::min(bytes, blobs[rank].size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = rank == 0 ? values[i] : combine(all[i], values[i]);
    }
  }
  return all;
}

/// All-reduces of the runtime, which move on by themselves.
class RuntimeSums final : public training::Sums {
 public:
  explicit RuntimeSums(runtime::Communicator& communicator) : communicator_(communicator) {}
  [[nodiscard]] std::uint32_t ranks() const override { return communicator_.size(); }
  void start(std::span<float> values) override {
    request_ = communicator_.start({.collective = Collective::AllReduce,
                                    .send = values.data(),
                                    .recv = values.data(),
                                    .count = values.size(),
                                    .type = runtime::DataType::Float32});
  }
  void wait() override {
    request_->wait();
    request_.reset();
  }

 private:
  runtime::Communicator& communicator_;
  std::optional<runtime::Request> request_;
};

void gather_grades(Bootstrap& job, std::span<const Pupil::Grade> grades, runtime::Deadline deadline,
                   Result& outcome) {
  std::vector<double> own;
  for (const Pupil::Grade& grade : grades) {
    own.insert(own.end(), {grade.loss, grade.accuracy});
  }
  const std::vector<double> sums = combined(job, own, deadline, std::plus<>());
  for (std::size_t i = 0; i + 1 < sums.size(); i += 2) {
    outcome.grades.push_back({sums[i] / job.size(), sums[i + 1] / job.size()});
  }
}

/// Collective. \throws Error(Transport) unless all ranks have the same parameters.
std::uint64_t common_digest(Bootstrap& job, std::span<const float> parameters,
                            runtime::Deadline deadline) {
  const std::uint64_t own = digest(kDigestStart, parameters.data(), parameters.size_bytes());
  const runtime::Gathered all = job.all_gather(fmt::format("{:016x}", own), deadline);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw Error(ErrorCode::Transport,
                fmt::format("parameters differ: rank 0 has digest {}, rank {} has {}", all[0], rank,
                            all[rank]));
  }
  return own;
}

}  // namespace

Result Play::of(const Plan& plan) {
  Course course{.plan = plans_++, .state = {}, .seconds = {}, .grades = {}};
  std::unique_ptr<training::Learner> learner;
  if (!options_.learner.empty()) {
    learner = training::make_learner(options_.learner, data_->shape(), options_.seed);
  }
  course.keep(0, learner.get());
  while (true) {
    try {
      Result outcome = go_on(plan, learner.get(), course);
      outcome.seconds = longest(course.seconds);
      if (learner) gather_grades(job(), course.grades, options_.timeout, outcome);
      if (learner) outcome.digest = common_digest(job(), learner->parameters(), options_.timeout);
      outcome.own_seconds = std::move(course.seconds);
      return outcome;
    } catch (const Error& error) {
      if (recover(error, course)) continue;
    }
    // The others have been through with it, and so has this rank but for what they told each other.
    Result outcome;
    outcome.seconds = course.seconds;
    outcome.grades = course.grades;
    if (learner) {
      const auto parameters = learner->parameters();
      outcome.digest = digest(kDigestStart, parameters.data(), parameters.size_bytes());
    }
    return outcome;
  }
}

/// The next rank may be lost while the crew gets over the last one. False: the others have ended
/// the plan. \throws Error if going on is not wanted, or of no use
bool Play::recover(Error error, Course& course) {
  while (true) {
    crew_.go_on_after(error, options_.timeout);
    try {
      const bool same = course.agree(job(), options_.timeout);
      if (job().seat() == runtime::Seat{0}) fmt::print(stderr, "{}", crew_.words());
      return same;
    } catch (const Error& next) {
      error = next;
    }
  }
}

/// From where `course` is.
Result Play::go_on(const Plan& plan, training::Learner* learner, Course& course) {
  runtime::CommunicatorOptions wanted;
  wanted.timeout = options_.timeout;
  wanted.host_path = options_.host ? runtime::HostPath::Required : runtime::HostPath::Off;
  std::vector<SizedSchedules> schedules;
  if (!options_.host) schedules = schedules_of(plan);
  sums_ = options_.same_bits && !schedules.empty() ? sums_of(plan) : nullptr;
  runtime::Communicator communicator(crew_.job(), runtime::PlansBySize(std::move(schedules)),
                                     wanted);
  const auto rank = index(communicator.rank());
  if (learner == nullptr) {
    const auto worker = emulated_worker(plan.model, rank, communicator.size());
    return play(plan, communicator, *worker, nullptr, course);
  }
  learner->restore(course.state);
  Pupil pupil(*learner, *data_, options_.teaching, options_.paced ? &plan.model : nullptr, rank,
              communicator.size(), course.grades);
  return training::has_rounds(plan.policy)
             ? play_rounds(plan, communicator, *learner, pupil, course)
             : play(plan, communicator, pupil, learner, course);
}

/// With the algorithm that runs it: what does not serve a network that has lost ranks is replaced.
Plan Play::named(const Plan& plan) const {
  Plan named = plan;
  if (!options_.algorithm.empty()) named.algorithm = options_.algorithm;
  if (crew_.network().is_whole()) return named;
  try {
    static_cast<void>(training::PlanSchedules(named, network(), kMessageOverhead).all());
  } catch (const Error&) {
    named.algorithm = "multitree";
  }
  return named;
}

std::vector<SizedSchedules> Play::schedules_of(const Plan& plan) const {
  if (job().size() == 1) return {};
  const Plan named = this->named(plan);
  training::PlanSchedules schedules(named, network(), kMessageOverhead);
  return options_.same_bits ? schedules.wholes() : schedules.all();
}

std::unique_ptr<runtime::CountedAllReduce> Play::counted_for(const Plan& plan) const {
  if (!options_.losses) return nullptr;
  std::vector<std::size_t> tensors;
  for (const Stretch& stretch : stretches_of(plan)) tensors.push_back(stretch.count);
  const Schedule schedule =
      make_schedule(options_.algorithm.empty() ? plan.algorithm : options_.algorithm, network(),
                    Collective::AllReduce);
  return std::make_unique<runtime::CountedAllReduce>(crew_.job(), schedule, tensors,
                                                     *options_.losses);
}

/// By what gradients are summed up. \throws Error(Unsupported) unless other plans that the
/// algorithm serves, with or without scattering, sum them up alike.
std::unique_ptr<const Schedule> Play::sums_of(const Plan& plan) const {
  const Plan named = this->named(plan);
  training::PlanSchedules schedules(named, network(), kMessageOverhead);
  const Schedule& whole = schedules.whole(Collective::AllReduce);
  if (plan.transfers.front().collective == Collective::AllReduce) {
    return std::make_unique<const Schedule>(whole);
  }
  const Schedule& scatter = schedules.whole(Collective::ReduceScatter);
  if (sum_trees(whole) != sum_trees(scatter)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("--same-bits: expected an algorithm whose reduce-scatters add in the "
                            "order of its all-reduces, as multitree, for {}, got {}",
                            plan.policy, scatter.algorithm));
  }
  return std::make_unique<const Schedule>(scatter);
}

Result Play::play(const Plan& plan, runtime::Communicator& communicator, Worker& worker,
                  const training::Learner* learner, Course& course) {
  Result outcome;
  course.untimed = options_.warmup;
  const auto counted = counted_for(plan);
  {
    // Longer than a transfer may be silent: what it says names the peer.
    Player player(plan, communicator, worker, 2 * options_.timeout + std::chrono::seconds(1),
                  counted.get(), sums_.get());
    if (options_.compressor == kLossless) {
      player.send_as(runtime::WireType::Lossless);
    } else if (!options_.compressor.empty()) {
      player.compress(options_.compressor, options_.seed);
    }
    communicator.barrier();
    player.begin();
    for (std::uint32_t i = course.done; i < options_.warmup + options_.iterations; ++i) {
      outcome.last = player.iterate();
      if (i >= options_.warmup) course.seconds.push_back(outcome.last.seconds);
      course.keep(i + 1, options_.shrinks ? learner : nullptr);
    }
    outcome.losses = player.losses();
  }
  if (counted) counted->finish();
  return outcome;
}

/// Rounds that are timed have all the iterations that were asked for, and maybe some more.
Result Play::play_rounds(const Plan& plan, runtime::Communicator& communicator,
                         training::Learner& learner, Pupil& pupil, Course& course) {
  using Clock = std::chrono::steady_clock;
  RuntimeSums sums(communicator);
  const auto rounds = training::make_rounds(plan.policy, learner, options_.teaching.steps, sums);
  const std::uint32_t every = rounds->every();
  const auto rounds_for = [&](std::uint32_t iterations) {
    return (iterations + every - 1) / every;
  };
  const std::uint32_t untimed = course.untimed = rounds_for(options_.warmup);
  course.passes = every;
  communicator.barrier();
  for (std::size_t l = 0; l < learner.layers(); ++l) pupil.forward(l, false);
  const std::uint32_t all = untimed + rounds_for(options_.iterations);
  for (std::uint32_t round = course.done; round < all; ++round) {
    const auto begin = Clock::now();
    for (std::uint32_t i = 0; i < every; ++i) {
      for (std::size_t l = learner.layers(); l-- > 0;) pupil.backward(l);
      const auto computed = Clock::now();
      rounds->step();
      if (Clock::now() - computed > std::chrono::milliseconds(1)) pupil.waited();
      for (std::size_t l = 0; l < learner.layers(); ++l) pupil.forward(l, false);
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    if (round >= untimed) course.seconds.push_back(took.count() / every);
    course.keep(round + 1, options_.shrinks ? &learner : nullptr);
  }
  rounds->finish();
  return {};
}

std::vector<double> Play::longest(const std::vector<double>& own) {
  return combined(job(), own, options_.timeout, [](double a, double b) { return std::max(a, b); });
}

}  // namespace multitree::tools
