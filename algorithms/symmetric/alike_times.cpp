// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One rank's links, and the trees of one rank replayed over them.
#include "algorithms/symmetric/alike_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "algorithms/cost_links_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using Exact = boost::multiprecision::cpp_rational;

std::int64_t latency_of(const LinkOrbits& links, std::uint32_t generator) {
  std::int64_t sum = 0;
  for (const std::uint32_t orbit : links.way(generator)) {
    sum += links.orbits[orbit].latency.picoseconds;
  }
  return sum;
}

/// The least of a message that leaves a class.
std::int64_t least_latency(const LinkOrbits& links, std::uint32_t first) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t s = first; s < links.way_of.size(); ++s) {
    least = std::min(least, latency_of(links, s));
  }
  return least;
}

/// Of the way to the farthest rank, a lower bound: hops of the fastest, or a message that leaves
/// the largest box.
std::int64_t farthest_latency(const AlikeRanks& ranks) {
  const std::vector<std::uint32_t>& levels = ranks.levels;
  if (levels.empty()) {
    return least_latency(ranks.links, 0) * std::ranges::max(cayley_distances(ranks.graph));
  }
  std::int64_t most = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::uint32_t first = ranks.first_generator(level);
    if (first < ranks.graph.degree()) most = std::max(most, least_latency(ranks.links, first));
  }
  return most;
}

/// When links out of a class have carried `bytes`, each from its window on.
Exact crossing_time(const LinkOrbits& links, std::uint32_t first, const Exact& bytes,
                    std::int64_t overhead) {
  std::map<std::uint32_t, std::int64_t> window;  // of the orbits that leave
  for (std::uint32_t s = first; s < links.way_of.size(); ++s) {
    const auto way = links.way(s);
    const std::int64_t hop = links.orbits[way.front()].latency.picoseconds;
    // From a switch it is as far to the nearest rank as from that to the switch.
    window.emplace(way.front(), overhead + (way.size() > 1 ? 2 * hop : hop));
  }
  std::map<std::int64_t, Exact> rates;
  for (const auto& [orbit, from] : window) {
    rates[from] += Exact(links.orbits[orbit].bandwidth.bytes_per_second) / 1'000'000'000'000;
  }
  Exact rate = 0, lost = 0, time = 0;
  for (auto at = rates.begin(); at != rates.end(); ++at) {
    rate += at->second;
    lost += at->second * at->first;
    time = (bytes + lost) / rate;
    if (std::next(at) == rates.end() || time <= std::next(at)->first) break;
  }
  return time;
}

/// One rank's part of the replay of cost.cpp, which all others play at the same times.
class OneRank {
 public:
  OneRank(const SymmetricSchedule& schedule, Collective collective, std::uint64_t bytes,
          Time message_overhead)
      : schedule_(schedule),
        collective_(collective),
        links_(schedule.ranks().links),
        share_(static_cast<double>(bytes) / schedule.graph().size() / schedule.chunks()),
        overhead_(static_cast<double>(message_overhead.picoseconds)),
        busy_(links_.orbits.size(), 0),
        values_(schedule.tree().step.size()) {}

  Picoseconds run() {
    const std::uint32_t steps = schedule_.tree().steps;
    if (collective_ != Collective::AllGather) {
      for (std::uint32_t step = steps; step-- > 0;) serve(step, Op::Reduce);
    }
    if (collective_ != Collective::ReduceScatter) {
      for (std::uint32_t step = 0; step < steps; ++step) serve(step, Op::Copy);
    }
    return end_;
  }

 private:
  struct Value {
    Picoseconds ready = 0, read = 0;
  };
  struct Message {
    Picoseconds ready;
    std::uint32_t generator, from, to;  // elements of all trees
    auto operator<=>(const Message&) const = default;
  };

  void serve(std::uint32_t gather_step, Op op) {
    messages_.clear();
    for (const SymmetricSchedule::Arc& arc : schedule_.arcs_of_step(gather_step)) {
      const std::uint32_t tree = arc.tree * schedule_.graph().size();
      std::uint32_t from = tree + arc.parent, to = tree + arc.element;
      std::uint32_t generator = arc.generator;
      if (op == Op::Reduce) {
        std::swap(from, to);
        generator = schedule_.graph().inverse(generator);
      }
      messages_.push_back({values_[from].ready, generator, from, to});
    }
    std::ranges::stable_sort(messages_, {}, &Message::ready);
    for (Message& message : messages_) message.ready = send(message);
    for (const Message& message : messages_) {
      Value& value = values_[message.to];
      value.ready = std::max({value.ready, value.read, message.ready});
      end_ = std::max(end_, value.ready);
    }
  }

  /// \returns when it arrives
  Picoseconds send(const Message& message) {
    Picoseconds start = message.ready, latency = 0;
    if (overhead_ > 0) {
      sender_free_ = std::max(start, sender_free_) + overhead_;
      start = sender_free_;
    }
    Picoseconds sent = start;
    for (const std::uint32_t o : links_.way(message.generator)) {
      const LinkOrbits::Orbit& orbit = links_.orbits[o];
      start = std::max(start, busy_[o]);
      busy_[o] = start + serialisation(share_, orbit.bandwidth);
      sent = std::max(sent, busy_[o]);
      latency += static_cast<Picoseconds>(orbit.latency.picoseconds);
    }
    values_[message.from].read = std::max(values_[message.from].read, sent);
    return sent + latency;
  }

  const SymmetricSchedule& schedule_;
  Collective collective_;
  const LinkOrbits& links_;
  double share_;
  Picoseconds overhead_, sender_free_ = 0, end_ = 0;
  std::vector<Picoseconds> busy_;  // of each orbit
  std::vector<Value> values_;
  std::vector<Message> messages_;
};

}  // namespace

AlikeBound bound_of(const AlikeRanks& ranks, Collective collective) {
  if (collective == Collective::AllToAll) {
    throw Error(ErrorCode::Unsupported, "expected a collective along trees, got alltoall");
  }
  const bool whole = collective == Collective::Broadcast || collective == Collective::Reduce;
  const std::int64_t phases = collective == Collective::AllReduce ? 2 : 1;
  const auto unit = static_cast<std::int64_t>(ranks.links.unit_bandwidth().bytes_per_second);
  AlikeBound best{.collective = collective};
  best.unit_bandwidth = ranks.links.unit_bandwidth();
  std::uint32_t inside = 1, first = 0;
  for (std::size_t level = 0; level == 0 || level < ranks.levels.size(); ++level) {
    const std::uint32_t classes = ranks.graph.size() / inside;
    if (classes == 1) break;
    const auto out = static_cast<std::int64_t>(ranks.links.bandwidth_out(first));
    const Rational shards = Rational(unit, out) * (whole ? classes : (classes - 1) * phases);
    if (shards > best.shards) {
      best.shards = shards;
      best.inside = inside;
      best.first = first;
    }
    if (ranks.levels.empty()) break;
    inside *= ranks.levels[level];
    first += ranks.levels[level] - 1;
  }
  return best;
}

double seconds_of(const Rational& shards, const AlikeRanks& ranks, std::uint64_t bytes) {
  const auto unit = static_cast<double>(ranks.links.unit_bandwidth().bytes_per_second);
  if (unit == 0) return 0;
  return boost::rational_cast<double>(shards) * static_cast<double>(bytes) / ranks.graph.size() /
         unit;
}

Time least_time(const AlikeRanks& ranks, const AlikeBound& bound, std::uint64_t bytes,
                Time message_overhead) {
  if (ranks.graph.size() < 2 || bytes == 0) return {};
  const std::int64_t overhead = message_overhead.picoseconds;
  const std::int64_t path = overhead + farthest_latency(ranks);
  // What must leave each rank of a class on average.
  const Exact out = Exact(ranks.links.bandwidth_out(bound.first));
  const Exact shards = Exact(bound.shards.numerator()) / bound.shards.denominator();
  const Exact need =
      shards * out / bound.unit_bandwidth.bytes_per_second * bytes / ranks.graph.size();
  const Exact cuts = crossing_time(ranks.links, bound.first, need, overhead);
  const auto whole = numerator(cuts) / denominator(cuts);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (whole > kMost) return {kMost};
  return {std::max(path, whole.convert_to<std::int64_t>())};
}

Time predict_time(const SymmetricSchedule& schedule, Collective collective, std::uint64_t bytes,
                  Time message_overhead) {
  return to_time(OneRank(schedule, collective, bytes, message_overhead).run(), bytes);
}

Time predict_time(const SymmetricSchedule& schedule, std::uint64_t bytes, Time message_overhead) {
  return predict_time(schedule, schedule.collective(), bytes, message_overhead);
}

}  // namespace multitree
