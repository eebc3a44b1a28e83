// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Depth first, given up where no order can be better than the best so far.
#include "exhaustive_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace multitree::test {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class Search {
 public:
  Search(const Topology& topology, Collective collective, std::uint32_t chunks, std::uint64_t bytes,
         Time overhead)
      : topology_(topology), ranks_(topology.num_ranks()), overhead_(overhead.picoseconds) {
    const bool gathers = facts(collective).start == Holder::Own;
    const bool scatters = facts(collective).end == Holder::Own;
    chunks_ = gathers || scatters ? chunks * ranks_ : chunks;
    chunk_bytes_ = static_cast<double>(bytes) / chunks_;
    known_.assign(ranks_, std::vector<std::int64_t>(chunks_, kNever));
    wanted_.assign(ranks_, std::vector<bool>(chunks_, !scatters));
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      known_[gathers ? c / chunks : 0][c] = 0;
      if (scatters) wanted_[c / chunks][c] = true;
    }
    sender_free_.assign(ranks_, 0);
    link_free_.assign(topology.num_links(), 0);
  }

  std::int64_t run() {
    descend(0);
    return best_;
  }

 private:
  [[nodiscard]] bool is_done() const {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      for (std::uint32_t c = 0; c < chunks_; ++c) {
        if (wanted_[r][c] && known_[r][c] == kNever) return false;
      }
    }
    return true;
  }

  void descend(std::int64_t end) {
    if (end >= best_) return;
    if (is_done()) {
      best_ = end;
      return;
    }
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      for (std::uint32_t to = 0; to < ranks_; ++to) {
        if (to != from) send_each(from, to, end);
      }
    }
  }

  /// Every message that says something new.
  void send_each(std::uint32_t from, std::uint32_t to, std::int64_t end) {
    std::vector<std::uint32_t> news;
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      if (known_[from][c] != kNever && known_[to][c] == kNever) news.push_back(c);
    }
    for (std::uint32_t set = 1; set < (1U << news.size()); ++set) {
      std::vector<std::uint32_t> message;
      for (std::uint32_t i = 0; i < news.size(); ++i) {
        if ((set >> i & 1U) != 0) message.push_back(news[i]);
      }
      const auto sender = sender_free_;
      const auto links = link_free_;
      const auto known = known_[to];
      const std::int64_t arrival = send(from, to, message);
      descend(std::max(end, arrival));
      known_[to] = known;
      link_free_ = links;
      sender_free_ = sender;
    }
  }

  std::int64_t send(std::uint32_t from, std::uint32_t to,
                    const std::vector<std::uint32_t>& message) {
    std::int64_t ready = sender_free_[from];
    for (const std::uint32_t c : message) ready = std::max(ready, known_[from][c]);
    std::int64_t start = ready + overhead_, last = start, latency = 0;
    sender_free_[from] = start;
    const double bytes = chunk_bytes_ * static_cast<double>(message.size());
    for (const LinkId id : way(topology_.node_of(Rank{from}), topology_.node_of(Rank{to}), {})) {
      const Link& link = topology_.link(id);
      start = std::max(start, link_free_[index(id)]);
      link_free_[index(id)] =
          start + std::llround(bytes * 1e12 / static_cast<double>(link.bandwidth.bytes_per_second));
      last = std::max(last, link_free_[index(id)]);
      latency += link.latency.picoseconds;
    }
    for (const std::uint32_t c : message) known_[to][c] = last + latency;
    return last + latency;
  }

  /// The only one; empty if `to` lies where it came from.
  [[nodiscard]] std::vector<LinkId> way(NodeId from, NodeId to, std::vector<LinkId> before) const {
    for (const LinkId id : topology_.out_links(from)) {
      const NodeId next = topology_.link(id).dst;
      if (!before.empty() && next == topology_.link(before.back()).src) continue;
      std::vector<LinkId> here = before;
      here.push_back(id);
      if (next == to) return here;
      here = way(next, to, here);
      if (!here.empty()) return here;
    }
    return {};
  }

  const Topology& topology_;
  std::uint32_t ranks_, chunks_ = 0;
  std::int64_t overhead_;
  double chunk_bytes_ = 0;
  std::vector<std::vector<std::int64_t>> known_;  // since when, by rank and chunk
  std::vector<std::vector<bool>> wanted_;
  std::vector<std::int64_t> sender_free_, link_free_;
  std::int64_t best_ = kNever;
};

}  // namespace

std::int64_t exhaustive_time(const Topology& topology, Collective collective, std::uint32_t chunks,
                             std::uint64_t bytes, Time message_overhead) {
  return Search(topology, collective, chunks, bytes, message_overhead).run();
}

}  // namespace multitree::test
