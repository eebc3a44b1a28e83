// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A network of verilated nodes and switches, with links of any latency between them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/link_errors.hpp"
#include "nic/parameters.hpp"
#include "rtl/sim/hardware.hpp"
#include "topologies/topology.hpp"

namespace multitree::rtl {

/// Which sums are made: adders of the hardware, or a C function that has been shown to give the
/// same bits, which is many times faster.
enum class Adders : std::uint8_t { Hardware, Function };

class Node;
class RetryWire;
class Waves;

/// How memories are reached: directly, or by AXI4 ports of these timings, each rank's with a seed
/// of its own.
struct AxiPorts {
  std::uint32_t ports = 0;
  AxiTiming timing = {};
};

/// \throws Error(Unsupported) naming the widths if none of them is that of the flits.
void check_flit_bytes(const nic::Parameters& parameters);
/// \throws Error(Unsupported) if no such flits, or not so many links of a rank or a switch, are
/// verilated, or buffers are larger than the hardware's.
void check_verilated(const Topology& topology, const nic::Parameters& parameters);
/// Ports of the interface that the rank has: the fewest that are verilated and enough for its
/// links.
std::uint32_t interface_ports(const Topology& topology, Rank rank);
/// Cycles of a reset.
inline constexpr std::uint32_t kNodeResetCycles = 4;

/// All nodes of a topology, each a verilated mt_node (ranks) or mt_router (switches), driven by one
/// clock. Links of L cycles are L - 2 registers, and one at each end; or they lose, and are
/// RetryWires.
class Network : public Hardware {
 public:
  /// \throws Error(Unsupported) if a rank or a switch has more links than are verilated, if a
  /// link is slower than a flit a cycle or shorter than 2 cycles, or if buffers are larger than the
  /// hardware's.
  /// \param waves ranks whose signals trace_to() writes: they are slower and have the adders of the
  /// hardware.
  /// \param errors links lose, and send again what is lost.
  /// \param axi memories are behind so many AXI4 ports, 1 or one for each port of an interface.
  Network(const Topology& topology, const nic::Parameters& parameters, std::size_t bytes,
          Adders adders, const std::vector<Rank>& waves = {},
          const std::optional<nic::LinkErrors>& errors = {}, const AxiPorts& axi = {});
  ~Network() override;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Ports of the usual interface. One with more links has as many ports as it needs, of 8 and 16.
  static constexpr std::uint32_t kPorts = mt_pkg::kNumPorts;
  /// Groups that the interfaces have doorbells for: those that share units have one.
  static std::uint32_t groups(const nic::Parameters& parameters) {
    return parameters.ports_per_unit > 1 ? 1 : mt_pkg::kNumGroups;
  }

  void write(const std::vector<std::vector<RegisterWrite>>& writes) override;
  std::uint32_t read(Rank rank, std::uint32_t address) override;
  void put_write(Rank rank, const RegisterWrite& write) override;
  [[nodiscard]] std::uint32_t num_links() const override { return topology_.num_links(); }
  [[nodiscard]] std::vector<std::uint32_t> ports() const override;
  void tick() override;
  [[nodiscard]] std::uint64_t cycle() const override { return cycle_; }
  [[nodiscard]] Memory& memory(Rank rank) override;
  [[nodiscard]] NodeTrace trace(Rank rank) const override;
  [[nodiscard]] RxTrace rx_trace(Rank rank, std::uint32_t port) const override;
  [[nodiscard]] const LinkFlit& sent(LinkId link) const override;
  [[nodiscard]] std::vector<LinkId> dead_links() const override;
  /// From now on nothing arrives over a link, either way. \pre Links lose.
  void cut(LinkId link);
  /// Of all links that lose: frames, answers, and how many of each were bad.
  [[nodiscard]] nic::LinkCounts link_counts() const;

  /// Called in each cycle for each link with what enters it: a flit or none; and what goes back: 0,
  /// or 1 + the virtual channel of a credit. May change both. For faults.
  std::function<void(LinkId, LinkFlit&)> on_flit;
  std::function<void(LinkId, std::uint8_t&)> on_credit;
  /// Requests that the memory of a rank refuses in a cycle: 5 bits a port, of the first 6 ports.
  std::function<std::uint32_t(Rank)> stalls;

  /// Whether memories accept only what they were asked in the cycle before, as a slave may that
  /// waits for TVALID before it says TREADY.
  void set_shy(bool shy);

  /// Whether trace() and rx_trace() say all, as they do at first, or only what runs, is done and is
  /// taken in, which is faster.
  void set_traced(bool traced);

  /// Writes all signals of the ranks with waves to an FST file, from now on, which is its time 0;
  /// and beside it what of that GTKWave is to show: the same name, with .gtkw. \pre There are such
  /// ranks, and it has not been called before. \throws Error(Io).
  void trace_to(const std::string& path);

 private:
  struct Wire;
  struct Sides;
  /// \param word its bytes \returns its handle.
  std::uint32_t add_memory(std::size_t bytes, std::uint32_t node, std::uint32_t word,
                           const AxiPorts& axi);
  void reset(std::uint32_t buffer_flits);
  /// Links that lose: what comes out of one is at its nodes' inputs.
  void carry_over(std::uint32_t link, std::uint8_t credit);

  const Topology& topology_;
  std::vector<Rank> wave_ranks_;
  std::unique_ptr<Waves> waves_;                     // if there are such ranks
  std::vector<std::unique_ptr<Node>> nodes_;         // [node]
  std::vector<Sides> sides_;                         // [node]
  std::vector<Wire> wires_;                          // [link]
  std::vector<std::unique_ptr<RetryWire>> retries_;  // [link], if they lose
  std::vector<std::unique_ptr<Memory>> memories_;    // [rank]
  std::vector<std::uint32_t> writing_;               // nodes with a write in the next tick
  std::uint64_t cycle_ = 0;
};

}  // namespace multitree::rtl
