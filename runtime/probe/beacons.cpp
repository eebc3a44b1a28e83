// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Beacons by multicast that stays on a link, a socket for each port: bound to the group on that
/// port, it hears what comes there and nothing else.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>

#include "runtime/job/keys_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/probe/probe.hpp"

namespace multitree::runtime::probe {

/// A socket and the group that it is in.
struct Ear {
  std::uint32_t port = 0;
  Socket socket;
  sockaddr_storage group{};
  socklen_t length = 0;
};

namespace {

using cluster::Hearing;
using cluster::Port;
using cluster::PortId;

constexpr const char* kGroup6 = "ff02::4d54";
constexpr const char* kGroup4 = "239.255.77.84";

/// What is said, in the order of the network.
struct Beacon {
  std::array<char, 8> magic{'m', 't', 'b', 'e', 'a', 'c', 'o', 'n'};
  std::uint32_t host = 0, port = 0;
  Key code{};
};

Beacon make_beacon(PortId id, const Key& key) {
  Beacon beacon;
  beacon.host = htonl(id.host);
  beacon.port = htonl(id.port);
  const Writer words = Writer().text(view_of(beacon.magic)).number(id.host).number(id.port);
  beacon.code = code_of(key, words.bytes());
  return beacon;
}

bool set(const Socket& socket, int level, int option, const auto& value) {
  return ::setsockopt(socket.fd(), level, option, &value, sizeof value) == 0;
}

bool open6(Ear& ear, const Port& port) {
  ear.socket = Socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in6 group{};
  group.sin6_family = AF_INET6;
  group.sin6_port = htons(kBeaconPort);
  group.sin6_scope_id = ::if_nametoindex(port.name.c_str());
  ::inet_pton(AF_INET6, kGroup6, &group.sin6_addr);
  const ipv6_mreq member{group.sin6_addr, group.sin6_scope_id};
  std::memcpy(&ear.group, &group, sizeof group);
  ear.length = sizeof group;
  return ear.socket.open() && set(ear.socket, SOL_SOCKET, SO_REUSEADDR, 1) &&
         set(ear.socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0) &&
         set(ear.socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(group.sin6_scope_id)) &&
         ::bind(ear.socket.fd(), reinterpret_cast<const sockaddr*>(&group), sizeof group) == 0 &&
         set(ear.socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, member);
}

bool open4(Ear& ear, const Port& port) {
  ear.socket = Socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in group{};
  group.sin_family = AF_INET;
  group.sin_port = htons(kBeaconPort);
  ::inet_pton(AF_INET, kGroup4, &group.sin_addr);
  ip_mreqn member{};
  member.imr_multiaddr = group.sin_addr;
  member.imr_ifindex = static_cast<int>(::if_nametoindex(port.name.c_str()));
  ::inet_pton(AF_INET, port.address.c_str(), &member.imr_address);
  std::memcpy(&ear.group, &group, sizeof group);
  ear.length = sizeof group;
  return ear.socket.open() && set(ear.socket, SOL_SOCKET, SO_REUSEADDR, 1) &&
         set(ear.socket, IPPROTO_IP, IP_MULTICAST_LOOP, 0) &&
         set(ear.socket, IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
         set(ear.socket, IPPROTO_IP, IP_MULTICAST_IF, member) &&
         ::bind(ear.socket.fd(), reinterpret_cast<const sockaddr*>(&group), sizeof group) == 0 &&
         set(ear.socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, member);
}

}  // namespace

struct Beacons::Ears {
  std::uint32_t host = 0;
  Key key{};
  std::vector<Ear> all;
  std::set<Hearing> heard;
  std::vector<std::string> left_out;

  void take_in(const Ear& ear) {
    // A byte of room, to see those that are too long.
    std::array<char, sizeof(Beacon) + 1> bytes{};
    while (true) {
      const ssize_t n = ::recv(ear.socket.fd(), bytes.data(), bytes.size(), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return;
      if (n != ssize_t{sizeof(Beacon)}) continue;
      Beacon beacon;
      std::memcpy(&beacon, bytes.data(), sizeof beacon);
      const PortId speaker{ntohl(beacon.host), ntohl(beacon.port)};
      const Beacon expected = make_beacon(speaker, key);
      if (beacon.magic != expected.magic ||
          !same_secret(view_of(beacon.code), view_of(expected.code))) {
        continue;
      }
      heard.insert({{host, ear.port}, speaker});
    }
  }
};

Beacons::Beacons(const std::vector<Port>& ports, std::uint32_t host, const std::string& secret)
    : ears_(std::make_unique<Ears>()) {
  ears_->host = host;
  ears_->key = key_of(secret);
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    if (ports[i].state != "up") continue;
    if (ports[i].address.empty()) {
      ears_->left_out.push_back(ports[i].name + ": it has no address, not even that of a link");
      continue;
    }
    Ear ear;
    ear.port = i;
    const bool by6 = ports[i].address.find(':') != std::string::npos;
    if (by6 ? open6(ear, ports[i]) : open4(ear, ports[i])) {
      ears_->all.push_back(std::move(ear));
    } else {
      ears_->left_out.push_back(fmt::format("{}: cannot listen to UDP port {}: {}", ports[i].name,
                                            kBeaconPort, std::generic_category().message(errno)));
    }
  }
}

Beacons::~Beacons() = default;

void Beacons::speak() {
  for (const Ear& ear : ears_->all) {
    const Beacon beacon = make_beacon({ears_->host, ear.port}, ears_->key);
    // What the network does not take is as good as lost: there are others.
    ::sendto(ear.socket.fd(), &beacon, sizeof beacon, MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&ear.group), ear.length);
  }
}

void Beacons::listen(Deadline time) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + time;
  std::vector<pollfd> events;
  for (const Ear& ear : ears_->all) events.push_back({ear.socket.fd(), POLLIN, 0});
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    ::poll(events.data(), events.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    for (const Ear& ear : ears_->all) ears_->take_in(ear);
    if (left.count() <= 0) return;
  }
}

std::vector<Hearing> Beacons::heard() const { return {ears_->heard.begin(), ears_->heard.end()}; }

const std::vector<std::string>& Beacons::left_out() const { return ears_->left_out; }

}  // namespace multitree::runtime::probe
