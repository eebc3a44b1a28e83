// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// NCCL topology files: what becomes a node, what a link, and the messages for wrong ones.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/paths.hpp"
#include "topologies/io/io.hpp"

namespace multitree {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::string nccl_file(const std::string& name) {
  return test::source_path("tests/data/good/" + name);
}

std::vector<std::string> names(const Topology& topology) {
  std::vector<std::string> result;
  for (const Node& node : topology.nodes()) result.push_back(node.name);
  return result;
}

// "a b 12GB/s" for every link; latencies other than 150ns are added.
std::vector<std::string> links(const Topology& topology) {
  std::vector<std::string> result;
  for (const Link& link : topology.links()) {
    const std::string latency = to_string(link.latency);
    result.push_back(fmt::format("{} {} {}{}", topology.node(link.src).name,
                                 topology.node(link.dst).name, to_string(link.bandwidth),
                                 latency == "150ns" ? "" : " " + latency));
  }
  return result;
}

TEST(Nccl, NvSwitchesAreOneSwitchAndTheRestIsLeftOut) {
  const Topology topology = load_topology(nccl_file("nccl_dgx_h100.xml"));
  EXPECT_EQ(topology.name(), "nccl_dgx_h100");
  EXPECT_EQ(topology.num_ranks(), 8U);
  EXPECT_EQ(topology.num_nodes(), 9U);
  EXPECT_EQ(topology.num_links(), 16U);
  for (const Link& link : topology.links()) {
    EXPECT_EQ(to_string(link.bandwidth), "370.8GB/s");  // 18 links of 20.6
    EXPECT_NE(topology.node(link.src).is_switch(), topology.node(link.dst).is_switch());
  }
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(topology.node(topology.node_of(Rank{rank})).name, fmt::format("gpu{}", rank));
  }
}

TEST(Nccl, GpusOfAMeshAreNumberedByDevice) {
  const Topology topology = load_topology(nccl_file("nccl_nvlink_mesh.xml"));
  EXPECT_THAT(names(topology), ElementsAre("gpu1", "gpu0", "gpu3", "gpu2"));
  EXPECT_EQ(topology.num_links(), 12U);
  EXPECT_TRUE(topology.is_symmetric());
  for (const Link& link : topology.links()) EXPECT_EQ(to_string(link.bandwidth), "80GB/s");
}

TEST(Nccl, PciTreeKeepsWhatLiesBetweenRanks) {
  const Topology topology = load_topology(nccl_file("nccl_pcie.xml"));
  EXPECT_THAT(names(topology),
              ElementsAre("cpu0", "pci@0000:16:00.0", "gpu0", "gpu1", "cpu1", "gpu2"));
  EXPECT_EQ(topology.num_ranks(), 3U);
  EXPECT_THAT(links(topology),
              UnorderedElementsAre("pci@0000:16:00.0 cpu0 12GB/s", "cpu0 pci@0000:16:00.0 12GB/s",
                                   "gpu0 pci@0000:16:00.0 12GB/s", "pci@0000:16:00.0 gpu0 12GB/s",
                                   "gpu1 pci@0000:16:00.0 6GB/s", "pci@0000:16:00.0 gpu1 6GB/s",
                                   "gpu2 cpu1 3GB/s", "cpu1 gpu2 3GB/s",  // width 0 is 16 lanes
                                   "cpu0 cpu1 10GB/s", "cpu1 cpu0 10GB/s"));
}

TEST(Nccl, HostsMeetAtTheirAdapters) {
  const Topology topology = load_topology(nccl_file("nccl_two_hosts.xml"));
  EXPECT_THAT(names(topology), ElementsAre("cpu0", "gpu0", "gpu1", "nic@0000:03:00.0", "host1/cpu0",
                                           "gpu2", "host1/nic@0", "net"));
  EXPECT_TRUE(topology.is_symmetric());
  std::vector<std::string> found = links(topology);
  for (const char* link :
       {"gpu0 gpu1 123.6GB/s", "gpu0 cpu0 48GB/s", "gpu0 cpu0 450GB/s", "gpu1 cpu0 48GB/s",
        "nic@0000:03:00.0 cpu0 48GB/s", "nic@0000:03:00.0 net 25GB/s 2.5us",
        "nic@0000:03:00.0 net 12.5GB/s 500ns", "gpu2 host1/cpu0 48GB/s",
        "host1/nic@0 host1/cpu0 5TB/s", "host1/nic@0 net 1.25GB/s 500ns"}) {
    EXPECT_EQ(std::erase(found, link), 1U) << link;
  }
  EXPECT_EQ(found.size(), 10U) << "the other directions";
}

// Two GPUs, ranks 0 and 1, below the CPU `cpu`, with the same elements inside.
std::string two_gpus(const std::string& cpu, const std::string& pci, const std::string& gpu,
                     const std::string& inside = "") {
  std::string text = "<system version=\"1\">\n<cpu numaid=\"0\" " + cpu + ">\n";
  for (int rank = 0; rank < 2; ++rank) {
    text += fmt::format(
        "<pci busid=\"0000:0{}:00.0\" class=\"0x030200\" {}>\n<gpu dev=\"{}\" rank=\"{}\" {}>\n"
        "{}\n</gpu></pci>\n",
        rank, pci, rank, rank, gpu, inside);
  }
  return text + "</cpu>\n</system>\n";
}

std::string first_bandwidth(const std::string& text) {
  return to_string(parse_topology_nccl(text, "f").link(LinkId{0}).bandwidth);
}

TEST(Nccl, PciBandwidthIsWidthTimesSpeed) {
  const auto bandwidth = [](const std::string& pci) {
    return first_bandwidth(two_gpus("arch=\"x86_64\"", pci, ""));
  };
  EXPECT_EQ(bandwidth("link_width=\"16\" link_speed=\"2.5 GT/s PCIe\""), "3GB/s");
  EXPECT_EQ(bandwidth("link_width=\"16\" link_speed=\"5.0 GT/s PCIe\""), "6GB/s");
  EXPECT_EQ(bandwidth("link_width=\"16\" link_speed=\"8 GT/s\""), "12GB/s");
  EXPECT_EQ(bandwidth("link_width=\"16\" link_speed=\"16.0 GT/s PCIe\""), "24GB/s");
  EXPECT_EQ(bandwidth("link_width=\"16\" link_speed=\"32.0 GT/s PCIe\""), "48GB/s");
  EXPECT_EQ(bandwidth("link_width=\"4\" link_speed=\"64.0 GT/s PCIe\""), "24GB/s");
  EXPECT_EQ(bandwidth("link_width=\"1\" link_speed=\"2.5 GT/s\""), "187.5MB/s");
  EXPECT_EQ(bandwidth("link_width=\"8\" link_speed=\"Unknown\""), "6GB/s");
  EXPECT_EQ(bandwidth("link_width=\"0\" link_speed=\"\""), "12GB/s");
  EXPECT_EQ(bandwidth(""), "12GB/s");
}

TEST(Nccl, NvLinkBandwidthFollowsTheGpu) {
  const std::pair<int, const char*> expected[] = {
      {60, "36GB/s"}, {70, "40GB/s"},   {75, "40GB/s"},    {80, "40GB/s"}, {86, "24GB/s"},
      {89, "40GB/s"}, {90, "41.2GB/s"}, {100, "80.2GB/s"}, {52, "40GB/s"}};
  for (const auto& [sm, bandwidth] : expected) {
    EXPECT_EQ(first_bandwidth(two_gpus("arch=\"x86_64\"", "", fmt::format("sm=\"{}\"", sm),
                                       "<nvlink count=\"2\" tclass=\"0x068000\"/>")),
              bandwidth)
        << sm;
  }
}

TEST(Nccl, NvLinksToTheCpuJoinIt) {
  const Topology topology = parse_topology_nccl(
      two_gpus("arch=\"ppc64\"", "", "sm=\"70\"", "<nvlink count=\"3\" tclass=\"0x068001\"/>"),
      "f");
  EXPECT_THAT(names(topology), ElementsAre("cpu0", "gpu0", "gpu1"));
  EXPECT_THAT(links(topology), UnorderedElementsAre("gpu0 cpu0 60GB/s", "cpu0 gpu0 60GB/s",
                                                    "gpu1 cpu0 60GB/s", "cpu0 gpu1 60GB/s"));
}

TEST(Nccl, CpusAreJoinedAtTheRateOfTheirKind) {
  const std::pair<const char*, const char*> expected[] = {
      {R"(arch="ppc64")", "32GB/s"},
      {R"(arch="arm64")", "6GB/s"},
      {R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79")", "6GB/s"},
      {R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85")", "10GB/s"},
      {R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143")", "22GB/s"},
      {R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="173")", "40GB/s"},
      {R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207")", "40GB/s"},
      {R"(arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49")", "16GB/s"},
      {R"(arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1")", "24GB/s"},
      {R"(arch="x86_64" vendor="AuthenticAMD" familyid="26" modelid="2")", "32GB/s"},
      {R"(arch="x86_64" vendor="CentaurHauls" familyid="7" modelid="91")", "9GB/s"},
      {R"(arch="x86_64" vendor="Other")", "5TB/s"}};
  for (const auto& [cpu, bandwidth] : expected) {
    std::string text = two_gpus(cpu, "", "");
    const std::string second = "<pci busid=\"0000:01:00.0\"";
    text.insert(text.find(second), fmt::format("</cpu>\n<cpu numaid=\"1\" {}>\n", cpu));
    EXPECT_THAT(links(parse_topology_nccl(text, "f")),
                testing::Contains(fmt::format("cpu0 cpu1 {}", bandwidth)));
  }
}

TEST(Nccl, GpusWithoutARankTakeNoPart) {
  // Three GPUs in a line of NVLinks; the middle one has no rank, so PCIe is what is left.
  std::string text = "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"arm64\">\n";
  for (int i = 0; i < 3; ++i) {
    text += fmt::format("<pci busid=\"{}\" class=\"0x030200\"><gpu dev=\"{}\" sm=\"80\"{}>", i, i,
                        i == 1 ? "" : fmt::format(" rank=\"{}\"", i / 2));
    for (const int peer : {i - 1, i + 1}) {
      text += fmt::format("<nvlink target=\"{}\" count=\"1\" tclass=\"0x030200\"/>",
                          peer < 0 ? 9 : peer);
    }
    text += "</gpu></pci>\n";
  }
  const Topology topology = parse_topology_nccl(text + "</cpu>\n</system>\n", "f");
  EXPECT_THAT(names(topology), ElementsAre("cpu0", "gpu0", "gpu1"));
  EXPECT_EQ(topology.num_links(), 4U);
}

TEST(Nccl, IdleCpusBetweenOthersAreLeftOut) {
  // Of four CPUs, each joined to the three others, one has GPUs: nothing passes the three.
  std::string text = two_gpus("arch=\"arm64\"", "", "");
  for (int numa = 1; numa < 4; ++numa) {
    text.insert(text.find("</system>"), fmt::format("<cpu numaid=\"{}\" arch=\"arm64\"/>\n", numa));
  }
  EXPECT_THAT(names(parse_topology_nccl(text, "f")), ElementsAre("cpu0", "gpu0", "gpu1"));
}

TEST(Nccl, OneGpuNeedsNoLink) {
  const Topology topology = parse_topology_nccl(
      "<system version=\"1\"><cpu numaid=\"-1\" arch=\"arm64\"><pci busid=\"0\" class=\"0x03\">"
      "<gpu dev=\"5\"/></pci></cpu></system>",
      "f");
  EXPECT_THAT(names(topology), ElementsAre("gpu0"));
  EXPECT_EQ(topology.num_links(), 0U);
}

}  // namespace
}  // namespace multitree
