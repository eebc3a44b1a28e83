// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Asks all processes where they are, and gives them their ranks.
#include "tools/run/map.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "runtime/messages/network/cables.hpp"
#include "tools/command.hpp"
#include "topologies/group.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/io/files.hpp"
#include "topologies/placement.hpp"

namespace multitree::tools {
namespace {

constexpr std::string_view kIdentity = "identity", kByHost = "by-host";

bool is_of(const Topology& cluster, const Topology& network) {
  return cluster.name() == network.name() && cluster.num_ranks() == network.num_ranks();
}

/// As nodes of a cluster are named, where this host is in one that is `network`, or was named.
std::string own_host(const Topology& network) {
  const auto named = runtime::named_cluster();
  const bool applies = named && (!named->installed || is_of(*named->cluster.network, network));
  const auto place = applies ? runtime::own_place(named->cluster) : std::nullopt;
  if (place) return named->cluster.hosts[*place].node;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::vector<std::uint32_t> ranks_of(const std::string& map, const Topology& network,
                                    const std::vector<std::string>& hosts) {
  if (map == kIdentity) {
    std::vector<std::uint32_t> same(hosts.size());
    std::iota(same.begin(), same.end(), 0U);
    return same;
  }
  if (map == kByHost) return place_by_host(network, hosts);
  return place_by_map(parse_rank_map(read_text_file(map), map, network), hosts);
}

}  // namespace

void follow_cluster(std::string& topology, std::string& map) {
  if (topology.empty()) {
    const auto named = runtime::named_cluster();
    if (!named || named->installed) return;
    topology = named->file;
  } else if (!topology.ends_with(".json") || !is_cluster_file(read_file(topology))) {
    return;
  } else {
    ::setenv(runtime::kClusterVariable, topology.c_str(), 0);
  }
  if (map.empty() && runtime::started_by_launcher()) map = kByHost;
}

void follow_installed_cluster(runtime::Bootstrap& job, bool follows, runtime::Deadline deadline,
                              std::string& topology, std::string& map) {
  const bool wanted = follows && topology.empty();
  const auto installed = runtime::installed_cluster_of(job, wanted, deadline);
  if (!installed) return;
  topology = installed->file;
  if (map.empty()) map = kByHost;
}

void check_map(const std::string& map, const Topology& network) {
  if (map.empty() || map == kIdentity || map == kByHost) return;
  static_cast<void>(parse_rank_map(read_text_file(map), map, network));
}

void check_map_here(const std::string& map, const Topology& network) {
  if (map.empty()) return;
  const std::vector<std::string> hosts(network.num_ranks(), own_host(network));
  for_flag("--map", [&] { return ranks_of(map, network, hosts); });
}

Mapped map_ranks(std::shared_ptr<runtime::Bootstrap> job, const Topology& network,
                 const std::string& map, runtime::Deadline deadline) {
  const runtime::Gathered told = job->all_gather(own_host(network), deadline);
  const std::vector<std::string> hosts(told.begin(), told.end());
  const std::vector<std::uint32_t> rank_of =
      for_flag("--map", [&] { return ranks_of(map, network, hosts); });
  Mapped mapped{std::move(job), std::vector<std::string>(hosts.size())};
  for (std::size_t process = 0; process < hosts.size(); ++process) {
    mapped.hosts[rank_of[process]] = hosts[process];
  }
  if (std::ranges::is_sorted(rank_of)) return mapped;
  const Rank rank{rank_of[index(mapped.job->seat())]};
  mapped.job = runtime::renumbered(std::move(mapped.job), runtime::seat_of(rank), deadline);
  return mapped;
}

std::string map_words(const std::vector<std::string>& hosts) {
  std::vector<std::string> done;
  std::string words;
  for (const std::string& host : hosts) {
    if (std::ranges::find(done, host) != done.end()) continue;
    done.push_back(host);
    std::vector<Rank> ranks;
    for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
      if (hosts[rank] == host) ranks.push_back(Rank{rank});
    }
    words +=
        fmt::format("{} {} on {}", words.empty() ? "# map: ranks" : ",", ranks_text(ranks), host);
  }
  return words + "\n";
}

}  // namespace multitree::tools
