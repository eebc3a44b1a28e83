// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Hosts as hwloc wrote them down, NVML as a stand-in tells it, and the networks made of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "error_matcher.hpp"
#include "tests/paths.hpp"
#include "topologies/discovery/host_network.hpp"
#include "topologies/discovery/pci_speed_internal.hpp"

namespace multitree::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Host read(const std::string& name, const std::string& nvml = {}, const std::string& sysfs = {}) {
  ::setenv("FAKE_NVML", nvml.c_str(), 1);
  return discover_host(
      {.hwloc_file = test::source_path(fmt::format("tests/data/hosts/{}.xml", name)),
       .sysfs = sysfs,
       .nvml_library = nvml.empty() ? "" : FAKE_NVML_LIBRARY});
}

/// "a-b 24GB/s read" for each two links.
std::vector<std::string> links_of(const HostNetwork& network) {
  std::vector<std::string> links;
  for (const LinkOrigin& link : network.links) {
    links.push_back(fmt::format("{}-{} {} {}", link.a, link.b, to_string(link.bandwidth),
                                link.known == Known::Read ? "read" : "assumed"));
  }
  return links;
}

std::vector<std::string> names_of(const Topology& topology) {
  std::vector<std::string> names;
  for (const Node& node : topology.nodes()) names.push_back(node.name);
  return names;
}

/// Eight GPUs, linked as `links(i)` says.
template <class Links>
std::string eight(unsigned speed, const Links& links) {
  std::string text;
  for (unsigned i = 0; i < 8; ++i) {
    text += fmt::format("{}0000:{:02x}:00.0,NVIDIA A100-SXM4-80GB,4,16,{},{}", i > 0 ? ";" : "",
                        1 + 0x20 * i, speed, links(i));
  }
  return text;
}

TEST(Discover, OneSocketHasNoGpuButADisplay) {
  const Host host = read("one-socket");
  EXPECT_EQ(host.name, "one-socket");
  EXPECT_EQ(host.cores(), 8U);
  ASSERT_EQ(host.numa.size(), 1U);
  EXPECT_EQ(host.numa[0].memory_bytes, std::uint64_t{64} << 30);
  EXPECT_THAT(host.gpus, IsEmpty());
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_THAT(host.nics[0].names, ElementsAre("eth0"));
  EXPECT_EQ(host.nics[0].speed, Bandwidth{0});
  EXPECT_EQ(host.pci[host.nics[0].pci].link, Bandwidth{7'877'000'000});
  EXPECT_EQ(host.nvml, "not asked: not this host");
  const HostNetwork network = make_host_network(host, {});
  EXPECT_THAT(names_of(network.topology), ElementsAre("numa0"));
}

TEST(Discover, ProcessesSpreadOverTheCores) {
  const HostNetwork one = make_host_network(read("one-socket"), {.processes = 3, .hosts = {}});
  EXPECT_THAT(links_of(one), ElementsAre("p0-numa0 10GB/s assumed", "p1-numa0 10GB/s assumed",
                                         "p2-numa0 10GB/s assumed"));
  const HostNetwork two = make_host_network(read("two-sockets"), {.processes = 3, .hosts = {}});
  EXPECT_THAT(links_of(two), ElementsAre("p0-numa0 10GB/s assumed", "p1-numa0 10GB/s assumed",
                                         "p2-numa1 10GB/s assumed", "numa0-numa1 10GB/s assumed"));
  EXPECT_EQ(two.topology.num_ranks(), 3U);
}

TEST(Discover, PcieSwitchesAndProcessors) {
  const HostNetwork network = make_host_network(read("two-sockets"), {});
  EXPECT_THAT(names_of(network.topology),
              ElementsAre("gpu0", "gpu1", "gpu2", "gpu3", "numa0", "numa1", "pci@0000:17:00.0",
                          "pci@0000:81:00.0"));
  EXPECT_THAT(
      links_of(network),
      ElementsAre("pci@0000:17:00.0-numa0 15754MB/s read", "gpu0-pci@0000:17:00.0 15754MB/s read",
                  "gpu1-pci@0000:17:00.0 15754MB/s read", "pci@0000:81:00.0-numa1 15754MB/s read",
                  "gpu2-pci@0000:81:00.0 15754MB/s read", "gpu3-pci@0000:81:00.0 7877MB/s read",
                  "numa0-numa1 10GB/s assumed"));
}

TEST(Discover, HostsMeetThroughTheirInterfaces) {
  const HostNetwork network =
      make_host_network(read("two-sockets"), {.processes = 0, .hosts = {"a", "b"}});
  const Topology& topology = network.topology;
  EXPECT_EQ(topology.num_ranks(), 8U);
  EXPECT_EQ(topology.node(topology.node_of(Rank{5})).name, "b/gpu1");
  EXPECT_THAT(names_of(topology), ::testing::Contains("net"));
  EXPECT_THAT(links_of(network),
              ::testing::IsSupersetOf({"b/nic@0000:85:00.0-b/pci@0000:81:00.0 15754MB/s read",
                                       "b/nic@0000:85:00.0-net 1.25GB/s assumed"}));
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument,
               [] {
                 make_host_network(read("two-sockets"), {.processes = 0, .hosts = {"a", "a"}});
               }),
      HasSubstr("'a' twice"));
}

TEST(Discover, NvSwitchIsAllThatCounts) {
  const Host host = read("eight-gpus", eight(25'000, [](unsigned) { return "switch*12"; }));
  EXPECT_EQ(host.nvml, "8 GPUs");
  EXPECT_EQ(host.gpus[3].name, "NVIDIA A100-SXM4-80GB");
  // The most it can, not what the idle GPU's link does at present.
  EXPECT_EQ(host.pci[host.gpus[3].pci].link, Bandwidth{31'504'000'000});
  const HostNetwork network = make_host_network(host, {});
  EXPECT_EQ(network.topology.num_nodes(), 9U);
  EXPECT_EQ(links_of(network).at(7), "gpu7-nvswitch 300GB/s read");
  EXPECT_EQ(network.links[7].from, "12 NVLinks of 25GB/s");
}

TEST(Discover, NvLinksBetweenPairsNeedPcieToo) {
  const auto pairs = [](unsigned i) {
    return fmt::format("0000:{:02x}:00.0*4", 1 + 0x20 * (i ^ 1));
  };
  const HostNetwork network = make_host_network(read("eight-gpus", eight(0, pairs)), {});
  const auto links = links_of(network);
  // Once, though both ends list it; without a speed by the generation.
  EXPECT_EQ(links.at(0), "gpu0-gpu1 200GB/s assumed");
  EXPECT_EQ(std::ranges::count(links, "gpu0-gpu1 200GB/s assumed"), 1);
  EXPECT_THAT(links,
              ::testing::IsSupersetOf({"gpu0-numa0 31504MB/s read", "gpu7-numa1 31504MB/s read",
                                       "numa0-numa1 24GB/s assumed"}));
}

TEST(Discover, LinksThatTellNothingLeadToASwitch) {
  const Host host = read("eight-gpus", eight(26'562, [](unsigned) { return "untold*18"; }));
  ASSERT_EQ(host.gpus[0].nvlinks.size(), 1U);
  EXPECT_EQ(host.gpus[0].nvlinks[0].to, NvLinks::To::Switch);
  EXPECT_EQ(host.gpus[0].nvlinks[0].count, 18U);
}

TEST(Discover, GpusThatOnlyNvmlSees) {
  const Host host = read("one-socket",
                         "0000:99:00.0,A,3,16,0,0000:9a:00.0*2;0000:9a:00.0,B,3,8,0,"
                         "0000:99:00.0*2,processor*1,0000:ff:00.0*1");
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.gpus[1].name, "B");
  // One GPU is not for this process.
  ASSERT_EQ(host.gpus[1].nvlinks.size(), 2U);
  EXPECT_EQ(host.gpus[1].nvlinks[1].to, NvLinks::To::Processor);
}

TEST(Discover, BrokenDriverIsSaid) {
  const Host host = read("two-sockets", "broken");
  EXPECT_EQ(host.gpus.size(), 4U);
  EXPECT_THAT(host.nvml, ::testing::EndsWith(": Driver Not Loaded"));
  const Host none =
      discover_host({.hwloc_file = test::source_path("tests/data/hosts/two-sockets.xml"),
                     .sysfs = {},
                     .nvml_library = "/nowhere/libnvidia-ml.so.1"});
  EXPECT_THAT(none.nvml, HasSubstr("/nowhere/libnvidia-ml.so.1"));
}

class Files : public ::testing::Test {
 protected:
  ~Files() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  std::filesystem::path root_ = std::filesystem::path(::testing::TempDir()) / "sysfs";
};

TEST_F(Files, SpeedsOfTheKernel) {
  write("bus/pci/devices/0000:19:00.0/max_link_speed", "32.0 GT/s PCIe");
  write("bus/pci/devices/0000:19:00.0/max_link_width", "16");
  write("bus/pci/devices/0000:1a:00.0/max_link_speed", "Unknown");
  write("bus/pci/devices/0000:1a:00.0/max_link_width", "255");
  write("class/net/ib1/speed", "-1");
  write("class/net/eth0/speed", "25000");
  write("class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)");
  write("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  write("class/infiniband/mlx5_0/ports/2/rate", "10 Gb/sec (4X SDR)");
  write("class/infiniband/mlx5_0/ports/2/state", "1: DOWN");
  EXPECT_EQ(nic_speed_of(root_, {"eth0"}), Bandwidth{3'125'000'000});
  const Host host = read("two-sockets", {}, root_);
  EXPECT_EQ(host.pci[host.gpus[0].pci].link, Bandwidth{63'008'000'000});
  EXPECT_EQ(host.pci[host.gpus[1].pci].link, Bandwidth{15'754'000'000});
  EXPECT_EQ(host.nics[0].speed, Bandwidth{12'500'000'000});
  EXPECT_EQ(host.nics[1].speed, Bandwidth{0});
  // The slower end of a link decides: the switch's port is of the generation before.
  const auto links = links_of(make_host_network(host, {}));
  EXPECT_THAT(links, ::testing::Contains("gpu0-pci@0000:17:00.0 15754MB/s read"));
}

TEST(Discover, BadFiles) {
  const auto error = [](ErrorCode code, const std::string& file) {
    return error_of(code,
                    [&] { discover_host({.hwloc_file = file, .sysfs = {}, .nvml_library = {}}); });
  };
  EXPECT_THAT(error(ErrorCode::Io, "/nowhere.xml"), HasSubstr("/nowhere.xml: cannot open"));
  EXPECT_THAT(error(ErrorCode::InvalidInput, test::source_path("README.md")),
              HasSubstr("README.md: expected a topology"));
}

TEST(Discover, ThisHostWhateverItIs) {
  // libpciaccess leaks, which sanitizers would hold against us; hwloc manages without it.
  ::setenv("HWLOC_COMPONENTS", "-pci", 0);
  const Host host = discover_host({});
  EXPECT_GT(host.cores(), 0U);
  EXPECT_EQ(make_host_network(host, {.processes = 4, .hosts = {}}).topology.num_ranks(), 4U);
}

}  // namespace
}  // namespace multitree::discovery
