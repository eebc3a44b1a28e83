// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tries each reason where it is strongest.
#include "algorithms/certificate/least_time.hpp"

#include <utility>
#include <vector>

#include "algorithms/certificate/find_growth_internal.hpp"
#include "algorithms/certificate/latencies_internal.hpp"
#include "algorithms/certificate/time_certificate_internal.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kRanksForEverySource = 256;

/// Where what is spread may start.
std::vector<Rank> starts_of(const Topology& topology, const Certificate& bandwidth) {
  if (facts(bandwidth.collective).start == Holder::Root) return {bandwidth.root};
  if (topology.num_ranks() > kRanksForEverySource) {
    return {bandwidth.far_apart.first, bandwidth.far_apart.second};
  }
  std::vector<Rank> all;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) all.push_back(Rank{r});
  return all;
}

/// The counts of Arrivals that are tried: each as long as those are few, then some.
std::vector<std::uint32_t> counts_to_try(std::uint32_t ranks) {
  std::vector<std::uint32_t> counts;
  for (std::uint32_t k = 1; k < ranks; k = k < 64 ? k + 1 : k + k / 32) counts.push_back(k);
  if (ranks > 1 && counts.back() != ranks - 1) counts.push_back(ranks - 1);
  return counts;
}

}  // namespace

LeastTime::LeastTime(const Topology& topology, Certificate bandwidth, Time message_overhead)
    : topology_(topology),
      bandwidth_(std::move(bandwidth)),
      message_overhead_(message_overhead),
      nearest_(nearest_latency(topology)),
      growth_(std::make_shared<GrowthFinder>(topology, bandwidth_.collective, bandwidth_.root,
                                             nearest_, message_overhead)) {
  latency_ = longest_way();
  if (facts(bandwidth_.collective).end == Holder::Root) return;
  for (const Rank from : starts_of(topology, bandwidth_)) {
    TimeCertificate spread = blank(TimeReason::Spread, 1);
    spread.path = {from, from};
    consider(std::move(spread), latency_);
  }
}

TimeCertificate LeastTime::at(std::uint64_t bytes) const {
  TimeCertificate best = latency_;
  best.bytes = bytes;
  best.bound = evaluate_time(best, topology_, nearest_);
  TimeCertificate cuts = blank(TimeReason::Cuts, bytes);
  cuts.cuts = bandwidth_;
  consider(std::move(cuts), best);
  if (facts(bandwidth_.collective).end == Holder::Root) return best;
  for (const std::uint32_t count : counts_to_try(topology_.num_ranks())) {
    TimeCertificate arrivals = blank(TimeReason::Arrivals, bytes);
    arrivals.informed = count;
    consider(std::move(arrivals), best);
  }
  if (facts(bandwidth_.collective).end == Holder::Own && !topology_.has_abilities()) {
    TimeCertificate shares = blank(TimeReason::Shares, bytes);
    shares.path = {bandwidth_.root, bandwidth_.root};
    consider(std::move(shares), best);
  }
  const GrowthFinder::Found found = growth_->at(bytes);
  // That it is not even near is seen without evaluating it.
  if (found.time < static_cast<double>(best.bound.picoseconds)) return best;
  TimeCertificate growth = blank(TimeReason::Growth, bytes);
  growth.path = {found.source, found.source};
  growth.doubling = found.doubling;
  growth.rest = found.rest;
  consider(std::move(growth), best);
  return best;
}

TimeCertificate LeastTime::blank(TimeReason reason, std::uint64_t bytes) const {
  TimeCertificate certificate;
  certificate.collective = bandwidth_.collective;
  certificate.root = bandwidth_.root;
  certificate.ranks = topology_.num_ranks();
  certificate.bytes = bytes;
  certificate.message_overhead = message_overhead_;
  certificate.reason = reason;
  return certificate;
}

/// Between two ranks that must tell each other something.
TimeCertificate LeastTime::longest_way() const {
  const bool to_root = facts(bandwidth_.collective).end == Holder::Root;
  const std::vector<Rank> ends =
      to_root ? std::vector{bandwidth_.root} : starts_of(topology_, bandwidth_);
  TimeCertificate best = blank(TimeReason::Path, 1);
  best.path = bandwidth_.far_apart;
  std::int64_t longest = -1;
  for (const Rank end : ends) {
    const NodeId node = topology_.node_of(end);
    const auto latencies =
        latencies_from({&node, 1}, topology_, to_root ? Along::LinksBackwards : Along::Links);
    for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) {
      const std::int64_t one = latencies[index(topology_.node_of(Rank{r}))];
      if (one <= longest) continue;
      longest = one;
      best.path = to_root ? std::pair{Rank{r}, end} : std::pair{end, Rank{r}};
    }
  }
  best.bound = evaluate_time(best, topology_, nearest_);
  return best;
}

void LeastTime::consider(TimeCertificate candidate, TimeCertificate& best) const {
  candidate.bound = evaluate_time(candidate, topology_, nearest_);
  if (candidate.bound > best.bound) best = std::move(candidate);
}

}  // namespace multitree
