// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Splitting off of switches, with minimum cuts to say how much.
#include "algorithms/packing/capacities/split_off.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "algorithms/packing/capacities/sink_flows_internal.hpp"

namespace multitree {
namespace {

/// Capacity of a logical arc that goes the same way. A way is a link, or two ways one after the
/// other.
struct Share {
  std::uint32_t way = 0;
  std::int64_t capacity = 0;
};

class SwitchRemoval {
 public:
  SwitchRemoval(const Topology& topology, std::span<const std::int64_t> capacity,
                std::span<const std::int64_t> demand)
      : topology_(topology),
        network_(topology.num_nodes()),
        flows_(network_, topology.num_nodes()),
        supply_(topology.num_nodes(), 0) {
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      sinks_.push_back(index(topology.node_of(Rank{r})));
      supply_[sinks_.back()] = demand[r];
    }
    for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
      const Link& link = topology.link(LinkId{l});
      ways_.push_back({l, l});
      if (capacity[l] == 0) continue;
      add_share(arc_between(index(link.src), index(link.dst)), {l, capacity[l]});
    }
  }

  void remove_all() {
    for (std::uint32_t v = 0; v < topology_.num_nodes(); ++v) {
      if (topology_.node(NodeId{v}).is_switch()) remove(v);
    }
  }

  [[nodiscard]] std::vector<RankArc> rank_arcs() const {
    std::vector<RankArc> arcs;
    for (std::uint32_t id = 0; id < network_.num_arcs(); ++id) {
      const FlowNetwork::Arc& arc = network_.arc(id);
      if (arc.capacity == 0) continue;
      RankArc& made = arcs.emplace_back();
      made.src = *topology_.node(NodeId{arc.tail}).rank;
      made.dst = *topology_.node(NodeId{arc.head}).rank;
      made.capacity = arc.capacity;
      for (const Share& share : shares_[id]) {
        made.routes.push_back({route_of(share.way), share.capacity});
      }
    }
    return arcs;
  }

 private:
  std::uint32_t arc_between(std::uint32_t tail, std::uint32_t head) {
    const auto [entry, is_new] = arc_ids_.try_emplace({tail, head}, network_.num_arcs());
    if (is_new) {
      network_.add_arc(tail, head, 0);
      shares_.emplace_back();
    }
    return entry->second;
  }

  void add_share(std::uint32_t arc, Share share) {
    std::vector<Share>& shares = shares_[arc];
    if (!shares.empty() && shares.back().way == share.way) {
      shares.back().capacity += share.capacity;
    } else {
      shares.push_back(share);
    }
    change_capacity(arc, share.capacity);
  }

  void change_capacity(std::uint32_t arc, std::int64_t change) {
    network_.set_capacity(arc, network_.arc(arc).capacity + change);
  }

  /// Joins the arcs into a switch to those out of it until none is left.
  void remove(std::uint32_t node) {
    const std::vector<std::uint32_t> into(network_.in(node).begin(), network_.in(node).end());
    const std::vector<std::uint32_t> out(network_.out(node).begin(), network_.out(node).end());
    std::int64_t through = 0;
    for (const std::uint32_t id : into) through += network_.arc(id).capacity;
    if (through > 0) spread(into, out, through);
    // What is left is joined to any arc; to the one that leads back to where it came from, which
    // loses it, only where there is no other.
    for (const bool back : {false, true}) {
      for (std::size_t i = 0; i < into.size(); ++i) {
        for (std::size_t j = 0; j < out.size(); ++j) {
          const std::uint32_t to = out[(i + j) % out.size()];
          if ((network_.arc(into[i]).tail == network_.arc(to).head) != back) continue;
          join(into[i], to, network_.arc(into[i]).capacity);
        }
      }
    }
    // Nothing is left of balanced capacities; what is left of others must not be needed.
    for (const auto* arcs : {&into, &out}) {
      for (const std::uint32_t id : *arcs) {
        const std::int64_t left = network_.arc(id).capacity;
        network_.set_capacity(id, 0);
        if (left != 0 && worst_shortfall(id, id, 1) > 0) {
          throw std::logic_error(
              "split_off_switches: capacities at a switch are not balanced, or less than demands");
        }
      }
    }
    network_.isolate(node);
  }

  /// Every pair in proportion to the capacities of its arcs.
  void spread(const std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& out,
              std::int64_t through) {
    std::vector<std::int64_t> width;
    for (const std::uint32_t id : out) width.push_back(network_.arc(id).capacity);
    for (const std::uint32_t from : into) {
      const std::int64_t share = network_.arc(from).capacity;
      for (std::size_t j = 0; j < out.size(); ++j) {
        if (network_.arc(from).tail == network_.arc(out[j]).head) continue;
        join(from, out[j],
             static_cast<std::int64_t>(static_cast<__int128>(share) * width[j] / through));
      }
    }
  }

  /// Makes up to `most` units of the two arcs one arc past the switch between them: as much as all
  /// demands allow.
  void join(std::uint32_t from, std::uint32_t to, std::int64_t most) {
    most = std::min({most, network_.arc(from).capacity, network_.arc(to).capacity});
    if (most <= 0) return;
    const std::uint32_t tail = network_.arc(from).tail, head = network_.arc(to).head;
    const bool lost = tail == head;
    const std::uint32_t joint = lost ? 0 : arc_between(tail, head);
    const auto move = [&](std::int64_t amount) {
      change_capacity(from, -amount);
      change_capacity(to, -amount);
      if (!lost) change_capacity(joint, amount);
    };
    move(most);
    const std::int64_t excess = std::min(most, worst_shortfall(from, to, most));
    move(-excess);
    if (excess < most) record(from, to, lost ? nullptr : &joint, most - excess);
  }

  /// Largest shortfall of any rank, or `enough` if one reaches that.
  std::int64_t worst_shortfall(std::uint32_t from, std::uint32_t to, std::int64_t enough) {
    std::int64_t worst = 0;
    for (std::size_t i = 0; i < sinks_.size() && worst < enough; ++i) {
      const std::uint32_t sink = sinks_[i];
      const auto fits = [&](std::uint32_t arc) {
        return flows_.kept_flow(sink, arc) <= network_.arc(arc).capacity;
      };
      if (flows_.is_complete(sink) && fits(from) && fits(to)) continue;
      const std::int64_t shortfall = flows_.shortfall(sink, supply_);
      worst = std::max(worst, shortfall);
      // The rank that found a shortfall last time is likely to find one again: it is asked first.
      if (shortfall >= enough)
        std::rotate(sinks_.begin(), sinks_.begin() + i, sinks_.begin() + i + 1);
    }
    return worst;
  }

  /// Moves the routes of `amount` units from the two arcs to their joint.
  void record(std::uint32_t from, std::uint32_t to, const std::uint32_t* joint,
              std::int64_t amount) {
    while (amount > 0) {
      Share& first = shares_[from].back();
      Share& second = shares_[to].back();
      const std::int64_t part = std::min({amount, first.capacity, second.capacity});
      if (joint != nullptr) {
        const std::pair<std::uint32_t, std::uint32_t> way{first.way, second.way};
        std::uint32_t id = static_cast<std::uint32_t>(ways_.size());
        std::vector<Share>& shares = shares_[*joint];
        if (!shares.empty() && ways_[shares.back().way] == way) {
          shares.back().capacity += part;
        } else {
          ways_.push_back(way);
          shares.push_back({id, part});
        }
      }
      first.capacity -= part;
      second.capacity -= part;
      amount -= part;
      if (shares_[from].back().capacity == 0) shares_[from].pop_back();
      if (shares_[to].back().capacity == 0) shares_[to].pop_back();
    }
  }

  /// The links of a way, without the rounds that pass a switch twice.
  [[nodiscard]] std::vector<LinkId> route_of(std::uint32_t way) const {
    std::vector<LinkId> route;
    std::vector<std::uint32_t> open{way};
    while (!open.empty()) {
      const std::uint32_t id = open.back();
      open.pop_back();
      if (id >= topology_.num_links()) {
        open.push_back(ways_[id].second);
        open.push_back(ways_[id].first);
        continue;
      }
      const NodeId from = topology_.link(LinkId{id}).src;
      const auto been = std::ranges::find_if(
          route, [&](LinkId link) { return topology_.link(link).src == from; });
      route.erase(been, route.end());
      route.push_back(LinkId{id});
    }
    return route;
  }

  const Topology& topology_;
  FlowNetwork network_;
  SinkFlows flows_;
  std::vector<std::int64_t> supply_;
  std::vector<std::uint32_t> sinks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> arc_ids_;
  std::vector<std::vector<Share>> shares_;                     // by arc
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ways_;  // links, then pairs of ways
};

}  // namespace

std::vector<RankArc> split_off_switches(const Topology& topology,
                                        std::span<const std::int64_t> capacity,
                                        std::span<const std::int64_t> demand) {
  SwitchRemoval removal(topology, capacity, demand);
  removal.remove_all();
  return removal.rank_arcs();
}

}  // namespace multitree
