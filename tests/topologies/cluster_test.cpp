// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From who hears whom to cables, networks and what is wrong with them; no host is asked.
#include "topologies/cluster/cluster.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "error_matcher.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/registry.hpp"

namespace multitree::cluster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Hosts desk0, desk1, ... with so many ports p0, p1, ... that are up.
std::vector<Host> desks(std::uint32_t count, std::uint32_t ports) {
  std::vector<Host> hosts;
  for (std::uint32_t h = 0; h < count; ++h) {
    const std::string name = fmt::format("desk{}", h);
    Host host{name, name, name + " boot", {}};
    for (std::uint32_t p = 0; p < ports; ++p) {
      host.ports.push_back({fmt::format("p{}", p), "up", fmt::format("fe80::{}:{}", h + 1, p), 0});
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

void hear(std::vector<Hearing>& heard, PortId a, PortId b) {
  heard.push_back({a, b});
  heard.push_back({b, a});
}

/// Port 0 of each to port 1 of the next.
std::vector<Hearing> ring(std::uint32_t count) {
  std::vector<Hearing> heard;
  for (std::uint32_t h = 0; h < count; ++h) hear(heard, {h, 0}, {(h + 1) % count, 1});
  return heard;
}

/// All cables at `rate` each way, but for what comes from port 0 of `slow`.
std::vector<Flow> flows_of(const Inferred& inferred, std::uint64_t rate, std::uint32_t slow = 99) {
  std::vector<Flow> flows;
  for (const Segment& segment : inferred.segments) {
    for (const PortId a : segment.ends) {
      for (const PortId b : segment.ends) {
        if (a == b) continue;
        // No two measurements are alike.
        const std::uint64_t about = rate + 1000 * flows.size();
        flows.push_back({a, b, {a == PortId{slow, 0} ? about / 10 : about}, {20'000'000}});
      }
    }
  }
  return flows;
}

struct Found {
  Inferred inferred;
  Cluster cluster;
};
Found found(const std::vector<Host>& hosts, const std::vector<Hearing>& heard,
            std::uint32_t slow = 99) {
  Found all{infer(heard), {}};
  all.cluster = assemble(hosts, all.inferred.segments, flows_of(all.inferred, 12'000'000, slow));
  return all;
}

std::vector<std::string> kinds(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& one : findings) all.emplace_back(one.kind);
  return all;
}

TEST(Cluster, ARingIsACablePerPair) {
  const auto hosts = desks(4, 2);
  const auto [inferred, cluster] = found(hosts, ring(4));
  EXPECT_THAT(inferred.segments, SizeIs(4));
  EXPECT_EQ(inferred.segments.front().ends, (std::vector<PortId>{{0, 0}, {1, 1}}));
  EXPECT_THAT(inferred.one_way, IsEmpty());
  ASSERT_TRUE(cluster.network);
  EXPECT_EQ(cluster.network->num_ranks(), 4U);
  EXPECT_EQ(cluster.network->num_links(), 8U);
  EXPECT_EQ(cluster.network->nodes()[2].name, "desk2");
  // Rates that differ by what measuring scatters are one.
  for (const Link& link : cluster.network->links()) {
    EXPECT_EQ(link.bandwidth, cluster.network->links().front().bandwidth);
  }
  EXPECT_THAT(judge(hosts, inferred, cluster, nullptr), IsEmpty());
}

TEST(Cluster, HearingsMayComeInAnyOrderAndAgain) {
  std::vector<Hearing> heard = ring(5);
  std::ranges::reverse(heard);
  heard.insert(heard.end(), heard.begin(), heard.begin() + 3);
  heard.push_back({{2, 0}, {2, 0}});  // itself
  EXPECT_EQ(infer(heard).segments, infer(ring(5)).segments);
}

TEST(Cluster, WhatIsHeardOneWayIsNoCable) {
  std::vector<Hearing> heard = ring(3);
  std::erase(heard, Hearing{{0, 0}, {1, 1}});
  const auto hosts = desks(3, 2);
  const auto [inferred, cluster] = found(hosts, heard);
  EXPECT_THAT(inferred.segments, SizeIs(2));
  EXPECT_THAT(inferred.one_way, ElementsAre(Hearing{{1, 1}, {0, 0}}));
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  EXPECT_THAT(kinds(findings), ElementsAre("one-way", "missing"));
  EXPECT_THAT(findings[0].words, HasSubstr("desk1 p1 hears desk0 p0 and is not heard"));
}

TEST(Cluster, ParallelCablesAreFoundAndAreOneLinkTogether) {
  const auto hosts = desks(2, 2);
  std::vector<Hearing> heard;
  hear(heard, {0, 0}, {1, 0});
  hear(heard, {0, 1}, {1, 1});
  const auto [inferred, cluster] = found(hosts, heard, 0);
  EXPECT_THAT(inferred.segments, SizeIs(2));
  ASSERT_THAT(cluster.cables, SizeIs(2));
  EXPECT_EQ(cluster.cables[0].ends[0].port, "p1") << "p0 sends slowly";
  ASSERT_EQ(cluster.network->num_links(), 2U);
  const auto rate = [&](std::size_t link) {
    return static_cast<double>(cluster.network->links()[link].bandwidth.bytes_per_second);
  };
  EXPECT_NEAR(rate(1) / rate(0), 2 / 1.1, 0.01) << "one way a tenth and a whole, two wholes back";
  EXPECT_EQ(cluster.network->links()[0].latency, cluster.cables[0].latency);
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  ASSERT_THAT(kinds(findings), ElementsAre("parallel", "slow"));
  EXPECT_FALSE(findings[0].fault);
  EXPECT_TRUE(findings[1].fault);
  EXPECT_THAT(findings[1].words, StartsWith("desk0 p0 > desk1 p0: "));
  EXPECT_THAT(findings[1].words, HasSubstr("where desk0 p1 > desk1 p1, which is parallel, has"));
}

TEST(Cluster, ASlowParallelWhosePortsSayAnotherSpeedIsNoFault) {
  auto hosts = desks(2, 2);
  hosts[0].ports[0].mbits = 1000;
  hosts[0].ports[1].mbits = 10'000;
  std::vector<Hearing> heard;
  hear(heard, {0, 0}, {1, 0});
  hear(heard, {0, 1}, {1, 1});
  const auto [inferred, cluster] = found(hosts, heard, 0);
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  ASSERT_THAT(kinds(findings), ElementsAre("parallel", "slow"));
  EXPECT_FALSE(findings[1].fault);
}

TEST(Cluster, ACableThatIsThereByAnotherNameCountsOnce) {
  auto hosts = desks(2, 2);
  hosts[0].ports[1].over = "p0";
  std::vector<Hearing> heard;
  hear(heard, {0, 0}, {1, 0});
  hear(heard, {0, 1}, {1, 1});
  const auto [inferred, cluster] = found(hosts, heard);
  EXPECT_THAT(inferred.segments, SizeIs(2));
  ASSERT_THAT(cluster.cables, SizeIs(1));
  EXPECT_EQ(cluster.cables[0].ends[0].port, "p0");
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  ASSERT_THAT(kinds(findings), ElementsAre("twice"));
  EXPECT_FALSE(findings[0].fault);
  EXPECT_THAT(findings[0].words, StartsWith("desk0 p1 - desk1 p1: "));
  hosts[0].ports[1].over = "p7";
  EXPECT_FALSE(appears_twice(hosts, inferred.segments, inferred.segments[1])) << "of no port";
}

TEST(Cluster, ParallelCablesThatMayBeDownAreTold) {
  auto hosts = desks(3, 3);
  hosts[0].ports[2].state = "down";
  hosts[1].ports[2].state = "no carrier";
  const auto told = [&] {
    const auto [inferred, cluster] = found(hosts, ring(3));
    return judge(hosts, inferred, cluster, nullptr);
  };
  const auto findings = told();
  ASSERT_THAT(kinds(findings), ElementsAre("down"));
  EXPECT_FALSE(findings[0].fault);
  EXPECT_THAT(findings[0].words, StartsWith("desk0 p2 (down) - desk1 p2 (no carrier): "));
  hosts[2].ports[2].state = "down";
  EXPECT_THAT(told(), IsEmpty()) << "ports that nobody uses are everywhere";
}

TEST(Cluster, ManyThatHearEachOtherAreAtASwitch) {
  const auto hosts = desks(4, 1);
  std::vector<Hearing> heard;
  for (std::uint32_t a = 0; a < 4; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) hear(heard, {a, 0}, {b, 0});
  }
  const auto [inferred, cluster] = found(hosts, heard);
  ASSERT_THAT(inferred.segments, SizeIs(1));
  EXPECT_FALSE(inferred.segments[0].is_cable());
  ASSERT_TRUE(cluster.network);
  EXPECT_EQ(cluster.network->num_nodes(), 5U);
  EXPECT_EQ(cluster.cables[0].switch_name, "switch0");
  EXPECT_THAT(judge(hosts, inferred, cluster, nullptr), IsEmpty());
}

/// The office's network beside the cables.
TEST(Cluster, ASwitchIsLeftOutWhereCablesJoinAllHosts) {
  const auto hosts = desks(3, 3);
  std::vector<Hearing> heard = ring(3);
  for (std::uint32_t a = 0; a < 3; ++a) hear(heard, {a, 2}, {(a + 1) % 3, 2});
  const auto whole = found(hosts, heard);
  EXPECT_THAT(whole.inferred.segments, SizeIs(4));
  EXPECT_EQ(whole.cluster.network->num_nodes(), 3U);
  // Without two of the cables it is needed.
  std::erase_if(heard, [](const Hearing& one) {
    return one.listener == PortId{0, 0} || one.listener == PortId{1, 0};
  });
  const auto part = found(hosts, heard);
  EXPECT_EQ(part.cluster.network->num_nodes(), 4U);
}

/// Two switches of which each would do: the first is the slower one.
TEST(Cluster, OfSwitchesTheFastestThatAreNeededAreTaken) {
  const auto hosts = desks(3, 2);
  std::vector<Hearing> heard;
  for (std::uint32_t a = 0; a < 3; ++a) {
    for (std::uint32_t port : {0, 1}) hear(heard, {a, port}, {(a + 1) % 3, port});
  }
  const auto [inferred, cluster] = found(hosts, heard, 1);
  ASSERT_THAT(cluster.cables, SizeIs(2));
  EXPECT_EQ(cluster.cables[0].switch_name + cluster.cables[1].switch_name, "switch0");
  for (const Cable& cable : cluster.cables) {
    EXPECT_EQ(cable.switch_name.empty(), cable.ends[0].port == "p0") << "desk1 p0 sends slowly";
  }
  EXPECT_EQ(cluster.network->num_links(), 6U);
}

TEST(Cluster, HostsThatHearNobodyAreTold) {
  auto hosts = desks(3, 2);
  hosts[2].ports[0].state = "no carrier";
  std::vector<Hearing> heard;
  hear(heard, {0, 0}, {1, 0});
  const auto [inferred, cluster] = found(hosts, heard);
  EXPECT_FALSE(cluster.network);
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  EXPECT_THAT(kinds(findings), ElementsAre("alone"));
  EXPECT_THAT(findings[0].words,
              HasSubstr("desk2 hears no other host; its ports: p0 no carrier, p1 up"));
  const auto [nobody, nothing] = found(desks(2, 1), {});
  EXPECT_THAT(kinds(judge(desks(2, 1), nobody, nothing, nullptr)), ElementsAre("alone", "alone"));
}

TEST(Cluster, HostsWithOneNameAreToldApartByHowTheyAreReached) {
  auto hosts = desks(4, 2);
  for (const std::size_t i : {1, 2}) hosts[i].hostname = "ubuntu";
  hosts[1].reach = "me@10.0.0.1";
  hosts[2].reach = "ubuntu";
  hosts[3].hostname = "";
  EXPECT_THAT(node_names(hosts), ElementsAre("desk0", "10.0.0.1", "ubuntu", "desk3"));
  hosts[3].reach = "you@10.0.0.1";
  EXPECT_THAT(node_names(hosts), ElementsAre("desk0", "10.0.0.1", "ubuntu", "you@10.0.0.1"));
  EXPECT_TRUE(found(hosts, ring(4)).cluster.network);
}

TEST(Cluster, ACableToItselfIsToldAndNotUsed) {
  const auto hosts = desks(3, 4);
  std::vector<Hearing> heard = ring(3);
  hear(heard, {1, 2}, {1, 3});
  const auto [inferred, cluster] = found(hosts, heard);
  EXPECT_THAT(inferred.loops, SizeIs(1));
  EXPECT_EQ(cluster.network->num_links(), 6U);
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  EXPECT_THAT(kinds(findings), ElementsAre("wrong"));
  EXPECT_THAT(findings[0].words, HasSubstr("desk1 p2 and desk1 p3"));
}

TEST(Cluster, ASlowDirectionIsTold) {
  const auto hosts = desks(4, 2);
  const auto [inferred, cluster] = found(hosts, ring(4), 2);
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  ASSERT_THAT(kinds(findings), ElementsAre("slow"));
  EXPECT_THAT(findings[0].words, HasSubstr("desk2 p0 > desk3 p1: 9.6"));
  const auto& links = cluster.network->links();
  EXPECT_EQ(
      std::ranges::count_if(
          links, [](const Link& link) { return link.bandwidth.bytes_per_second < 2'000'000; }),
      1);
}

TEST(Cluster, AMissingCableIsGuessedFromTheOthers) {
  const auto hosts = desks(5, 2);
  std::vector<Hearing> heard = ring(5);
  std::erase_if(heard, [](const Hearing& one) {
    return one.listener == PortId{3, 0} || one.speaker == PortId{3, 0};
  });
  const auto [inferred, cluster] = found(hosts, heard);
  const auto findings = judge(hosts, inferred, cluster, nullptr);
  ASSERT_THAT(kinds(findings), ElementsAre("missing"));
  EXPECT_THAT(findings[0].words, HasSubstr("desk3 - desk4"));
}

TEST(Cluster, WhatIsExpectedIsComparedByPlaceOrName) {
  const auto hosts = desks(4, 3);
  std::vector<Hearing> heard = ring(4);
  std::erase_if(heard, [](const Hearing& one) {
    return one.listener == PortId{0, 0} || one.speaker == PortId{0, 0};
  });
  hear(heard, {0, 0}, {2, 2});  // in the wrong host
  const auto [inferred, cluster] = found(hosts, heard);
  const Topology expected = load_topology("ring:4");
  const auto findings = judge(hosts, inferred, cluster, &expected);
  EXPECT_THAT(kinds(findings), ElementsAre("missing", "wrong"));
  EXPECT_THAT(findings[0].words, HasSubstr("desk0 - desk1: expected 1 cable, found 0"));
  EXPECT_THAT(findings[1].words, HasSubstr("desk0 p0 - desk2 p2"));
  EXPECT_THAT(judge(hosts, inferred, cluster, &*cluster.network), IsEmpty());
  const Topology larger = load_topology("ring:5");
  EXPECT_THAT(error_of(ErrorCode::InvalidArgument,
                       [&, &in = inferred, &of = cluster] { judge(hosts, in, of, &larger); }),
              HasSubstr("4 ranks, one for each host"));
}

/// A cable of a tenth is in order where a tenth is expected.
TEST(Cluster, RatesAreComparedInTheProportionThatIsExpected) {
  const auto hosts = desks(4, 2);
  const auto [inferred, cluster] = found(hosts, ring(4), 2);
  const Topology expected = load_topology("ring:4?slow=2>3:0.1");
  EXPECT_THAT(judge(hosts, inferred, cluster, &expected), IsEmpty());
  const Topology even = load_topology("ring:4");
  EXPECT_THAT(kinds(judge(hosts, inferred, cluster, &even)), ElementsAre("slow"));
}

TEST(Cluster, TheFirstRankOfAHostHasItsCables) {
  const Topology hosts = *found(desks(3, 2), ring(3)).cluster.network;
  const Topology both = with_ranks_per_host(hosts, 2, {{9'000'000'000}, {1'000}});
  ASSERT_EQ(both.num_ranks(), 6U);
  EXPECT_EQ(both.num_links(), hosts.num_links() + 3 * 2);
  for (std::uint32_t r = 0; r < 6; ++r) {
    EXPECT_EQ(both.node(both.node_of(Rank{r})).name, fmt::format("desk{}/{}", r / 2, r % 2));
    EXPECT_EQ(both.out_links(both.node_of(Rank{r})).size(), r % 2 == 0 ? 3U : 1U);
  }
  const Link& inside = both.link(both.out_links(both.node_of(Rank{1})).front());
  EXPECT_EQ(inside.dst, both.node_of(Rank{0}));
  EXPECT_EQ(inside.bandwidth, Bandwidth{9'000'000'000});
  EXPECT_EQ(with_ranks_per_host(load_topology("star:3"), 2, {{1}, {1}}).num_nodes(), 7U);
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] {
                       with_ranks_per_host(hosts, 1U << 20, {{1}, {1}});
                     }),
            "expected at most 1048576 ranks in all, got 1048576 of 3 hosts");
}

TEST(ClusterFile, HasSeveralRanksAHost) {
  Cluster cluster = found(desks(3, 2), ring(3)).cluster;
  cluster.network = with_ranks_per_host(*cluster.network, 2, {{9'000'000'000}, {1'000}});
  const std::string text = write_cluster_json(cluster);
  const Cluster read = parse_cluster_json(text, "desks.json");
  EXPECT_EQ(read.hosts.size(), 3U);
  EXPECT_EQ(read.network->num_ranks(), 6U);
  EXPECT_EQ(write_cluster_json(read), text);
  std::string other = text;
  const std::string host = R"({"node":"desk1","hostname")";
  other.replace(other.find(host), host.size(), R"({"node":"desk7","hostname")");
  EXPECT_THAT(error_of(ErrorCode::InvalidInput, [&] { parse_cluster_json(other, "desks.json"); }),
              HasSubstr("expected the node of rank 2, got 'desk7'"));
}

TEST(ClusterFile, IsReadAsItIsWritten) {
  auto hosts = desks(3, 3);
  hosts[1].ports[0].mbits = 40'000;
  std::vector<Hearing> heard = ring(3);
  const Cluster cluster = found(hosts, heard).cluster;
  const std::string text = write_cluster_json(cluster);
  const Cluster read = parse_cluster_json(text, "desks.json");
  EXPECT_EQ(write_cluster_json(read), text);
  EXPECT_EQ(read.network->links().size(), cluster.network->links().size());
  EXPECT_EQ(read.cables[2].ends[0].mbits, 40'000U);
  EXPECT_TRUE(is_cluster_file(text));
}

TEST(ClusterFile, WhatIsWrongIsToldWithItsLine) {
  const std::string text = write_cluster_json(found(desks(3, 2), ring(3)).cluster);
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string changed = text;
    changed.replace(changed.rfind(what), what.size(), instead);
    return changed;
  };
  const auto says = [&](const std::string& changed, const std::string& words) {
    const std::string said =
        error_of(ErrorCode::InvalidInput, [&] { parse_cluster_json(changed, "desks.json"); });
    EXPECT_THAT(said, AllOf(StartsWith("desks.json:"), HasSubstr(words)));
  };
  says(with("\"node\":\"desk2\"", "\"node\":\"desk7\""), "there is no host 'desk7'");
  says(with("\"port\":\"p1\"", "\"port\":\"\""), "the name of the port is empty");
  says(with("\"mbits\":0", "\"mbits\":-1"), "'mbits': expected an integer");
  says(with("\"mbits\"", "\"mbit\""), "unknown key 'mbit'");
  says(with("MB/s", "MB"), "expected a bandwidth");
  says(with("cluster/1", "cluster/9"), "expected the schema");
  says("{", "desks.json:1");
}

}  // namespace
}  // namespace multitree::cluster
