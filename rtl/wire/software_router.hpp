// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the router of a node does with worms, by this processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nic/parameters.hpp"
#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/worm.hpp"

namespace multitree::rtl {

/// Takes worms from cables, and gives each to the cable that its route names, or to the interface.
/// A virtual channel whose worm cannot go on keeps the places of what has come behind it, as that
/// of a router does, so its neighbour stops; the others go on, so nobody waits for each other in a
/// circle.
class SoftwareRouter {
 public:
  /// A worm whose route ends here.
  using Deliver = std::function<void(const Worm& worm)>;

  /// \param cables outlive it \param parameters of links
  /// \param interface_ports outputs from here on are the interface's \param deliver to that
  SoftwareRouter(Cables& cables, const nic::Parameters& parameters, std::uint32_t interface_ports,
                 Deliver deliver);

  /// Takes whatever has come, as far as there is room for it. \returns whether anything moved
  bool receive();
  /// A worm of the interface's, whose route has its first hop; there is room for it always.
  void send(Worm worm);
  /// As many flits as there are places for at the other ends. \returns whether there were any
  bool transmit();

  /// Whether so much waits to leave by a port that the interface is to begin no other message.
  [[nodiscard]] bool is_crowded(std::uint32_t port) const;
  /// What went wrong first; empty: nothing. Then it takes nothing more.
  [[nodiscard]] const std::string& error() const { return error_; }
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

 private:
  /// The virtual channels of a link from here.
  struct Output {
    std::array<std::deque<LinkFlit>, mt_pkg::kNumVc> waiting;
    std::array<std::uint32_t, mt_pkg::kNumVc> places{};  ///< at the other end
  };
  /// A virtual channel of a link to here.
  struct Input {
    std::deque<LinkFlit> arrived;  ///< without their credits
    Worm worm;                     ///< that is coming, or waits to go on
    std::optional<Hop> hop;        ///< of a worm that is whole
  };

  bool advance(std::uint32_t port, Input& input);
  bool go_on(Input& input);
  std::optional<std::uint8_t> shortest(const Hop& hop);
  void put(const Hop& hop, std::uint8_t channel, const Worm& worm);
  bool transmit(std::uint32_t port);

  Cables& cables_;
  const FlitShape shape_;
  const std::uint32_t channels_;         // virtual channels of a link
  const std::uint32_t interface_ports_;  // outputs from here on are the interface's
  Deliver deliver_;
  std::vector<Output> outputs_;
  std::vector<std::array<Input, mt_pkg::kNumVc>> inputs_;  // [port][virtual channel]
  std::string error_;
};

}  // namespace multitree::rtl
