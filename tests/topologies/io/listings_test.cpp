// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Networks as nvidia-smi, ibnetdiscover and Slurm tell them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/paths.hpp"
#include "topologies/io/io.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using Links = std::multiset<std::string>;

Topology loaded(const std::string& name) {
  return load_topology(test::source_path("tests/data/good/" + name));
}

/// "gpu0 nvswitch0 450GB/s", by names, of each direction one.
Links links_of(const Topology& topology) {
  Links links;
  for (const Link& link : topology.links()) {
    links.insert(fmt::format("{} {} {}", topology.node(link.src).name, topology.node(link.dst).name,
                             to_string(link.bandwidth)));
  }
  return links;
}

Links both_ways(const std::vector<std::array<std::string, 3>>& cables) {
  Links links;
  for (const auto& [a, b, rate] : cables) {
    links.insert(fmt::format("{} {} {}", a, b, rate));
    links.insert(fmt::format("{} {} {}", b, a, rate));
  }
  return links;
}

TEST(NvidiaSmi, SeesASwitchWhereGpusHaveTooManyLinksForCables) {
  const Topology box = loaded("h100_box.smi");
  EXPECT_EQ(box.name(), "h100_box");
  std::vector<std::array<std::string, 3>> cables;
  for (int i = 0; i < 8; ++i) cables.push_back({fmt::format("gpu{}", i), "nvswitch0", "450GB/s"});
  EXPECT_EQ(links_of(box), both_ways(cables));
  EXPECT_EQ(box.num_ranks(), 8U);
}

TEST(NvidiaSmi, TakesCablesOfNvlinksAsTheyAre) {
  const Topology dgx1 = loaded("dgx1.smi");
  EXPECT_EQ(dgx1.num_nodes(), 8U);  // no PCI: NVLinks lead everywhere
  std::map<std::string, int> rates;
  for (const Link& link : dgx1.links()) ++rates[to_string(link.bandwidth)];
  EXPECT_EQ(rates, (std::map<std::string, int>{{"25GB/s", 16}, {"50GB/s", 16}}));
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    std::uint64_t all = 0;  // V100 has six
    for (const LinkId link : dgx1.out_links(NodeId{gpu}))
      all += dgx1.link(link).bandwidth.bytes_per_second;
    EXPECT_EQ(all, 6 * 25'000'000'000U) << gpu;
  }
  const Topology pair =
      parse_topology_nvidia_smi("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n", "pair.smi");
  EXPECT_EQ(links_of(pair), both_ways({{"gpu0", "gpu1", "100GB/s"}}));
}

TEST(NvidiaSmi, BuildsThePciTreeOfTheWays) {
  const std::string pci = "12GB/s";
  EXPECT_EQ(links_of(loaded("pcie_box.smi")), both_ways({{"gpu0", "pci1", pci},
                                                         {"gpu1", "pci1", pci},
                                                         {"gpu2", "pci3", pci},
                                                         {"gpu3", "pci3", pci},
                                                         {"gpu4", "pci5", pci},
                                                         {"gpu5", "pci5", pci},
                                                         {"pci1", "cpu0", pci},
                                                         {"pci3", "cpu0", pci},
                                                         {"pci5", "cpu1", pci},
                                                         {"cpu0", "cpu1", "6GB/s"}}));
}

TEST(Ibnetdiscover, HasADirectedLinkForEachListedEnd) {
  const Topology fabric = loaded("two_leaves.ibnet");
  const std::string rate = "25GB/s";  // 4 lanes of HDR, after the code
  EXPECT_EQ(links_of(fabric), both_ways({{"node1 mlx5_0", "leaf1", rate},
                                         {"node2 mlx5_0", "leaf1", rate},
                                         {"node3 mlx5_0", "leaf2", rate},
                                         {"node4 mlx5_0", "leaf2", rate},
                                         {"leaf1", "spine", rate},
                                         {"leaf1", "spine", rate},
                                         {"leaf2", "spine", rate},
                                         {"leaf2", "spine", rate}}));
  EXPECT_EQ(fabric.num_ranks(), 4U);  // what computes in switches is no host
  EXPECT_TRUE(fabric.is_symmetric());
}

TEST(Ibnetdiscover, KnowsTheRatesOfLanes) {
  const std::map<std::string, std::string> rates = {
      {"4xSDR", "1GB/s"},    {"4xQDR", "4GB/s"},  {"4xFDR10", "5GB/s"}, {"4xEDR", "12.5GB/s"},
      {"2xHDR", "12.5GB/s"}, {"4xNDR", "50GB/s"}, {"4xXDR", "100GB/s"}};
  for (const auto& [speed, rate] : rates) {
    const std::string text = fmt::format(
        "Ca\t1 \"H-1\"\t# \"same\"\n[1](1)\t\"H-2\"[1](2)\t# lid 1 lmc 0 \"same\" lid 2 {0}\n"
        "Ca\t1 \"H-2\"\t# \"same\"\n[1](2)\t\"H-1\"[1](1)\t# lid 2 lmc 0 \"same\" lid 1 {0}\n",
        speed);
    EXPECT_EQ(links_of(parse_topology_ibnetdiscover(text, "f.ibnet")),
              both_ways({{"same H-1", "same H-2", rate}}))
        << speed;
  }
}

TEST(Slurm, ExpandsNamesAndJoinsSwitches) {
  const Topology racks = loaded("topology.conf");
  const std::string rate = "16GB/s";
  EXPECT_EQ(links_of(racks), both_ways({{"node00", "rack0", rate},
                                        {"node01", "rack0", rate},
                                        {"node02", "rack0", rate},
                                        {"node03", "rack0", rate},
                                        {"node04", "rack1", rate},
                                        {"node05", "rack1", rate},
                                        {"node10", "rack1", rate},
                                        {"login", "rack1", rate},
                                        {"rack0", "core", rate},
                                        {"rack1", "core", rate}}));
  EXPECT_EQ(racks.node(racks.node_of(Rank{7})).name, "login");
  const Topology rows = parse_topology_slurm("SwitchName=s Nodes=r[1-2]n[08-10]x", "f.conf");
  EXPECT_EQ(rows.num_ranks(), 6U);
  EXPECT_EQ(rows.node(rows.node_of(Rank{5})).name, "r2n10x");
}

}  // namespace
}  // namespace multitree
