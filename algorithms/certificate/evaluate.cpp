// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The independent evaluator of certificates.
#include "algorithms/certificate/evaluate.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "algorithms/certificate/evaluate_internal.hpp"
#include "algorithms/certificate/link_prices_internal.hpp"
#include "algorithms/combined_routes.hpp"

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

/// max(0, g, h) of each link.
std::vector<Exact> prices_of(const Certificate& certificate, const Topology& topology,
                             const std::vector<std::vector<std::uint32_t>>& cuts) {
  std::vector<Exact> gather(topology.num_nodes(), 0), reduce(topology.num_nodes(), 0);
  for (const SwitchPrice& price : certificate.prices) {
    gather[index(price.node)] += price.gather;
    reduce[index(price.node)] += price.reduce;
  }
  std::vector<Exact> prices;
  prices.reserve(topology.num_links());
  for (const Link& link : topology.links()) {
    const std::size_t src = index(link.src), dst = index(link.dst);
    const Exact g = sum_without(cuts[dst], cuts[src], certificate, &WeightedCut::gather) +
                    gather[dst] - gather[src];
    const Exact h = sum_without(cuts[src], cuts[dst], certificate, &WeightedCut::reduce) +
                    reduce[dst] - reduce[src];
    prices.push_back(std::max({Exact(0), g, h}));
  }
  return prices;
}

/// What must cross the cuts, as a multiple of the buffer: z of certificate.hpp.
class Crossing {
 public:
  Crossing(const Certificate& certificate, const Topology& topology,
           const std::vector<std::vector<std::uint32_t>>& cuts)
      : certificate_(certificate), topology_(topology), cuts_(cuts) {}

  [[nodiscard]] Exact value() const {
    const auto& [collective, name, start, end] = facts(certificate_.collective);
    if (start == Holder::Everyone && end == Holder::Everyone) return least();
    const bool one_end = start == Holder::Everyone || end == Holder::Everyone;
    const std::vector<Rank> sources = ranks_at(start == Holder::Everyone ? end : start);
    Exact sum = 0;
    std::uint64_t count = 0;
    for (const Rank source : sources) {
      for (const Rank target : one_end ? std::vector{source} : ranks_at(end)) {
        sum += of(source, target);
        ++count;
      }
    }
    return sum / count;
  }

 private:
  /// Any rank may be the root of an element, and any switch that adds. Where trees may be used both
  /// ways from any root, and the cuts say the same of both, one rank is enough.
  [[nodiscard]] Exact least() const {
    Exact least = of(Rank{0}, Rank{0}), most = least;
    for (std::uint32_t r = 1; r < topology_.num_ranks(); ++r) {
      const Exact value = of(Rank{r}, Rank{r});
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (has_in_network_trees(topology_) && is_mirrored()) return most;
    for (std::uint32_t n = 0; n < topology_.num_nodes(); ++n) {
      if (topology_.node(NodeId{n}).abilities.adds) least = std::min(least, of_switch(NodeId{n}));
    }
    return least;
  }

  [[nodiscard]] bool is_mirrored() const {
    return std::ranges::all_of(certificate_.cuts,
                               [](const WeightedCut& cut) { return cut.gather == cut.reduce; }) &&
           std::ranges::all_of(certificate_.prices, [](const SwitchPrice& price) {
             return price.gather == -price.reduce;
           });
  }

  /// Of an element that is complete at a switch: one message leaves it at least, one enters it.
  [[nodiscard]] Exact of_switch(NodeId node) const {
    Exact value = 0;
    for (std::uint32_t c = 0; c < certificate_.cuts.size(); ++c) {
      if (std::ranges::binary_search(cuts_[index(node)], c)) continue;
      value += certificate_.cuts[c].gather + certificate_.cuts[c].reduce;
    }
    for (const SwitchPrice& price : certificate_.prices) {
      if (price.node == node) value += price.reduce - price.gather;
    }
    return value;
  }

  [[nodiscard]] std::vector<Rank> ranks_at(Holder holder) const {
    if (holder == Holder::Root) return {certificate_.root};
    std::vector<Rank> all;
    for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) all.push_back(Rank{r});
    return all;
  }

  [[nodiscard]] bool is_far(Rank rank, std::uint32_t cut) const {
    return std::ranges::binary_search(cuts_[index(topology_.node_of(rank))], cut);
  }

  /// Of an element that comes from `source` and is for `target`, or where one of the two is
  /// everyone, whose tree is rooted at both. Every far side has a rank.
  [[nodiscard]] Exact of(Rank source, Rank target) const {
    const bool to_all = facts(certificate_.collective).end == Holder::Everyone;
    Exact value = 0;
    for (std::uint32_t c = 0; c < certificate_.cuts.size(); ++c) {
      const WeightedCut& cut = certificate_.cuts[c];
      const bool copied_across = !is_far(source, c) && (to_all || is_far(target, c));
      if (copied_across) value += cut.gather;
      if (!is_far(target, c)) value += cut.reduce;
    }
    return value;
  }

  const Certificate& certificate_;
  const Topology& topology_;
  const std::vector<std::vector<std::uint32_t>>& cuts_;
};

/// Sum of the weights that a chunk's own is a share of: the shard that it is part of, or the whole
/// buffer.
std::vector<std::uint64_t> whole_weights(const Schedule& schedule) {
  const bool sharded = is_sharded(schedule.collective);
  std::vector<std::uint64_t> of_rank(sharded ? schedule.ranks : 1, 0);
  for (const Chunk& chunk : schedule.chunks) {
    of_rank[sharded ? index(shard_of(schedule.collective, chunk)) : 0] += chunk.weight;
  }
  std::vector<std::uint64_t> whole;
  whole.reserve(schedule.chunks.size());
  for (const Chunk& chunk : schedule.chunks) {
    whole.push_back(of_rank[sharded ? index(shard_of(schedule.collective, chunk)) : 0]);
  }
  return whole;
}

/// Shards in the whole that chunk weights are a share of.
Exact shards_of_whole(const Schedule& schedule) {
  return is_sharded(schedule.collective) ? Exact(1) : Exact(schedule.ranks);
}

}  // namespace

std::string_view certificate_model(const Topology& topology) {
  return topology.has_abilities()
             ? "store and forward, in-network reduction and multicast where switches can"
             : "store and forward, no in-network reduction or multicast";
}

Exact crossing_of(const Certificate& certificate, const Topology& topology) {
  return Crossing(certificate, topology, cuts_of_nodes(certificate, topology)).value();
}

std::vector<Exact> link_prices(const Certificate& certificate, const Topology& topology) {
  return prices_of(certificate, topology, cuts_of_nodes(certificate, topology));
}

Exact evaluate(const Certificate& certificate, const Topology& topology) {
  if (certificate.collective == Collective::AllToAll) return bound_by_prices(certificate, topology);
  const Exact crossing = crossing_of(certificate, topology);
  const std::vector<Exact> prices = link_prices(certificate, topology);
  Exact bandwidth = 0;
  for (std::uint32_t l = 0; l < prices.size(); ++l) {
    if (prices[l] > 0) {
      bandwidth += prices[l] * Exact(topology.link(LinkId{l}).bandwidth.bytes_per_second);
    }
  }
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
  for_each_message_on_links(schedule, topology, [&](LinkId id, const Transfer& transfer) {
    (*carried_of_chunk[transfer.chunk])[index(id)] += schedule.chunks[transfer.chunk].weight;
  });
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
