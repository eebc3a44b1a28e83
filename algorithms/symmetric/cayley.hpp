// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks that look the same from every rank: Cayley graphs of products of cyclic groups.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Elements 0 .. size()-1 of Z_{d0} x Z_{d1} x ..., numbered like the ranks of a grid (Shape); 0 is
/// the identity. Each generator adds its offset to one coordinate. O(dims + degree) memory.
class CayleyGraph {
 public:
  struct Generator {
    std::uint32_t dim, offset;
  };

  /// Offsets are in 1 .. sizes[dim]-1, not repeated, and with each the inverse.
  CayleyGraph(std::vector<std::uint32_t> sizes, std::vector<Generator> generators);

  /// One step up and one down in each dimension; the same step in dimensions of size 2.
  static CayleyGraph torus(std::vector<std::uint32_t> sizes);
  static CayleyGraph hypercube(std::uint32_t dimensions);
  static CayleyGraph complete(std::uint32_t size);

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t degree() const {
    return static_cast<std::uint32_t>(generators_.size());
  }
  /// element * generator.
  [[nodiscard]] std::uint32_t apply(std::uint32_t element, std::uint32_t generator) const {
    const Move& move = moves_[generator];
    return element / move.stride % move.size < move.wrap_from ? element + move.up
                                                              : element - move.down;
  }
  /// The generator that undoes one.
  [[nodiscard]] std::uint32_t inverse(std::uint32_t generator) const {
    return moves_[generator].inverse;
  }
  /// left * element.
  [[nodiscard]] std::uint32_t translate(std::uint32_t left, std::uint32_t element) const;

 private:
  struct Move {
    std::uint32_t stride, size, wrap_from, up, down, inverse;
  };
  std::vector<std::uint32_t> sizes_;
  std::vector<Generator> generators_;
  std::vector<Move> moves_;
  std::uint32_t size_ = 1;
};

/// A network that is a Cayley graph, rank r being element r.
struct CayleyNetwork {
  CayleyGraph graph;
  std::vector<LinkId> links;  ///< of element x and generator s: links[x * degree + s]

  [[nodiscard]] LinkId link(std::uint32_t element, std::uint32_t generator) const {
    return links[std::size_t{element} * graph.degree() + generator];
  }
};

/// The Cayley graph that the network's shape names, if its links are exactly that graph's, each
/// once, with one bandwidth; otherwise empty, and `reason` says why. O(links).
std::optional<CayleyNetwork> find_cayley_network(const Topology& topology, std::string& reason);

}  // namespace multitree
