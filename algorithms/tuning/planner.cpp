// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From a network to what runs on it, and on what is left of it.
#include "algorithms/tuning/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/replan.hpp"
#include "algorithms/verify.hpp"
#include "topologies/error.hpp"

namespace multitree {

void check_verified(const SizedSchedules& schedules, const Topology& topology) {
  for (const SizedSchedule& sized : schedules) {
    const VerifyReport report = verify(sized.schedule, topology);
    if (report.ok()) continue;
    throw Error(ErrorCode::InvalidInput,
                fmt::format("schedule {} does not verify: {}", sized.schedule.algorithm,
                            report.violations.front().message));
  }
}

bool Planner::is_ready(Collective collective, Rank root) const {
  if (ready_.empty()) return false;
  const Schedule& first = ready_.front().schedule;
  if (first.collective != collective) return false;
  return !has_root(collective) || first.root == network_.at_first(root);
}

SizedSchedules Planner::repaired(const SizedSchedules& schedules) const {
  SizedSchedules fitting;
  for (const auto& [schedule, max_bytes] : schedules) {
    fitting.push_back({replan(schedule, network_.whole(), network_.network()).schedule, max_bytes});
  }
  return fitting;
}

SizedSchedules Planner::schedules(Collective collective, Rank root) const {
  const Topology& network = network_.network();
  if (!network_.is_whole() && network.num_ranks() == 1) return {};
  if (is_ready(collective, root)) return network_.is_whole() ? ready_ : repaired(ready_);
  if (network_.is_whole()) return make_(network, collective, root);
  try {
    return make_(network, collective, root);
  } catch (const Error& error) {
    const bool unserved =
        error.code() == ErrorCode::Unsupported || error.code() == ErrorCode::InvalidArgument;
    if (!unserved) throw;
  }
  return repaired(make_(network_.whole(), collective, network_.at_first(root)));
}

std::vector<SizedSchedules> Planner::schedules(std::span<const Collective> collectives,
                                               Rank root) const {
  std::vector<SizedSchedules> all;
  for (const Collective collective : collectives) {
    all.push_back(schedules(collective, has_root(collective) ? root : Rank{0}));
  }
  return all;
}

namespace {

/// One of a range of sizes, as large ones as jobs send where it has no end.
std::uint64_t size_between(std::uint64_t above, std::uint64_t most) {
  constexpr std::uint64_t kLarge = std::uint64_t{64} << 20;
  if (most == std::numeric_limits<std::uint64_t>::max()) most = std::max(kLarge, above);
  return std::max<std::uint64_t>(1, above + (most - above) / 2);
}

/// Nothing if its algorithm does not serve what is left.
std::optional<Schedule> made_anew(const Schedule& schedule, const Topology& network) {
  try {
    Schedule made =
        generate_schedule(schedule.algorithm, network, schedule.collective, schedule.root);
    if (verify(made, network).ok()) return made;
  } catch (const Error&) {  // nor need it be the name of one
  }
  return std::nullopt;
}

}  // namespace

SizedSchedules adapted(const SizedSchedules& schedules, const RemainingNetwork& network) {
  const CostModel model{.message_overhead = kMessageOverhead};
  SizedSchedules fitting;
  std::uint64_t above = 0;
  for (const auto& [schedule, max_bytes] : schedules) {
    const std::uint64_t bytes = size_between(above, max_bytes);
    Schedule best = replan(schedule, network.whole(), network.network()).schedule;
    if (auto made = made_anew(schedule, network.network())) {
      const auto time = [&](const Schedule& one) {
        return predict_time(one, network.network(), bytes, model);
      };
      if (time(*made) < time(best)) best = std::move(*made);
    }
    fitting.push_back({std::move(best), max_bytes});
    above = max_bytes;
  }
  return fitting;
}

Planner::Make by_algorithm(std::string algorithm, ChooseOptions options) {
  return [algorithm = std::move(algorithm), options](const Topology& network, Collective collective,
                                                     Rank root) {
    SizedSchedules made = choose_schedules(algorithm, network, collective, root, options);
    if (algorithm != "auto") check_verified(made, network);  // those of `auto` are
    return made;
  };
}

}  // namespace multitree
