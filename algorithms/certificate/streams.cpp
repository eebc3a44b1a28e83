// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Looks at all pairs of ranks in floating point; the pair that is found is evaluated exactly.
#include "algorithms/certificate/streams.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "algorithms/certificate/latencies_internal.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kMostRanks = 256;

/// When links have carried so many bytes: each is lost for some time first, and then has a rate.
class Links {
 public:
  void clear() { links_.clear(); }
  void add(std::int64_t lost, const Bandwidth& bandwidth) {
    links_.emplace_back(static_cast<double>(lost) * 1e-12,
                        static_cast<double>(bandwidth.bytes_per_second));
  }
  double seconds(double bytes) {
    std::ranges::sort(links_);
    double rate = 0, lost = 0, time = 0;  // lost: bytes
    for (std::size_t l = 0; l < links_.size(); ++l) {
      rate += links_[l].second;
      lost += links_[l].second * links_[l].first;
      time = (bytes + lost) / rate;
      if (l + 1 < links_.size() && time <= links_[l + 1].first) break;
    }
    return time;
  }

 private:
  std::vector<std::pair<double, double>> links_;  // seconds, bytes a second
};

}  // namespace

Streams::Streams(const Topology& topology) : topology_(topology) {
  for (std::uint32_t r = 0; r < std::min(topology.num_ranks(), kMostRanks); ++r) {
    const NodeId node = topology.node_of(Rank{r});
    from_.push_back(latencies_from({&node, 1}, topology, Along::Links));
    to_.push_back(latencies_from({&node, 1}, topology, Along::LinksBackwards));
  }
}

TimeCertificate Streams::at(std::uint64_t bytes) const {
  TimeCertificate best;
  best.ranks = topology_.num_ranks();
  best.bytes = bytes;
  best.reason = TimeReason::Stream;
  double longest = -1;
  Links links;
  const auto consider = [&](std::uint32_t from, std::uint32_t to) {
    const double seconds = links.seconds(static_cast<double>(bytes));
    if (seconds <= longest) return;
    longest = seconds;
    best.path = {Rank{from}, Rank{to}};
  };
  for (std::uint32_t u = 0; u < from_.size(); ++u) {
    for (std::uint32_t v = 0; v < to_.size(); ++v) {
      if (u == v) continue;
      links.clear();
      for (const LinkId id : topology_.out_links(topology_.node_of(Rank{u}))) {
        const Link& link = topology_.link(id);
        const std::int64_t rest = to_[v][index(link.dst)];
        if (rest != kNoWay) links.add(link.latency.picoseconds + rest, link.bandwidth);
      }
      consider(u, v);
      links.clear();
      for (const LinkId id : topology_.in_links(topology_.node_of(Rank{v}))) {
        const Link& link = topology_.link(id);
        const std::int64_t before = from_[u][index(link.src)];
        if (before != kNoWay) links.add(link.latency.picoseconds + before, link.bandwidth);
      }
      consider(u, v);
    }
  }
  best.bound = evaluate_time(best, topology_);
  return best;
}

}  // namespace multitree
