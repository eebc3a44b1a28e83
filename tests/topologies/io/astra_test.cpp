// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Network files of ASTRA-sim: the same networks as by spec, and the rules for mixed dimensions.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "tests/paths.hpp"
#include "topologies/error.hpp"
#include "topologies/io/io.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

std::string astra_file(const std::string& name) {
  return test::source_path("tests/data/good/" + name);
}

Topology astra(const std::string& topology, const std::string& npus, const std::string& bandwidth,
               const std::string& latency) {
  return parse_topology_astra(
      fmt::format("topology: [{}]\nnpus_count: [{}]\nbandwidth: [{}]\nlatency: [{}]\n", topology,
                  npus, bandwidth, latency),
      "f.yml");
}

struct Same {
  Topology topology;
  const char* spec;
};

std::multiset<std::string> astra_links(const Topology& of) {
  std::multiset<std::string> result;
  for (const Link& link : of.links()) {
    result.insert(fmt::format("{} {} {} {}", index(link.src), index(link.dst),
                              to_string(link.bandwidth), to_string(link.latency)));
  }
  return result;
}

// Equal up to the names of the whole and of switches.
TEST(Astra, IsTheSameNetworkAsByItsSpec) {
  const std::vector<Same> cases = {
      {astra("Ring", "8", "50", "500"), "ring:8?bw=50GB/s&lat=500ns"},
      {astra("Ring", "2", "50", "0"), "ring:2?bw=50GB/s&lat=0ns"},
      {astra("Ring, Ring", "4, 3", "200, 12.5", "50, 0.5"),
       "torus:4x3?bw=200GB/s,12.5GB/s&lat=50ns,500ps"},
      {astra("Ring, Ring, Ring", "4, 2, 3", "1, 2, 3", "1, 2, 3"),
       "torus:4x2x3?bw=1GB/s,2GB/s,3GB/s&lat=1ns,2ns,3ns"},
      {astra("FullyConnected", "5", "1e2", "7"), "full:5?bw=100GB/s&lat=7ns"},
      {astra("Switch", "6", "3", "7"), "star:6?bw=3GB/s&lat=7ns"}};
  for (const auto& [topology, spec] : cases) {
    const Topology expected = make_topology(spec);
    EXPECT_EQ(topology.num_ranks(), expected.num_ranks()) << spec;
    EXPECT_EQ(topology.num_nodes(), expected.num_nodes()) << spec;
    const std::string family = expected.shape().family;
    if (family == "ring" || family == "torus") {
      EXPECT_EQ(topology.shape(), expected.shape());
    }
    EXPECT_EQ(astra_links(topology), astra_links(expected)) << spec;
  }
}

TEST(Astra, RingAndSwitch) {
  const Topology topology = load_topology(astra_file("astra_ring_switch.yml"));
  EXPECT_EQ(topology.name(), "astra_ring_switch");
  EXPECT_EQ(topology.num_ranks(), 32U);
  EXPECT_EQ(topology.num_nodes(), 36U);
  EXPECT_EQ(topology.num_links(), 128U);
  EXPECT_EQ(topology.shape(), Shape{});
  for (const Link& link : topology.links()) {
    const std::uint32_t src = index(link.src), dst = index(link.dst);
    if (src >= 32 || dst >= 32) {
      // Switch i joins the ranks whose place in their ring is i.
      EXPECT_EQ(src >= 32 ? src - 32 : dst - 32, std::min(src, dst) % 4);
      EXPECT_EQ(to_string(link.bandwidth), "12.5GB/s");
      EXPECT_EQ(to_string(link.latency), "500ns");
    } else {
      EXPECT_EQ(src / 4, dst / 4);
      EXPECT_EQ(to_string(link.bandwidth), "200GB/s");
      EXPECT_EQ(to_string(link.latency), "50ns");
    }
  }
}

TEST(Astra, ThreeDimensions) {
  const Topology topology = load_topology(astra_file("astra_3d.yaml"));
  EXPECT_EQ(topology.num_ranks(), 24U);
  EXPECT_EQ(topology.num_nodes(), 30U);
  // A pair of 2, 2 peers of 3, one switch: one, two and one links a rank, one each way.
  EXPECT_EQ(topology.num_links(), 24U * (1 + 2 + 2));
  EXPECT_TRUE(topology.is_symmetric());
  std::multiset<std::string> of_rank_0;
  for (const LinkId id : topology.out_links(topology.node_of(Rank{0}))) {
    const Link& link = topology.link(id);
    of_rank_0.insert(fmt::format("{} {} {}", topology.node(link.dst).name,
                                 to_string(link.bandwidth), to_string(link.latency)));
  }
  EXPECT_THAT(of_rank_0, testing::ElementsAre("dim2sw0 50GB/s 2us", "n1 200GB/s 50ns",
                                              "n2 100GB/s 500ps", "n4 100GB/s 500ps"));
}

TEST(Astra, TakesBlockAndFlowStyle) {
  const Topology block = parse_topology_astra(
      "---\nlatency:\n- 500\ntopology:\n- Ring\nbandwidth: &b\n- 50\nnpus_count: [8]\n", "f");
  EXPECT_EQ(block.links().size(), 16U);
  EXPECT_EQ(block.link(LinkId{3}), load_topology(astra_file("astra_ring.yml")).link(LinkId{3}));
}

struct Written {
  const char* spec;
  const char* first_lines;  ///< topology and npus_count
};

// What is written is read back as the same network, whatever family it was made by.
TEST(Astra, ReadsBackWhatItWrites) {
  const std::vector<Written> cases = {
      {"ring:8?bw=50GB/s&lat=500ns", "topology: [ Ring ]\nnpus_count: [ 8 ]\n"},
      {"torus:4x2x3?bw=1GB/s,2.5GB/s,3GB/s&lat=1ns,500ps,3ns",
       "topology: [ Ring, Ring, Ring ]\nnpus_count: [ 4, 2, 3 ]\n"},
      {"hypercube:3", "topology: [ Ring, Ring, Ring ]\nnpus_count: [ 2, 2, 2 ]\n"},
      {"full:16", "topology: [ FullyConnected ]\nnpus_count: [ 16 ]\n"},
      {"hyperx:4x5", "topology: [ FullyConnected, FullyConnected ]\nnpus_count: [ 4, 5 ]\n"},
      {"star:6?bw=123456789B/s", "topology: [ Switch ]\nnpus_count: [ 6 ]\n"},
      {"dgx-h100:1", "topology: [ Switch ]\nnpus_count: [ 8 ]\n"},
      {"mi300x:1", "topology: [ FullyConnected ]\nnpus_count: [ 8 ]\n"},
      {"rail:4x8?spines=0", "topology: [ Switch, Switch ]\nnpus_count: [ 8, 4 ]\n"}};
  for (const auto& [spec, first_lines] : cases) {
    const Topology topology = make_topology(spec);
    const std::string text = write_topology_astra(topology);
    EXPECT_EQ(text.substr(0, text.find("bandwidth")), first_lines) << spec;
    const Topology back = parse_topology_astra(text, "f.yml");
    EXPECT_EQ(back.num_ranks(), topology.num_ranks()) << spec;
    EXPECT_EQ(astra_links(back), astra_links(topology)) << spec;
    EXPECT_EQ(write_topology_astra(back), text) << spec;
  }
  for (const char* file : {"astra_3d.yaml", "astra_ring_switch.yml"}) {
    const Topology topology = load_topology(astra_file(file));
    const Topology back = parse_topology_astra(write_topology_astra(topology), "f.yml");
    EXPECT_EQ(astra_links(back), astra_links(topology)) << file;
  }
}

TEST(Astra, SaysWhyANetworkIsNotOfItsDimensions) {
  const auto why = [](const char* spec) {
    try {
      write_topology_astra(make_topology(spec));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("written");
  };
  EXPECT_THAT(why("ring:1"), testing::HasSubstr("got a single rank"));
  EXPECT_THAT(why("fattree:2x2"), testing::HasSubstr("a link between the switches"));
  EXPECT_THAT(why("mesh:4"), testing::HasSubstr("links of rank 0 that lead to no ring"));
  EXPECT_THAT(why("dgx-a100:2"), testing::HasSubstr("links of rank 0 that lead to no ring"));
  EXPECT_THAT(why("torus:4x4?without=5-6"),
              testing::HasSubstr("not Ring of 4 by Ring of 4: it has no link of 16GB/s and 150ns "
                                 "from rank 5 to rank 6"));
  EXPECT_THAT(why("torus:4x4?slow=5-6:0.5"), testing::HasSubstr("it has also link of 8GB/s"));
  EXPECT_THAT(why("ring:4?parallel=2"), testing::HasSubstr("it has also link of 16GB/s"));
}

TEST(Ns3, HasALineForEachPairOfLinks) {
  EXPECT_EQ(write_topology_ns3(make_topology("star:3?bw=12.5GB/s&lat=1500ps")),
            "4 1 3\n3\n0 3 100Gbps 1.5ns 0\n1 3 100Gbps 1.5ns 0\n2 3 100Gbps 1.5ns 0\n");
  EXPECT_EQ(write_topology_ns3(make_topology("ring:2?bw=1GB/s")), "2 0 1\n\n0 1 8Gbps 150ns 0\n");
  EXPECT_THROW(write_topology_ns3(make_topology("ring:4?without=0>1")), Error);
  EXPECT_THROW(write_topology_ns3(make_topology("ring:4?parallel=2")), Error);
}

}  // namespace
}  // namespace multitree
