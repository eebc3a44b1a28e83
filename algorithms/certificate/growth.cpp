// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Evaluates what TimeReason::Growth proves, in software floating point, which is the same on all
/// machines.
#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <limits>
#include <map>
#include <tuple>

#include "algorithms/certificate/growth_internal.hpp"
#include "algorithms/certificate/latencies_internal.hpp"

namespace multitree {
namespace {

using Real = boost::multiprecision::cpp_bin_float_quad;

/// Far above what the evaluation loses, and far below a picosecond.
const Real kMargin("1e-12");
constexpr std::int64_t kPicosecondsASecond = 1'000'000'000'000;

Real ln2() { return boost::multiprecision::log(Real(2)); }

/// The least sum, over pieces of at most `share` bytes, of 2^(transit / doubling) for each piece,
/// per byte: longer pieces take longer, shorter ones are more.
Real price_of_byte(const GrowthTarget& target, const Real& share, const Real& doubling) {
  const Real rate = Real(target.fastest) / kPicosecondsASecond;
  const Real piece = std::min(share, Real(rate * doubling / ln2()));
  return boost::multiprecision::exp((target.nearest + piece / rate) / doubling * ln2()) / piece;
}

/// Bytes a second from the one node that sends the most, as over parallel links.
std::uint64_t fastest_into(NodeId node, const Topology& topology) {
  std::map<NodeId, std::uint64_t> from;
  std::uint64_t fastest = 0;
  for (const LinkId id : topology.in_links(node)) {
    const Link& link = topology.link(id);
    std::uint64_t& rate = from[link.src];
    rate += link.bandwidth.bytes_per_second;
    fastest = std::max(fastest, rate);
  }
  return fastest;
}

std::uint64_t rate_into(NodeId node, const Topology& topology) {
  std::uint64_t rate = 0;
  for (const LinkId id : topology.in_links(node)) {
    rate += topology.link(id).bandwidth.bytes_per_second;
  }
  return rate;
}

}  // namespace

std::vector<GrowthTarget> growth_targets(const Topology& topology) {
  const std::vector<std::int64_t> nearest = nearest_latencies(topology);
  std::vector<GrowthTarget> targets;
  std::map<std::tuple<std::int64_t, std::uint64_t, std::uint64_t>, std::size_t> known;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const NodeId node = topology.node_of(Rank{r});
    const std::uint64_t fastest = fastest_into(node, topology), all = rate_into(node, topology);
    const auto [kind, is_new] =
        known.try_emplace(std::tuple{nearest[r], fastest, all}, targets.size());
    if (is_new) targets.push_back({nearest[r], fastest, all, {}});
    targets[kind->second].ranks.push_back(Rank{r});
  }
  return targets;
}

GrowthNeed growth_need(Collective collective, std::uint32_t ranks) {
  const CollectiveFacts& what = facts(collective);
  GrowthNeed need;
  if (is_sharded(collective)) need.pairs = ranks;
  if (what.start != Holder::Own) return need;
  if (what.end == Holder::Own) need.pairs *= ranks;
  need.sources = ranks;
  need.shares = ranks - 1;
  return need;
}

bool is_doubling(Time doubling, std::int64_t nearest, Time overhead) {
  if (doubling.picoseconds <= 0 || overhead.picoseconds <= 0) return false;
  // As if messages arrived at once.
  if (doubling <= overhead) return true;
  const Real each = ln2() / doubling.picoseconds;
  const Real grown = boost::multiprecision::exp(each * overhead.picoseconds) - 1;
  return boost::multiprecision::exp(each * nearest) * grown >= 1 + kMargin;
}

Time growth_time(const TimeCertificate& certificate, const Topology& topology) {
  const GrowthNeed need = growth_need(certificate.collective, topology.num_ranks());
  const Real doubling(certificate.doubling.picoseconds), rest(certificate.rest.picoseconds);
  const Real share = Real(certificate.bytes) / need.pairs;
  Real sum = 0;
  for (const GrowthTarget& target : growth_targets(topology)) {
    auto count = static_cast<std::int64_t>(target.ranks.size());
    if (need.sources == 1) count -= std::ranges::count(target.ranks, certificate.path.first);
    const Real before =
        (need.shares * share * kPicosecondsASecond - target.all * rest) / kPicosecondsASecond;
    if (count == 0 || before <= 0) continue;
    sum += count * before * price_of_byte(target, share, doubling);
  }
  if (sum <= 0) return {};
  const Real overhead = certificate.message_overhead.picoseconds / doubling;
  const Real grown = boost::multiprecision::exp(overhead * ln2()) - 1;
  const Real until = doubling * boost::multiprecision::log(1 + grown * sum / need.sources) / ln2();
  const Real time = (rest + until) * (1 - kMargin);
  if (!(time < Real(std::numeric_limits<std::int64_t>::max()))) return {};
  return {time.convert_to<std::int64_t>()};
}

}  // namespace multitree
