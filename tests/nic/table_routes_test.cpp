// SPDX-License-Identifier: BSD-3-Clause
/// Routes of tables, walked port by port over the network.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "nic/table/table.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::compile_tables;
using nic::Entry;
using nic::Opcode;
using nic::TableRoute;
using nic::Tables;

/// The links of a route, by its ports alone.
std::vector<LinkId> walk(const Topology& topology, Rank from, const TableRoute& route) {
  std::vector<LinkId> links;
  NodeId at = topology.node_of(from);
  for (const TableRoute::Hop& hop : route.hops) {
    links.push_back(topology.out_links(at)[hop.port]);
    at = topology.link(links.back()).dst;
  }
  return links;
}

void expect_to_arrive(const Topology& topology, Rank from, const TableRoute& route) {
  const std::vector<LinkId> links = walk(topology, from, route);
  ASSERT_FALSE(links.empty());
  const NodeId end = topology.node_of(route.peer);
  EXPECT_EQ(topology.link(links.back()).dst, end);
  ASSERT_LT(route.ejection, topology.in_links(end).size());
  EXPECT_EQ(topology.in_links(end)[route.ejection], links.back());
  EXPECT_EQ(route.port, route.hops.front().port);
}

/// No circle of (link, class) that is asked for while another is held.
bool is_free_of_deadlock(const Topology& topology, const Tables& tables) {
  using Channel = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Channel, std::set<Channel>> next;
  std::map<Channel, std::uint32_t> before;
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (const TableRoute& route : tables.routes[r]) {
      const std::vector<LinkId> links = walk(topology, Rank{r}, route);
      for (std::size_t h = 0; h < links.size(); ++h) {
        const Channel channel(index(links[h]), route.hops[h].vc_class);
        before.try_emplace(channel, 0);
        if (h == 0) continue;
        const Channel held(index(links[h - 1]), route.hops[h - 1].vc_class);
        if (next[held].insert(channel).second) ++before[channel];
      }
    }
  }
  std::vector<Channel> free;
  for (const auto& [channel, count] : before) {
    if (count == 0) free.push_back(channel);
  }
  std::size_t done = 0;
  for (; done < free.size(); ++done) {
    for (const Channel& channel : next[Channel(free[done])]) {
      if (--before[channel] == 0) free.push_back(channel);
    }
  }
  return done == before.size();
}

/// The routes are distinct, in the order of first use, and what peers and ports say.
void expect_numbered(const Tables& tables) {
  ASSERT_EQ(tables.routes.size(), tables.of_rank.size());
  for (std::size_t r = 0; r < tables.of_rank.size(); ++r) {
    std::uint32_t used = 0;
    for (const Entry& entry : tables.of_rank[r]) {
      if (entry.op == Opcode::Nop) continue;
      ASSERT_LE(entry.route, used);
      used = std::max(used, entry.route + 1);
      ASSERT_LT(entry.route, tables.routes[r].size());
      EXPECT_EQ(entry.peer, tables.routes[r][entry.route].peer);
      EXPECT_EQ(entry.port, tables.routes[r][entry.route].port);
    }
    EXPECT_EQ(used, tables.routes[r].size());
    for (std::size_t i = 0; i < tables.routes[r].size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(tables.routes[r][i], tables.routes[r][j]);
    }
  }
}

class RoutesOf : public testing::TestWithParam<const char*> {};

TEST_P(RoutesOf, TakeTheLinksOfTheSchedule) {
  const Topology topology = make_topology(GetParam());
  for (const char* algorithm :
       {"multitree", "ring", "recursive-doubling", "double-binary-tree", "forest", "exchange",
        "ring2d", "swing", "allreduce-optimal?form=trees&segments=3"}) {
    SCOPED_TRACE(algorithm);
    Schedule schedule;
    try {
      schedule = make_schedule(algorithm, topology);
    } catch (const Error&) {
      continue;  // not for this network
    }
    for (const bool nops : {false, true}) {
      const Tables tables =
          compile_tables(schedule, topology, {.elements = 3 * schedule.ranks, .nops = nops});
      expect_numbered(tables);
      EXPECT_TRUE(is_free_of_deadlock(topology, tables));
      std::uint32_t most = 0;
      using Message = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::vector<LinkId>>;
      std::multiset<Message> expected, found;  // step, rank, peer, links
      for (const Transfer& t : schedule.transfers) {
        const auto links = schedule.route(t);
        expected.emplace(t.step, index(t.src), index(t.dst),
                         std::vector<LinkId>(links.begin(), links.end()));
      }
      for (std::uint32_t r = 0; r < tables.ranks; ++r) {
        for (const TableRoute& route : tables.routes[r]) {
          expect_to_arrive(topology, Rank{r}, route);
          EXPECT_TRUE(std::ranges::is_sorted(route.hops, {}, &TableRoute::Hop::vc_class));
          most = std::max(most, route.hops.back().vc_class);
        }
        for (const Entry& entry : tables.of_rank[r]) {
          if (entry.op == Opcode::Nop) continue;
          found.emplace(entry.step, r, index(entry.peer),
                        walk(topology, Rank{r}, tables.routes[r][entry.route]));
        }
      }
      EXPECT_EQ(found, expected);
      EXPECT_EQ(tables.classes, most + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, RoutesOf,
                         testing::Values("mesh:1", "ring:2", "ring:5", "mesh:2x2", "torus:4x4",
                                         "mesh:3x5", "torus:4x4?without=0-1", "star:5",
                                         "fattree:4x4", "torus:4x4?bw=2GB/s,1GB/s", "bigraph:2x4",
                                         "hypercube:4", "torus:4x4?parallel=0-1:2"));

TEST(TableRoutes, OfARingNeedTwoClasses) {
  const Topology topology = make_topology("ring:8");
  const Schedule schedule = make_schedule("recursive-doubling", topology);
  const Tables tables = compile_tables(schedule, topology, {.elements = 8});
  EXPECT_EQ(tables.classes, 2U);
  EXPECT_TRUE(is_free_of_deadlock(topology, tables));
  Tables flat = tables;
  for (auto& routes : flat.routes) {
    for (TableRoute& route : routes) {
      for (TableRoute::Hop& hop : route.hops) hop.vc_class = 0;
    }
  }
  EXPECT_FALSE(is_free_of_deadlock(topology, flat));
}

TEST(TableRoutes, AreLeftOutForSimulation) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("ring2d", topology);
  EXPECT_TRUE(nic::compile_program(schedule, topology, 16).tables.routes.empty());
  // Of each of millions of messages: a line of a cache, group and priority included.
  static_assert(sizeof(Entry) == 64);
}

}  // namespace
}  // namespace multitree
