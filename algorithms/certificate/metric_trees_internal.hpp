// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cheapest trees over the ranks of a network whose links have prices, and the cuts that prove
/// them cheapest. A hop of a tree is a cheapest path, through switches or other ranks.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/tree.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// Price of a link, or a sum of them. Whole numbers of any size: a price is scaled first.
using Price = boost::multiprecision::cpp_int;

/// Cheapest undirected spanning tree (Prim), grown from rank `start`; of equally cheap ones, a
/// shallow one. Hops lead away from `start`, parents first. \pre Every link has a mate, with the
/// same price. O(links log links): a cheapest tree needs only the hops between ranks whose regions
/// (nodes nearest to them) touch (Mehlhorn 1988).
std::vector<TreeArc> cheapest_undirected_tree(const Topology& topology,
                                              const std::vector<Price>& price, Rank start,
                                              RoutePool& routes);

/// Contraction of a network into one vertex, each of whose parts is entered by the cheapest hop
/// that is left (Edmonds; Tarjan 1977). It holds the cheapest out-trees from every rank at once.
struct Contraction {
  /// Ranks first, then contracted cycles, the whole last.
  struct Part {
    std::uint32_t parent = 0;  ///< the whole: itself
    std::vector<std::uint32_t> children;
    /// Of the cheapest hop into it beyond what its parts were charged for theirs: the weight of
    /// the cut around it.
    Price entry_cost;
    Rank entry_src{}, entry_dst{};
  };
  std::vector<Part> parts;
  /// By root: what the cheapest out-tree costs.
  std::vector<Price> tree_cost;
  /// By rank and node: the link by which the cheapest path through switches arrives.
  std::vector<std::vector<LinkId>> arrival;
};

/// O(ranks (links log nodes + ranks)).
Contraction contract(const Topology& topology, const std::vector<Price>& price);

/// The cheapest out-tree from `root`; hops parents first.
std::vector<TreeArc> cheapest_out_tree(const Topology& topology, const Contraction& contraction,
                                       Rank root, RoutePool& routes);

/// Cuts that no link crosses at more than its price.
struct PricedCuts {
  /// Data crosses to `far`.
  struct Cut {
    std::vector<NodeId> far;
    Price weight;
  };
  std::vector<Cut> cuts;
  std::vector<Price> switch_price;  ///< by node; 0 at ranks
};

/// Cuts whose weights, of those without r on their far side, sum to the cost of the cheapest
/// undirected tree, whichever the rank r.
PricedCuts cuts_of_undirected_tree(const Topology& topology, const std::vector<Price>& price);

/// The same for out-trees: the cuts without r sum to the cost of the cheapest from r.
PricedCuts cuts_of_out_trees(const Topology& topology, const std::vector<Price>& price);

}  // namespace multitree
