// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Evens the load of the cables between boxes.
#include <algorithm>
#include <map>
#include <utility>

#include "algorithms/traffic/box_routes_internal.hpp"

namespace multitree {
namespace {

/// The rank's only link to a neighbour and the one back; empty unless there is one each way.
std::optional<std::pair<LinkId, LinkId>> cable_to(const Topology& topology, NodeId rank,
                                                  NodeId other) {
  std::vector<LinkId> there, back;
  for (const LinkId id : topology.out_links(rank)) {
    if (topology.link(id).dst == other) there.push_back(id);
  }
  for (const LinkId id : topology.in_links(rank)) {
    if (topology.link(id).src == other) back.push_back(id);
  }
  if (there.size() != 1 || back.size() != 1) return {};
  return std::pair(there.front(), back.front());
}

/// A switch that all ranks are on.
std::optional<NodeId> switch_of_all(const Topology& topology) {
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    const NodeId node{n};
    if (!topology.node(node).is_switch()) continue;
    if (topology.out_links(node).size() == topology.num_ranks()) return node;
  }
  return {};
}

/// How much of what passes a box's cables goes over which, one way.
class Sharing {
 public:
  Sharing(const std::vector<Rank>& members, const std::vector<std::uint64_t>& amount)
      : members_(members) {
    std::uint64_t sum = 0;
    for (const Rank r : members) sum += amount[index(r)];
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::uint64_t quota = sum / members.size() + (i < sum % members.size() ? 1 : 0);
      const std::uint64_t own = std::min(quota, amount[index(members[i])]);
      own_.push_back(own);
      others_.push_back(quota - own);
    }
  }

  /// A cable for what a member has, and how much of `wanted` goes over it.
  std::pair<Rank, std::uint64_t> take(std::size_t member, std::uint64_t wanted) const {
    if (own_[member] > 0) return {members_[member], std::min(wanted, own_[member])};
    while (others_[helper_] == 0) ++helper_;
    return {members_[helper_], std::min(wanted, others_[helper_])};
  }

  void taken(std::size_t member, std::uint64_t amount) {
    (own_[member] > 0 ? own_[member] : others_[helper_]) -= amount;
  }

 private:
  const std::vector<Rank>& members_;
  std::vector<std::uint64_t> own_, others_;
  mutable std::size_t helper_ = 0;
};

/// By rank: what leaves it for other boxes, and what comes from there.
struct Passing {
  std::vector<std::uint64_t> out, in;
};

Passing passing_of(const Boxes& boxes, const Demand& demand, std::uint64_t parts) {
  Passing passing{std::vector<std::uint64_t>(demand.ranks(), 0),
                  std::vector<std::uint64_t>(demand.ranks(), 0)};
  for (std::uint32_t s = 0; s < demand.ranks(); ++s) {
    for (std::uint32_t t = 0; t < demand.ranks(); ++t) {
      if (boxes.ranks[s].box == boxes.ranks[t].box) continue;
      passing.out[s] += demand.at(Rank{s}, Rank{t}) * parts;
      passing.in[t] += demand.at(Rank{s}, Rank{t}) * parts;
    }
  }
  return passing;
}

std::vector<LinkId> links_of(const Boxes& boxes, Rank source, Rank out, Rank in, Rank target) {
  std::vector<LinkId> links;
  const auto& ranks = boxes.ranks;
  if (out != source) links = {ranks[index(source)].to_box, ranks[index(out)].from_box};
  links.push_back(ranks[index(out)].out);
  links.push_back(ranks[index(in)].in);
  if (in != target) {
    links.push_back(ranks[index(in)].to_box);
    links.push_back(ranks[index(target)].from_box);
  }
  return links;
}

}  // namespace

std::optional<Boxes> find_boxes(const Topology& topology) {
  const auto between = switch_of_all(topology);
  if (!between) return {};
  Boxes boxes;
  std::map<NodeId, std::uint32_t> box_of;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    const NodeId node = topology.node_of(Rank{r});
    const auto out = topology.out_links(node);
    if (out.size() != 2 || topology.in_links(node).size() != 2) return {};
    NodeId inner = topology.link(out[0]).dst;
    if (inner == *between) inner = topology.link(out[1]).dst;
    const auto inside = cable_to(topology, node, inner);
    const auto outside = cable_to(topology, node, *between);
    if (inner == *between || !topology.node(inner).is_switch() || !inside || !outside) return {};
    const auto box = box_of.try_emplace(inner, static_cast<std::uint32_t>(box_of.size())).first;
    boxes.ranks.push_back(
        {box->second, inside->first, inside->second, outside->first, outside->second});
    boxes.members.resize(box_of.size());
    boxes.members[box->second].push_back(Rank{r});
    const Bandwidth usual = topology.link(boxes.ranks.front().out).bandwidth;
    if (topology.link(outside->first).bandwidth != usual) return {};
    if (topology.link(outside->second).bandwidth != usual) return {};
  }
  if (boxes.members.size() < 2) return {};
  return boxes;
}

std::vector<FlowPath> route_between_boxes(const Boxes& boxes, const Demand& demand,
                                          std::uint64_t parts) {
  const Passing passing = passing_of(boxes, demand, parts);
  std::vector<Sharing> out, in;
  std::vector<std::size_t> place(demand.ranks());
  for (const std::vector<Rank>& members : boxes.members) {
    out.emplace_back(members, passing.out);
    in.emplace_back(members, passing.in);
    for (std::size_t i = 0; i < members.size(); ++i) place[index(members[i])] = i;
  }
  std::vector<FlowPath> paths;
  for (std::uint32_t s = 0; s < demand.ranks(); ++s) {
    for (std::uint32_t t = 0; t < demand.ranks(); ++t) {
      std::uint64_t left = demand.at(Rank{s}, Rank{t}) * parts;
      const auto& [from, to] = std::pair(boxes.ranks[s], boxes.ranks[t]);
      if (s == t || left == 0) continue;
      if (from.box == to.box) {
        paths.push_back({Rank{s}, Rank{t}, left, {from.to_box, to.from_box}});
        continue;
      }
      while (left > 0) {
        const auto [leaving, first] = out[from.box].take(place[s], left);
        const auto [arriving, amount] = in[to.box].take(place[t], first);
        out[from.box].taken(place[s], amount);
        in[to.box].taken(place[t], amount);
        left -= amount;
        paths.push_back(
            {Rank{s}, Rank{t}, amount, links_of(boxes, Rank{s}, leaving, arriving, Rank{t})});
      }
    }
  }
  return paths;
}

std::vector<double> prices_of_ports(const Boxes& boxes, const Demand& demand,
                                    const Topology& topology) {
  const Passing passing = passing_of(boxes, demand, 1);
  double most = 0;
  std::vector<LinkId> busiest;
  const auto consider = [&](double amount, const std::vector<LinkId>& links) {
    double bandwidth = 0;
    for (const LinkId id : links) {
      bandwidth += static_cast<double>(topology.link(id).bandwidth.bytes_per_second);
    }
    if (amount / bandwidth <= most) return;
    most = amount / bandwidth;
    busiest = links;
  };
  for (const std::vector<Rank>& members : boxes.members) {
    double out = 0, in = 0;
    std::vector<LinkId> out_links, in_links;
    for (const Rank r : members) {
      out += static_cast<double>(passing.out[index(r)]);
      in += static_cast<double>(passing.in[index(r)]);
      out_links.push_back(boxes.ranks[index(r)].out);
      in_links.push_back(boxes.ranks[index(r)].in);
    }
    consider(out, out_links);
    consider(in, in_links);
  }
  for (std::uint32_t r = 0; r < demand.ranks(); ++r) {
    double out = 0, in = 0;
    for (std::uint32_t other = 0; other < demand.ranks(); ++other) {
      if (other == r) continue;
      out += static_cast<double>(demand.at(Rank{r}, Rank{other}));
      in += static_cast<double>(demand.at(Rank{other}, Rank{r}));
    }
    consider(out, {boxes.ranks[r].to_box, boxes.ranks[r].out});
    consider(in, {boxes.ranks[r].from_box, boxes.ranks[r].in});
  }
  std::vector<double> prices(topology.num_links(), 0);
  for (const LinkId id : busiest) prices[index(id)] = 1;
  return prices;
}

}  // namespace multitree
