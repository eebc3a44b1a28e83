// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A link that loses: its ends are verilated, its wires are not.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "nic/link_errors.hpp"
#include "rtl/sim/hardware.hpp"

class Vsim_link;
class VerilatedContext;

namespace multitree::rtl {

/// What goes into it comes from the registers of nodes, and what comes out goes through those at
/// their inputs. Draws are those of the model (nic/network/retry_link.hpp).
class RetryWire {
 public:
  /// \param number of the link, for its draws; latency in cycles, at least 2: a register less is
  /// wires.
  RetryWire(std::uint32_t number, std::uint32_t latency, const nic::LinkErrors& errors);
  ~RetryWire();
  RetryWire(RetryWire&&) noexcept;

  /// A credit: 0, or 1 and its virtual channel.
  using Credit = std::uint8_t;
  /// What comes out in this cycle, given what goes in.
  void settle(const LinkFlit& sent, Credit given, LinkFlit& arrives, Credit& returns);
  /// The clock's rising edge, behind settle().
  void tick();
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] bool is_dead() const;
  /// From now on nothing arrives.
  void cut() { is_cut_ = true; }
  /// Frames, answers, and how many of each were bad.
  [[nodiscard]] const nic::LinkCounts& counts() const { return counts_; }

 private:
  static constexpr std::size_t kFrameWords = 6;
  struct Place {
    bool frame_valid = false, word_valid = false;
    std::array<std::uint32_t, kFrameWords> frame{};
    std::uint64_t word = 0;
  };
  /// \returns whether it is still there; may change bits of it.
  bool pass(nic::LinkWay way, std::uint32_t* words, std::uint32_t bits);

  std::uint32_t number_;
  nic::LinkErrors errors_;
  nic::LinkCounts counts_;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vsim_link> model_;
  std::vector<Place> places_;  // wires
  std::size_t at_ = 0;
  std::uint32_t flying_ = 0, idle_ = 0;
  bool is_cut_ = false;
};

}  // namespace multitree::rtl
