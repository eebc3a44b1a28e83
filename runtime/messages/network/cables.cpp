// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reads the file and finds this host in it.
#include "runtime/messages/network/cables.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>

#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/keys_internal.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/messages/network/devices_internal.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/io/files.hpp"

namespace multitree::runtime {
namespace {

using cluster::Cable;
using cluster::Cluster;
using cluster::End;

/// By interface: its address of the link alone.
std::map<std::string, std::string> link_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, &::freeifaddrs);
  std::map<std::string, std::string> addresses;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET6) continue;
    const auto* const in = reinterpret_cast<const sockaddr_in6*>(it->ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&in->sin6_addr)) continue;
    const std::string host = Endpoint(it->ifa_addr, sizeof(sockaddr_in6)).host();
    addresses.emplace(it->ifa_name, host.substr(0, host.find('%')));
  }
  return addresses;
}

/// As names of hosts are compared everywhere: up to the first dot where one has none.
bool same_name(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const bool both = a.find('.') != std::string::npos && b.find('.') != std::string::npos;
  return !both && a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

std::uint32_t measured_mbits(const End& end) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::max(end.sends, end.receives).bytes_per_second / 125'000,
                              std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

std::optional<NamedCluster> named_cluster() {
  const char* const file = std::getenv(kClusterVariable);
  if (file == nullptr || *file == '\0') return std::nullopt;
  std::string text = read_file(file);
  Cluster cluster = parse_cluster_json(text, file);
  return NamedCluster{file, std::move(text), std::move(cluster)};
}

std::optional<std::size_t> own_place(const Cluster& cluster) {
  const auto addresses = link_addresses();
  std::map<std::string, int> fitting;
  for (const Cable& cable : cluster.cables) {
    for (const End& end : cable.ends) {
      const auto found = addresses.find(end.port);
      if (found != addresses.end() && found->second == end.address) ++fitting[end.node];
    }
  }
  std::array<char, 256> name{};
  const std::string own = ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
  std::optional<std::size_t> best;
  std::pair<int, bool> most{0, false};
  bool several = false;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    const std::pair fits{fitting[cluster.hosts[i].node], same_name(cluster.hosts[i].hostname, own)};
    if (fits > most) best = i;
    several = fits > most ? false : several || (fits == most && best.has_value());
    most = std::max(most, fits);
  }
  return several ? std::nullopt : best;
}

void warn_of_other_order(Seat seat, std::uint32_t ranks) {
  const auto named = named_cluster();
  if (!named || named->cluster.network->num_ranks() != ranks) return;
  const auto place = own_place(named->cluster);
  if (!place) return;
  const Topology& network = *named->cluster.network;
  const std::string& own = named->cluster.hosts[*place].node;
  const std::string& meant = network.node(network.node_of(Rank{index(seat)})).name;
  if (cluster::host_of(meant) == own) return;
  logger().warn(
      "rank {} runs on {}, and is {} of {}={}: schedules of that network use other "
      "cables than they seem to; start ranks in the order of its hosts",
      index(seat), own, meant, kClusterVariable, named->file);
}

Host describe_host_with_cables() {
  Host host = describe_host(true);
  const auto named = named_cluster();
  if (!named) return host;
  host.cluster = std::string(view_of(digest_of(named->text)));
  const auto place = own_place(named->cluster);
  if (!place) {
    logger().warn("this host is none of those in {}={}: its messages take what routes there are",
                  kClusterVariable, named->file);
    return host;
  }
  const auto addresses = link_addresses();
  const std::string& node = named->cluster.hosts[*place].node;
  for (std::uint32_t i = 0; i < named->cluster.cables.size(); ++i) {
    const Cable& cable = named->cluster.cables[i];
    for (const End& end : cable.ends) {
      const auto address = addresses.find(end.port);
      if (end.node != node || address == addresses.end()) continue;
      host.cables.push_back(
          {i, end.port, address->second, measured_mbits(end), cable.ends.size() > 2});
      break;
    }
  }
  return host;
}

}  // namespace multitree::runtime
