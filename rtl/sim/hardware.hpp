// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network of interfaces in hardware, whatever it is made of.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "generated/mt_pkg.hpp"
#include "rtl/sim/flit_shape.hpp"
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
  std::array<std::uint32_t, kMostLaneWords>
      bits{};  ///< mt_pkg::flit_t, from the lowest word up; 0 behind its lane
};

/// What an interface did in a cycle; ports as bits.
struct NodeTrace {
  bool running = false, done = false;
  std::uint32_t begun = 0, sent = 0, issued = 0, taken = 0;
  std::uint32_t step = 0;
  std::uint32_t over = 0;  ///< groups that are over in the cycle behind it
};

/// What can be done with it, cycle by cycle: enough to run a collective (run.hpp) and to compare it
/// with the model (events.hpp).
class Hardware {
 public:
  virtual ~Hardware() = default;

  /// Writes registers of all ranks, each its own. What is the same for all is written to all in
  /// the same cycle.
  virtual void write(const std::vector<std::vector<RegisterWrite>>& writes) = 0;
  virtual std::uint32_t read(Rank rank, std::uint32_t address) = 0;
  /// A write that goes with the next tick(), and with no other.
  /// \throws Error(Unsupported) where the registers of all ranks are behind one another.
  virtual void put_write(Rank rank, const RegisterWrite& write) = 0;

  [[nodiscard]] virtual std::uint32_t num_links() const = 0;
  /// Ports of each rank's interface.
  [[nodiscard]] virtual std::vector<std::uint32_t> ports() const = 0;

  /// A cycle of everything.
  virtual void tick() = 0;
  [[nodiscard]] virtual std::uint64_t cycle() const = 0;

  [[nodiscard]] virtual Memory& memory(Rank rank) = 0;
  /// Of the cycle that the last tick() was.
  [[nodiscard]] virtual NodeTrace trace(Rank rank) const = 0;
  /// Piece, turn and word that the port issued, or the piece that it took in.
  struct RxTrace {
    std::uint32_t piece = 0, turn = 0, pos = 0, taken_piece = 0;
  };
  [[nodiscard]] virtual RxTrace rx_trace(Rank rank, std::uint32_t port) const = 0;
  /// What has just come out of the router at the beginning of the link.
  [[nodiscard]] virtual const LinkFlit& sent(LinkId link) const = 0;
  /// Links that lose, and that nothing gets across any more.
  [[nodiscard]] virtual std::vector<LinkId> dead_links() const { return {}; }
};

}  // namespace multitree::rtl
