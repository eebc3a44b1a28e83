// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Lower bounds of predicted times, in closed form.
#include "algorithms/tuning/price_floor_internal.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "algorithms/coalesced.hpp"
#include "algorithms/combined_routes.hpp"

namespace multitree {
namespace {

/// Each link's time is rounded, transfer by transfer.
constexpr double kRounding = 0.999;
constexpr double kPicoseconds = 1e12;
/// More bytes seldom take less time, and not much less: messages meet in another order.
constexpr double kMoreBytes = 0.98;

/// Bytes a second into and out of a rank.
struct Ports {
  double in = 0, out = 0;
};

std::vector<Ports> ports_of(const Topology& topology) {
  std::vector<Ports> by_node(topology.num_nodes());
  for (const Link& link : topology.links()) {
    const auto rate = static_cast<double>(link.bandwidth.bytes_per_second);
    by_node[index(link.src)].out += rate;
    by_node[index(link.dst)].in += rate;
  }
  std::vector<Ports> ports;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    ports.push_back(by_node[index(topology.node_of(Rank{r}))]);
  }
  return ports;
}

/// The messages of the rank that sends most, at least: all to one rank in a round may be one.
std::int64_t most_sent(const Schedule& schedule, const Rounds* rounds) {
  std::vector<std::int64_t> sent(schedule.ranks, 0);
  const auto& all = schedule.transfers;
  const auto goes_on = [&](std::size_t k) {
    const std::uint32_t i = rounds->order[k], before = rounds->order[k - 1];
    return rounds->levels[i] == rounds->levels[before] && all[i].src == all[before].src &&
           all[i].dst == all[before].dst;
  };
  std::int64_t most = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (rounds != nullptr && k > 0 && goes_on(k)) continue;
    most = std::max(most, ++sent[index(all[rounds == nullptr ? k : rounds->order[k]].src)]);
  }
  return most;
}

}  // namespace

PriceFloor::PriceFloor(const Schedule& schedule, const Topology& priced) {
  const std::uint64_t whole = std::uint64_t{schedule.ranks} << 40;
  const std::vector<ElementRange> ranges = chunk_ranges(schedule, whole);
  std::vector<double> load(priced.num_links(), 0);
  for_each_message_on_links(schedule, priced, [&](LinkId id, const Transfer& t) {
    load[index(id)] += static_cast<double>(ranges[t.chunk].count) / static_cast<double>(whole);
  });
  for (std::uint32_t id = 0; id < load.size(); ++id) {
    const auto rate = static_cast<double>(priced.link(LinkId{id}).bandwidth.bytes_per_second);
    picoseconds_per_byte_ = std::max(picoseconds_per_byte_, load[id] * kPicoseconds / rate);
  }
  if (schedule.in_network) return;  // several transfers are one message
  if (schedule.coalesces > 0) rounds_ = rounds_of(schedule);
  messages_ = most_sent(schedule, rounds());
}

const Time* PriceFloor::known(std::uint64_t bytes) const {
  const auto found = known_.find(bytes);
  return found == known_.end() ? nullptr : &found->second;
}

Time PriceFloor::at(std::uint64_t bytes, Time message) const {
  Time least{static_cast<decltype(Time::picoseconds)>(kRounding * picoseconds_per_byte_ *
                                                      static_cast<double>(bytes))};
  least = std::max(least, Time{messages_ * message.picoseconds});
  const auto above = known_.upper_bound(bytes);
  if (above == known_.begin()) return least;
  const auto& [known, time] = *std::prev(above);
  return std::max(least, known == bytes ? time
                                        : Time{static_cast<decltype(Time::picoseconds)>(
                                              kMoreBytes * static_cast<double>(time.picoseconds))});
}

Time least_time(const Topology& priced, Collective collective, Rank root, std::uint64_t bytes) {
  const std::vector<Ports> ports = ports_of(priced);
  const auto ranks = static_cast<double>(ports.size());
  if (ports.size() < 2) return {};
  Ports all, least{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  for (std::uint32_t r = 0; r < ports.size(); ++r) {
    all.in += ports[r].in;
    all.out += ports[r].out;
    if (has_root(collective) && Rank{r} == root) continue;
    least = {std::min(least.in, ports[r].in), std::min(least.out, ports[r].out)};
  }
  const double others = (ranks - 1) / ranks;
  const Holder start = facts(collective).start, end = facts(collective).end;
  double need = 0;  // seconds a byte
  // Whoever ends with everything hears what it lacks; whoever is summed says what it has.
  if (end == Holder::Everyone)
    need = std::max(need, (start == Holder::Own ? others : 1) / least.in);
  if (start == Holder::Everyone)
    need = std::max(need, (end == Holder::Own ? others : 1) / least.out);
  const int times = (end == Holder::Everyone ? 1 : 0) + (start == Holder::Everyone ? 1 : 0);
  // Unless switches copy and add, each message has a sender of its own.
  if (!priced.has_abilities()) need = std::max(need, times * (ranks - 1) / all.out);
  const Ports& at_root = ports[index(root)];
  if (start == Holder::Own && end == Holder::Root) need = std::max(need, others / at_root.in);
  if (start == Holder::Root && end == Holder::Own) need = std::max(need, others / at_root.out);
  return {static_cast<decltype(Time::picoseconds)>(kRounding * kPicoseconds * need *
                                                   static_cast<double>(bytes))};
}

}  // namespace multitree
