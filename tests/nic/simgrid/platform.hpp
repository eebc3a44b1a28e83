// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A Topology as a SimGrid platform.
#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "tests/nic/simgrid/message_graph.hpp"

namespace multitree::test {

/// Cycles a second of the clock that SimGrid's time is given in, see Platform.
inline constexpr double kClockHertz = 1e9;

/// Hosts and links for the lanes of a message graph. One cycle is one second to SimGrid: it takes
/// times that differ by a nanosecond for equal (surf/precision), which is a whole cycle here.
///
/// A message is two communications: `wire` takes as long as its bytes keep the links busy, and then
/// `flight` the latency of the route. So the sender's next message starts when the bytes have left,
/// while the receiver goes on when they have arrived; the communication of SimGrid alone is done on
/// arrival. As all links work at the same time, the sum is the time of cut-through switching. To
/// this end every link is there twice: shared and without latency, and with its latency only.
///
/// SimGrid has one route for two hosts. A lane number therefore has hosts of its own for each rank
/// and each of the two halves; the links are common to all.
class Platform {
 public:
  /// \pre an Engine exists, configured as configure_fluid_model() does.
  Platform(const Topology& topology, const MessageGraph& graph);

  [[nodiscard]] simgrid::s4u::CommPtr wire(const Lane& lane, std::uint64_t bytes) const;
  [[nodiscard]] simgrid::s4u::CommPtr flight(const Lane& lane) const;

 private:
  enum class Half { Wire, Flight };
  [[nodiscard]] simgrid::s4u::Host* host(Half half, std::uint32_t lane_number, Rank rank) const;
  void create_links(const Topology& topology);
  void create_hosts(std::uint32_t lane_numbers);
  void add_route(Half half, const Lane& lane, const std::vector<simgrid::s4u::Link*>& links);

  std::uint32_t ranks_;
  simgrid::s4u::NetZone* zone_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<simgrid::s4u::Link*> shared_, delays_;  // by LinkId
};

/// Max-min fair sharing of the nominal bandwidths, nominal latencies, and nothing else: no TCP
/// window, no correction factors, no traffic of acknowledgements. To be called once the Engine is
/// there and before the Platform is.
void configure_fluid_model();

}  // namespace multitree::test
