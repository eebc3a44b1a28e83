// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flits and headers as software makes and reads them: mt_pkg.sv has the same for the hardware.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "rtl/sim/hardware.hpp"

namespace multitree::rtl {

/// Payload of a flit, or a header, from the lowest word up; 0 behind what the flit has.
using FlitData = std::array<std::uint32_t, kMostDataW / 32>;
/// The flits of a packet: a header, before it perhaps the route of a long way; payload.
using Worm = std::vector<LinkFlit>;

/// With the parity that belongs to it; of virtual channel 0.
LinkFlit make_flit(const FlitData& data, bool is_head, bool is_tail, FlitShape shape = {});
FlitData data_of(const LinkFlit& flit, FlitShape shape = {});
bool is_tail(const LinkFlit& flit, FlitShape shape = {});
/// Whether the parity is right.
bool is_intact(const LinkFlit& flit, FlitShape shape = {});

/// A hop of a route: an output of a router, and the virtual channels, by bits, that may be used
/// behind it.
struct Hop {
  std::uint32_t port = 0, channels = 0;
};
/// Takes the first hop off the route in the head of a worm, as a router does: parity that was wrong
/// stays wrong.
Hop take_hop(LinkFlit& head, FlitShape shape = {});
/// Whether the flit is no header but the route of a long way, and a header follows.
bool is_route(const FlitData& data, FlitShape shape = {});
/// The flit of that route: its lowest words as registers have them.
FlitData route_flit(const std::uint32_t* words, FlitShape shape = {});

/// header_t of mt_pkg.sv without the route.
struct WormHeader {
  bool gather = false;       ///< copied, not added
  bool last = false;         ///< of its message
  std::uint32_t lanes = 0;   ///< elements in the message's last flit, less one
  std::uint32_t src = 0;     ///< rank
  std::uint32_t turn = 0;    ///< messages of the piece that are taken in before
  std::uint32_t after = 0;   ///< messages of the piece that are sent before
  std::uint32_t piece = 0;   ///< flow times pieces of a flow, plus piece
  std::uint32_t flits = 0;   ///< payload of this worm
  std::uint32_t offset = 0;  ///< payload flits of the message before it
  std::uint32_t start = 0;   ///< first element
  bool operator==(const WormHeader&) const = default;
};

/// The header's flit; `route` (its lowest bits) goes into it.
FlitData encode(const WormHeader& header, std::uint32_t route, FlitShape shape = {});
WormHeader decode_header(const FlitData& data, FlitShape shape = {});

}  // namespace multitree::rtl
