// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rounds of messages between all neighbours take.
#include "runtime/measure/link_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "runtime/execution/recorder.hpp"
#include "runtime/measure/clock_offsets.hpp"
#include "runtime/measure/exchange_internal.hpp"
#include "runtime/measure/hosts_internal.hpp"
#include "runtime/measure/reaches_internal.hpp"
#include "runtime/measure/rounds_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

using measuring::exchange_all;
using measuring::find_hosts;
using measuring::Host;
using measuring::Kind;
using measuring::Neighbours;
using measuring::Rounds;
using measuring::Span;

// Of each kind. Where ranks share processors, what a round of small messages takes is chance.
constexpr std::int64_t kLeastRounds = 3, kLeastSmallRounds = 7, kMostRounds = 25;

constexpr Kind kKinds[] = {{1, kSmallBytes},         {kBurst, kSmallBytes},
                           {1, kLargeBytes},         {kMany, kLargeBytes},
                           {1, kSmallBytes, kChain}, {kBurst, kSmallBytes, 1, true}};

constexpr std::size_t kSingles = 16;
constexpr std::size_t kSmall = 0, kLarge = 2, kManyLarge = 3, kInTurn = 4;  // of these

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

using ByKind = std::array<std::int64_t, std::size(kKinds)>;

/// The longest that any rank took for a round.
ByKind longest_of(Bootstrap& job, const ByKind& round_ns, const MeasureOptions& options) {
  ByKind longest{};
  const std::string blob(reinterpret_cast<const char*>(round_ns.data()), sizeof round_ns);
  for (const std::string& other : job.all_gather(blob, options.timeout)) {
    ByKind theirs{};
    std::memcpy(theirs.data(), other.data(), std::min(other.size(), sizeof theirs));
    for (std::size_t k = 0; k < longest.size(); ++k) longest[k] = std::max(longest[k], theirs[k]);
  }
  return longest;
}

/// Rounds of each kind for all ranks, so that each takes about its part of the budget.
ByKind rounds_for(const ByKind& longest, const MeasureOptions& options) {
  const std::int64_t budget =
      std::chrono::nanoseconds(options.budget).count() / static_cast<std::int64_t>(longest.size());
  ByKind rounds{};
  for (std::size_t k = 0; k < rounds.size(); ++k) {
    const std::int64_t least = kKinds[k].bytes == kSmallBytes ? kLeastSmallRounds : kLeastRounds;
    rounds[k] = std::clamp(budget / std::max<std::int64_t>(longest[k], 1), least, kMostRounds);
  }
  return rounds;
}

/// What a round of one pair of a host took, its other ranks waiting.
struct Alone {
  std::size_t kind = 0;
  std::int64_t ns = 0;
};

/// One rank's measurements.
struct Measured {
  std::vector<PairTimes> pairs;      ///< by source
  std::vector<Span> spans;           ///< of messages of its host; kind by kind, a round each
  std::vector<Alone> alone;          ///< that came here
  std::vector<std::int64_t> single;  ///< single_messages() that came here
  std::vector<measuring::ReachSteps> reaches;
  ByKind rounds{};  ///< as at every rank
};

PairTimes pair_times(MeasuredPair pair, const ByKind& times, std::int64_t rested,
                     std::int64_t steady) {
  return {pair, times[0], times[1], times[2], times[3], rested, times[5], steady};
}

HostTimes::Round round_of(const ByKind& times) {
  return {times[0], times[1], times[2], times[3], times[4]};
}

/// Whom the `i`-th of `count` pairs of every host sends to and receives from, evenly from first to
/// last: some are scheduled on one processor, some are not.
Neighbours pair_alone(Rank self, const std::vector<Host>& hosts, std::size_t i, std::size_t count) {
  Neighbours who;
  for (const Host& host : hosts) {
    const MeasuredPair& pair = host.pairs[i * host.pairs.size() / count];
    if (pair.src == self) who.targets = {seat_of(pair.dst)};
    if (pair.dst == self) who.sources = {seat_of(pair.src)};
  }
  return who;
}

/// One message at a time, from pair to pair of a host, while its other ranks wait for messages.
/// Only where ranks have no other way to each other. \returns how long those took that came here
std::vector<std::int64_t> single_messages(Rounds& rounds, Rank self, const std::vector<Host>& hosts,
                                          std::chrono::nanoseconds round) {
  std::vector<std::int64_t> lengths;
  if (std::ranges::all_of(hosts, &Host::memory)) return lengths;
  for (std::size_t i = 0; i < kSingles; ++i) {
    const Neighbours who = pair_alone(self, hosts, i, kSingles);
    if (who.all().empty()) {
      rounds.watch(round);
      continue;
    }
    const std::vector<Span> came = rounds.round(who, kKinds[kSmall]);
    if (!came.empty()) lengths.push_back(came.front().length());
  }
  return lengths;
}

/// Rounds of one kind in which a pair of each host is alone.
void measure_alone(Rounds& rounds, Rank self, const std::vector<Host>& hosts, std::size_t kind,
                   Measured& mine) {
  const auto count = static_cast<std::size_t>(mine.rounds[kind]);
  for (std::size_t i = 0; i < count && !hosts.empty(); ++i) {
    const std::vector<Span> round = rounds.round(pair_alone(self, hosts, i, count), kKinds[kind]);
    if (!round.empty()) mine.alone.push_back({kind, round.front().length()});
  }
}

Measured measure(Rounds& rounds, Bootstrap& job, const std::vector<Host>& hosts,
                 const std::vector<Reach>& reaches, const MeasureOptions& options) {
  const Neighbours& all = rounds.all();
  const Rank self = rank_at(job.seat());
  std::vector<Rank> mates;
  for (const Host& host : hosts) {
    if (std::ranges::binary_search(host.ranks, self)) mates = host.ranks;
  }
  const auto of_kind = [&](std::size_t k) -> const Neighbours& {
    return k == kInTurn ? rounds.in_turn() : all;
  };
  // The first of each kind connects, the second shows how long one takes.
  for (std::size_t k = 0; k < std::size(kKinds); ++k) rounds.round(of_kind(k), kKinds[k]);
  ByKind round_ns{};
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    const std::int64_t begin = Recorder::now();
    rounds.round(of_kind(k), kKinds[k]);
    round_ns[k] = Recorder::now() - begin;
  }
  Measured mine;
  const ByKind longest = longest_of(job, round_ns, options);
  mine.rounds = rounds_for(longest, options);
  mine.single = single_messages(rounds, self, hosts, std::chrono::nanoseconds(longest[kSmall]));
  mine.reaches = measure_reaches(rounds, self, reaches, std::chrono::nanoseconds(longest[kInTurn]));
  std::vector<ByKind> times(all.sources.size());
  std::vector<std::int64_t> rested(all.sources.size()), steady(all.sources.size());
  for (std::size_t k = 0; k < std::size(kKinds); ++k) {
    std::vector<std::vector<std::int64_t>> by_source(all.sources.size()), after_second = by_source;
    for (std::int64_t i = 0; i < mine.rounds[k]; ++i) {
      const std::vector<Span> round = rounds.round(of_kind(k), kKinds[k]);
      Span& ours = mine.spans.emplace_back();
      for (std::size_t s = 0; s < round.size(); ++s) {
        by_source[s].push_back(round[s].length());
        after_second[s].push_back(round[s].end - round[s].second);
        const Rank source = rank_at(of_kind(k).sources[s]);
        if (std::ranges::binary_search(mates, source)) ours.add(round[s]);
      }
    }
    measure_alone(rounds, self, hosts, k, mine);
    for (std::size_t s = 0; s < times.size(); ++s) {
      if (k != kInTurn) times[s][k] = median(by_source[s]);
      if (k == kLarge) rested[s] = *std::ranges::min_element(by_source[s]);
      if (k == kManyLarge) steady[s] = median(after_second[s]);
    }
  }
  for (std::size_t s = 0; s < times.size(); ++s) {
    mine.pairs.push_back(pair_times({rank_at(all.sources[s]), self}, times[s], rested[s], steady[s]));
  }
  return mine;
}

/// What all ranks have measured, on one clock, in the order of the pairs.
std::vector<PairTimes> gather(const std::vector<PairTimes>& mine, Bootstrap& job,
                              const std::vector<ClockOffset>& offsets, Deadline timeout) {
  std::vector<PairTimes> all;
  for (const auto& theirs : exchange_all(mine, job, timeout)) {
    for (PairTimes times : theirs) {
      const std::int64_t ahead =
          offsets[index(seat_of(times.pair.dst))].ns - offsets[index(seat_of(times.pair.src))].ns;
      times.small -= ahead;
      times.burst -= ahead;
      times.large -= ahead;
      times.many -= ahead;
      times.rested -= ahead;
      times.together -= ahead;
      all.push_back(times);
    }
  }
  std::ranges::sort(all, {}, &PairTimes::pair);
  return all;
}

/// The mean of all but the longest quarter, which waited for others' work; 0 of none.
std::int64_t usual(std::vector<std::int64_t> lengths) {
  std::ranges::sort(lengths);
  const std::size_t kept = lengths.size() - lengths.size() / 4;
  if (kept == 0) return 0;
  return std::accumulate(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(kept),
                         std::int64_t{0}) /
         static_cast<std::int64_t>(kept);
}

/// By kind, of what came to ranks of the host.
ByKind alone_of(const Host& host, const std::vector<std::vector<Alone>>& by_seat) {
  std::array<std::vector<std::int64_t>, std::size(kKinds)> lengths;
  for (const Rank rank : host.ranks) {
    for (const Alone& alone : by_seat[index(seat_of(rank))]) {
      lengths.at(alone.kind).push_back(alone.ns);
    }
  }
  ByKind medians{};
  for (std::size_t k = 0; k < medians.size(); ++k) medians[k] = median(std::move(lengths[k]));
  return medians;
}

/// Ranks of one host have one clock.
std::vector<HostTimes> gather_hosts(const Measured& mine, const std::vector<Host>& hosts,
                                    const std::vector<MeasuredPair>& in_turn, Bootstrap& job,
                                    Deadline timeout) {
  const auto spans = exchange_all(mine.spans, job, timeout);
  const auto alone = exchange_all(mine.alone, job, timeout);
  const auto single = exchange_all(mine.single, job, timeout);
  std::vector<HostTimes> all;
  for (const Host& host : hosts) {
    ByKind together{};
    std::size_t first = 0;
    for (std::size_t k = 0; k < std::size(kKinds); ++k) {
      std::vector<std::int64_t> lengths;
      for (std::int64_t i = 0; i < mine.rounds[k]; ++i) {
        Span whole;
        for (const Rank rank : host.ranks) {
          whole.add(spans[index(seat_of(rank))].at(first + static_cast<std::size_t>(i)));
        }
        lengths.push_back(whole.end < whole.begin ? 0 : whole.length());  // none within
      }
      together[k] = median(std::move(lengths));
      first += static_cast<std::size_t>(mine.rounds[k]);
    }
    std::vector<std::int64_t> singles;
    for (const Rank rank : host.ranks) {
      const std::vector<std::int64_t>& came = single[index(seat_of(rank))];
      singles.insert(singles.end(), came.begin(), came.end());
    }
    const auto within = [&](const MeasuredPair& pair) {
      return std::ranges::binary_search(host.ranks, pair.src) &&
             std::ranges::binary_search(host.ranks, pair.dst);
    };
    all.push_back({host.ranks, static_cast<std::uint32_t>(host.pairs.size()), host.memory,
                   round_of(together), round_of(alone_of(host, alone)), usual(std::move(singles)),
                   static_cast<std::uint32_t>(std::ranges::count_if(in_turn, within))});
  }
  return all;
}

}  // namespace

LinkTable measure_links(Bootstrap& bootstrap, const Topology& topology,
                        const MeasureOptions& options) {
  if (bootstrap.size() != topology.num_ranks()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("measuring links of {}: expected {} ranks, got {}", topology.name(),
                            topology.num_ranks(), bootstrap.size()));
  }
  if (bootstrap.size() == 1) return table_of(topology, {});
  const auto offsets = clock_offsets(bootstrap, options.timeout);
  Rounds rounds(bootstrap, topology, options);
  try {
    const auto hosts = find_hosts(bootstrap, topology, options.timeout);
    const auto reaches = reaches_to_measure(topology);
    const Measured mine = measure(rounds, bootstrap, hosts, reaches, options);
    const std::uint64_t segment = std::min(options.segment_bytes, rounds.segment_bytes());
    rounds.close();
    LinkTable table =
        table_of(topology, gather(mine.pairs, bootstrap, offsets, options.timeout),
                 gather_hosts(mine, hosts, pairs_in_turn(topology), bootstrap, options.timeout),
                 gather_reaches(reaches, mine.reaches, bootstrap, options.timeout));
    table.segment_bytes = segment;
    for (const auto& theirs : exchange_all<std::uint64_t>({segment}, bootstrap, options.timeout)) {
      table.segment_bytes = std::min(table.segment_bytes, theirs.at(0));
    }
    return table;
  } catch (const Error& error) {
    bootstrap.report_failure(error.what());
    throw;
  }
}

}  // namespace multitree::runtime
