// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the poller calls the sockets of a transport. Those of a peer are called by its seat.
#pragma once

#include <cstdint>

namespace multitree::runtime::tcp {

inline constexpr std::uint64_t kDoor = std::uint64_t{1} << 32;
/// Guests are numbered from here on, none as one before it: an event may be of one that has left.
inline constexpr std::uint64_t kFirstGuest = kDoor + 1;

}  // namespace multitree::runtime::tcp
