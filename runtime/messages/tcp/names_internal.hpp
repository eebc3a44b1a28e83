// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the poller calls the sockets of a transport. Those of a peer are called by
/// its seat and the cable.
#pragma once

#include <cstdint>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime::tcp {

/// Of a connection to `peer` over the cable of that number.
constexpr std::uint64_t name_of(Seat peer, std::uint32_t cable) {
  static_assert(kMaxRanks == 1U << 16);
  return std::uint64_t{cable} << 16 | index(peer);
}
constexpr Seat seat_in(std::uint64_t name) {
  return Seat{static_cast<std::uint32_t>(name & 0xffff)};
}
constexpr std::uint32_t cable_in(std::uint64_t name) {
  return static_cast<std::uint32_t>(name >> 16);
}

inline constexpr std::uint64_t kDoor = std::uint64_t{1} << 32;
/// Guests are numbered from here on, none as one before it: an event may be of one that has left.
inline constexpr std::uint64_t kFirstGuest = kDoor + 1;

}  // namespace multitree::runtime::tcp
