// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/ethernet.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <boost/endian/conversion.hpp>
#include <cerrno>
#include <cstring>
#include <future>
#include <set>
#include <string_view>
#include <system_error>

#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::string_view kTap = "tap:";
constexpr auto kHelloEvery = 50ms;
constexpr int kSocketBytes = 4 << 20;
constexpr MacAddress kAll = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
/// Of a node that are kept: those of its interfaces, unless somebody makes them up.
constexpr std::size_t kMostAddresses = 64;
constexpr std::uint16_t kAnybody = 0xffff;

[[noreturn]] void refuse(const std::string& name, std::string_view what) {
  const int number = errno;
  throw Error(
      ErrorCode::Io,
      fmt::format("interface {}: {}: {}{}", name, what, std::generic_category().message(number),
                  number == EPERM ? "; expected root or the capabilities cap_net_raw and, "
                                    "for TAP devices, cap_net_admin"
                                  : ""));
}

/// What an ioctl of an interface takes and gives.
ifreq request_of(const std::string& name) {
  ifreq request{};
  if (name.empty() || name.size() >= IFNAMSIZ) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("interface '{}': expected a name of 1 to {} characters", name, IFNAMSIZ - 1));
  }
  std::memcpy(request.ifr_name, name.data(), name.size());
  return request;
}

/// A file that is closed again.
struct Probe {
  Probe() : file(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Probe() { close(file); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  int file;
};

bool is_ethernet(const std::string& name) {
  const Probe probe;
  ifreq request = request_of(name);
  if (ioctl(probe.file, SIOCGIFFLAGS, &request) != 0) return false;
  if ((request.ifr_flags & IFF_UP) == 0 || (request.ifr_flags & IFF_LOOPBACK) != 0) return false;
  return ioctl(probe.file, SIOCGIFHWADDR, &request) == 0 &&
         request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
}

std::vector<std::string> all_interfaces() {
  std::vector<std::string> names;
  if (struct if_nameindex* const all = if_nameindex(); all != nullptr) {
    for (const struct if_nameindex* one = all; one->if_index != 0; ++one) {
      if (is_ethernet(one->if_name)) names.emplace_back(one->if_name);
    }
    if_freenameindex(all);
  }
  std::ranges::sort(names);
  if (names.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                "nic job: expected an Ethernet interface that is up, found none");
  }
  return names;
}

}  // namespace

Ethernet::Ethernet(const std::vector<std::string>& interfaces, std::uint32_t seat) : seat_(seat) {
  for (const std::string& name : interfaces.empty() ? all_interfaces() : interfaces) {
    if (name.starts_with(kTap)) {
      open_tap(name.substr(kTap.size()));
    } else {
      open(name);
    }
  }
  in_.resize(ETH_HLEN + std::ranges::max(interfaces_, {}, &Interface::mtu).mtu);
}

Ethernet::~Ethernet() {
  for (const Interface& interface : interfaces_) close(interface.file);
}

void Ethernet::open(const std::string& name) {
  const Probe probe;
  ifreq request = request_of(name);
  if (!is_ethernet(name)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("interface {}: expected an Ethernet interface that is up", name));
  }
  Interface& interface = interfaces_.emplace_back();
  interface.name = name;
  const std::uint16_t protocol = boost::endian::native_to_big(kEtherType);
  interface.file = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  if (interface.file < 0) refuse(name, "a packet socket");
  if (ioctl(probe.file, SIOCGIFHWADDR, &request) != 0) refuse(name, "its address");
  std::memcpy(interface.address.data(), request.ifr_hwaddr.sa_data, interface.address.size());
  if (ioctl(probe.file, SIOCGIFMTU, &request) != 0) refuse(name, "its MTU");
  interface.mtu = static_cast<std::size_t>(request.ifr_mtu);
  if (ioctl(probe.file, SIOCGIFINDEX, &request) != 0) refuse(name, "its index");
  sockaddr_ll own{};
  own.sll_family = AF_PACKET;
  own.sll_protocol = protocol;
  own.sll_ifindex = request.ifr_ifindex;
  if (bind(interface.file, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    refuse(name, "binding to it");
  }
  // As much as may be under way; with less, frames are lost and sent again.
  setsockopt(interface.file, SOL_SOCKET, SO_RCVBUF, &kSocketBytes, sizeof kSocketBytes);
}

void Ethernet::open_tap(const std::string& name) {
  ifreq request = request_of(name);
  Interface& interface = interfaces_.emplace_back();
  interface.name = name;
  interface.file = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (interface.file < 0) refuse(name, "/dev/net/tun");
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (ioctl(interface.file, TUNSETIFF, &request) != 0) refuse(name, "a TAP device");
  const Probe probe;
  request = request_of(name);
  if (ioctl(probe.file, SIOCGIFFLAGS, &request) != 0) refuse(name, "its flags");
  request.ifr_flags |= IFF_UP;
  if (ioctl(probe.file, SIOCSIFFLAGS, &request) != 0) refuse(name, "bringing it up");
  if (ioctl(probe.file, SIOCGIFMTU, &request) != 0) refuse(name, "its MTU");
  interface.mtu = static_cast<std::size_t>(request.ifr_mtu);
  // Administered locally; the device itself has another one, as the host's end of the cable.
  interface.address = {0x02,
                       'm',
                       't',
                       static_cast<std::uint8_t>(interfaces_.size()),
                       static_cast<std::uint8_t>(seat_ >> 8),
                       static_cast<std::uint8_t>(seat_)};
}

std::size_t Ethernet::frame_bytes() const {
  return std::ranges::min(interfaces_, {}, &Interface::mtu).mtu;
}

void Ethernet::send_on(const Interface& interface, const MacAddress& to,
                       std::span<const std::byte> frame) {
  out_.resize(ETH_HLEN);
  std::memcpy(out_.data(), to.data(), to.size());
  std::memcpy(out_.data() + to.size(), interface.address.data(), to.size());
  const std::uint16_t type = boost::endian::native_to_big(kEtherType);
  std::memcpy(out_.data() + 2 * to.size(), &type, sizeof type);
  out_.insert(out_.end(), frame.begin(), frame.end());
  // What there is no room for is lost, as it may be on any cable.
  (void)!write(interface.file, out_.data(), out_.size());
}

void Ethernet::send(const Way& way, std::span<const std::byte> frame) {
  const Peer& peer = peers_.at(way);
  send_on(interfaces_[peer.interface], peer.address, frame);
}

std::span<const std::byte> Ethernet::receive() {
  for (std::size_t tried = 0; tried < interfaces_.size(); ++tried) {
    const std::size_t number = next_++ % interfaces_.size();
    const ssize_t got = read(interfaces_[number].file, in_.data(), in_.size());
    if (got < ETH_HLEN) continue;
    std::uint16_t type = 0;
    std::memcpy(&type, in_.data() + 2 * kAll.size(), sizeof type);
    tried = std::size_t(-1);  // there may be more
    if (boost::endian::big_to_native(type) != kEtherType) continue;
    last_.interface = number;
    std::memcpy(last_.address.data(), in_.data() + kAll.size(), kAll.size());
    return std::span(in_).subspan(ETH_HLEN, static_cast<std::size_t>(got) - ETH_HLEN);
  }
  return {};
}

void Ethernet::wait(std::chrono::milliseconds most) {
  std::vector<pollfd> files;
  for (const Interface& interface : interfaces_) files.push_back({interface.file, POLLIN, 0});
  poll(files.data(), files.size(), static_cast<int>(most.count()));
}

void Ethernet::say_hello(const Neighbourhood& around) {
  for (const std::uint16_t node : around.here) {
    const Frame hello{.kind = Frame::Kind::Hello, .way = {node, kAnybody, 0}, .job = around.job};
    for (const Interface& interface : interfaces_) send_on(interface, kAll, encode(hello));
  }
}

void Ethernet::listen(std::uint32_t job, std::map<std::uint32_t, std::vector<Peer>>& heard) {
  for (auto bytes = receive(); !bytes.empty(); bytes = receive()) {
    const auto frame = decode(bytes);
    if (!frame || frame->job != job || frame->kind != Frame::Kind::Hello) continue;
    auto& peers = heard[frame->way.from];
    if (peers.size() < kMostAddresses && std::ranges::find(peers, last_) == peers.end()) {
      peers.push_back(last_);
    }
  }
}

void Ethernet::choose(const std::vector<Way>& ways,
                      const std::map<std::uint32_t, std::vector<Peer>>& heard) {
  std::map<std::size_t, std::set<Peer>> crowd;  // [interface]: who is on it
  for (const auto& [node, peers] : heard) {
    for (const Peer& peer : peers) crowd[peer.interface].insert(peer);
  }
  for (const Way& way : ways) {
    std::vector<Peer> best = heard.at(way.to);
    const auto others_on = [&](const Peer& peer) { return crowd[peer.interface].size(); };
    std::ranges::sort(best);
    const std::size_t least = others_on(std::ranges::min(best, {}, others_on));
    std::erase_if(best, [&](const Peer& peer) { return others_on(peer) > least; });
    peers_[way] = best[way.lane % best.size()];
  }
}

void Ethernet::find(const Neighbourhood& around, runtime::Bootstrap& bootstrap,
                    std::chrono::milliseconds timeout) {
  std::map<std::uint32_t, std::vector<Peer>> heard;
  std::future<void> all;
  const auto end = Clock::now() + timeout;
  auto hello = Clock::now();
  std::set<std::uint16_t> missing;
  while (!all.valid() || all.wait_for(0s) != std::future_status::ready) {
    if (Clock::now() >= hello) {
      say_hello(around);
      hello += kHelloEvery;
    }
    wait(5ms);
    listen(around.job, heard);
    missing.clear();
    for (const Way& way : around.ways) {
      if (!heard.contains(way.to)) missing.insert(way.to);
    }
    if (missing.empty() && !all.valid()) {
      all = std::async(std::launch::async, [&] { bootstrap.barrier(timeout); });
    }
    if (!missing.empty() && Clock::now() > end) {
      std::vector<std::string> names, nodes;
      for (const Interface& interface : interfaces_) names.push_back(interface.name);
      for (const std::uint16_t node : missing) nodes.push_back(around.name(node));
      throw Error(ErrorCode::Timeout,
                  fmt::format("{}: expected to hear of its neighbours on {} within {} s, "
                              "nothing came from {}",
                              around.name(around.here.front()), fmt::join(names, ", "),
                              timeout.count() / 1000, fmt::join(nodes, ", ")));
    }
  }
  all.get();
  choose(around.ways, heard);
}

}  // namespace multitree::rtl
