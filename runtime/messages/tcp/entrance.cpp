// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Addresses as text, and the order in which they are tried.
#include "runtime/messages/tcp/entrance_internal.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <linux/tcp.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <system_error>

#include "topologies/error.hpp"

namespace multitree::runtime::tcp {
namespace {

constexpr std::uint32_t kLoopbackIp = 0x7f000001;

[[noreturn]] void no_entrance(const char* what) {
  const int error = errno;
  throw Error(ErrorCode::Transport, fmt::format("cannot listen for the other ranks: {}: {}", what,
                                                std::generic_category().message(error)));
}

void set_option(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof value);
}

/// IPv4 and IPv6 together; not open where the host has no IPv6.
Socket listen_at_both() {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return {};
  set_option(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return {};
  return socket;
}

Socket listen_at_ipv4(std::uint32_t ip) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) no_entrance("socket");
  const SocketAddress address = socket_address(ip, 0);
  if (::bind(socket.fd(), address.get(), address.length) != 0) no_entrance("bind");
  return socket;
}

/// One that means something at that interface of this host alone.
std::optional<SocketAddress> link_address(const std::string& ip, const std::string& interface,
                                          std::uint16_t port) {
  std::optional<SocketAddress> address = socket_address(ip, port);
  const unsigned number = ::if_nametoindex(interface.c_str());
  if (!address || number == 0) return std::nullopt;
  reinterpret_cast<sockaddr_in6*>(&address->storage)->sin6_scope_id = number;
  return address;
}

bool is_at(const Host& host, std::uint32_t address) {
  return std::ranges::find(host.interfaces, address, &Interface::address) != host.interfaces.end();
}

bool shares_subnet(const Host& host, const Interface& other) {
  return std::ranges::any_of(host.interfaces,
                             [&](const Interface& own) { return own.subnet() == other.subnet(); });
}

}  // namespace

Secret make_secret() {
  std::random_device random;
  std::array<std::uint32_t, 4> words{};
  for (std::uint32_t& word : words) word = random();
  Secret secret{};
  static_assert(sizeof words == sizeof secret);
  std::memcpy(secret.data(), words.data(), sizeof words);
  return secret;
}

SocketAddress socket_address(std::uint32_t ip, std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(ip);
  SocketAddress address;
  std::memcpy(&address.storage, &in, sizeof in);
  address.length = sizeof in;
  return address;
}

std::optional<SocketAddress> socket_address(const std::string& ip, std::uint16_t port) {
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, ip.c_str(), &in.sin6_addr) != 1) return std::nullopt;
  SocketAddress address;
  std::memcpy(&address.storage, &in, sizeof in);
  address.length = sizeof in;
  return address;
}

std::string words_of(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.storage.ss_family == AF_INET6) {
    const auto* const in = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    ::inet_ntop(AF_INET6, &in->sin6_addr, text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), ntohs(in->sin6_port));
  }
  const auto* const in = reinterpret_cast<const sockaddr_in*>(&address.storage);
  ::inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), ntohs(in->sin_port));
}

std::string pack(const Entrance& entrance) {
  const auto text_of = [](const Secret& secret) {
    return std::string_view(secret.data(), secret.size());
  };
  Writer writer;
  writer.text(runtime::pack(entrance.host)).number(entrance.port);
  writer.text(text_of(entrance.knock)).text(text_of(entrance.answer));
  writer.text(entrance.key ? view_of(*entrance.key) : std::string_view());
  for (const std::string& address : entrance.ipv6) writer.text(address);
  return writer.bytes();
}

Entrance unpack_entrance(const std::string& text) {
  Reader reader(text);
  const auto host = reader.text();
  const auto port = reader.number();
  const auto knock = reader.text(), answer = reader.text(), key = reader.text();
  const auto is_secret = [](const std::optional<std::string>& one) {
    return one && one->size() == sizeof(Secret);
  };
  const bool is_key = key && (key->empty() || key->size() == sizeof(PublicKey));
  if (!host || !port || *port == 0 || *port > 65535 || !is_secret(knock) || !is_secret(answer) ||
      !is_key) {
    throw Error(ErrorCode::Transport, "invalid description of where a rank takes connections");
  }
  Entrance entrance;
  entrance.host = unpack_host(*host);
  entrance.port = static_cast<std::uint16_t>(*port);
  std::ranges::copy(*knock, entrance.knock.begin());
  std::ranges::copy(*answer, entrance.answer.begin());
  if (!key->empty()) std::ranges::copy(*key, entrance.key.emplace().begin());
  while (const auto address = reader.text()) entrance.ipv6.push_back(*address);
  return entrance;
}

std::vector<std::string> ipv6_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET6) continue;
    if ((it->ifa_flags & IFF_RUNNING) == 0 || (it->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const auto* const in = reinterpret_cast<const sockaddr_in6*>(it->ifa_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(AF_INET6, &in->sin6_addr, text.data(), text.size());
    addresses.emplace_back(text.data());
  }
  return addresses;
}

std::vector<Route> routes_to(const Entrance& there, const Host& here,
                             const std::optional<Wire>& wire) {
  if (there.host.id == here.id) return {{socket_address(kLoopbackIp, there.port), {}}};
  std::vector<Route> routes;
  if (wire && wire->cable) {
    const CablePort *const to = there.host.port_of(*wire->cable), *const from =
                                                                      here.port_of(*wire->cable);
    if (to == nullptr || from == nullptr) return routes;
    const auto end = link_address(to->address, from->name, there.port);
    const auto start = link_address(from->address, from->name, 0);
    if (end && start) routes.push_back({*end, *start});
    return routes;
  }
  if (wire) {
    const auto on_wire = [&](const Interface& one) { return one.subnet() == wire->subnet; };
    const auto to = std::ranges::find_if(there.host.interfaces, on_wire);
    const auto from = std::ranges::find_if(here.interfaces, on_wire);
    if (to != there.host.interfaces.end() && from != here.interfaces.end()) {
      routes.push_back({socket_address(to->address, there.port), socket_address(from->address, 0)});
    }
    return routes;
  }
  return routes_around(there, here, wire);
}

std::vector<Route> routes_around(const Entrance& there, const Host& here,
                                 const std::optional<Wire>& wire) {
  if (there.host.id == here.id) return {{socket_address(kLoopbackIp, there.port), {}}};
  const auto on_wire = [&](const Interface& one) {
    return wire && !wire->cable && one.subnet() == wire->subnet;
  };
  std::vector<Route> routes;
  for (const bool near : {true, false}) {
    for (const Interface& one : there.host.interfaces) {
      if (is_at(here, one.address) || on_wire(one) || shares_subnet(here, one) != near) continue;
      routes.push_back({socket_address(one.address, there.port), {}});
    }
  }
  for (const std::string& one : there.ipv6) {
    if (const auto address = socket_address(one, there.port)) routes.push_back({*address, {}});
  }
  return routes;
}

std::optional<SocketAddress> address_behind(const Socket& socket) {
  SocketAddress there;
  there.length = sizeof there.storage;
  auto* const address = reinterpret_cast<sockaddr*>(&there.storage);
  if (::getpeername(socket.fd(), address, &there.length) != 0) return std::nullopt;
  return there;
}

bool is_at(const Wire& wire, const SocketAddress& address) {
  std::uint32_t ip = 0;
  if (address.storage.ss_family == AF_INET6) {
    const auto* const in = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    if (wire.cable) {
      return IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr) &&
             in->sin6_scope_id == ::if_nametoindex(wire.device.c_str());
    }
    if (!IN6_IS_ADDR_V4MAPPED(&in->sin6_addr)) return false;
    std::memcpy(&ip, in->sin6_addr.s6_addr + 12, sizeof ip);
  } else {
    ip = reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_addr.s_addr;
  }
  return !wire.cable && Interface{"", ntohl(ip), wire.subnet.prefix, 0}.subnet() == wire.subnet;
}

Socket open_entrance(bool this_host_alone, std::uint32_t receive_buffer) {
  Socket socket = this_host_alone ? listen_at_ipv4(kLoopbackIp) : listen_at_both();
  if (!socket.open()) socket = listen_at_ipv4(INADDR_ANY);
  // What the first packets say of the buffer holds for good.
  if (receive_buffer != 0) {
    set_option(socket.fd(), SOL_SOCKET, SO_RCVBUF, static_cast<int>(receive_buffer));
  }
  if (::listen(socket.fd(), SOMAXCONN) != 0) no_entrance("listen");
  return socket;
}

std::uint16_t port_at(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    no_entrance("getsockname");
  }
  // At the same place in both.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

void give_up_after(const Socket& socket, std::chrono::milliseconds silence) {
  set_option(socket.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()));
}

Flow flow_of(const Socket& socket) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  return {info.tcpi_bytes_acked, std::chrono::microseconds(info.tcpi_busy_time),
          std::chrono::microseconds(info.tcpi_rwnd_limited)};
}

/// Without give_up_after(): a rank that computes for long and reads nothing meanwhile is there.
void prepare(const Socket& socket, std::uint32_t send_buffer, std::uint32_t receive_buffer) {
  set_option(socket.fd(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket.fd(), SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket.fd(), IPPROTO_TCP, TCP_KEEPIDLE, 4);
  set_option(socket.fd(), IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket.fd(), IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (send_buffer != 0) {
    set_option(socket.fd(), SOL_SOCKET, SO_SNDBUF, static_cast<int>(send_buffer));
  }
  if (receive_buffer != 0) {
    set_option(socket.fd(), SOL_SOCKET, SO_RCVBUF, static_cast<int>(receive_buffer));
  }
}

}  // namespace multitree::runtime::tcp
