// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rows of passes and of transfers.
#include "tools/train/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/lanes.hpp"
#include "report/trace.hpp"
#include "training/iteration.hpp"

namespace multitree::tools {
namespace {

using training::JobTime;
using training::Plan;
using training::PlannedTransfer;
using training::SimulatedPlan;

/// Rows of one group; what overlaps goes to further rows.
class Timeline {
 public:
  void add(const std::string& group, const std::string& row, const std::string& what,
           const JobTime& time, std::uint64_t bytes) {
    const double begin = time.begin * 1e9, end = time.end * 1e9;
    const std::uint32_t track =
        lanes_.track(group, row, static_cast<std::uint64_t>(std::llround(begin)),
                     static_cast<std::uint64_t>(std::llround(end)));
    trace_.add_span(track, what, begin, end, {{"bytes", bytes}});
  }
  [[nodiscard]] std::string json() const { return trace_.to_json(); }

 private:
  report::Trace trace_;
  report::Lanes lanes_{trace_};
};

void add(Timeline& timeline, const Plan& plan, const std::string& of, const SimulatedPlan& times) {
  const std::vector<training::Layer>& layers = plan.model.layers;
  for (std::size_t l = layers.size(); l-- > 0;) {
    timeline.add(of + "computing", "passes", "backward " + layers[l].name, times.backward[l], 0);
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    timeline.add(of + "computing", "passes", "forward " + layers[l].name, times.forward[l], 0);
  }
  std::vector<std::size_t> order(plan.transfers.size());
  for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
  std::ranges::stable_sort(order, {}, [&](std::size_t t) { return times.transfers[t].begin; });
  for (const std::size_t t : order) {
    timeline.add(of + "network", "transfers", name_of(plan.transfers[t], plan.model),
                 times.transfers[t], plan.transfers[t].bytes);
  }
}

}  // namespace

std::string name_of(const PlannedTransfer& transfer, const training::Model& model) {
  const std::string& first = model.layers[transfer.first].name;
  const std::string& last = model.layers[transfer.last].name;
  return fmt::format("{} {}{}", to_string(transfer.collective), first,
                     first == last ? "" : " to " + last);
}

SimulatedPlan expected_of(const Plan& plan) {
  SimulatedPlan times{.seconds = plan.seconds, .transfers = {}, .backward = {}, .forward = {}};
  for (const PlannedTransfer& transfer : plan.transfers) {
    times.transfers.push_back({transfer.begin, transfer.end});
  }
  const std::vector<double> ready = training::ready_times(plan.model);
  double free = plan.model.backward();
  for (std::size_t l = 0; l < ready.size(); ++l) {
    const training::Layer& layer = plan.model.layers[l];
    times.backward.push_back({ready[l] - layer.backward, ready[l]});
    for (const PlannedTransfer& transfer : plan.transfers) {
      const bool needed = plan.together || (transfer.first <= l && l <= transfer.last);
      if (needed) free = std::max(free, transfer.end);
    }
    times.forward.push_back({free, free + layer.forward});
    free += layer.forward;
  }
  return times;
}

std::string timeline_of(const Plan& plan,
                        const std::vector<std::pair<std::string, SimulatedPlan>>& timelines) {
  Timeline timeline;
  for (const auto& [of, times] : timelines) add(timeline, plan, of, times);
  return timeline.json();
}

}  // namespace multitree::tools
