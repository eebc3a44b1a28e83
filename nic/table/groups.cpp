// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Several collectives in one image.
#include <fmt/format.h>

#include <algorithm>

#include "nic/network/channel_classes.hpp"
#include "nic/table/entries_internal.hpp"
#include "nic/table/route_numbers_internal.hpp"
#include "nic/table/routes_of_ports_internal.hpp"
#include "nic/table/table.hpp"
#include "nic/table/with_interfaces.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::uint32_t kMostClasses = 255;
constexpr std::uint64_t kMostFlows = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 63;

void check(std::span<const GroupSource> groups, const Topology& topology) {
  if (groups.empty()) {
    throw Error(ErrorCode::InvalidArgument, "tables: expected one group at least, got none");
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::uint32_t ranks = groups[g].schedule->ranks;
    if (ranks == topology.num_ranks()) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("tables: group {}: expected a schedule for the {} ranks of {}, got one "
                            "for {}",
                            g, topology.num_ranks(), topology.name(), ranks));
  }
}

/// Where each group lies; appended to `tables`, with the totals.
void place_groups(std::span<const GroupSource> groups, Tables& tables) {
  std::uint64_t flows = 0;
  for (const GroupSource& source : groups) {
    const Schedule& schedule = *source.schedule;
    const TableGroup group{.collective = schedule.collective,
                           .root = schedule.root,
                           .steps = schedule.num_steps(),
                           .first_flow = static_cast<std::uint32_t>(flows),
                           .first_element = tables.elements,
                           .elements = source.elements};
    for (const Chunk& chunk : schedule.chunks) {
      flows = std::max(flows, std::uint64_t{group.first_flow} + chunk.tree + 1);
    }
    if (flows > kMostFlows || source.elements > kMostElements - tables.elements) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("tables: group {}: expected at most 2^32 flows and 2^63 elements of "
                              "all groups, got more",
                              tables.groups.size()));
    }
    tables.steps = std::max(tables.steps, group.steps);
    tables.elements += source.elements;
    tables.groups.push_back(group);
  }
}

using OfRanks = std::vector<std::vector<PlacedEntry>>;

/// Classes of the routes of all groups. They depend on the order of routes, which is that of a
/// program of these groups as jobs (nic/program): one group's before the next one's.
class ClassesOfGroups {
 public:
  ClassesOfGroups(std::span<const GroupSource> groups, std::span<const OfRanks> placed,
                  const Topology& topology)
      : number_(routes_, topology.num_links()) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Schedule& schedule = *groups[g].schedule;
      for (const std::vector<PlacedEntry>& of_rank : placed[g]) {
        for (const PlacedEntry& e : of_rank)
          number_(schedule.route(schedule.transfers[e.transfer]));
      }
    }
    classes_ = assign_classes(routes_, topology.num_links(), kMostClasses, topology.name());
  }
  [[nodiscard]] std::uint32_t count() const { return classes_.classes; }
  /// \pre one of the groups has the route
  [[nodiscard]] const RouteClasses& of(std::span<const LinkId> route) {
    return classes_.of_route[number_(route)];
  }

 private:
  std::vector<std::vector<LinkId>> routes_;
  RouteNumbers number_;
  ChannelClasses classes_;
};

}  // namespace

Tables compile_groups(std::span<const GroupSource> groups, const Topology& topology) {
  check(groups, topology);
  const Schedule& front = *groups.front().schedule;
  Tables tables{.collective = front.collective,
                .root = front.root,
                .ranks = front.ranks,
                .of_rank = std::vector<std::vector<Entry>>(front.ranks),
                .routes = std::vector<std::vector<TableRoute>>(front.ranks),
                .switches = names_of_last(topology, front.helpers)};
  place_groups(groups, tables);
  std::vector<OfRanks> placed;
  for (const GroupSource& source : groups) {
    placed.push_back(place_entries(*source.schedule, topology, source.elements));
  }
  // A route leaves one rank, so all routes in the order of their first use are each rank's in turn.
  std::vector<std::vector<LinkId>> routes;
  std::vector<std::uint32_t> first{0};  // [rank]: number of its first route
  RouteNumbers number(routes, topology.num_links());
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      const Schedule& schedule = *groups[g].schedule;
      for (const PlacedEntry& e : placed[g][r]) {
        Entry& entry = tables.of_rank[r].emplace_back(e.entry);
        entry.flow += tables.groups[g].first_flow;
        entry.start += tables.groups[g].first_element;
        entry.route = number(schedule.route(schedule.transfers[e.transfer])) - first.back();
        entry.group = g;
        entry.priority = groups[g].priority;
      }
    }
    first.push_back(static_cast<std::uint32_t>(routes.size()));
  }
  ClassesOfGroups classes(groups, placed, topology);
  tables.classes = classes.count();
  const RoutesOfPorts of_ports(topology);
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (std::uint32_t i = first[r]; i < first[r + 1]; ++i) {
      tables.routes[r].push_back(of_ports(routes[i], classes.of(routes[i])));
    }
  }
  return tables;
}

Tables tables_of_group(const Tables& tables, std::uint32_t number) {
  if (number >= tables.groups.size()) {
    throw Error(ErrorCode::InvalidArgument, fmt::format("tables: expected a group below {}, got {}",
                                                        tables.groups.size(), number));
  }
  const TableGroup& group = tables.groups[number];
  Tables alone{.collective = group.collective,
               .root = group.root,
               .ranks = tables.ranks,
               .steps = group.steps,
               .elements = group.elements,
               .of_rank = std::vector<std::vector<Entry>>(tables.of_rank.size()),
               .routes = tables.routes,
               .classes = tables.classes,
               .switches = tables.switches};
  for (std::size_t r = 0; r < tables.of_rank.size(); ++r) {
    for (Entry entry : tables.of_rank[r]) {
      if (entry.group != number) continue;
      entry.flow -= group.first_flow;
      entry.start -= group.first_element;
      entry.group = entry.priority = 0;
      alone.of_rank[r].push_back(entry);
    }
  }
  return alone;
}

}  // namespace multitree::nic
