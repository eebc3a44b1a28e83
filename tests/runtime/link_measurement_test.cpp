// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which ranks measure what, what their times say of links, and choosing together.
#include "runtime/measure/link_measurement.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "runtime/tuning.hpp"
#include "support.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "topologies/units.hpp"

namespace multitree::runtime {
namespace {

constexpr Deadline kWait{30'000};

MeasuredPair pair(std::uint32_t src, std::uint32_t dst) { return {Rank{src}, Rank{dst}}; }

/// What ranks would see if every message cost its sender `overhead`, and then took `latency` and
/// `beta` a byte.
std::vector<PairTimes> simulate(const Topology& topology, double overhead, double latency,
                                double beta) {
  const std::vector<MeasuredPair> pairs = pairs_to_measure(topology);
  std::map<Rank, double> degree;
  for (const MeasuredPair& pair : pairs) ++degree[pair.src];
  std::vector<PairTimes> times;
  for (const MeasuredPair& pair : pairs) {
    const double d = degree[pair.src];
    const double small = overhead * (d + 1) / 2 + latency;
    times.push_back({pair, std::llround(small), std::llround(small + overhead * d * (kBurst - 1)),
                     std::llround(small + beta * kFew * kLargeBytes),
                     std::llround(small + beta * kMany * kLargeBytes)});
  }
  return times;
}

TEST(LinkMeasurement, PairsAreNeighboursOrBesideEachOtherOnASwitch) {
  EXPECT_EQ(pairs_to_measure(make_topology("torus:4x4")).size(), 64U);
  EXPECT_EQ(pairs_to_measure(make_topology("mesh:3")),
            (std::vector{pair(0, 1), pair(1, 0), pair(1, 2), pair(2, 1)}));
  EXPECT_EQ(pairs_to_measure(make_topology("star:4")),
            (std::vector{pair(0, 1), pair(1, 2), pair(2, 3), pair(3, 0)}));
  EXPECT_EQ(pairs_to_measure(make_topology("torus:4x4?parallel=2")).size(), 64U);
  EXPECT_TRUE(pairs_to_measure(make_topology("ring:1")).empty());
}

TEST(LinkMeasurement, TimesGiveOverheadLatencyAndBandwidth) {
  for (const char* network : {"torus:4x4", "mesh:3", "torus:2x2"}) {
    const Topology topology = make_topology(network);
    const LinkTable table = table_of(topology, simulate(topology, 500, 3000, 2));
    EXPECT_NEAR(static_cast<double>(table.message_overhead.picoseconds), 500e3, 1e3) << network;
    const Topology priced = with_times(topology, table);
    for (const Link& link : priced.links()) {
      EXPECT_NEAR(static_cast<double>(link.latency.picoseconds), 3000e3, 2e3) << network;
      EXPECT_NEAR(static_cast<double>(link.bandwidth.bytes_per_second), 5e8, 1e5) << network;
    }
  }
}

TEST(LinkMeasurement, SwitchesShareTheLatencyAndParallelLinksTheBandwidth) {
  const Topology star = make_topology("star:4");
  for (const auto& entry : table_of(star, simulate(star, 0, 3000, 2)).links) {
    EXPECT_NEAR(static_cast<double>(entry.latency.picoseconds), 1500e3, 2e3);
    EXPECT_NEAR(static_cast<double>(entry.bandwidth.bytes_per_second), 5e8, 1e5);
  }
  const Topology trunks = make_topology("ring:4?parallel=2");
  const LinkTable table = table_of(trunks, simulate(trunks, 0, 3000, 2));
  EXPECT_EQ(table.links.size(), trunks.num_links() / 2);
  for (const auto& entry : table.links) {
    EXPECT_NEAR(static_cast<double>(entry.bandwidth.bytes_per_second), 2.5e8, 1e5);
  }
  // Links between switches: as much faster than declared as the others.
  const Topology tree = make_topology("fattree:4x2");
  EXPECT_EQ(with_times(tree, table_of(tree, simulate(tree, 0, 3000, 2))).num_links(),
            tree.num_links());
}

TEST(LinkMeasurement, WhatLeavesTogetherCostsItsPart) {
  const Topology topology = make_topology("torus:4x4");
  std::vector<PairTimes> times = simulate(topology, 500, 3000, 2);
  EXPECT_EQ(table_of(topology, times).together, 100U);  // unknown
  for (PairTimes& t : times) t.together = t.small + (t.burst - t.small) / 4;
  EXPECT_EQ(table_of(topology, times).together, 25U);
  for (PairTimes& t : times) t.together = t.small - 10;
  EXPECT_EQ(table_of(topology, times).together, 0U);
  for (PairTimes& t : times) t.together = 2 * t.burst;
  EXPECT_EQ(table_of(topology, times).together, 100U);
}

TEST(LinkMeasurement, InTurnRanksHaveOneMessageAtATime) {
  for (const char* network :
       {"hypercube:4", "torus:4x4", "mesh:4x2", "star:8", "ring:2", "ring:1"}) {
    const Topology topology = make_topology(network);
    std::set<Rank> senders, receivers;
    std::set<MeasuredPair> pairs;
    for (const MeasuredPair& pair : pairs_in_turn(topology)) {
      EXPECT_TRUE(senders.insert(pair.src).second && receivers.insert(pair.dst).second) << network;
      EXPECT_FALSE(pairs.contains({pair.dst, pair.src})) << network;
      pairs.insert(pair);
    }
    EXPECT_GE(2 * pairs.size(), topology.num_ranks() / 2 * 2) << network;
  }
}

TEST(LinkMeasurement, AFewRanksLookFarAndNear) {
  const std::vector<Reach> grid = reaches_to_measure(make_topology("mesh:3x3"));
  ASSERT_EQ(grid.size(), 8U);
  EXPECT_EQ(grid[0].from, Rank{0});
  EXPECT_EQ(grid[0].far, Rank{8});
  EXPECT_EQ(std::pair(grid[0].near_hops, grid[0].far_hops), std::pair(1U, 4U));
  const std::vector<Reach> tree = reaches_to_measure(make_topology("fattree:4x4"));
  ASSERT_EQ(tree.size(), 8U);
  EXPECT_EQ(std::pair(tree[0].near_hops, tree[0].far_hops), std::pair(2U, 4U));
  // Where all are alike far, nothing tells links and ends apart.
  for (const char* network : {"star:4", "full:4", "ring:3", "ring:2", "ring:1"}) {
    EXPECT_TRUE(reaches_to_measure(make_topology(network)).empty()) << network;
  }
}

TEST(LinkMeasurement, WhoIsFartherBackThanThereTellsNothing) {
  TopologyBuilder builder("one-way");
  for (int rank = 0; rank < 6; ++rank) builder.add_endpoint();
  for (std::uint32_t v = 0; v < 6; ++v) {
    builder.add_link(NodeId{v}, NodeId{(v + 1) % 6}, parse_bandwidth("1GB/s"), parse_time("1us"));
  }
  // A message to the next rank and its answer pass as many links as to and from any other.
  EXPECT_TRUE(reaches_to_measure(std::move(builder).build()).empty());
}

TEST(LinkMeasurement, WhatFarMessagesTakeMoreIsTheLinks) {
  for (const auto& [network, hops] : {std::pair("mesh:3x3", 1.0), std::pair("fattree:4x4", 2.0)}) {
    const Topology topology = make_topology(network);
    std::vector<ReachTimes> reaches;
    for (const Reach& reach : reaches_to_measure(topology)) {
      // 30 us, and 5 us a link; one of them is not believed.
      const std::int64_t chance = reaches.empty() ? 90'000 : 0;
      reaches.push_back(
          {reach, 30'000 + 5000 * reach.near_hops, 30'000 + 5000 * reach.far_hops + chance});
    }
    const auto times = simulate(topology, 500, 30'000 + hops * 5000, 2);
    const LinkTable table = table_of(topology, times, {}, reaches);
    EXPECT_NEAR(static_cast<double>(table.message_latency.picoseconds), 30e6, 2e3) << network;
    for (const auto& entry : table.links) {
      EXPECT_NEAR(static_cast<double>(entry.latency.picoseconds), 5e6, 2e3) << network;
    }
    // Where far ones take no longer, all is the ends', and where they take so much, all the links'.
    for (ReachTimes& t : reaches) t.far = t.near - 100;
    EXPECT_NEAR(
        static_cast<double>(table_of(topology, times, {}, reaches).message_latency.picoseconds),
        30e6 + hops * 5e6, 2e3);
    for (ReachTimes& t : reaches) t.far = t.near + 1'000'000;
    EXPECT_EQ(table_of(topology, times, {}, reaches).message_latency, Time{});
  }
}

TEST(LinkMeasurement, WhereTheEndsOfAMessageRunIsNotTheLinks) {
  // Of ranks that share two processors, ends on one answer each other in 8 us and those on two in
  // 28; each link takes 4 us. Of every reach alone that would be -4, 4 or 10 us a link.
  const Topology topology = make_topology("hypercube:4");
  std::vector<ReachTimes> reaches;
  for (const Reach& reach : reaches_to_measure(topology)) {
    const bool near_together = reaches.size() % 4 == 1, far_together = reaches.size() % 4 == 2;
    reaches.push_back({reach, near_together ? 8000 : 28'000, far_together ? 20'000 : 40'000});
  }
  const auto times = simulate(topology, 500, 28'000, 80);
  const LinkTable table = table_of(topology, times, {}, reaches);
  for (const auto& entry : table.links) {
    EXPECT_NEAR(static_cast<double>(entry.latency.picoseconds), 4e6, 2e3);
  }
}

TEST(LinkMeasurement, RanksOfAHostHaveWhatAllOfThemGetDone) {
  const Topology topology = make_topology("ring:4");  // 8 pairs; of those 0-1 and 2-3 share a host
  std::vector<PairTimes> times = simulate(topology, 500, 30'000, 2);
  // Alone a message takes 100 ns and 0.1 ns a byte, all together 250 ns and 0.25 ns a byte.
  const HostTimes::Round alone{1000, 1000 + 7 * 100, 1000 + kFew * 6554, 1000 + kMany * 6554};
  const HostTimes::Round all{2000, 2000 + 7 * 2 * 250, 2000 + kFew * 32'768, 2000 + kMany * 32'768};
  const LinkTable table = table_of(
      topology, times,
      {{{Rank{0}, Rank{1}}, 2, true, all, alone}, {{Rank{2}, Rank{3}}, 2, true, all, alone}});
  EXPECT_EQ(table.message_overhead, Time{100'000});
  ASSERT_EQ(table.hosts.size(), 2U);
  EXPECT_EQ(table.hosts[1].nodes, (std::vector<std::string>{"n2", "n3"}));
  EXPECT_EQ(table.hosts[1].message, Time{250'000});
  EXPECT_EQ(table.hosts[1].awake, 100U);
  EXPECT_NEAR(static_cast<double>(table.hosts[1].bandwidth.bytes_per_second), 4e9, 1e6);
  for (const auto& entry : table.links) {
    const bool inside = (entry.from < "n2") == (entry.to < "n2");
    EXPECT_NEAR(static_cast<double>(entry.bandwidth.bytes_per_second), inside ? 1e10 : 5e8, 1e7)
        << entry.from << "->" << entry.to;
  }
}

TEST(LinkMeasurement, RanksThatShareProcessorsOnlyHaveLinksOfTheirOwn) {
  const Topology topology = make_topology("ring:4");
  std::vector<PairTimes> times = simulate(topology, 500, 30'000, 80);  // 12.5 MB/s
  // A message alone takes 20 us; of four in turn each takes the processors 12 us, at once 1 us.
  HostTimes host{{Rank{0}, Rank{1}, Rank{2}, Rank{3}}, 8, false, {}, {}, 20'000, 4};
  host.all.small = 70'000;  // ranks did not begin together
  host.all.burst = host.all.small + (kBurst - 1) * 8 * 1000;
  host.all.chain = kChain * 4 * 12'000;
  host.alone = {20'000, 20'000 + 7 * 100, 0, 0, 0};
  for (PairTimes& t : times) t.rested = t.small + (t.few - t.small) / 4;
  const LinkTable table = table_of(topology, times, {host});
  ASSERT_EQ(table.hosts.size(), 1U);
  EXPECT_EQ(table.hosts[0].message, Time{12'000'000});
  EXPECT_EQ(table.hosts[0].awake, 8U);  // percent of 12 us
  EXPECT_EQ(table.hosts[0].bandwidth, Bandwidth{});
  EXPECT_EQ(table.message_overhead, Time{100'000});
  EXPECT_EQ(table.burst_bytes, kFew * kLargeBytes * 3 / 4);
  for (const auto& entry : table.links) {
    EXPECT_NEAR(static_cast<double>(entry.bandwidth.bytes_per_second), 12.5e6, 1e3);
    EXPECT_EQ(entry.latency, Time{19'900'000});
  }
  // With processors of their own a step of the chain takes no longer than a message alone.
  host.all.chain = kChain * 21'000;
  EXPECT_EQ(table_of(topology, times, {host}).hosts[0].message, Time{1'000'000});
  // Bytes that took their time after a rest as well are no burst.
  for (PairTimes& t : times) t.rested = t.few;
  EXPECT_EQ(table_of(topology, times, {host}).burst_bytes, 0U);
}

TEST(LinkMeasurement, NoiseIsLevelledAndClocksCancelOut) {
  const Topology topology = make_topology("torus:4x4");
  std::vector<PairTimes> times = simulate(topology, 0, 4000, 2);
  for (PairTimes& t : times) {
    if (t.pair == pair(0, 1)) t.many += 3 * 60'000;  // 1.5 times as slow
    if (t.pair == pair(1, 2)) t.many += 3 * 900'000;
    // As if the clock of rank 5 were ahead.
    const std::int64_t ahead =
        100'000 * (t.pair.dst == Rank{5}) - 100'000 * (t.pair.src == Rank{5});
    t.small += ahead;
    t.burst += ahead;
    t.few += ahead;
    t.many += ahead;
  }
  for (const auto& entry : table_of(topology, times).links) {
    EXPECT_NEAR(static_cast<double>(entry.latency.picoseconds), 4000e3, 2e3);
    const bool slow = entry.from == "n1" && entry.to == "n2";
    const double expected = slow ? 65536e9 / (65536 * 2 + 900'000) : 5e8;
    EXPECT_NEAR(static_cast<double>(entry.bandwidth.bytes_per_second), expected, 1e5)
        << entry.from << "->" << entry.to;
  }
}

TEST(LinkMeasurement, AllRanksGetTheSameTableAndTheSameSchedules) {
  for (const char* network : {"torus:2x2", "star:3", "ring:1"}) {
    const Topology topology = make_topology(network);
    std::mutex mutex;
    std::vector<LinkTable> tables;
    std::vector<SizedSchedules> plans;
    test::run_ranks(topology.num_ranks(), [&](const std::shared_ptr<Bootstrap>& job) {
      const LinkTable table = measure_links(
          *job, topology,
          {.transport = "loopback", .timeout = kWait, .budget = std::chrono::milliseconds(1)});
      const SizedSchedules plan =
          choose_together(*job, topology, Collective::AllReduce, Rank{0},
                          {.first = 8, .last = 1 << 20, .links = &table}, kWait);
      const std::lock_guard lock(mutex);
      tables.push_back(table);
      plans.push_back(plan);
    });
    ASSERT_EQ(tables.size(), topology.num_ranks());
    EXPECT_EQ(with_times(topology, tables[0]).num_links(), topology.num_links());
    // Threads of one process share a host.
    const CostModel model = cost_model(topology, tables[0]);
    ASSERT_EQ(model.hosts.size(), topology.num_ranks() > 1 ? 1U : 0U);
    for (const SharedHost& host : model.hosts) {
      EXPECT_EQ(host.ranks.size(), topology.num_ranks());
      EXPECT_GT(host.bandwidth.bytes_per_second, 1U);
    }
    for (const LinkTable& table : tables) EXPECT_EQ(table, tables[0]);
    for (const SizedSchedules& plan : plans) EXPECT_EQ(plan, plans[0]);
  }
}

/// Each collective is chosen for once, whoever does, and all know of all.
TEST(ChooseTogether, ShareTheWork) {
  const std::vector<Collective> wanted{Collective::AllReduce, Collective::AllGather,
                                       Collective::Broadcast, Collective::Gather};
  std::atomic<int> choices = 0;
  test::run_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    const auto choose = [&](Collective collective) {
      ++choices;
      return std::vector<SizedSpec>{{"ring", 1000}, {std::string(to_string(collective)), ~0ULL}};
    };
    const auto chosen = choose_specs_together(*job, wanted, choose, kWait);
    ASSERT_EQ(chosen.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(chosen[i], (std::vector<SizedSpec>{{"ring", 1000},
                                                   {std::string(to_string(wanted[i])), ~0ULL}}));
    }
  });
  EXPECT_EQ(choices, 4);
}

TEST(ChooseTogether, AllLearnWhyThereIsNoChoice) {
  const std::vector<Collective> wanted{Collective::AllReduce, Collective::AllGather};
  test::run_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    const auto choose = [](Collective collective) -> std::vector<SizedSpec> {
      if (collective == Collective::AllReduce) return {{"ring", ~0ULL}};
      throw Error(ErrorCode::Unsupported, "nobody serves this");
    };
    try {
      choose_specs_together(*job, wanted, choose, kWait);
      ADD_FAILURE() << "a choice without one";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      EXPECT_STREQ(error.what(), "nobody serves this");
    }
  });
}

/// One rank was given an algorithm by name, and tells something else than what it has chosen.
TEST(ChooseTogether, NoticesWhoDoesNotChoose) {
  const std::vector<Collective> wanted{Collective::AllReduce};
  test::run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    if (job->seat() == Seat{0}) {
      job->all_gather("12345", kWait);
      return;
    }
    try {
      choose_specs_together(*job, wanted, {}, kWait);
      ADD_FAILURE() << "a choice of a rank that chooses nothing";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      EXPECT_NE(std::string(error.what()).find("the same algorithm"), std::string::npos);
    }
  });
}

TEST(AutoCommunicator, PicksBySizeAndReducesRight) {
  const Topology topology = make_topology("mesh:3x3");
  const LinkTable table = table_of(topology, simulate(topology, 20'000, 20'000, 1));  // dear
  test::run_ranks(topology.num_ranks(), [&](const std::shared_ptr<Bootstrap>& job) {
    CommunicatorOptions options;
    options.transport = "loopback";
    options.host_path = HostPath::Off;
    AutoOptions wanted;
    wanted.collectives = {Collective::AllReduce, Collective::Broadcast};
    wanted.choose.links = &table;
    const auto communicator = make_auto_communicator(job, topology, wanted, options);
    const std::string small = communicator->algorithm(Collective::AllReduce, 64);
    const std::string large = communicator->algorithm(Collective::AllReduce, 1ULL << 30);
    EXPECT_NE(small, large);
    EXPECT_TRUE(large.starts_with("allreduce-optimal")) << large;
    EXPECT_EQ(communicator->algorithm(Collective::Reduce, 64), "");
    for (const std::size_t count : {16U, 100'000U}) {
      test::check_collective(*communicator, Collective::AllReduce, Rank{0}, count,
                             DataType::Float32, ReduceOp::Sum, false);
      test::check_collective(*communicator, Collective::Broadcast, Rank{0}, count,
                             DataType::Float32, ReduceOp::Sum, false);
    }
  });
}

TEST(AutoCommunicator, TakesTheMemoryOfOneHost) {
  const Topology topology = make_topology("torus:2x2");
  test::run_ranks(topology.num_ranks(), [&](const std::shared_ptr<Bootstrap>& job) {
    CommunicatorOptions options;
    options.transport = "loopback";
    EXPECT_TRUE(goes_without_messages(*job, options));
    const auto communicator = make_auto_communicator(job, topology, {}, options);
    EXPECT_EQ(communicator->algorithm(Collective::AllReduce, 1 << 20), "host");
    options.host_path = HostPath::Off;
    EXPECT_FALSE(goes_without_messages(*job, options));
  });
  const auto alone = make_in_process_bootstraps(1);
  EXPECT_FALSE(goes_without_messages(*alone[0], {}));
}

TEST(LinkMeasurement, ARankThatDoesNotComeIsAnError) {
  const Topology topology = make_topology("ring:3");
  const auto errors = test::try_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    if (job->seat() == Seat{2}) throw Error(ErrorCode::Io, "has other plans");
    measure_links(*job, topology, {.transport = "loopback", .timeout = Deadline{300}});
  });
  EXPECT_NE(errors[0], nullptr);
  EXPECT_NE(errors[1], nullptr);
  const auto wrong = test::try_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    measure_links(*job, topology, {.transport = "loopback"});
  });
  EXPECT_EQ(test::message_of(wrong[0]), "measuring links of ring:3: expected 3 ranks, got 2");
}

}  // namespace
}  // namespace multitree::runtime
