// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Repair, judge, and generate where repair does not do.
#include "algorithms/replan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/replan/forest_internal.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using Clock = std::chrono::steady_clock;

/// Adds the time that it lives to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  Clock::time_point start_ = Clock::now();
};

bool is_near(const Exact& load, const Exact& bound) { return load * 20 <= bound * 21; }

std::optional<std::string> violation(const Schedule& schedule, const Topology& topology,
                                     double& seconds) {
  const Stopwatch watch(seconds);
  const VerifyReport report = verify(schedule, topology, {.max_violations = 1});
  if (report.ok()) return std::nullopt;
  return report.violations.front().message;
}

/// What the optimum of the kind of schedule is: phases one after the other, or all at once.
Exact optimum(const Topology& topology, Collective collective, Rank root, bool phased) {
  if (collective == Collective::AllReduce && phased) {
    const Bounds bounds = compute_bounds(topology);
    const Rational sum = bounds.all_reduce();
    return Exact(sum.numerator(), sum.denominator());
  }
  return certify(topology, collective, root).certificate.bound;
}

/// Chunks of one tree travel the same way: those that no longer do are trees of their own.
void renumber_trees(Schedule& schedule, const Forest& forest) {
  std::map<std::uint32_t, std::uint32_t> chunks_of;
  for (const Chunk& chunk : schedule.chunks) ++chunks_of[chunk.tree];
  std::uint32_t next = chunks_of.empty() ? 0 : chunks_of.rbegin()->first + 1;
  for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
    bool touched = false;
    for (const auto& of_op : forest.touched) touched |= !of_op.empty() && of_op[c];
    std::uint32_t& tree = schedule.chunks[c].tree;
    if (!touched || chunks_of[tree] == 1) continue;
    --chunks_of[tree];
    tree = next++;
  }
}

/// The old trees, repaired; none (and the reason) if there are no trees.
std::optional<Schedule> repaired(const Schedule& old, const Topology& old_topology, Forest& forest,
                                 ReplanReport& report) {
  report.reason = inherit(old, old_topology, forest);
  if (!report.reason.empty()) return std::nullopt;
  if (auto mirrored = repair_mirrored(forest)) {
    // A chunk's reduction and its copies are a tree each.
    report.trees = 2 * static_cast<std::uint32_t>(mirrored->schedule.chunks.size());
    report.kept = 2 * mirrored->kept;
    report.load_after = load_of(mirrored->schedule, false, forest.topology, forest.topology);
    report.bound = to_shard_times(forest, mirrored->bound);
    return std::move(mirrored->schedule);
  }
  repair(forest);
  Schedule schedule = retime(forest);
  renumber_trees(schedule, forest);
  for (const auto& touched : forest.touched) {
    report.trees += static_cast<std::uint32_t>(touched.size());
    report.kept += static_cast<std::uint32_t>(std::ranges::count(touched, false));
  }
  report.load_after = load_of(forest);
  for (const std::size_t group : {0U, 1U}) {
    report.bound += to_shard_times(forest, least_load(forest, group));
  }
  return schedule;
}

/// A schedule of the old algorithm. Where that does not serve what is left of the network, and
/// there are no trees that could be repaired, forest does, which serves all.
Schedule made_anew(const Schedule& old, Rank root, const Topology& topology, bool has_trees) {
  try {
    return generate_schedule(old.algorithm, topology, old.collective, root);
  } catch (const Error& error) {
    if (has_trees || error.code() != ErrorCode::Unsupported) throw;
    return generate_schedule("forest", topology, old.collective, root);
  }
}

/// A schedule of the old algorithm, if it is better than the repaired one or there is none.
void regenerate(const Schedule& old, Rank root, const Topology& topology,
                std::optional<Schedule>& schedule, ReplanReport& report) {
  try {
    Schedule fresh = made_anew(old, root, topology, schedule.has_value());
    const bool phased = is_phased(fresh);
    const Exact load = load_of(fresh, phased, topology, topology);
    if (schedule && report.load_after <= load) return;
    report.load_after = load;
    report.regenerated = true;
    report.bound = optimum(topology, old.collective, root, phased);
    report.kept = 0;
    schedule = std::move(fresh);
  } catch (const Error& error) {
    if (!schedule) throw;
    report.reason += fmt::format("; {} cannot make it anew: {}", old.algorithm, error.what());
  }
}

Schedule replanned(const Schedule& old, const Topology& old_topology, const Topology& new_topology,
                   ReplanReport& report) {
  const Stopwatch watch(report.seconds);
  Forest forest(new_topology);
  std::optional<Schedule> schedule = repaired(old, old_topology, forest, report);
  report.load_before = load_of(old, forest.phased, old_topology, new_topology);
  if (schedule && is_near(report.load_after, report.bound)) return *std::move(schedule);
  report.bound = optimum(new_topology, old.collective, forest.header.root, forest.phased);
  if (schedule && is_near(report.load_after, report.bound)) return *std::move(schedule);
  if (schedule) {
    report.reason = fmt::format("repaired trees have {:.3f} times the least load", report.ratio());
  }
  regenerate(old, forest.header.root, new_topology, schedule, report);
  return *std::move(schedule);
}

}  // namespace

double ReplanReport::ratio() const {
  return bound == 0 ? 1.0 : static_cast<double>(Exact(load_after / bound));
}

Replan replan(const Schedule& old, const Topology& old_topology, const Topology& new_topology) {
  expect_no_switches_at_work(old, "replan");
  Replan result;
  ReplanReport& report = result.report;
  if (const auto what = violation(old, old_topology, report.verify_seconds)) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("the old schedule does not verify: {}", *what));
  }
  result.schedule = replanned(old, old_topology, new_topology, report);
  if (const auto what = violation(result.schedule, new_topology, report.verify_seconds)) {
    throw std::logic_error(fmt::format("the replanned schedule does not verify: {}", *what));
  }
  return result;
}

}  // namespace multitree
