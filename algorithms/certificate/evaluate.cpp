// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The independent evaluator of certificates.
#include "algorithms/certificate/evaluate.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace multitree {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// For each node the cuts whose far side has it, ascending.
std::vector<std::vector<std::uint32_t>> cuts_of_nodes(const Certificate& certificate,
                                                      const Topology& topology) {
  std::vector<std::vector<std::uint32_t>> cuts(topology.num_nodes());
  for (std::uint32_t c = 0; c < certificate.cuts.size(); ++c) {
    for (const NodeId node : certificate.cuts[c].far) cuts[index(node)].push_back(c);
  }
  return cuts;
}

/// The sum of `weight` over the cuts that are in `those` and not in `others`.
Exact sum_without(const std::vector<std::uint32_t>& those, const std::vector<std::uint32_t>& others,
                  const Certificate& certificate, Exact WeightedCut::*weight) {
  Exact sum = 0;
  for (const std::uint32_t c : those) {
    if (!std::ranges::binary_search(others, c)) sum += certificate.cuts[c].*weight;
  }
  return sum;
}

/// Sum over the links of bandwidth * max(0, g, h), in bytes per second.
Exact priced_bandwidth(const Certificate& certificate, const Topology& topology,
                       const std::vector<std::vector<std::uint32_t>>& cuts) {
  std::vector<Exact> gather(topology.num_nodes(), 0), reduce(topology.num_nodes(), 0);
  for (const SwitchPrice& price : certificate.prices) {
    gather[index(price.node)] += price.gather;
    reduce[index(price.node)] += price.reduce;
  }
  Exact sum = 0;
  for (const Link& link : topology.links()) {
    const std::size_t src = index(link.src), dst = index(link.dst);
    const Exact g = sum_without(cuts[dst], cuts[src], certificate, &WeightedCut::gather) +
                    gather[dst] - gather[src];
    const Exact h = sum_without(cuts[src], cuts[dst], certificate, &WeightedCut::reduce) +
                    reduce[dst] - reduce[src];
    const Exact& price = std::max(g, h);
    if (price > 0) sum += price * Exact(link.bandwidth.bytes_per_second);
  }
  return sum;
}

/// What must cross the cuts, as a multiple of the buffer: z of certificate.hpp.
Exact crossing_data(const Certificate& certificate, const Topology& topology,
                    const std::vector<std::vector<std::uint32_t>>& cuts) {
  Exact total = 0;
  for (const WeightedCut& cut : certificate.cuts) total += cut.gather + cut.reduce;
  const auto of_root = [&](Rank rank) {
    Exact value = total;
    for (const std::uint32_t c : cuts[index(topology.node_of(rank))]) {
      value -= certificate.cuts[c].gather + certificate.cuts[c].reduce;
    }
    return value;
  };
  if (has_root(certificate.collective)) return of_root(certificate.root);
  Exact least = total, sum = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const Exact value = of_root(Rank{r});
    least = std::min(least, value);
    sum += value;
  }
  return certificate.collective == Collective::AllReduce ? least
                                                         : Exact(sum / topology.num_ranks());
}

bool is_sharded(Collective collective) {
  return collective == Collective::AllGather || collective == Collective::ReduceScatter;
}

/// Sum of the weights that a chunk's own is a share of: its owner's shard, or the whole buffer.
std::vector<std::uint64_t> whole_weights(const Schedule& schedule) {
  const bool sharded = is_sharded(schedule.collective);
  std::vector<std::uint64_t> of_rank(sharded ? schedule.ranks : 1, 0);
  for (const Chunk& chunk : schedule.chunks) {
    of_rank[sharded ? index(chunk.owner) : 0] += chunk.weight;
  }
  std::vector<std::uint64_t> whole;
  whole.reserve(schedule.chunks.size());
  for (const Chunk& chunk : schedule.chunks) {
    whole.push_back(of_rank[sharded ? index(chunk.owner) : 0]);
  }
  return whole;
}

/// Shards in the whole that chunk weights are a share of.
Exact shards_of_whole(const Schedule& schedule) {
  return is_sharded(schedule.collective) ? Exact(1) : Exact(schedule.ranks);
}

}  // namespace

Exact evaluate(const Certificate& certificate, const Topology& topology) {
  const auto cuts = cuts_of_nodes(certificate, topology);
  const Exact crossing = crossing_data(certificate, topology, cuts);
  const Exact bandwidth = priced_bandwidth(certificate, topology, cuts);
  if (crossing <= 0 || bandwidth <= 0) return 0;
  return crossing * Exact(topology.num_ranks()) *
         Exact(topology.unit_bandwidth().bytes_per_second) / bandwidth;
}

Exact load_of(const Schedule& schedule, const Topology& topology) {
  // Chunks of equal wholes are added as integers: usually that is all of them.
  const std::vector<std::uint64_t> whole = whole_weights(schedule);
  using Wide = unsigned __int128;                      // a link may carry a chunk many times
  std::map<std::uint64_t, std::vector<Wide>> carried;  // by whole, then link
  for (const std::uint64_t w : whole) carried.try_emplace(w, topology.num_links(), 0);
  std::vector<std::vector<Wide>*> carried_of_chunk;
  carried_of_chunk.reserve(whole.size());
  for (const std::uint64_t w : whole) carried_of_chunk.push_back(&carried[w]);
  for (const Transfer& transfer : schedule.transfers) {
    auto& weights = *carried_of_chunk[transfer.chunk];
    for (const LinkId id : schedule.route(transfer)) {
      weights[index(id)] += schedule.chunks[transfer.chunk].weight;
    }
  }
  Exact busiest = 0;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    Exact share = 0;
    for (const auto& [of, weights] : carried) {
      if (weights[l] > 0) share += Exact(Integer(weights[l]), Integer(of));
    }
    if (share == 0) continue;
    const std::uint64_t bandwidth = topology.link(LinkId{l}).bandwidth.bytes_per_second;
    busiest = std::max(busiest, Exact(share / Exact(bandwidth)));
  }
  return busiest * shards_of_whole(schedule) * Exact(topology.unit_bandwidth().bytes_per_second);
}

Exact largest_chunk(const Schedule& schedule) {
  const std::vector<std::uint64_t> whole = whole_weights(schedule);
  std::map<std::uint64_t, std::uint64_t> heaviest;  // by whole
  for (std::size_t c = 0; c < whole.size(); ++c) {
    std::uint64_t& weight = heaviest[whole[c]];
    weight = std::max(weight, schedule.chunks[c].weight);
  }
  Exact largest = 0;
  for (const auto& [of, weight] : heaviest) {
    largest = std::max(largest, Exact(Integer(weight), Integer(of)));
  }
  return largest * shards_of_whole(schedule);
}

std::uint32_t least_steps(const Exact& bound, const Schedule& schedule) {
  const Exact chunk = largest_chunk(schedule);
  if (chunk == 0) return 0;
  const Exact steps = bound / chunk;
  const Integer rounded_up = (numerator(steps) + denominator(steps) - 1) / denominator(steps);
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  return rounded_up > kMost ? kMost : rounded_up.convert_to<std::uint32_t>();
}

}  // namespace multitree
