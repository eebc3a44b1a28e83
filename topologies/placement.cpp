// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reading maps, and filling groups of ranks with hosts.
#include "topologies/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "topologies/error.hpp"
#include "topologies/group.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

using Ranks = std::vector<std::uint32_t>;

[[noreturn]] void fail_placement(const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, what);
}

bool same_host(std::string_view a, std::string_view b) {
  const bool both_long = a.find('.') != a.npos && b.find('.') != b.npos;
  return both_long ? a == b : a.substr(0, a.find('.')) == b.substr(0, b.find('.'));
}

/// Processes by host, hosts in the order of their first.
struct HostProcesses {
  std::string host;
  Ranks processes;
};
std::vector<HostProcesses> by_host(std::span<const std::string> hosts) {
  std::vector<HostProcesses> found;
  for (std::uint32_t process = 0; process < hosts.size(); ++process) {
    auto known = std::ranges::find(found, hosts[process], &HostProcesses::host);
    if (known == found.end()) known = found.insert(known, {hosts[process], {}});
    known->processes.push_back(process);
  }
  return found;
}

void check_count(std::size_t ranks, std::size_t processes) {
  if (ranks == processes) return;
  fail_placement(fmt::format("expected {} processes, one for each rank, got {}", ranks, processes));
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlank); at != line.npos;
       at = line.find_first_not_of(kBlank, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// A node by its name, or ranks as in parse_ranks().
std::vector<Rank> ranks_named(std::string_view text, const Topology& topology) {
  for (const Node& node : topology.nodes()) {
    if (node.name != text) continue;
    if (!node.rank) fail_placement(fmt::format("expected a rank, {} is a switch", text));
    return {*node.rank};
  }
  if (text.find_first_not_of("0123456789-,:") != text.npos) {
    fail_placement(fmt::format("'{}' is neither a list of ranks nor the name of a node of {}", text,
                               topology.name()));
  }
  return parse_ranks(text, topology.num_ranks());
}

/// Ranks whose names, up to '/', are those of hosts; none unless all are.
std::optional<std::vector<HostProcesses>> named_ranks(const Topology& topology,
                                                      const std::vector<HostProcesses>& processes) {
  std::vector<HostProcesses> ranks;
  for (const HostProcesses& one : processes) ranks.push_back({one.host, {}});
  for (std::uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
    const std::string& name = topology.node(topology.node_of(Rank{rank})).name;
    const std::string_view host = std::string_view(name).substr(0, name.find('/'));
    const auto at = std::ranges::find_if(
        ranks, [&](const HostProcesses& one) { return same_host(one.host, host); });
    if (at == ranks.end()) return std::nullopt;
    at->processes.push_back(rank);
  }
  return ranks;
}

/// Ranks next to each other: by the host in their names, or else by the switches that they are
/// linked to.
std::vector<Ranks> groups_of(const Topology& topology) {
  std::map<std::string, std::size_t> known;
  std::vector<Ranks> groups;
  for (std::uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
    const NodeId node = topology.node_of(Rank{rank});
    const std::string& name = topology.node(node).name;
    std::string key = name.substr(0, name.find('/'));
    if (key.size() == name.size()) {
      std::set<std::uint32_t> switches;
      for (const LinkId link : topology.out_links(node)) {
        const NodeId next = topology.link(link).dst;
        if (topology.node(next).is_switch()) switches.insert(index(next));
      }
      key = fmt::format("{}", fmt::join(switches, ","));
    }
    const auto [at, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(rank);
  }
  return groups;
}

/// Takes the first `count` of `from`.
void take(Ranks& into, Ranks& from, std::size_t count) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(std::min(count, from.size()));
  into.insert(into.end(), from.begin(), end);
  from.erase(from.begin(), end);
}

/// Ranks for a host: part of one group, or whole groups. Empty if there is no room.
Ranks room_for(std::size_t count, std::vector<Ranks>& groups, const std::vector<Ranks>& whole) {
  Ranks room;
  const auto fits =
      std::ranges::find_if(groups, [&](const Ranks& group) { return group.size() >= count; });
  if (fits != groups.end()) {
    take(room, *fits, count);
    return room;
  }
  std::size_t found = 0;
  std::vector<Ranks*> taken;
  for (std::size_t i = 0; i < groups.size() && found < count; ++i) {
    if (groups[i].empty() || groups[i].size() < whole[i].size()) continue;
    if (found + groups[i].size() > count) continue;
    found += groups[i].size();
    taken.push_back(&groups[i]);
  }
  if (found < count) return {};
  for (Ranks* group : taken) take(room, *group, group->size());
  return room;
}

}  // namespace

RankMap parse_rank_map(std::string_view text, const std::string& file, const Topology& topology) {
  check_text(text, file);
  RankMap map{file, std::vector<RankMap::Place>(topology.num_ranks())};
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto words = words_of(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (words.empty()) continue;
    if (words.size() != 2) {
      fail_at(file, number,
              fmt::format("expected ranks and a host, as in '0-3 node07', got {} word{}",
                          words.size(), words.size() == 1 ? "" : "s"));
    }
    try {
      for (const Rank rank : ranks_named(words[0], topology)) {
        RankMap::Place& place = map.places[index(rank)];
        if (place.line > 0)
          fail_placement(fmt::format("rank {} is in line {} already", index(rank), place.line));
        place = {std::string(words[1]), number};
      }
    } catch (const Error& error) {
      fail_at(file, number, error.what());
    }
  }
  for (std::uint32_t rank = 0; rank < topology.num_ranks(); ++rank) {
    if (map.places[rank].line > 0) continue;
    fail_at(file, std::max<std::size_t>(number, 1),
            fmt::format("expected every rank below {}, rank {} is in no line", topology.num_ranks(),
                        rank));
  }
  return map;
}

std::vector<std::uint32_t> place_by_map(const RankMap& map, std::span<const std::string> hosts) {
  check_count(map.places.size(), hosts.size());
  const std::vector<HostProcesses> processes = by_host(hosts);
  std::vector<std::uint32_t> rank_of(hosts.size());
  std::vector<std::size_t> used(processes.size());
  std::vector<std::string> names;
  for (const HostProcesses& one : processes) names.push_back(one.host);
  for (std::uint32_t rank = 0; rank < map.places.size(); ++rank) {
    const auto& [host, line] = map.places[rank];
    const auto at = std::ranges::find_if(
        processes, [&](const HostProcesses& one) { return same_host(one.host, host); });
    if (at == processes.end()) {
      fail_at(
          map.file, line,
          fmt::format("expected a host of the job ({}), got '{}'", fmt::join(names, ", "), host));
    }
    std::size_t& next = used[static_cast<std::size_t>(at - processes.begin())];
    if (next == at->processes.size()) {
      fail_at(map.file, line,
              fmt::format("rank {}: the job has {} process{} on {}, and as many ranks are there "
                          "already",
                          rank, next, next == 1 ? "" : "es", at->host));
    }
    rank_of[at->processes[next++]] = rank;
  }
  // As many ranks as processes, and none of them twice: all processes have one.
  return rank_of;
}

std::vector<std::uint32_t> place_by_host(const Topology& topology,
                                         std::span<const std::string> hosts) {
  check_count(topology.num_ranks(), hosts.size());
  std::vector<HostProcesses> processes = by_host(hosts);
  std::vector<std::uint32_t> rank_of(hosts.size());
  const auto give = [&](const HostProcesses& host, const Ranks& ranks) {
    for (std::size_t i = 0; i < ranks.size(); ++i) rank_of[host.processes[i]] = ranks[i];
  };
  if (const auto named = named_ranks(topology, processes)) {
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const std::size_t ranks = (*named)[i].processes.size(), there = processes[i].processes.size();
      if (ranks != there) {
        fail_placement(fmt::format("{}: {} has {} ranks there, the job {} processes",
                                   processes[i].host, topology.name(), ranks, there));
      }
      give(processes[i], (*named)[i].processes);
    }
    return rank_of;
  }
  const std::vector<Ranks> whole = groups_of(topology);
  std::vector<Ranks> groups = whole;
  std::ranges::stable_sort(processes, [](const HostProcesses& a, const HostProcesses& b) {
    return a.processes.size() > b.processes.size();
  });
  for (const HostProcesses& host : processes) {
    const Ranks room = room_for(host.processes.size(), groups, whole);
    if (room.empty()) {
      fail_placement(
          fmt::format("{} processes of {} fit into no group of ranks of {} that is left, nor into "
                      "whole groups; use a file",
                      host.processes.size(), host.host, topology.name()));
    }
    give(host, room);
  }
  return rank_of;
}

std::uint32_t ranks_per_host(const Topology& topology) {
  const auto host_of = [&](std::uint32_t rank) {
    std::string name = topology.node(topology.node_of(Rank{rank})).name;
    if (const std::size_t slash = name.find('/'); slash != name.npos) return name.substr(0, slash);
    name.erase(name.find_last_not_of("0123456789") + 1);
    return name.ends_with("gpu") ? name.substr(0, name.size() - 3) : std::string();
  };
  const std::uint32_t ranks = topology.num_ranks();
  std::uint32_t size = 1;
  while (size < ranks && host_of(size) == host_of(0)) ++size;
  const auto check = [&](bool is_right, std::uint32_t rank) {
    if (is_right) return;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected as many ranks on each host, next to each other, by the names "
                            "of nodes, got {} on '{}', which begins, and rank {} on '{}'",
                            size, host_of(0), rank, host_of(rank)));
  };
  std::set<std::string> hosts;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool begins = rank % size == 0;
    check(begins ? hosts.insert(host_of(rank)).second : host_of(rank) == host_of(rank - 1), rank);
  }
  check(ranks % size == 0, ranks - 1);
  return size;
}

}  // namespace multitree
