// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Measured times of links: their file, and what they change about predictions and choices.
#include "algorithms/tuning/link_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/tuning/choose.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

LinkTable uniform(const Topology& topology, const char* bandwidth, const char* latency,
                  const char* overhead) {
  LinkTable table{topology.name(), parse_time(overhead), {}};
  for (const Link& link : topology.links()) {
    const auto name = [&](NodeId node) { return topology.node(node).name; };
    table.links.push_back(
        {name(link.src), name(link.dst), parse_time(latency), parse_bandwidth(bandwidth)});
  }
  return table;
}

std::string message_of(std::string_view text) {
  try {
    parse_link_table_json(text, "t.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(LinkTable, FileHoldsIt) {
  LinkTable table = uniform(make_topology("mesh:2x2"), "123456789B/s", "1.5us", "250ns");
  table.topology = "a \"name\"";
  EXPECT_EQ(parse_link_table_json(write_link_table_json(table), "t.json"), table);
  table.hosts = {{{"n0", "n1"}, parse_time("2us"), parse_bandwidth("7GB/s")},
                 {{"n2", "n3"}, parse_time("0ns"), parse_bandwidth("9GB/s")}};
  table.hosts.push_back({{"n4", "n5"}, parse_time("3us"), {}, 60});
  table.message_latency = parse_time("30us");
  table.together = 25;
  table.segment_bytes = 60 * 1024;
  table.burst_bytes = 45'045;
  table.choices = {{Collective::AllReduce, 4096, "ring?order=1,0"}, {Collective::Gather, 8, "x"}};
  const std::string text = write_link_table_json(table);
  EXPECT_EQ(parse_link_table_json(text, "t.json"), table);
  EXPECT_EQ(write_link_table_json(parse_link_table_json(text, "t.json")), text);
}

TEST(LinkTable, HasLessOfSlowLinks) {
  const Topology mesh = make_topology("mesh:2x2");
  LinkTable table = uniform(mesh, "1000000001B/s", "1us", "0ns");
  slow_down(table, mesh, std::vector{SlowLink{{1, 3}, 50}});
  for (const LinkTable::Entry& entry : table.links) {
    const bool slow = entry.from + entry.to == "n1n3" || entry.from + entry.to == "n3n1";
    EXPECT_EQ(entry.bandwidth.bytes_per_second, slow ? 500'000'000U : 1'000'000'001U);
  }
}

TEST(LinkTable, WrongFilesNameTheLine) {
  EXPECT_EQ(message_of("{\n\"schema\":\"x\"}"),
            "t.json:2: expected the schema 'multitree/link-table/1', got 'x'");
  const std::string head =
      "{\"schema\":\"multitree/link-table/1\",\"topology\":\"t\",\n\"message_overhead\":";
  EXPECT_TRUE(message_of(head + "\"5\",\"links\":[]}").starts_with("t.json:2: "));
  EXPECT_EQ(message_of(head + "\"2s\",\"links\":[]}"),
            "t.json:2: expected a time of at most 1s, got 2s");
  EXPECT_EQ(message_of(head + "\"5ns\",\n\"message_latency\":\"2s\",\"links\":[]}"),
            "t.json:3: expected a time of at most 1s, got 2s");
  EXPECT_TRUE(
      message_of(head + "\"5ns\",\n\"together\":101,\"links\":[]}").starts_with("t.json:3: "));
  EXPECT_TRUE(message_of(head + "\"5ns\",\"links\":[\n{\"src\":\"a\",\"dst\":\"b\",\"latency\":"
                                "\"1us\",\n\"bandwidth\":\"0GB/s\"}]}")
                  .starts_with("t.json:4: "));
  EXPECT_EQ(message_of(head + "\"5ns\",\"links\":[],\"hosts\":[\n{\"nodes\":[\"n0\",\"n1\"],"
                              "\"message\":\"1us\",\"bandwidth\":\"1GB/s\"},\n{\"nodes\":["
                              "\"n1\"],\"message\":\"1us\",\"bandwidth\":\"1GB/s\"}]}"),
            "t.json:4: expected each node on one host, got 'n1' again");
}

TEST(LinkTable, AChoiceIsOfOneCollectiveAndSize) {
  const std::string choice = "{\"collective\":\"allreduce\",\"bytes\":8,\"algorithm\":\"ring\"}";
  const std::string head =
      "{\"schema\":\"multitree/link-table/1\",\"topology\":\"t\",\"message_overhead\":\"5ns\","
      "\"links\":[],\"choices\":[\n";
  EXPECT_EQ(message_of(head + choice + "]}"), "");
  EXPECT_EQ(message_of(head + choice + ",\n" + choice + "]}"),
            "t.json:3: expected each collective and size once, got allreduce of 8 bytes again");
  EXPECT_TRUE(message_of(head + "{\"collective\":\"none\",\"bytes\":8,\"algorithm\":\"ring\"}]}")
                  .starts_with("t.json:2: "));
}

/// What a file says of each size, and what is predicted for it.
TEST(LinkTable, WhatWasFoundGoesBeforeWhatIsPredicted) {
  const Topology topology = make_topology("torus:4x2");
  LinkTable table = uniform(topology, "10GB/s", "1us", "100ns");
  for (const bool rivals : {false, true}) {
    const ChooseOptions options{.links = &table, .rivals = rivals};
    table.choices.clear();
    const auto spec_at = [](const std::vector<SizedSpec>& specs, std::uint64_t bytes) {
      return *std::ranges::lower_bound(specs, bytes, {}, &SizedSpec::max_bytes);
    };
    const auto before = choose_specs(topology, Collective::AllReduce, Rank{0}, options);
    const std::vector<std::uint64_t> sizes{
        8, 9, 100, 4096, 1 << 20, before.front().max_bytes, before.front().max_bytes + 1};
    for (const std::uint64_t bytes : sizes) {
      table.choices = {{Collective::AllReduce, bytes, "ring"},
                       {Collective::AllReduce, bytes + 1000, "no such algorithm"},
                       {Collective::Broadcast, bytes + 10, "ring"}};
      const auto after = choose_specs(topology, Collective::AllReduce, Rank{0}, options);
      EXPECT_EQ(spec_at(after, bytes).spec, "ring") << bytes;
      EXPECT_TRUE(std::ranges::is_sorted(after, std::less{}, &SizedSpec::max_bytes)) << bytes;
      EXPECT_EQ(after.back().max_bytes, before.back().max_bytes);
      for (const std::uint64_t other : sizes) {
        for (const std::uint64_t near : {other - 1, other, other + 1}) {
          if (near != bytes) {
            EXPECT_EQ(spec_at(after, near).spec, spec_at(before, near).spec) << near;
          }
        }
      }
      if (!rivals) continue;
      const auto& of_size = spec_at(after, bytes).rivals;
      ASSERT_FALSE(of_size.empty());
      EXPECT_EQ(of_size.front().spec, "ring");
      EXPECT_EQ(std::ranges::count(of_size, "ring", &PricedSpec::spec), 1);
    }
  }
}

TEST(LinkTable, TimesReplaceTheDeclared) {
  const Topology topology = make_topology("torus:4x4?slow=3:0.5");
  const Topology priced = with_times(topology, uniform(topology, "2GB/s", "7us", "0ns"));
  ASSERT_EQ(priced.num_links(), topology.num_links());
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    const Link link = priced.link(LinkId{id});
    EXPECT_EQ(link.src, topology.link(LinkId{id}).src);
    EXPECT_EQ(link.dst, topology.link(LinkId{id}).dst);
    EXPECT_EQ(link.bandwidth, parse_bandwidth("2GB/s"));
    EXPECT_EQ(link.latency, parse_time("7us"));
  }
  EXPECT_EQ(priced.node_of(Rank{5}), topology.node_of(Rank{5}));
  LinkTable lacking = uniform(topology, "2GB/s", "7us", "0ns");
  lacking.links.pop_back();
  EXPECT_THROW(with_times(topology, lacking), Error);
}

/// What is chosen for a size.
const SizedSpec& choice_at(const std::vector<SizedSpec>& specs, std::uint64_t bytes) {
  return *std::ranges::lower_bound(specs, bytes, {}, &SizedSpec::max_bytes);
}

TEST(LinkTable, AutoChoosesByIt) {
  const Topology topology = make_topology("mesh:4x4");
  // Messages are dear: 20us each, and as much to arrive.
  const LinkTable dear = uniform(topology, "1GB/s", "20us", "20us");
  const auto specs = choose_specs(topology, Collective::AllReduce, Rank{0},
                                  {.first = 8, .last = std::uint64_t{1} << 30, .links = &dear});
  ASSERT_GE(specs.size(), 2U);
  const Schedule small = make_schedule(choice_at(specs, 8).spec, topology);
  const Schedule large = make_schedule(choice_at(specs, std::uint64_t{1} << 30).spec, topology);
  const Schedule optimal = make_schedule("allreduce-optimal", topology);
  // A shallow tree there: up to the middle and down, of few messages. The optimal one here.
  EXPECT_LE(small.num_steps(), 12U) << small.algorithm;
  EXPECT_LT(small.transfers.size(), large.transfers.size() / 4) << small.algorithm;
  const Topology priced = with_times(topology, dear);
  EXPECT_LE(predict_time(large, priced, std::uint64_t{1} << 30, {dear.message_overhead}),
            predict_time(optimal, priced, std::uint64_t{1} << 30, {dear.message_overhead}));
  EXPECT_TRUE(large.algorithm.starts_with("allreduce-optimal")) << large.algorithm;

  // Where messages cost next to nothing, the large ones' schedule serves smaller sizes.
  const LinkTable cheap = uniform(topology, "1GB/s", "1ns", "0ns");
  const auto other = choose_specs(topology, Collective::AllReduce, Rank{0},
                                  {.first = 8, .last = std::uint64_t{1} << 30, .links = &cheap});
  const auto crossover = [](const std::vector<SizedSpec>& all) {
    return all.size() < 2 ? 0 : all[all.size() - 2].max_bytes;
  };
  EXPECT_LT(crossover(other), crossover(specs) / 100);
  EXPECT_EQ(specs, choose_specs(topology, Collective::AllReduce, Rank{0},
                                {.first = 8, .last = std::uint64_t{1} << 30, .links = &dear}));
}

/// Eight ranks of one host: a message alone is quick, and all of them together hardly quicker.
TEST(LinkTable, RanksOfOneHostShareWhatTheyHave) {
  const Topology topology = make_topology("torus:4x2");
  LinkTable table = uniform(topology, "6GB/s", "15us", "500ns");
  constexpr std::uint64_t kBytes = 1 << 20;
  const ChooseOptions options{.first = kBytes, .last = kBytes, .links = &table};
  const auto spec = [&] {
    return choose_specs(topology, Collective::AllReduce, Rank{0}, options).front().spec;
  };
  const std::string apart = spec();
  const auto alone = [&](const std::string& name) {
    return predict_time(make_schedule(name, topology), with_times(topology, table), kBytes,
                        cost_model(topology, table))
        .seconds();
  };
  EXPECT_LE(alone(apart), 1.03 * alone("allreduce-optimal?size=1MiB&message=500ns")) << apart;
  LinkTable::Host host{{}, parse_time("1us"), parse_bandwidth("9GB/s")};
  for (const Node& node : topology.nodes()) host.nodes.push_back(node.name);
  table.hosts = {host};
  const std::string together = spec();
  const Schedule few = make_schedule(together, topology), many = make_schedule(apart, topology);
  EXPECT_LT(few.transfers.size() * 2, many.transfers.size()) << together;

  const CostModel shared = cost_model(topology, table);
  ASSERT_EQ(shared.hosts.size(), 1U);
  EXPECT_EQ(shared.hosts[0].ranks.size(), 8U);
  // Nothing is faster than all that goes through the host one after the other.
  double bytes = 0;
  for (const Transfer& t : few.transfers) {
    bytes += static_cast<double>(chunk_ranges(few, kBytes)[t.chunk].count);
  }
  const double least = static_cast<double>(few.transfers.size()) * 1e-6 + bytes / 9e9;
  EXPECT_GE(predict_time(few, with_times(topology, table), kBytes, shared).seconds(), least);
  // Between hosts nothing is shared.
  table.hosts = {};
  for (const std::string& node : host.nodes) {
    table.hosts.push_back({{node}, host.message, host.bandwidth});
  }
  EXPECT_EQ(spec(), apart);
}

TEST(LinkTable, AHostServesOneMessageAfterTheOther) {
  const Topology topology = make_topology("full:3?bw=1GB/s&lat=0ns");
  const Schedule exchange = make_schedule("exchange", topology);
  ASSERT_EQ(exchange.transfers.size(), 6U);  // everybody's vector to everybody
  const auto ns = [&](const CostModel& model) {
    return predict_time(exchange, topology, 1000, model).picoseconds / 1000;
  };
  const std::vector<Rank> all{Rank{0}, Rank{1}, Rank{2}};
  EXPECT_EQ(ns({}), 1000);
  EXPECT_EQ(ns({.hosts = {{all, parse_time("50ns"), {}}}}), 6 * 50 + 1000);
  EXPECT_EQ(ns({.hosts = {{all, {}, parse_bandwidth("2GB/s")}}}), 6 * 500 + 1000);
  // Two messages within the host, and four of which it has one end.
  EXPECT_EQ(ns({.hosts = {{{Rank{0}, Rank{1}}, parse_time("50ns"), {}}}}), 2 * 50 + 4 * 25 + 1000);
  // A sender's own time of a message is part of its host's.
  EXPECT_EQ(ns({parse_time("50ns"), {{all, parse_time("50ns"), {}}}}), 6 * 50 + 1000);
}

}  // namespace
}  // namespace multitree
