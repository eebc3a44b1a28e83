// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A queue of work: a schedule, then the points that need it.
#include "tools/study/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

struct Plan {
  Topology topology;
  Schedule schedule;
};

/// Places for early worms where the hardware's are too few: packets of some baselines need more
/// than any interface is built with.
constexpr std::uint32_t kMostParkSlots = 4096;

Outcome simulate(const Point& point, const Plan& plan) {
  nic::SimulationOptions options;
  options.model = point.model;
  nic::Parameters parameters =
      nic::on_machine(point.machine, point.parameters, plan.schedule, plan.topology);
  nic::Simulation run =
      nic::simulate(plan.schedule, plan.topology, point.bytes, parameters, options);
  if (point.machine == nic::Machine::Hardware && !run.errors.empty()) {
    parameters.park_slots = kMostParkSlots;
    run = nic::simulate(plan.schedule, plan.topology, point.bytes, parameters, options);
  }
  if (!run.errors.empty()) {
    throw std::logic_error(fmt::format("{}: {}", key_of(point), run.errors.front()));
  }
  return {.cycles = run.cycles,
          .clock_hz = run.clock_hz,
          .messages = run.messages,
          .link_flits = run.link_flits,
          .busiest_link_flits = run.busiest_link_flits};
}

class Runner {
 public:
  Runner(std::span<const Point> points, ResultsFile& results, const StudyProgress& progress)
      : results_(results), progress_(progress) {
    std::map<std::pair<std::string, std::string>, std::size_t> group_of;
    for (const Point& point : points) {
      if (results.find(point)) continue;
      ++all_;
      const auto [at, is_new] =
          group_of.try_emplace({point.network, point.algorithm}, groups_.size());
      if (is_new) groups_.emplace_back();
      groups_[at->second].push_back(point);
    }
    // The longest first, so that no thread is left alone with them: the schedules with most
    // messages, and large networks, which come last.
    std::vector<std::size_t> order(groups_.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    std::ranges::stable_partition(
        order, [&](std::size_t g) { return groups_[g].front().algorithm == "allreduce-optimal"; });
    for (const std::size_t g : order) queue_.emplace_back([this, g] { generate(g); });
  }

  std::size_t run(unsigned jobs) {
    std::vector<std::jthread> threads;
    try {
      for (unsigned j = 1; j < jobs; ++j) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the system has no more threads: it takes longer
    }
    work();
    threads.clear();
    if (failure_) std::rethrow_exception(failure_);
    return all_;
  }

 private:
  using Task = std::function<void()>;

  /// The schedule of a group; its points go first in the queue, so that it is soon not needed.
  void generate(std::size_t group) {
    const std::vector<Point>& points = groups_[group];
    const Point& first = points.front();
    report(fmt::format("generating {} on {}", first.algorithm, first.network));
    Topology topology = make_topology(first.network);
    Schedule schedule = make_schedule(first.algorithm, topology);
    const auto plan = std::make_shared<const Plan>(Plan{std::move(topology), std::move(schedule)});
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = points.size(); i-- > 0;) {
      queue_.emplace_front([this, plan, &point = points[i]] { simulate_point(point, *plan); });
    }
    changed_.notify_all();
  }

  void simulate_point(const Point& point, const Plan& plan) {
    report(fmt::format("{} on {}, {}", point.algorithm, point.network, format_bytes(point.bytes)));
    results_.add(point, simulate(point, plan));
    const std::scoped_lock lock(mutex_);
    ++done_;
  }

  void report(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    if (progress_) progress_(done_, all_, what);
  }

  /// Next to be done; empty: nothing is left, and nobody will add anything.
  Task next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || !queue_.empty() || working_ == 0; });
    if (failure_ || queue_.empty()) return {};
    Task task = std::move(queue_.front());
    queue_.pop_front();
    ++working_;
    return task;
  }

  void work() {
    while (Task task = next()) {
      std::exception_ptr failure;
      try {
        task();
      } catch (...) {
        failure = std::current_exception();
      }
      task = {};
      const std::scoped_lock lock(mutex_);
      if (failure && !failure_) failure_ = failure;
      --working_;
      changed_.notify_all();
    }
  }

  ResultsFile& results_;
  const StudyProgress& progress_;
  std::vector<std::vector<Point>> groups_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> queue_;
  std::size_t all_ = 0, done_ = 0, working_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::size_t run_points(std::span<const Point> points, ResultsFile& results, unsigned jobs,
                       const StudyProgress& progress) {
  return Runner(points, results, progress).run(jobs);
}

}  // namespace multitree::tools
