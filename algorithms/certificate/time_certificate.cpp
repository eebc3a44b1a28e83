// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The independent evaluator and checker of least times.
#include "algorithms/certificate/time_certificate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/evaluate_internal.hpp"
#include "algorithms/certificate/growth_internal.hpp"
#include "algorithms/certificate/latencies_internal.hpp"
#include "algorithms/certificate/time_certificate_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using Integer = boost::multiprecision::cpp_int;

constexpr std::array<std::string_view, 7> kReasonNames = {"path",   "spread", "cuts",  "arrivals",
                                                          "stream", "growth", "shares"};
constexpr std::array<std::string_view, 7> kTimeFaultNames = {
    "wrong-network", "wrong-collective", "bad-path",   "bad-count",
    "bad-growth",    "bad-cuts",         "wrong-bound"};
constexpr std::int64_t kPicosecondsASecond = 1'000'000'000'000;

/// The root that Exact(left side) = sum over links of price * bandwidth * max(0, T - window) has.
class Windows {
 public:
  void add(std::int64_t window, const Exact& rate) { rates_[window] += rate; }

  /// `need` in bytes, rates in bytes a picosecond.
  [[nodiscard]] Exact time_for(const Exact& need) const {
    Exact rate = 0, lost = 0, time = 0;
    for (auto it = rates_.begin(); it != rates_.end(); ++it) {
      rate += it->second;
      lost += it->second * it->first;
      time = (need + lost) / rate;
      const auto next = std::next(it);
      if (next == rates_.end() || time <= next->first) break;
    }
    return time;
  }

 private:
  std::map<std::int64_t, Exact> rates_;  // of links, by how much of the time they cannot use
};

std::vector<NodeId> nodes_of_ranks(const Topology& topology) {
  std::vector<NodeId> nodes;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    nodes.push_back(topology.node_of(Rank{r}));
  }
  return nodes;
}

Exact per_picosecond(const Bandwidth& bandwidth) {
  return Exact(Integer(bandwidth.bytes_per_second), Integer(kPicosecondsASecond));
}

/// Each link serves only what has left a rank, and what still can reach one in time.
Exact cuts_time(const TimeCertificate& certificate, const Topology& topology) {
  const Exact need = crossing_of(certificate.cuts, topology) * Exact(certificate.bytes);
  if (need <= 0) return 0;
  const std::vector<NodeId> ranks = nodes_of_ranks(topology);
  const std::vector<std::int64_t> before = latencies_from(ranks, topology, Along::Links);
  const std::vector<std::int64_t> after = latencies_from(ranks, topology, Along::LinksBackwards);
  const std::vector<Exact> prices = link_prices(certificate.cuts, topology);
  Windows windows;
  for (std::uint32_t l = 0; l < prices.size(); ++l) {
    const Link& link = topology.link(LinkId{l});
    const std::int64_t head = before[index(link.src)], tail = after[index(link.dst)];
    if (prices[l] <= 0 || head == kNoWay || tail == kNoWay) continue;
    windows.add(certificate.message_overhead.picoseconds + head + link.latency.picoseconds + tail,
                prices[l] * per_picosecond(link.bandwidth));
  }
  return windows.time_for(need);
}

/// Bytes a second into ranks that may have to receive, and out of all; descending.
std::vector<std::uint64_t> rates_into(const Topology& topology,
                                      const TimeCertificate& certificate) {
  std::vector<std::uint64_t> rates;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const bool knows = facts(certificate.collective).start == Holder::Root;
    if (knows && Rank{r} == certificate.root) continue;
    std::uint64_t rate = 0;
    for (const LinkId id : topology.in_links(topology.node_of(Rank{r}))) {
      rate += topology.link(id).bandwidth.bytes_per_second;
    }
    rates.push_back(rate);
  }
  std::ranges::sort(rates, std::greater{});
  return rates;
}

/// informing_time() where each message tells one rank; where switches copy, one tells all.
std::int64_t telling_time(const std::vector<std::int64_t>& latencies, std::int64_t nearest,
                          std::int64_t overhead, const Topology& topology) {
  if (topology.has_abilities()) return latencies.empty() ? 0 : overhead + latencies.back();
  return informing_time(latencies, nearest, overhead);
}

Exact arrivals_time(const TimeCertificate& certificate, const Topology& topology,
                    std::int64_t nearest) {
  const std::uint32_t late = topology.num_ranks() - certificate.informed;
  // As if all ranks were as near as the nearest two: then what leaves later arrives later.
  const std::int64_t known =
      telling_time(std::vector<std::int64_t>(certificate.informed, nearest), nearest,
                   certificate.message_overhead.picoseconds, topology);
  const bool whole = facts(certificate.collective).end == Holder::Everyone;
  std::vector<std::uint64_t> rates = rates_into(topology, certificate);
  if (!whole) rates.resize(std::min<std::size_t>(rates.size(), late));
  Integer rate = 0;
  for (const std::uint64_t one : rates) rate += one;
  const Exact bytes = Exact(certificate.bytes) * late / (whole ? 1 : topology.num_ranks());
  return Exact(known) + bytes * kPicosecondsASecond / Exact(rate);
}

/// The first rank's links serve what still can reach the second in time, and the second's links
/// what can have come from the first.
Exact stream_time(const TimeCertificate& certificate, const Topology& topology) {
  const auto [from, to] = certificate.path;
  if (from == to) return 0;
  const NodeId source = topology.node_of(from), target = topology.node_of(to);
  const std::int64_t overhead = certificate.message_overhead.picoseconds;
  Windows out, in;
  const auto add = [&](Windows& windows, LinkId id, NodeId end, const auto& latencies) {
    const Link& link = topology.link(id);
    const std::int64_t rest = latencies[index(end)];
    if (rest == kNoWay) return;
    windows.add(overhead + link.latency.picoseconds + rest, per_picosecond(link.bandwidth));
  };
  const auto after = latencies_from({&target, 1}, topology, Along::LinksBackwards);
  for (const LinkId id : topology.out_links(source)) add(out, id, topology.link(id).dst, after);
  const auto before = latencies_from({&source, 1}, topology, Along::Links);
  for (const LinkId id : topology.in_links(target)) add(in, id, topology.link(id).src, before);
  const Exact need =
      Exact(certificate.bytes) / (is_sharded(certificate.collective) ? topology.num_ranks() : 1);
  return std::max(out.time_for(need), in.time_for(need));
}

/// Whether all that a rank starts with has to reach all others.
bool reaches_all(Collective collective) { return facts(collective).end != Holder::Root; }

/// Whether what a rank starts with is another share for each other one.
bool has_shares(Collective collective) { return facts(collective).end == Holder::Own; }

/// What is wrong with a certificate, as it is found.
class TimeChecker {
 public:
  TimeChecker(const TimeCertificate& certificate, const Topology& topology)
      : certificate_(certificate), topology_(topology) {}

  std::vector<TimeViolation> run() {
    check_network();
    if (violations_.empty()) check_reason();
    if (violations_.empty()) check_bound();
    return std::move(violations_);
  }

 private:
  void add(TimeFault fault, std::string message) {
    violations_.push_back({fault, "certificate: " + std::move(message)});
  }

  void check_network() {
    const std::uint32_t ranks = topology_.num_ranks();
    if (certificate_.ranks != ranks) {
      add(TimeFault::WrongNetwork,
          fmt::format("expected a certificate for {} ranks, got one for {}", ranks,
                      certificate_.ranks));
    }
    const std::uint32_t roots = has_root(certificate_.collective) ? ranks : 1;
    if (index(certificate_.root) >= roots) {
      add(TimeFault::WrongCollective,
          fmt::format("expected a root below {}, got {}", roots, index(certificate_.root)));
    }
    const bool needs_all = certificate_.reason == TimeReason::Spread ||
                           certificate_.reason == TimeReason::Arrivals ||
                           certificate_.reason == TimeReason::Growth;
    if (certificate_.reason == TimeReason::Shares && !has_shares(certificate_.collective)) {
      add(TimeFault::WrongCollective,
          fmt::format("shares: expected a collective in which each rank ends with its own, got {}",
                      to_string(certificate_.collective)));
    }
    if (needs_all && !reaches_all(certificate_.collective)) {
      add(TimeFault::WrongCollective,
          fmt::format("{}: expected a collective whose data reaches all ranks, got {}",
                      to_string(certificate_.reason), to_string(certificate_.collective)));
    }
    if (certificate_.reason == TimeReason::Stream &&
        certificate_.collective == Collective::AllToAll) {
      add(TimeFault::WrongCollective,
          "stream: expected a collective in which a rank sends another a shard or all, got "
          "alltoall");
    }
  }

  void check_reason() {
    switch (certificate_.reason) {
      case TimeReason::Path:
      case TimeReason::Stream:
        return check_path(true);
      case TimeReason::Spread:
        return check_path(false);
      case TimeReason::Cuts:
        return check_cuts();
      case TimeReason::Arrivals:
        return check_count();
      case TimeReason::Growth:
        return check_growth();
      case TimeReason::Shares:
        check_switches();
        return check_path(false);
    }
  }

  void check_path(bool has_end) {
    const auto [from, to] = certificate_.path;
    const std::uint32_t ranks = topology_.num_ranks();
    if (index(from) >= ranks || (has_end && index(to) >= ranks)) {
      return add(TimeFault::BadPath, fmt::format("expected ranks below {}, got {} and {}", ranks,
                                                 index(from), index(to)));
    }
    const CollectiveFacts& what = facts(certificate_.collective);
    const bool wrong_start = what.start == Holder::Root && from != certificate_.root;
    const bool wrong_end = has_end && what.end == Holder::Root && to != certificate_.root;
    if (!wrong_start && !wrong_end) return;
    add(TimeFault::BadPath,
        fmt::format("expected a way that {} at the root {}, got one from rank {} to rank {}",
                    wrong_start ? "starts" : "ends", index(certificate_.root), index(from),
                    index(to)));
  }

  void check_count() {
    if (certificate_.informed >= 1 && certificate_.informed < topology_.num_ranks()) return;
    add(TimeFault::BadCount, fmt::format("expected 1 to {} ranks that know, got {}",
                                         topology_.num_ranks() - 1, certificate_.informed));
  }

  void check_switches() {
    if (!topology_.has_abilities()) return;
    add(TimeFault::BadGrowth,
        fmt::format("{}: expected switches that forward a message to one rank",
                    to_string(certificate_.reason)));
  }

  void check_growth() {
    check_path(false);
    check_switches();
    if (certificate_.rest < Time{}) {
      add(TimeFault::BadGrowth,
          fmt::format("expected a rest of 0 or more, got {}", to_string(certificate_.rest)));
    }
    const std::int64_t nearest = nearest_latency(topology_);
    if (is_doubling(certificate_.doubling, nearest, certificate_.message_overhead)) return;
    add(TimeFault::BadGrowth,
        fmt::format("expected a time in which what knows something at most doubles, if a message "
                    "costs {} and is under way for {}, got {}",
                    to_string(certificate_.message_overhead), to_string(Time{nearest}),
                    to_string(certificate_.doubling)));
  }

  void check_cuts() {
    const CertificateReport report = check_certificate(certificate_.cuts, topology_);
    for (const CertificateViolation& violation : report.violations) {
      add(TimeFault::BadCuts, fmt::format("{}: {}", to_string(violation.fault), violation.message));
    }
    if (certificate_.cuts.collective != certificate_.collective ||
        certificate_.cuts.root != certificate_.root) {
      add(TimeFault::BadCuts,
          fmt::format("expected cuts for {} with root {}, got those for {} with root {}",
                      to_string(certificate_.collective), index(certificate_.root),
                      to_string(certificate_.cuts.collective), index(certificate_.cuts.root)));
    }
  }

  void check_bound() {
    const Time proved = evaluate_time(certificate_, topology_);
    if (proved == certificate_.bound) return;
    add(TimeFault::WrongBound, fmt::format("expected the bound {} that is proved, got {}",
                                           to_string(proved), to_string(certificate_.bound)));
  }

  const TimeCertificate& certificate_;
  const Topology& topology_;
  std::vector<TimeViolation> violations_;
};

Time rounded_down(const Exact& picoseconds) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const Integer whole = numerator(picoseconds) / denominator(picoseconds);
  return {whole > kMost ? kMost : whole.convert_to<std::int64_t>()};
}

}  // namespace

std::string_view to_string(TimeReason reason) {
  return kReasonNames[static_cast<std::size_t>(reason)];
}

TimeReason parse_time_reason(std::string_view text) {
  const auto found = std::ranges::find(kReasonNames, text);
  if (found != kReasonNames.end()) return TimeReason(found - kReasonNames.begin());
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected a reason ({}), got '{}'", fmt::join(kReasonNames, ", "), text));
}

std::string_view to_string(TimeFault fault) {
  return kTimeFaultNames[static_cast<std::size_t>(fault)];
}

Time evaluate_time(const TimeCertificate& certificate, const Topology& topology) {
  const bool from_everywhere = certificate.reason == TimeReason::Spread ||
                               certificate.reason == TimeReason::Arrivals ||
                               certificate.reason == TimeReason::Shares;
  return evaluate_time(certificate, topology, from_everywhere ? nearest_latency(topology) : 0);
}

Time evaluate_time(const TimeCertificate& certificate, const Topology& topology,
                   std::int64_t nearest) {
  if (topology.num_ranks() < 2 || certificate.bytes == 0) return {};
  const std::int64_t overhead = certificate.message_overhead.picoseconds;
  const auto [from, to] = certificate.path;
  switch (certificate.reason) {
    case TimeReason::Path: {
      const NodeId source = topology.node_of(from);
      const auto latencies = latencies_from({&source, 1}, topology, Along::Links);
      return {from == to ? 0 : overhead + latencies[index(topology.node_of(to))]};
    }
    case TimeReason::Spread:
      return {
          telling_time(rank_latencies(from, topology, Along::Links), nearest, overhead, topology)};
    case TimeReason::Cuts:
      return rounded_down(cuts_time(certificate, topology));
    case TimeReason::Arrivals:
      return rounded_down(arrivals_time(certificate, topology, nearest));
    case TimeReason::Stream:
      return rounded_down(stream_time(certificate, topology));
    case TimeReason::Growth:
      return growth_time(certificate, topology);
    case TimeReason::Shares:
      return shares_time(certificate, topology, nearest);
  }
  return {};
}

std::vector<TimeViolation> check_time_certificate(const TimeCertificate& certificate,
                                                  const Topology& topology) {
  return TimeChecker(certificate, topology).run();
}

}  // namespace multitree
