// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What links carry, and what they must carry at least.
#include <algorithm>
#include <limits>
#include <numeric>

#include "algorithms/replan/forest_internal.hpp"

namespace multitree {

void Forest::add_load(Op op, std::uint32_t chunk, const Transfer& arc) {
  for (const LinkId link : route(arc)) carried[group_of(op)][index(link)] += share[chunk];
}

void Forest::remove_load(Op op, std::uint32_t chunk, const Transfer& arc) {
  for (const LinkId link : route(arc)) carried[group_of(op)][index(link)] -= share[chunk];
}

std::vector<std::uint64_t> shares_of(const Schedule& schedule) {
  const bool sharded = is_sharded(schedule.collective);
  std::vector<std::uint64_t> sum(sharded ? schedule.ranks : 1, 0), shares;
  const auto whole = [&](const Chunk& chunk) -> std::uint64_t& {
    return sum[sharded ? index(shard_of(schedule.collective, chunk)) : 0];
  };
  for (const Chunk& chunk : schedule.chunks) whole(chunk) += chunk.weight;
  constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 32;
  std::uint64_t common = 1;
  for (const std::uint64_t each : sum) {
    if (each == 0) continue;
    const std::uint64_t factor = each / std::gcd(common, each);
    if (factor > kMostUnits / common) {
      common = kMostUnits;
      break;
    }
    common *= factor;
  }
  for (const Chunk& chunk : schedule.chunks) {
    const auto wide = static_cast<unsigned __int128>(common) * chunk.weight / whole(chunk);
    shares.push_back(std::max<std::uint64_t>(static_cast<std::uint64_t>(wide), 1));
  }
  return shares;
}

bool is_phased(const Schedule& schedule) {
  if (schedule.collective != Collective::AllReduce) return true;
  const auto is_copy = [](const Transfer& t) { return t.op == Op::Copy; };
  const auto copy = std::ranges::find_if(schedule.transfers, is_copy);
  if (copy == schedule.transfers.end() || copy == schedule.transfers.begin()) {
    return std::all_of(copy, schedule.transfers.end(), is_copy);
  }
  return std::prev(copy)->step < copy->step && std::all_of(copy, schedule.transfers.end(), is_copy);
}

LinkLoad least_load(const Forest& forest, std::size_t group) {
  const Topology& topology = forest.topology;
  const bool gathers = !forest.up[1].empty() && forest.group_of(Op::Copy) == group;
  const bool collects = !forest.up[0].empty() && forest.group_of(Op::Reduce) == group;
  std::vector<std::uint64_t> owned(forest.ranks(), 0);
  std::uint64_t all = 0;
  for (std::size_t c = 0; c < forest.num_chunks(); ++c) {
    const Rank owner = forest.header.chunks[c].root();
    if (owner != Forest::kNobody) owned[index(owner)] += forest.share[c];
    all += forest.share[c];
  }
  LinkLoad least;
  // An all-reduce may give its chunks other owners.
  const bool is_free = gathers && collects;
  for (std::uint32_t r = 0; r < forest.ranks() && forest.ranks() > 1; ++r) {
    const NodeId node = topology.node_of(Rank{r});
    LinkLoad in{0, 0}, out{0, 0};
    for (const LinkId link : topology.in_links(node)) {
      in.bandwidth += topology.link(link).bandwidth.bytes_per_second;
    }
    for (const LinkId link : topology.out_links(node)) {
      out.bandwidth += topology.link(link).bandwidth.bytes_per_second;
    }
    const std::uint64_t mine = owned[r], others = all - mine;
    in.carried = is_free ? all : (gathers ? others : 0) + (collects ? mine : 0);
    out.carried = is_free ? all : (gathers ? mine : 0) + (collects ? others : 0);
    least = std::max({least, in, out});
  }
  LinkLoad sum{0, 0};
  for (const Link& link : topology.links()) sum.bandwidth += link.bandwidth.bytes_per_second;
  if (sum.bandwidth == 0) return least;
  sum.carried = all * (forest.ranks() - 1) * ((gathers ? 1U : 0U) + (collects ? 1U : 0U));
  return std::max(least, sum);
}

Exact to_shard_times(const Forest& forest, const LinkLoad& load) {
  using Integer = boost::multiprecision::cpp_int;
  Integer all = 0;
  for (const std::uint64_t share : forest.share) all += share;
  if (all == 0 || load.carried == 0) return 0;
  const Integer unit = forest.topology.unit_bandwidth().bytes_per_second;
  return Exact(Integer(load.carried) * unit * forest.ranks(), Integer(load.bandwidth) * all);
}

Exact load_of(const Forest& forest) {
  Exact sum = 0;
  for (const std::size_t group : {0U, 1U}) {
    LinkLoad busiest;
    for (std::uint32_t l = 0; l < forest.topology.num_links(); ++l) {
      busiest = std::max(busiest, forest.load(group, LinkId{l}));
    }
    sum += to_shard_times(forest, busiest);
  }
  return sum;
}

Exact load_of(const Schedule& schedule, bool phased, const Topology& topology,
              const Topology& shards_of) {
  using Integer = boost::multiprecision::cpp_int;
  const std::vector<std::uint64_t> shares = shares_of(schedule);
  std::array<std::vector<std::uint64_t>, 2> carried;
  for (auto& group : carried) group.assign(topology.num_links(), 0);
  for (const Transfer& t : schedule.transfers) {
    auto& group = carried[phased ? static_cast<std::size_t>(t.op) : 0];
    for (const LinkId link : schedule.route(t)) group[index(link)] += shares[t.chunk];
  }
  Integer all = 0;
  for (const std::uint64_t share : shares) all += share;
  Exact sum = 0;
  for (const auto& group : carried) {
    LinkLoad busiest;
    for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
      busiest = std::max(busiest, {group[l], topology.link(LinkId{l}).bandwidth.bytes_per_second});
    }
    if (busiest.carried > 0) sum += Exact(Integer(busiest.carried), busiest.bandwidth * all);
  }
  return sum * Exact(Integer(shards_of.unit_bandwidth().bytes_per_second) * shards_of.num_ranks());
}

}  // namespace multitree
