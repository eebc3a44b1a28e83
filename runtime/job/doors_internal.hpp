// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where every rank of a job can be met again, should the one that they all met at be lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {

/// A listening socket of a rank.
struct Door {
  std::string host;                  ///< tells hosts (network namespaces) apart
  std::uint16_t port = 0;            ///< 0: none
  std::vector<std::string> numbers;  ///< addresses of its host; those of the host alone last
  bool meeting = false;              ///< all ranks are connected to it
};
/// All but its port: what the ranks of a host say alike.
std::string pack(const Door& door);
/// Empty if they are none.
std::optional<Door> unpack_door(const std::string& text, std::uint32_t port);

/// This host: what tells it from others where addresses do not, as those of a network of containers
/// that every host has.
const std::string& this_host();

/// Where to connect to from this host, first choice first. Addresses that this host has as well are
/// left out, unless the door is of this host: they would lead back here.
std::vector<Address> ways_to(const Door& door);

enum class Presence : std::uint8_t {
  There,   ///< its host takes connections for it
  Gone,    ///< its host says that nobody listens there, by all its addresses
  Silent,  ///< no answer, or none by one of the addresses: it may be there for others
};
/// Knocks at all of them at once. Takes at most about `patience`, and only where one is silent.
std::vector<Presence> knock(const std::vector<const Door*>& doors,
                            std::chrono::milliseconds patience);

}  // namespace multitree::runtime
