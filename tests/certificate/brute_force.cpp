// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Enumeration of cuts and partitions.
#include "brute_force.hpp"

#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

namespace multitree::test {
namespace {

Exact width(const Topology& topology, const Link& link) {
  return Exact(link.bandwidth.bytes_per_second, topology.unit_bandwidth().bytes_per_second);
}

/// Node sets as bits.
bool has(std::uint32_t set, NodeId node) { return ((set >> index(node)) & 1) != 0; }

std::uint32_t ranks_in(const Topology& topology, std::uint32_t set) {
  std::uint32_t count = 0;
  for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
    count += has(set, topology.node_of(Rank{r})) ? 1 : 0;
  }
  return count;
}

/// Node sets with a rank that miss another.
std::vector<std::uint32_t> cuts(const Topology& topology) {
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 1; set < (1U << topology.num_nodes()); ++set) {
    const std::uint32_t inside = ranks_in(topology, set);
    if (inside > 0 && inside < topology.num_ranks()) sets.push_back(set);
  }
  return sets;
}

/// The programme row by row. Columns: time, weights of the ranks, copies and partial sums of links.
class Program {
 public:
  explicit Program(const Topology& topology) : topology_(topology) {
    clp_.setLogLevel(0);
    clp_.resize(0, static_cast<int>(copies(topology.num_links() * 2)));
    for (int column = 0; column < clp_.numberColumns(); ++column) {
      clp_.setColumnBounds(column, 0, COIN_DBL_MAX);
    }
    clp_.setObjectiveCoefficient(0, 1);
  }

  double least_time() {
    for (const std::uint32_t set : cuts(topology_)) add_cut(set);
    for (std::uint32_t node = 0; node < topology_.num_nodes(); ++node) {
      if (topology_.node(NodeId{node}).is_switch()) add_balance(NodeId{node});
    }
    add_capacities();
    for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) put(weight(r), 1);
    add_row(1, 1);
    clp_.dual();
    return clp_.objectiveValue();
  }

 private:
  [[nodiscard]] static std::uint32_t weight(std::uint32_t rank) { return 1 + rank; }
  [[nodiscard]] std::uint32_t copies(std::uint32_t link) const {
    return 1 + topology_.num_ranks() + link;
  }
  [[nodiscard]] std::uint32_t sums(std::uint32_t link) const {
    return copies(topology_.num_links()) + link;
  }

  void put(std::uint32_t column, double value) {
    columns_.push_back(static_cast<int>(column));
    values_.push_back(value);
  }
  void add_row(double low, double high) {
    clp_.addRow(static_cast<int>(columns_.size()), columns_.data(), values_.data(), low, high);
    columns_.clear();
    values_.clear();
  }
  void put_weights(std::uint32_t set) {
    for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) {
      if (has(set, topology_.node_of(Rank{r}))) put(weight(r), -1);
    }
  }

  void add_cut(std::uint32_t set) {
    const auto links = topology_.links();
    for (std::uint32_t l = 0; l < links.size(); ++l) {
      if (has(set, links[l].src) && !has(set, links[l].dst)) put(copies(l), 1);
    }
    put_weights(set);
    add_row(0, COIN_DBL_MAX);
    for (std::uint32_t l = 0; l < links.size(); ++l) {
      if (!has(set, links[l].src) && has(set, links[l].dst)) put(sums(l), 1);
    }
    put_weights(set);
    add_row(0, COIN_DBL_MAX);
  }

  void add_balance(NodeId node) {
    for (const bool is_copy : {true, false}) {
      const auto column = [&](LinkId link) {
        return is_copy ? copies(index(link)) : sums(index(link));
      };
      for (const LinkId link : topology_.in_links(node)) put(column(link), 1);
      for (const LinkId link : topology_.out_links(node)) put(column(link), -1);
      add_row(0, 0);
    }
  }

  void add_capacities() {
    for (std::uint32_t l = 0; l < topology_.num_links(); ++l) {
      const double shards = width(topology_, topology_.links()[l]).convert_to<double>();
      put(0, shards / topology_.num_ranks());
      put(copies(l), -1);
      put(sums(l), -1);
      add_row(0, COIN_DBL_MAX);
    }
  }

  const Topology& topology_;
  ClpSimplex clp_;
  std::vector<int> columns_;
  std::vector<double> values_;
};

Exact time_of_partition(const Topology& topology, const std::vector<std::uint32_t>& class_of,
                        std::uint32_t classes) {
  Exact both_ways = 0;
  for (const Link& link : topology.links()) {
    if (class_of[index(link.src)] != class_of[index(link.dst)]) both_ways += width(topology, link);
  }
  return Exact(2 * (classes - 1)) * topology.num_ranks() / both_ways;
}

}  // namespace

Exact all_gather_by_cuts(const Topology& topology) {
  Exact worst = 0;
  for (const std::uint32_t set : cuts(topology)) {
    Exact leaving = 0;
    for (const Link& link : topology.links()) {
      if (has(set, link.src) && !has(set, link.dst)) leaving += width(topology, link);
    }
    worst = std::max(worst, Exact(ranks_in(topology, set) / leaving));
  }
  return worst;
}

double all_reduce_by_program(const Topology& topology) {
  return topology.num_ranks() < 2 ? 0 : Program(topology).least_time();
}

Exact all_reduce_by_partitions(const Topology& topology) {
  Exact worst = 0;
  std::vector<std::uint32_t> class_of(topology.num_nodes(), 0);
  const auto visit = [&](auto&& self, std::uint32_t node, std::uint32_t classes) -> void {
    if (node == topology.num_nodes()) {
      if (classes > 1) worst = std::max(worst, time_of_partition(topology, class_of, classes));
      return;
    }
    for (std::uint32_t c = 0; c <= classes; ++c) {
      class_of[node] = c;
      self(self, node + 1, std::max(classes, c + 1));
    }
  };
  visit(visit, 0, 0);
  return worst;
}

}  // namespace multitree::test
