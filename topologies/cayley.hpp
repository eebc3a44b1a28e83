// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks that look the same from every rank: Cayley graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topologies/families.hpp"
#include "topologies/finite_group.hpp"
#include "topologies/spec.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The elements of a group, with an arc from each element x to x*s for every generator s. Moving
/// everything by a multiplication on the left leaves it as it is. Generators may repeat: parallel
/// arcs. O(degree) memory if each generator changes one coordinate of a grid without a twist
/// (tori, hypercubes, circulants), O(size * degree) otherwise.
class CayleyGraph {
 public:
  /// `generators` are elements other than the identity, as often as their inverses.
  /// \throws Error(InvalidArgument) if they are not.
  CayleyGraph(FiniteGroup group, std::vector<std::uint32_t> generators);

  /// One step up and one down in each dimension. In dimensions of size 2 they are the same: one
  /// arc, or two if `doubled`.
  static CayleyGraph torus(std::vector<std::uint32_t> sizes, bool doubled = false);
  static CayleyGraph hypercube(std::uint32_t dimensions);
  static CayleyGraph complete(std::uint32_t size);

  [[nodiscard]] const FiniteGroup& group() const { return group_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t degree() const { return static_cast<std::uint32_t>(moves_.size()); }
  /// The generators as elements, ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& generators() const { return generators_; }
  /// element * generator, by the generator's place in generators(). Elements of further copies of
  /// the group, element + copy * size(), stay in their copy.
  [[nodiscard]] std::uint32_t apply(std::uint32_t element, std::uint32_t generator) const {
    const Move& move = moves_[generator];
    if (!products_.empty()) {
      const std::uint32_t own = element % size_;
      return element - own + products_[std::size_t{generator} * size_ + own];
    }
    return element / move.stride % move.size < move.wrap_from ? element + move.up
                                                              : element - move.down;
  }
  /// The generator that undoes one; of the i-th of several equal ones, the i-th that undoes it.
  [[nodiscard]] std::uint32_t inverse(std::uint32_t generator) const {
    return moves_[generator].inverse;
  }

 private:
  struct Move {
    std::uint32_t stride, size, wrap_from, up, down, inverse;
  };
  void pair_inverses();
  void set_moves();

  FiniteGroup group_;
  std::uint32_t size_;
  std::vector<std::uint32_t> generators_;
  std::vector<Move> moves_;
  std::vector<std::uint32_t> products_;  // [generator * size + element]; empty: moves_ tell
};

/// The network of a graph in the family that the spec names, all links of the speed that it says.
Topology make_cayley_network(const Spec& spec, const CayleyGraph& graph,
                             std::vector<std::uint32_t> dims);

/// The Cayley graph that a spec names; empty for families whose ranks are not alike. Reads the dims
/// and the parameters that decide the graph. \throws Error(InvalidArgument), also for more than
/// `most_ranks` ranks.
std::optional<CayleyGraph> cayley_graph(const Spec& spec,
                                        std::uint64_t most_ranks = Spec::kMaxRanks);

/// What links of each generator are given by the spec of a family with a graph. \throws
/// Error(InvalidArgument) naming what is wrong with bw= or lat=.
std::vector<LinkSpeed> cayley_speeds(const Spec& spec, const CayleyGraph& graph);

/// The same, with links that are all equally fast. \throws Error(InvalidArgument) also if they are
/// not, or ranks not alike, or a parameter is unknown.
CayleyGraph uniform_cayley_graph(const Spec& spec, std::uint64_t most_ranks);

}  // namespace multitree
