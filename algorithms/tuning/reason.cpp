// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Takes the predicted time of a winner apart.
#include "algorithms/tuning/reason.hpp"

#include <algorithm>

#include "algorithms/tuning/price_floor_internal.hpp"

namespace multitree {
namespace {

const TunedRange& range_of(const TuneResult& result, std::uint64_t bytes) {
  const auto found = std::ranges::lower_bound(result.ranges, bytes, {}, &TunedRange::to);
  return found == result.ranges.end() ? result.ranges.back() : *found;
}

/// Whether two are the same under two names, as far as their times can tell.
bool are_twins(const TuneCandidate& a, const TuneCandidate& b) {
  return a.times == b.times && a.schedule.transfers.size() == b.schedule.transfers.size();
}

/// The fastest at the size number `i` that is unlike the winner.
std::optional<std::size_t> next_to(const TuneResult& result, std::size_t winner, std::size_t i) {
  const auto& all = result.candidates;
  std::optional<std::size_t> next;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const bool counts = all[c].unsupported.empty() && c != winner && all[c].times.size() > i;
    if (!counts || (all[winner].times.size() > i && are_twins(all[c], all[winner]))) continue;
    if (!next || all[c].times[i] < all[*next].times[i]) next = c;
  }
  return next;
}

}  // namespace

std::string_view Reason::decides() const {
  if (bytes_part >= messages_part && bytes_part >= latency_part) return "bytes";
  return messages_part >= latency_part ? "messages" : "latency";
}

std::vector<Reason> reasons(const TuneResult& result, const Topology& topology,
                            const TuneOptions& options) {
  const Topology& priced = options.priced == nullptr ? topology : *options.priced;
  CostModel links_only = options.cost;
  links_only.message_overhead = {};
  links_only.hosts.clear();
  std::vector<Reason> all;
  for (std::size_t i = 0; i < result.sizes.size(); ++i) {
    Reason reason;
    reason.bytes = result.sizes[i];
    reason.candidate = range_of(result, reason.bytes).candidate;
    const Schedule& schedule = result.candidates[reason.candidate].schedule;
    reason.time = predict_time(schedule, priced, reason.bytes, options.cost);
    reason.next = next_to(result, reason.candidate, i);
    if (reason.next) reason.next_time = result.candidates[*reason.next].times[i];
    const double whole = std::max(reason.time.seconds(), 1e-15);
    const Time floor = PriceFloor(schedule, priced).at(reason.bytes);
    const Time free = predict_time(schedule, priced, reason.bytes, links_only);
    reason.bytes_part = std::min(floor.seconds() / whole, 1.0);
    reason.messages_part =
        std::clamp((reason.time.seconds() - free.seconds()) / whole, 0.0, 1 - reason.bytes_part);
    reason.latency_part = 1 - reason.bytes_part - reason.messages_part;
    all.push_back(reason);
  }
  return all;
}

}  // namespace multitree
