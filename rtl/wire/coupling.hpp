// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A verilated node or switch whose links are cables.
#pragma once

#include <cstdint>
#include <memory>

#include "rtl/sim/node.hpp"
#include "rtl/wire/endpoint.hpp"

namespace multitree::rtl {

/// Its ports are numbered as the links of its node are, and so are the cables.
class Coupling {
 public:
  /// Resets it. \param cables outlive it \param places of each virtual channel, at all other ends
  Coupling(std::unique_ptr<Node> node, Cables& cables, std::uint32_t places);

  [[nodiscard]] Node& node() { return *node_; }
  /// Some cycles, unless so much waits in a cable that it has to wait as well.
  /// \returns whether it may have more to do, or seems to wait for others
  bool run();
  /// A cycle of each.
  void write(const RegisterWrite& one);
  /// Of a rank.
  std::uint32_t read(std::uint32_t address);
  /// Whether a rank has said that it is.
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  void cycle();

  Cables& cables_;
  std::unique_ptr<Node> node_;
  std::uint32_t quiet_ = 0;  // cycles
  bool is_done_ = false;
};

}  // namespace multitree::rtl
