// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules, each made once, and points that need them.
#include "tools/explore/runner.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "nic/jobs.hpp"
#include "nic/message/exact.hpp"
#include "nic/table/table.hpp"
#include "tools/late_flags.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

/// Thrown through a simulation that is given up.
struct Stopped {};

/// A schedule that several points need: made by the first that asks, freed after the last.
class Schedules {
 public:
  Schedules(const ExploreDesign& design, std::span<const ExplorePoint> points) : design_(design) {
    for (const ExplorePoint& point : points) ++slots_[key_of(point)].users;
  }

  struct Plan {
    Schedule schedule;
    bool exchanges = false;
    std::string refused;
  };

  std::shared_ptr<const Plan> get(const ExplorePoint& point) {
    Slot& slot = slots_.at(key_of(point));
    const std::scoped_lock lock(slot.mutex);
    if (!slot.plan) slot.plan = make(point);
    return slot.plan;
  }
  /// A point is over.
  void release(const ExplorePoint& point) {
    Slot& slot = slots_.at(key_of(point));
    const std::scoped_lock lock(slot.mutex);
    if (--slot.users == 0) slot.plan.reset();
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t, Collective>;
  struct Slot {
    std::mutex mutex;
    std::size_t users = 0;
    std::shared_ptr<const Plan> plan;
  };

  static Key key_of(const ExplorePoint& point) {
    return {point.topology, point.algorithm, point.collective};
  }

  [[nodiscard]] std::shared_ptr<const Plan> make(const ExplorePoint& point) const {
    const NamedAlgorithm& algorithm = design_.algorithms[point.algorithm];
    const Topology& topology = design_.topologies[point.topology].topology;
    auto plan = std::make_shared<Plan>();
    try {
      plan->schedule = make_schedule(algorithm.spec, topology, point.collective);
      const nic::Tables tables =
          nic::compile_tables(plan->schedule, topology, {.elements = topology.num_ranks()});
      plan->exchanges = std::ranges::any_of(tables.of_rank, [](const auto& entries) {
        return std::ranges::any_of(entries, [](const nic::Entry& e) {
          return e.op == nic::Opcode::Reduce && e.after > 0;
        });
      });
    } catch (const Error& error) {
      if (error.code() == ErrorCode::InvalidArgument) {
        throw Error(ErrorCode::InvalidInput, algorithm.where + error.what());
      }
      if (error.code() != ErrorCode::Unsupported) throw;
      plan->refused = error.what();
    }
    return plan;
  }

  const ExploreDesign& design_;
  std::map<Key, Slot> slots_;
};

/// Ranks that start late, as faults.
std::vector<nic::Fault> late_interfaces(const ExplorePoint& point, const Topology& topology,
                                        std::uint64_t clock_hz) {
  std::vector<nic::Fault> faults;
  const std::vector<std::uint64_t> cycles =
      straggler_cycles("'stragglers'", point.stragglers, topology.num_ranks(), clock_hz);
  for (std::uint32_t rank = 0; rank < cycles.size(); ++rank) {
    if (cycles[rank] == 0) continue;
    faults.push_back(
        {.kind = nic::Fault::Kind::LateInterface, .rank = Rank{rank}, .cycle = cycles[rank]});
  }
  return faults;
}

class PointRun {
 public:
  PointRun(const ExploreDesign& design, const ExplorePoint& point, const Schedules::Plan& plan,
           const std::atomic<bool>& stop)
      : design_(design),
        point_(point),
        plan_(plan),
        topology_(design.topologies[point.topology].topology),
        parameters_(point.parameters) {
    options_.progress = [&stop](double) {
      if (stop) throw Stopped{};
    };
  }

  ExploreOutcome run() {
    if (!plan_.refused.empty()) return {.refused = plan_.refused};
    try {
      return simulated();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Unsupported && error.code() != ErrorCode::InvalidArgument) {
        throw;
      }
      return {.refused = error.what()};
    }
  }

 private:
  ExploreOutcome simulated() {
    std::vector<Schedule> schedules;
    const std::vector<nic::Job> jobs = jobs_of(schedules);
    if (point_.is_hardware && !point_.has_header_flits) {
      std::vector<const Schedule*> all;
      for (const Schedule& schedule : schedules) all.push_back(&schedule);
      parameters_.header_flits =
          std::max(nic::hardware_header_flits(plan_.schedule, topology_),
                   nic::hardware_header_flits(std::span<const Schedule* const>(all)));
    }
    ExploreOutcome outcome;
    choose_model(outcome);
    options_.faults = late_interfaces(point_, topology_, nic::clock_of(topology_, parameters_));
    const nic::Simulation result =
        jobs.empty() ? nic::simulate(plan_.schedule, topology_, point_.bytes, parameters_, options_)
                     : nic::simulate(jobs, topology_, parameters_, options_);
    if (!result.errors.empty()) return {.refused = result.errors.front()};
    // Of several jobs the first is timed, from the start of all on.
    outcome.cycles = jobs.empty() ? result.cycles : result.jobs.front().end;
    outcome.clock_hz = result.clock_hz;
    outcome.messages = result.messages;
    outcome.link_flits = result.link_flits;
    outcome.busiest_link_flits = result.busiest_link_flits;
    outcome.header_flits = parameters_.header_flits;
    outcome.exchanges = plan_.exchanges;
    return outcome;
  }

  void choose_model(ExploreOutcome& outcome) {
    std::string differs;
    if (design_.model != ModelRule::Auto) {
      outcome.why = "asked for";
      options_.model = design_.model == ModelRule::Flit ? nic::Model::Flit : nic::Model::Message;
    } else {
      differs = point_.background != "[]" ? "several collectives share ports"
                                          : nic::message_model_differs(plan_.schedule, topology_,
                                                                       point_.bytes, parameters_);
      options_.model = differs.empty() ? nic::Model::Message : nic::Model::Flit;
      outcome.why = differs.empty() ? "exact: no message meets another or waits for credits"
                                    : std::move(differs);
    }
    outcome.model = nic::to_string(options_.model);
  }

  /// The collective and those beside it; none if it is alone.
  std::vector<nic::Job> jobs_of(std::vector<Schedule>& schedules) const {
    const std::vector<BackgroundJob> background = background_jobs(point_.background);
    if (background.empty()) return {};
    std::vector<nic::Job> jobs = {
        {.name = "the collective", .schedule = &plan_.schedule, .bytes = point_.bytes}};
    schedules.reserve(background.size());  // jobs point at them
    for (const BackgroundJob& job : background) {
      schedules.push_back(make_schedule(job.algorithm, topology_, job.collective));
      jobs.push_back({.name = "background",
                      .schedule = &schedules.back(),
                      .bytes = job.bytes,
                      .ready = job.start,
                      .priority = job.priority});
    }
    return jobs;
  }

  const ExploreDesign& design_;
  const ExplorePoint& point_;
  const Schedules::Plan& plan_;
  const Topology& topology_;
  nic::Parameters parameters_;
  nic::SimulationOptions options_;
};

/// Points in their order, each to the thread that is free.
class Queue {
 public:
  Queue(const ExploreDesign& design, std::vector<ExplorePoint> points, ExploreResults& results,
        const std::atomic<bool>& stop, const ExploreProgress& progress)
      : design_(design),
        points_(std::move(points)),
        results_(results),
        stop_(stop),
        progress_(progress),
        schedules_(design, points_) {}

  std::size_t run(unsigned jobs) {
    {
      std::vector<std::jthread> threads;
      try {
        for (unsigned j = 1; j < std::min<std::size_t>(jobs, points_.size()); ++j) {
          threads.emplace_back([this] { work(); });
        }
      } catch (const std::system_error&) {  // the system has no more threads: it takes longer
      }
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
    return done_;
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < points_.size() && !stop_ && !failed_; i = next_++) {
      try {
        one(points_[i]);
      } catch (const Stopped&) {
        return;
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
        failed_ = true;
      }
    }
  }

  void one(const ExplorePoint& point) {
    {
      const auto plan = schedules_.get(point);
      results_.add(point, PointRun(design_, point, *plan, stop_).run());
    }
    schedules_.release(point);
    const std::scoped_lock lock(mutex_);
    ++done_;
    if (progress_) progress_(done_, points_.size());
  }

  const ExploreDesign& design_;
  const std::vector<ExplorePoint> points_;
  ExploreResults& results_;
  const std::atomic<bool>& stop_;
  const ExploreProgress& progress_;
  Schedules schedules_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::size_t explore(const ExploreDesign& design, std::span<const ExplorePoint> points,
                    ExploreResults& results, unsigned jobs, const std::atomic<bool>& stop,
                    const ExploreProgress& progress) {
  // Points that differ in what no simulation depends on are simulated once.
  std::set<std::string_view> taken;
  std::vector<ExplorePoint> missing;
  for (const ExplorePoint& point : points) {
    if (results.find(point) == nullptr && taken.insert(point.content).second) {
      missing.push_back(point);
    }
  }
  if (missing.empty()) return 0;
  return Queue(design, std::move(missing), results, stop, progress).run(jobs);
}

}  // namespace multitree::tools
