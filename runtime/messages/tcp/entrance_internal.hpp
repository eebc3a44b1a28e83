// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where a rank takes connections, and the ways that lead there.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/key_pair_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/network/devices_internal.hpp"
#include "runtime/messages/network/link_rates_internal.hpp"

namespace multitree::runtime::tcp {

/// Known to the ranks of a job alone, which get it over their control connections.
using Secret = std::array<char, 16>;
Secret make_secret();

/// Of IPv4 or IPv6, with a port.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
/// `ip` in the order of this host.
SocketAddress socket_address(std::uint32_t ip, std::uint16_t port);
/// Of "fd00::1"; empty if it is no address of IPv6.
std::optional<SocketAddress> socket_address(const std::string& ip, std::uint16_t port);
std::string words_of(const SocketAddress& address);

/// What a rank tells the others about how to come to it.
struct Entrance {
  Host host;
  std::vector<std::string> ipv6;  ///< of the host, those that others can reach
  std::uint16_t port = 0;
  Secret knock{};                     ///< whoever comes knows it
  Secret answer{};                    ///< and whoever opens knows this
  std::optional<PublicKey> key = {};  ///< of those who seal what they tell each other
};
std::string pack(const Entrance& entrance);
/// \throws Error(Transport) if the text is not of pack().
Entrance unpack_entrance(const std::string& text);

/// IPv6 addresses of this host that others can reach: not its own alone, nor those of one link.
std::vector<std::string> ipv6_addresses();

/// One attempt to connect.
struct Route {
  SocketAddress to;
  std::optional<SocketAddress> from;  ///< where it has to leave
};
/// First choice first. Over the wire and nothing else where there is one. Addresses that `here` has
/// as well are left out: they would lead back.
std::vector<Route> routes_to(const Entrance& there, const Host& here,
                             const std::optional<Wire>& wire);
/// The same where nothing passes over `wire`: all that does not lead to its other end.
std::vector<Route> routes_around(const Entrance& there, const Host& here,
                                 const std::optional<Wire>& wire);

/// Of the other end; empty if there is none any more.
std::optional<SocketAddress> address_behind(const Socket& socket);
/// Whether it is at the other end of that wire.
bool is_at(const Wire& wire, const SocketAddress& address);

/// Listens at all addresses of this host, or so that it alone can come. `receive_buffer`: bytes of
/// a connection; 0: as the system has it. \throws Error(Transport).
Socket open_entrance(bool this_host_alone, std::uint32_t receive_buffer);
std::uint16_t port_at(const Socket& socket);

/// What is sent and not acknowledged for so long ends the connection.
void give_up_after(const Socket& socket, std::chrono::milliseconds silence);
/// All zero where the kernel does not say.
Flow flow_of(const Socket& socket);

/// What every connection of the data is set to; buffers of 0 bytes: as the system has them.
void prepare(const Socket& socket, std::uint32_t send_buffer, std::uint32_t receive_buffer);

}  // namespace multitree::runtime::tcp
