// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Interfaces by getifaddrs(3), and the choice among them.
#include "runtime/messages/network/devices_internal.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/network/shaping_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Up to 1 Gbit/s, which carries 6 KiB in 50 us.
constexpr std::uint32_t kShortBufferBytes = 16 * 1024;
constexpr std::uint32_t kGigabit = 1000;
/// Of the queue of a port, which holds 250 KB where packets wait 20 ms at 100 Mbit/s, as much as
/// messages on their way may fill.
constexpr std::uint32_t kPortBytes = 192 * 1024;
constexpr std::uint32_t kLeastReceiveBytes = 4 * 1024;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::uint32_t ipv4_of(const sockaddr* address) {
  sockaddr_in in{};
  std::memcpy(&in, address, sizeof in);
  return ntohl(in.sin_addr.s_addr);
}

std::vector<Interface> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  const std::map<int, std::uint32_t> shaped = shaped_mbits();
  std::vector<Interface> interfaces;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET || i->ifa_netmask == nullptr ||
        (i->ifa_flags & IFF_LOOPBACK) != 0 || (i->ifa_flags & IFF_RUNNING) == 0) {
      continue;
    }
    interfaces.push_back({i->ifa_name, ipv4_of(i->ifa_addr),
                          static_cast<std::uint32_t>(std::popcount(ipv4_of(i->ifa_netmask))),
                          mbits_of(i->ifa_name, shaped)});
  }
  return interfaces;
}

std::string identity() {
  struct stat network {};
  const bool known = ::stat("/proc/self/ns/net", &network) == 0;
  return fmt::format("{} {} {}", first_line("/proc/sys/kernel/random/boot_id"),
                     first_line("/proc/sys/kernel/hostname"), known ? network.st_ino : 0);
}

using Members = std::map<Subnet, std::map<std::string, std::set<std::uint32_t>>>;

/// Subnet -> host -> its addresses there.
Members members_of(const std::vector<Host>& hosts) {
  Members members;
  for (const Host& host : hosts) {
    for (const Interface& interface : host.interfaces) {
      members[interface.subnet()][host.id].insert(interface.address);
    }
  }
  // Two hosts that use one address there are no neighbours, but have a network of the same numbers
  // each: containers' bridges are such.
  std::erase_if(members, [](const auto& entry) {
    std::set<std::uint32_t> seen;
    std::size_t addresses = 0;
    for (const auto& [host, own] : entry.second) {
      seen.insert(own.begin(), own.end());
      addresses += own.size();
    }
    return entry.second.size() != 2 || seen.size() != addresses;
  });
  return members;
}

/// By seat: the cables to others. \pre use_cables(hosts)
void take_cables(const std::vector<Host>& hosts, Seat self, Ways& ways) {
  const Host& own = hosts[index(self)];
  std::vector<CablePort> ports = own.cables;
  std::ranges::sort(ports, {}, &CablePort::cable);  // the same order at both ends
  ways.beside.resize(hosts.size());
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    if (hosts[r].id == own.id) continue;
    for (const bool at_switch : {false, true}) {
      for (const CablePort& port : ports) {
        if (port.at_switch != at_switch || hosts[r].port_of(port.cable) == nullptr) continue;
        if (!ways.wires[r]) {
          ways.wires[r] = Wire{port.name, {}, port.cable};
        } else if (!at_switch) {
          ways.beside[r].push_back(Wire{port.name, {}, port.cable});
        }
      }
    }
  }
}

/// Cables between the same two hosts, as many as there are most.
std::uint32_t most_cables_of(const std::vector<Host>& hosts) {
  std::map<std::uint32_t, std::set<std::string>> ends;
  for (const Host& host : hosts) {
    for (const CablePort& port : host.cables) {
      if (!port.at_switch) ends[port.cable].insert(host.id);
    }
  }
  std::map<std::set<std::string>, std::uint32_t> counts;
  std::uint32_t most = 1;
  for (const auto& [cable, pair] : ends) {
    if (pair.size() == 2) most = std::max(most, ++counts[pair]);
  }
  return most;
}

}  // namespace

bool use_cables(const std::vector<Host>& hosts) {
  const auto found = [](const Host& host) { return host.cluster.empty() || host.installed; };
  const bool named = !std::ranges::all_of(hosts, found);
  bool several = false;
  for (std::size_t r = 1; r < hosts.size(); ++r) {
    several |= hosts[r].id != hosts[0].id;
    if (hosts[r].cluster == hosts[0].cluster) continue;
    if (!named) return false;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected one file in MULTITREE_CLUSTER at all ranks, found {} at rank "
                            "0 and {} at rank {}",
                            hosts[0].cluster.empty() ? "none" : "one",
                            hosts[r].cluster.empty() ? "none" : "another", r));
  }
  return (named || several) &&
         std::ranges::any_of(hosts, [](const Host& host) { return !host.cables.empty(); });
}

std::uint32_t mbits_of(const char* interface, const std::map<int, std::uint32_t>& shaped) {
  const auto limit = shaped.find(static_cast<int>(::if_nametoindex(interface)));
  if (limit != shaped.end()) return limit->second;
  const std::string folder = fmt::format("/sys/class/net/{}", interface);
  std::error_code error;
  if (!std::filesystem::exists(folder + "/device", error)) {
    std::ifstream file(folder + "/uevent");
    bool typed = false;
    for (std::string line; std::getline(file, line);) typed |= line.starts_with("DEVTYPE=");
    if (!typed) return 0;
  }
  return static_cast<std::uint32_t>(std::max(std::atoi(first_line(folder + "/speed").c_str()), 0));
}

Subnet Interface::subnet() const {
  const std::uint32_t mask = prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
  return {address & mask, prefix};
}

Host describe_host(bool free_choice) { return {identity(), free_choice, list_interfaces()}; }

std::string pack(const Host& host) {
  Writer writer;
  writer.text(host.id).number(host.free_choice ? 1 : 0).text(host.cluster);
  writer.number(host.installed ? 1 : 0);
  writer.number(static_cast<std::uint32_t>(host.cables.size()));
  for (const CablePort& port : host.cables) {
    writer.number(port.cable).text(port.name).text(port.address).number(port.mbits);
    writer.number(port.at_switch ? 1 : 0);
  }
  for (const Interface& i : host.interfaces) {
    writer.text(i.name).number(i.address).number(i.prefix).number(i.mbits);
  }
  return writer.bytes();
}

Host unpack_host(const std::string& text) {
  Reader reader(text);
  const auto id = reader.text();
  const auto free_choice = reader.number();
  const auto cluster = reader.text();
  const auto installed = reader.number(), cables = reader.number();
  if (!id || !free_choice || !cluster || !installed || !cables) {
    throw Error(ErrorCode::Transport, "invalid description of a host");
  }
  Host host{*id, *free_choice != 0, {}, *cluster, {}, *installed != 0};
  for (std::uint32_t i = 0; i < *cables; ++i) {
    const auto cable = reader.number();
    const auto name = reader.text(), address = reader.text();
    const auto mbits = reader.number(), at_switch = reader.number();
    if (!cable || !name || !address || !mbits || !at_switch) {
      throw Error(ErrorCode::Transport, "invalid description of a host's cables");
    }
    host.cables.push_back({*cable, *name, *address, *mbits, *at_switch != 0});
  }
  while (const auto name = reader.text()) {
    const auto address = reader.number(), prefix = reader.number(), mbits = reader.number();
    if (!address || !prefix || *prefix > 32 || !mbits) {
      throw Error(ErrorCode::Transport, "invalid description of a host's interface");
    }
    host.interfaces.push_back({std::string(*name), *address, *prefix, *mbits});
  }
  return host;
}

const CablePort* Host::port_of(std::uint32_t cable) const {
  const auto found = std::ranges::find(cables, cable, &CablePort::cable);
  return found == cables.end() ? nullptr : &*found;
}

std::uint32_t Ways::cables_to(Seat peer) const {
  const std::size_t at = index(peer);
  return at < beside.size() ? static_cast<std::uint32_t>(1 + beside[at].size()) : 1;
}

std::optional<Wire> Ways::wire_to(Seat peer, std::uint32_t cable) const {
  return cable == 0 ? wire_to(peer) : std::optional(beside[index(peer)].at(cable - 1));
}

Ways choose_ways(const std::vector<Host>& hosts, Seat self) {
  Ways ways;
  ways.wires.resize(hosts.size());
  const bool any_cables = use_cables(hosts);
  if (any_cables) {
    take_cables(hosts, self, ways);
    ways.most_cables = most_cables_of(hosts);
  }
  std::map<std::string, std::size_t> ranks_of;
  for (const Host& host : hosts) ++ranks_of[host.id];
  const Host& own = hosts[index(self)];
  ways.alone = ranks_of[own.id] == 1;
  const bool free_choice = std::ranges::all_of(hosts, &Host::free_choice);
  const auto is_slow = [any_cables](const Host& host) {
    return std::ranges::all_of(host.interfaces,
                               [](const Interface& i) { return i.mbits <= kSlowMbits; }) &&
           (!any_cables || std::ranges::all_of(host.cables, [](const CablePort& port) {
             return port.mbits <= kSlowMbits;
           }));
  };
  ways.slow_network =
      free_choice && ranks_of.size() == hosts.size() && std::ranges::all_of(hosts, is_slow);
  ways.any_wires = any_cables;
  if (!free_choice || ranks_of.size() < 3) return ways;
  ways.one_port = ways.slow_network && !any_cables;
  // Ascending by subnet, so that the first that is found is the lowest.
  for (const auto& [subnet, by_host] : members_of(hosts)) {
    ways.any_wires = true;
    ways.one_port = false;
    const auto here = std::ranges::find_if(
        own.interfaces, [&](const Interface& i) { return i.subnet() == subnet; });
    if (here == own.interfaces.end()) continue;
    for (std::size_t r = 0; r < hosts.size(); ++r) {
      if (hosts[r].id != own.id && by_host.contains(hosts[r].id) && !ways.wires[r]) {
        ways.wires[r] = Wire{here->name, subnet};
      }
    }
  }
  return ways;
}

std::uint32_t send_buffer_bytes(std::uint32_t mbits) {
  return mbits > kGigabit ? kSocketBufferBytes : kShortBufferBytes;
}

std::uint32_t receive_buffer_bytes(std::uint32_t mbits, std::size_t senders) {
  if (mbits == 0 || mbits >= kGigabit || senders == 0) return kSocketBufferBytes;
  const auto part = static_cast<std::uint32_t>(kPortBytes / senders);
  return std::clamp(part, kLeastReceiveBytes, kSocketBufferBytes);
}

std::optional<std::uint32_t> address_towards(const std::vector<Host>& hosts, const Ways& ways,
                                             Seat self, Seat peer) {
  const Host& own = hosts[index(self)];
  const Host& other = hosts[index(peer)];
  if (own.id == other.id || !std::ranges::all_of(hosts, &Host::free_choice)) return {};
  if (const std::optional<Wire>& wire = ways.wire_to(peer)) {
    if (wire->cable) return {};  // its addresses are of the link alone
    const auto it = std::ranges::find_if(
        own.interfaces, [&](const Interface& i) { return i.subnet() == wire->subnet; });
    return it->address;
  }
  const bool no_choice = own.interfaces.size() == 1 && other.interfaces.size() == 1;
  return no_choice ? std::optional(own.interfaces.front().address) : std::nullopt;
}

}  // namespace multitree::runtime
