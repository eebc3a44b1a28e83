// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ports by getifaddrs(3) and the kernel's files.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/interfaces_internal.hpp"
#include "runtime/job/keys_internal.hpp"
#include "runtime/messages/network/devices_internal.hpp"
#include "runtime/messages/network/shaping_internal.hpp"
#include "runtime/probe/probe.hpp"

namespace multitree::runtime::probe {
namespace {

using cluster::Port;

/// Of an address in /proc/net/if_inet6 that is not known to be nobody else's yet.
constexpr unsigned kTentative = 0x40;
constexpr std::chrono::milliseconds kLook{50};
constexpr std::string_view kInterfacesFlag = "--interfaces";

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// What a cable can be in: Ethernet (as Thunderbolt and USB4 are, too) and InfiniBand, alone or as
/// the whole of a bridge or bond.
bool takes_cables(const std::string& name, unsigned flags) {
  if ((flags & (IFF_LOOPBACK | IFF_POINTOPOINT | IFF_NOARP)) != 0) return false;
  const std::string folder = "/sys/class/net/" + name;
  int type = -1;
  std::ifstream(folder + "/type") >> type;
  if ((type != ARPHRD_ETHER && type != ARPHRD_INFINIBAND) || exists(folder + "/master"))
    return false;
  // What is no hardware and leads nowhere, such as a bridge without members, is nobody's port.
  return (flags & IFF_RUNNING) != 0 || exists(folder + "/device");
}

/// The interface that it uses; of several the first by name.
std::string used_by(const std::string& name) {
  constexpr std::string_view kPrefix = "lower_";
  std::string first;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net/" + name, error)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with(kPrefix)) continue;
    const std::string lower = file.substr(kPrefix.size());
    if (first.empty() || lower < first) first = lower;
  }
  return first;
}

/// Whether an address of a link alone is still tentative.
bool any_tentative() {
  std::ifstream file("/proc/net/if_inet6");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string address, index, prefix, name;
    unsigned scope = 0, flags = 0;
    words >> address >> index >> prefix >> std::hex >> scope >> flags >> name;
    if (scope == 0x20 && (flags & kTentative) != 0) return true;
  }
  return false;
}

/// Whether an interface has a carrier of which the kernel has not drawn its conclusions yet.
bool any_settling() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", error)) {
    int carrier = 0;
    std::string state;
    std::ifstream(entry.path() / "carrier") >> carrier;  // of one that is down it cannot be read
    std::ifstream(entry.path() / "operstate") >> state;
    if (carrier == 1 && state == "down") return true;
  }
  return false;
}

bool is_of_the_link(const sockaddr* address) {
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

void note_address(Port& port, const sockaddr* address) {
  const bool link = is_of_the_link(address);
  if (!link && (address->sa_family != AF_INET || !port.address.empty())) return;
  if (link && port.address.find(':') != std::string::npos) return;
  const socklen_t length = link ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const std::string host = Endpoint(address, length).host();
  port.address = host.substr(0, host.find('%'));
}

}  // namespace

void check_interfaces(const std::string& interfaces) {
  static_cast<void>(InterfaceChoice(interfaces, kInterfacesFlag));
}

std::vector<Port> list_ports(Deadline patience, const std::string& interfaces) {
  const InterfaceChoice choice(interfaces, kInterfacesFlag);
  const auto until = std::chrono::steady_clock::now() + patience;
  // Twice, as addresses are made a moment after their port has come up.
  for (int quiet = 0; quiet < 2 && std::chrono::steady_clock::now() < until;) {
    quiet = any_settling() || any_tentative() ? 0 : quiet + 1;
    if (quiet < 2) std::this_thread::sleep_for(kLook);
  }
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  const auto shaped = shaped_mbits();
  std::map<unsigned, Port> by_index;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (!takes_cables(it->ifa_name, it->ifa_flags)) continue;
    Port& port = by_index[::if_nametoindex(it->ifa_name)];
    port.name = it->ifa_name;
    port.state = (it->ifa_flags & IFF_UP) == 0        ? "down"
                 : (it->ifa_flags & IFF_RUNNING) == 0 ? "no carrier"
                                                      : "up";
    port.mbits = mbits_of(it->ifa_name, shaped);
    port.over = used_by(port.name);
    if (it->ifa_addr != nullptr) note_address(port, it->ifa_addr);
  }
  std::vector<Port> ports;
  for (auto& [index, port] : by_index) {
    if (choice.allows({port.name, port.address, false})) ports.push_back(std::move(port));
  }
  return ports;
}

std::string own_hostname() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string own_identity() { return describe_host(false).id; }

std::string make_secret() {
  open_sodium();
  std::array<unsigned char, 32> bits{};
  ::randombytes_buf(bits.data(), bits.size());
  std::string text(2 * bits.size() + 1, '\0');
  ::sodium_bin2hex(text.data(), text.size(), bits.data(), bits.size());
  text.pop_back();
  return text;
}

}  // namespace multitree::runtime::probe
