// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rates of links as the Internet Topology Zoo (Knight et al., JSAC 2011) says them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree {

/// Attributes of an edge as text, empty where absent.
struct ZooSpeed {
  std::string raw;    ///< LinkSpeedRaw: bits a second, "2.5e9"
  std::string speed;  ///< LinkSpeed: "2.5"
  std::string units;  ///< LinkSpeedUnits of that: "G" are 10^9 bits a second
};

/// The rate: LinkSpeedRaw, or LinkSpeed in its units; empty where neither is said in one number, as
/// in "<2.5". \throws Error(InvalidArgument) if it is a number that is no rate of a link.
std::optional<Bandwidth> to_bandwidth(const ZooSpeed& speed);

/// The rate of edges that have none: that which most edges of the same file have.
class UnstatedRates {
 public:
  /// An edge with a rate; an edge without one, whose links are [first, end), at this line.
  void state(Bandwidth bandwidth) { ++edges_[bandwidth]; }
  void leave_open(std::size_t first, std::size_t end, std::size_t line);
  /// Gives the open links their rate, `otherwise` if the file has none at all, and notes it.
  void fill(std::vector<Link>& links, Bandwidth otherwise, const std::string& file) const;

 private:
  std::map<Bandwidth, std::size_t> edges_;
  std::vector<std::size_t> open_;  // links
  std::size_t open_edges_ = 0, first_line_ = 0;
};

}  // namespace multitree
