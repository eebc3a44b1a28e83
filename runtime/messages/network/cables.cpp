// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reads the file and finds this host in it.
#include "runtime/messages/network/cables.hpp"

#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/keys_internal.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/job/wire_internal.hpp"
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

NamedCluster read_cluster(const std::string& file, bool installed) {
  std::string text = read_file(file);
  Cluster cluster = parse_cluster_json(text, file);
  return {file, std::move(text), std::move(cluster), installed};
}

std::string digest_words(const NamedCluster& named) {
  return std::string(view_of(digest_of(named.text)));
}

/// Whether it is the first time in this process that this is told.
bool tells_first(const std::string& what) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::scoped_lock lock(mutex);
  return told.insert(what).second;
}

void warn_of_bad_file(const std::string& file, const Error& error) {
  if (!tells_first(file)) return;
  logger().warn(
      "{}; it is not used: write it anew by 'multitree cluster discover --install', or "
      "remove it",
      error.what());
}

/// A port that is down has no address, and what it was to carry goes another way, which is slower.
void warn_of_port(const End& end, const Cable& cable, const NamedCluster& named) {
  if (!tells_first(end.port + " of " + named.file)) return;
  std::set<std::string> others;
  for (const End& other : cable.ends) {
    if (other.node != end.node) others.insert(other.node);
  }
  logger().warn(
      "{}: port {}, which has a cable in {}, has no address fe80:: (no carrier?): "
      "messages to {} go over other cables or networks",
      end.node, end.port, named.words(), fmt::join(others, ", "));
}

/// None: there is no file, it cannot be read, or this host is none of its.
std::optional<NamedCluster> installed_cluster() {
  for (const std::string& file : installed_cluster_files()) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) continue;
    try {
      NamedCluster found = read_cluster(file, true);
      if (own_place(found.cluster)) return found;
    } catch (const Error& bad) {
      warn_of_bad_file(file, bad);
    }
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string NamedCluster::words() const {
  return installed ? file : fmt::format("{}={}", kClusterVariable, file);
}

std::vector<std::string> installed_cluster_files() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::string(value == nullptr ? "" : value);
  };
  std::vector<std::string> folders;
  if (const std::string own = variable("XDG_CONFIG_HOME"); !own.empty()) {
    folders.push_back(own);
  } else if (const std::string home = variable("HOME"); !home.empty()) {
    folders.push_back(home + "/.config");
  }
  folders.emplace_back("/etc");
  for (std::string& folder : folders) folder += "/multitree/cluster.json";
  return folders;
}

std::optional<NamedCluster> named_cluster() {
  const char* const file = std::getenv(kClusterVariable);
  if (file == nullptr) return installed_cluster();
  if (*file == '\0') return std::nullopt;
  return read_cluster(file, false);
}

std::optional<NamedCluster> installed_cluster_of(Bootstrap& job, bool wanted, Deadline deadline) {
  auto here = wanted ? named_cluster() : std::nullopt;
  const auto place = here ? own_place(here->cluster) : std::nullopt;
  Writer own;
  if (place) own.text(digest_words(*here)).number(static_cast<std::uint32_t>(*place));
  const Gathered told = job.all_gather(own.bytes(), deadline);
  std::set<std::string> files;
  std::set<std::uint32_t> places;
  for (const std::string& text : told) {
    Reader reader(text);
    files.insert(reader.text().value_or(""));
    if (const auto one = reader.number()) places.insert(*one);
  }
  const bool installed = here && here->installed;
  static std::atomic<bool> told_of{false};  // communicators may be many
  if (files.size() > 1 && installed && job.seat() == Seat{0} && !told_of.exchange(true)) {
    logger().warn(
        "{} is not used: expected it at all ranks, found another or none on some hosts; 'multitree "
        "cluster discover --install' writes it on all",
        here->file);
  }
  const bool agreed = installed && files.size() == 1 && places.size() > 1 &&
                      here->cluster.network->num_ranks() == job.size();
  if (!agreed) return std::nullopt;
  if (job.seat() == Seat{0}) logger().info("the network is that of {}", here->file);
  return here;
}

Topology with_all_cables(Bootstrap& job, const Topology& network, Deadline deadline) {
  const auto here = named_cluster();
  const auto place = here ? own_place(here->cluster) : std::nullopt;
  Writer own;
  if (place) own.text(digest_words(*here)).text(here->cluster.hosts[*place].node);
  std::vector<std::string> hosts;
  std::set<std::string> files;
  for (const std::string& text : job.all_gather(own.bytes(), deadline)) {
    Reader reader(text);
    files.insert(reader.text().value_or(""));
    hosts.push_back(reader.text().value_or(""));
  }
  if (!place || files.size() != 1 || hosts.size() < network.num_ranks()) return network;
  const bool several = std::set<std::string>(hosts.begin(), hosts.end()).size() > 1;
  const bool is_of_file = network.name().starts_with(here->cluster.network->name());
  if (!several || is_of_file) return network;
  return cluster::with_all_cables(network, here->cluster, hosts);
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

std::string cable_words(std::uint32_t cable) {
  std::optional<NamedCluster> named;
  try {
    named = named_cluster();
  } catch (const Error&) {
    return {};  // it was there when the job began
  }
  if (!named || cable >= named->cluster.cables.size()) return {};
  const auto place = own_place(named->cluster);
  const std::string own = place ? named->cluster.hosts[*place].node : std::string();
  std::vector<std::string> ends;
  for (const End& end : named->cluster.cables[cable].ends) {
    ends.insert(end.node == own ? ends.begin() : ends.end(),
                fmt::format("{} {}", end.node, end.port));
  }
  return fmt::format("{}", fmt::join(ends, " - "));
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
      "rank {} runs on {}, and is {} of {}: schedules of that network use other "
      "cables than they seem to; start ranks in the order of its hosts",
      index(seat), own, meant, named->words());
}

void warn_of_ports_without_address() {
  const auto named = named_cluster();
  const auto place = named ? own_place(named->cluster) : std::nullopt;
  if (!place) return;
  const auto addresses = link_addresses();
  const std::string& node = named->cluster.hosts[*place].node;
  for (const Cable& cable : named->cluster.cables) {
    for (const End& end : cable.ends) {
      const bool is_own = cable.ends.size() == 2 && end.node == node;
      if (is_own && !addresses.contains(end.port)) warn_of_port(end, cable, *named);
    }
  }
}

Host describe_host_with_cables() {
  Host host = describe_host(true);
  const auto named = named_cluster();
  if (!named) return host;
  host.cluster = digest_words(*named);
  host.installed = named->installed;
  const auto place = own_place(named->cluster);
  if (!place) {
    logger().warn("this host is none of those in {}: its messages take what routes there are",
                  named->words());
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
