// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The network interface that NCCL is told of.
#include "runtime/nccl/interface_internal.hpp"

#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace multitree::nccl {
namespace {

int speed_of(const std::string& name) {
  int speed = 0;
  std::ifstream("/sys/class/net/" + name + "/speed") >> speed;
  return speed > 0 ? speed : Interface{}.speed;
}

Interface find_interface() {
  const char* const variable = std::getenv("NCCL_SOCKET_IFNAME");
  const std::string pattern = variable == nullptr ? "" : variable;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw std::runtime_error("cannot list network interfaces");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  Interface loopback;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET) continue;
    if ((it->ifa_flags & IFF_UP) == 0 || !is_chosen(pattern, it->ifa_name)) continue;
    Interface found{it->ifa_name, reinterpret_cast<const sockaddr_in*>(it->ifa_addr)->sin_addr,
                    speed_of(it->ifa_name)};
    if ((it->ifa_flags & IFF_LOOPBACK) == 0) return found;
    if (loopback.name.empty()) loopback = std::move(found);
  }
  if (!loopback.name.empty()) return loopback;
  throw std::runtime_error(
      "no IPv4 interface is up" +
      (pattern.empty() ? "" : " that NCCL_SOCKET_IFNAME=" + pattern + " takes"));
}

}  // namespace

const Interface& network_interface() {
  static const Interface interface = find_interface();
  return interface;
}

bool is_chosen(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return true;
  const bool all_but = pattern.starts_with('^');
  if (all_but) pattern.remove_prefix(1);
  const bool whole = pattern.starts_with('=');
  if (whole) pattern.remove_prefix(1);
  while (!pattern.empty()) {
    const std::string_view item = pattern.substr(0, pattern.find(','));
    if (whole ? name == item : name.starts_with(item)) return !all_but;
    pattern.remove_prefix(std::min(item.size() + 1, pattern.size()));
  }
  return all_but;
}

}  // namespace multitree::nccl
