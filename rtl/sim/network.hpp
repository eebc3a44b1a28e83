// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network of verilated nodes and switches, with links of any latency between them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nic/parameters.hpp"
#include "rtl/sim/memory.hpp"
#include "topologies/topology.hpp"

namespace multitree::rtl {

/// A write to a register of an interface.
struct RegisterWrite {
  std::uint32_t address = 0;  ///< in bytes
  std::uint32_t value = 0;
};

/// What is on a link in a cycle.
struct LinkFlit {
  bool valid = false;
  std::uint8_t vc = 0;
  std::array<std::uint32_t, 5> bits{};  ///< mt_pkg::flit_t, from the lowest word up
};

/// Which sums are made: adders of the hardware, or a C function that has been shown to give the
/// same bits, which is many times faster.
enum class Adders : std::uint8_t { Hardware, Function };

/// What an interface did in a cycle; ports as bits.
struct NodeTrace {
  bool running = false, done = false;
  std::uint32_t begun = 0, sent = 0, issued = 0, taken = 0;
  std::uint32_t step = 0;
};

class Node;

/// All nodes of a topology, each a verilated mt_node (ranks) or mt_router (switches), driven by one
/// clock. Links of L cycles are L - 2 registers, and one at each end.
class Network {
 public:
  /// \throws Error(Unsupported) if a rank or a switch has more links than are verilated, if a
  /// link is slower than a flit a cycle or shorter than 2 cycles, or if buffers are larger than the
  /// hardware's.
  Network(const Topology& topology, const nic::Parameters& parameters, std::size_t bytes,
          Adders adders);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Ports of all interfaces that are verilated.
  static constexpr std::uint32_t kPorts = 4;

  /// Writes registers of all ranks, each its own, one a cycle.
  void write(const std::vector<std::vector<RegisterWrite>>& writes);
  std::uint32_t read(Rank rank, std::uint32_t address);

  [[nodiscard]] std::uint32_t num_links() const { return topology_.num_links(); }

  /// A cycle of everything.
  void tick();
  [[nodiscard]] std::uint64_t cycle() const { return cycle_; }

  [[nodiscard]] Memory& memory(Rank rank);
  /// Of the cycle that the last tick() was.
  [[nodiscard]] NodeTrace trace(Rank rank) const;
  /// Piece, turn and word that the port issued, or the piece that it took in.
  struct RxTrace {
    std::uint32_t piece = 0, turn = 0, pos = 0, taken_piece = 0;
  };
  [[nodiscard]] RxTrace rx_trace(Rank rank, std::uint32_t port) const;
  /// What has just come out of the router at the beginning of the link.
  [[nodiscard]] const LinkFlit& sent(LinkId link) const;

  /// Called in each cycle for each link with what enters it: a flit or none; and what goes back: 0,
  /// or 1 + the virtual channel of a credit. May change both. For faults.
  std::function<void(LinkId, LinkFlit&)> on_flit;
  std::function<void(LinkId, std::uint8_t&)> on_credit;
  /// Requests that the memory of a rank refuses in a cycle: 5 bits a port.
  std::function<std::uint32_t(Rank)> stalls;

  /// Writes waves of all signals of some nodes from now on. \throws Error(Io).
  void trace_to(const std::string& path);

 private:
  struct Wire;

  const Topology& topology_;
  std::vector<std::unique_ptr<Node>> nodes_;       // [node]
  std::vector<Wire> wires_;                        // [link]
  std::vector<std::unique_ptr<Memory>> memories_;  // [rank]
  std::uint64_t cycle_ = 0;
};

}  // namespace multitree::rtl
