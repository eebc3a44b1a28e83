// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A link that loses: its ends are verilated, its wires are not.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/link_errors.hpp"
#include "rtl/sim/hardware.hpp"

namespace multitree::rtl {

/// What goes into it comes from the registers of nodes, and what comes out goes through those at
/// their inputs. Draws are those of the model (nic/network/retry_link.hpp).
class RetryWire {
 public:
  virtual ~RetryWire() = default;
  RetryWire(const RetryWire&) = delete;
  RetryWire& operator=(const RetryWire&) = delete;

  /// A credit: 0, or 1 and its virtual channel.
  using Credit = std::uint8_t;
  /// What comes out in this cycle, given what goes in.
  virtual void settle(const LinkFlit& sent, Credit given, LinkFlit& arrives, Credit& returns) = 0;
  /// The clock's rising edge, behind settle().
  virtual void tick() = 0;
  [[nodiscard]] virtual bool is_ready() const = 0;
  [[nodiscard]] virtual bool is_dead() const = 0;
  /// From now on nothing arrives.
  void cut() { is_cut_ = true; }
  /// Frames, answers, and how many of each were bad.
  [[nodiscard]] const nic::LinkCounts& counts() const { return counts_; }

 protected:
  RetryWire(std::uint32_t number, const nic::LinkErrors& errors)
      : number_(number), errors_(errors) {}
  /// What becomes of a frame or an answer of so many bits. \param most wrong bits that its checksum
  /// is sure to find. \returns whether it is still there; may change bits of it.
  bool pass(nic::LinkWay way, std::uint32_t* words, std::uint32_t bits, std::uint32_t most);

 private:
  std::uint32_t number_;
  nic::LinkErrors errors_;
  nic::LinkCounts counts_;
  bool is_cut_ = false;
};

/// \param number of the link, for its draws; latency in cycles, at least 2: a register less is
/// wires. \param flit_bytes of kFlitBytes
std::unique_ptr<RetryWire> make_retry_wire(std::uint32_t number, std::uint32_t latency,
                                           const nic::LinkErrors& errors,
                                           std::uint32_t flit_bytes = kUsualFlitBytes);

}  // namespace multitree::rtl
