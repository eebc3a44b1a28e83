// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which interface leads to which rank, on hosts that are made up.
#include "runtime/messages/network/devices_internal.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "runtime/messages/network/cables.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint32_t address(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

/// A host that has an address of its own and no wire.
Host host(std::uint32_t number) {
  return {
      fmt::format("host {}", number), true, {{"host0", address(10, 200, 0, number + 1), 32, 0}}};
}

void add(Host& host, std::uint32_t at, std::uint32_t prefix, std::uint32_t mbits = 10'000) {
  host.interfaces.push_back({fmt::format("l{}", host.interfaces.size()), at, prefix, mbits});
}

/// Hosts in a ring, each with a wire to the next.
std::vector<Host> ring(std::uint32_t ranks) {
  std::vector<Host> hosts;
  for (std::uint32_t r = 0; r < ranks; ++r) hosts.push_back(host(r));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    add(hosts[r], address(10, 0, 0, 4 * r + 1), 30);
    add(hosts[(r + 1) % ranks], address(10, 0, 0, 4 * r + 2), 30);
  }
  return hosts;
}

TEST(Devices, NeighboursOnARingHaveWiresAndOthersHaveNone) {
  const std::vector<Host> hosts = ring(5);
  const Ways ways = choose_ways(hosts, Seat{1});
  EXPECT_EQ(ways.wires[0], (Wire{"l1", {address(10, 0, 0, 0), 30}}));
  EXPECT_EQ(ways.wires[2], (Wire{"l2", {address(10, 0, 0, 4), 30}}));
  for (const std::uint32_t rank : {1U, 3U, 4U}) EXPECT_EQ(ways.wires[rank], std::nullopt) << rank;
  EXPECT_TRUE(ways.any_wires);
  EXPECT_TRUE(ways.alone);
  EXPECT_TRUE(ways.slow_network);
  EXPECT_FALSE(ways.one_port);
}

TEST(Devices, BothEndsAgree) {
  std::vector<Host> hosts = ring(6);
  add(hosts[2], address(10, 0, 9, 1), 30);  // a second wire between 2 and 3, and a chord
  add(hosts[3], address(10, 0, 9, 2), 30);
  add(hosts[1], address(9, 0, 0, 1), 24);
  add(hosts[4], address(9, 0, 0, 2), 24);
  for (std::uint32_t a = 0; a < hosts.size(); ++a) {
    for (std::uint32_t b = 0; b < hosts.size(); ++b) {
      const auto there = choose_ways(hosts, Seat{a}).wires[b];
      const auto back = choose_ways(hosts, Seat{b}).wires[a];
      ASSERT_EQ(there.has_value(), back.has_value()) << a << " " << b;
      if (there) {
        EXPECT_EQ(there->subnet, back->subnet) << a << " " << b;
      }
    }
  }
  EXPECT_EQ(choose_ways(hosts, Seat{2}).wires[3]->subnet, (Subnet{address(10, 0, 0, 8), 30}));
  EXPECT_EQ(choose_ways(hosts, Seat{4}).wires[1]->subnet, (Subnet{address(9, 0, 0, 0), 24}));
}

/// What a file says: cable i leads from each to the next, and a switch is at all.
std::vector<Host> with_cables(std::uint32_t ranks) {
  std::vector<Host> hosts;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    hosts.push_back(host(r));
    hosts[r].cluster = "a digest";
    hosts[r].cables = {{ranks, "lan", fmt::format("fe80::{}:9", r), 1000, true},
                       {r, "tb0", fmt::format("fe80::{}:0", r), 9000, false},
                       {(r + ranks - 1) % ranks, "tb1", fmt::format("fe80::{}:1", r), 9000, false}};
  }
  return hosts;
}

TEST(Devices, CablesOfAFileLeadToNeighboursAndASwitchToOthers) {
  const std::vector<Host> hosts = with_cables(4);
  const Ways ways = choose_ways(hosts, Seat{1});
  EXPECT_EQ(ways.wires[2], (Wire{"tb0", {}, 1}));
  EXPECT_EQ(ways.wires[0], (Wire{"tb1", {}, 0}));
  EXPECT_EQ(ways.wires[3], (Wire{"lan", {}, 4}));
  EXPECT_EQ(ways.wires[1], std::nullopt);
  EXPECT_TRUE(ways.any_wires);
  EXPECT_TRUE(ways.slow_network);
  EXPECT_FALSE(ways.one_port);
  EXPECT_EQ(address_towards(hosts, ways, Seat{1}, Seat{2}), std::nullopt);
}

TEST(Devices, CablesServeTwoHostsToo) {
  std::vector<Host> hosts = with_cables(2);
  for (Host& one : hosts) one.cables.erase(one.cables.begin());
  EXPECT_EQ(choose_ways(hosts, Seat{0}).wires[1]->cable, 0U);
  hosts[0].cables[0].mbits = 40'000;
  EXPECT_FALSE(choose_ways(hosts, Seat{1}).slow_network);
}

TEST(Devices, SeveralCablesBetweenTwoHostsAreTakenInTheOrderOfTheFileAtBothEnds) {
  std::vector<Host> hosts = with_cables(2);
  for (const std::uint32_t self : {0U, 1U}) {
    const Seat peer{1 - self};
    const Ways ways = choose_ways(hosts, Seat{self});
    EXPECT_EQ(ways.cables_to(peer), 2U);
    EXPECT_EQ(ways.cables_to(Seat{self}), 1U);
    EXPECT_EQ(ways.wire_to(peer, 0), ways.wire_to(peer));
    EXPECT_EQ(ways.wire_to(peer, 0)->cable, 0U);
    EXPECT_EQ(ways.wire_to(peer, 1)->cable, 1U);
    EXPECT_EQ(ways.wire_to(peer, 1)->device, self == 0 ? "tb1" : "tb0");
    EXPECT_EQ(ways.most_cables, 2U);
  }
  hosts[1].cables.pop_back();  // its port for cable 0 is gone
  EXPECT_EQ(choose_ways(hosts, Seat{0}).cables_to(Seat{1}), 1U);
  EXPECT_EQ(choose_ways(hosts, Seat{0}).wire_to(Seat{1})->cable, 1U);
  EXPECT_EQ(choose_ways(hosts, Seat{0}).most_cables, 1U);
}

TEST(Devices, NoTwoPortsAtASwitchAreSeveralCables) {
  std::vector<Host> hosts = with_cables(4);
  const Ways ways = choose_ways(hosts, Seat{1});
  for (const std::uint32_t rank : {0U, 2U, 3U}) EXPECT_EQ(ways.cables_to(Seat{rank}), 1U) << rank;
  EXPECT_EQ(ways.most_cables, 1U);
}

TEST(Devices, AllRanksHaveOneFileOfCables) {
  std::vector<Host> hosts = with_cables(3);
  hosts[2].cluster = "another";
  EXPECT_THAT([&] { choose_ways(hosts, Seat{0}); },
              ThrowsMessage<Error>(HasSubstr("found one at rank 0 and another at rank 2")));
  hosts[2].cluster.clear();
  EXPECT_THAT([&] { choose_ways(hosts, Seat{0}); },
              ThrowsMessage<Error>(HasSubstr("expected one file in MULTITREE_CLUSTER")));
}

TEST(Devices, CablesAreReadAsTheyArePacked) {
  const Host one = with_cables(3)[1];
  EXPECT_EQ(unpack_host(pack(one)), one);
}

TEST(Devices, AHostFindsItselfInAFileByItsNameIfThatIsOfOne) {
  std::array<char, 256> name{};
  ASSERT_EQ(::gethostname(name.data(), name.size() - 1), 0);
  cluster::Cluster file;
  file.hosts = {{"a", "some other host", "a"}, {"b", name.data(), "b"}};
  EXPECT_EQ(own_place(file), 1U);
  file.hosts.push_back({"c", name.data(), "c"});
  EXPECT_EQ(own_place(file), std::nullopt) << "two hosts have that name, and none these ports";
  file.hosts.resize(1);
  EXPECT_EQ(own_place(file), std::nullopt);
}

TEST(Devices, AFileThatIsNotThereIsAnError) {
  ::setenv(kClusterVariable, "/nowhere/desks.json", 1);
  EXPECT_THAT([] { describe_host_with_cables(); },
              ThrowsMessage<Error>(HasSubstr("/nowhere/desks.json")));
  ::unsetenv(kClusterVariable);
  EXPECT_TRUE(describe_host_with_cables().cables.empty());
}

TEST(Devices, ASwitchedNetworkIsNoWire) {
  std::vector<Host> hosts{host(0), host(1), host(2)};
  for (std::uint32_t r = 0; r < 3; ++r) add(hosts[r], address(192, 168, 0, r + 1), 24);
  const Ways ways = choose_ways(hosts, Seat{0});
  EXPECT_THAT(ways.wires, Each(std::nullopt));
  EXPECT_FALSE(ways.any_wires);
  EXPECT_TRUE(ways.slow_network);
  EXPECT_TRUE(ways.one_port);
}

/// All that may be on its way to a port fits its queue; nobody waits for less than a few packets.
TEST(Devices, ReceiveBuffersShareAPortsQueue) {
  EXPECT_EQ(receive_buffer_bytes(100, 0), kSocketBufferBytes);
  EXPECT_EQ(receive_buffer_bytes(100, 1), kSocketBufferBytes);
  EXPECT_EQ(receive_buffer_bytes(100, 16), 12U * 1024);
  EXPECT_EQ(receive_buffer_bytes(0, 16), kSocketBufferBytes) << "not known";
  EXPECT_EQ(receive_buffer_bytes(1000, 16), kSocketBufferBytes) << "a window fills a fast link";
  EXPECT_EQ(receive_buffer_bytes(100, 4096), 4U * 1024);
}

TEST(Devices, EqualAddressesAreBridgesOfEachHost) {
  std::vector<Host> hosts{host(0), host(1), host(2)};
  add(hosts[0], address(172, 17, 0, 1), 16);
  add(hosts[1], address(172, 17, 0, 1), 16);
  EXPECT_THAT(choose_ways(hosts, Seat{0}).wires, Each(std::nullopt));
}

TEST(Devices, TwoHostsLeaveTheChoiceToUcx) {
  std::vector<Host> hosts{host(0), host(1)};
  add(hosts[0], address(10, 0, 0, 1), 30);
  add(hosts[1], address(10, 0, 0, 2), 30);
  EXPECT_THAT(choose_ways(hosts, Seat{0}).wires, Each(std::nullopt));
}

TEST(Devices, RanksOfOneHostShareItsWires) {
  std::vector<Host> hosts;
  for (const Host& one : ring(3)) hosts.insert(hosts.end(), {one, one});
  const Ways ways = choose_ways(hosts, Seat{0});
  EXPECT_EQ(ways.wires[1], std::nullopt);
  EXPECT_EQ(ways.wires[2], ways.wires[3]);
  EXPECT_TRUE(ways.wires[2].has_value());
  EXPECT_FALSE(ways.alone);
  EXPECT_FALSE(ways.slow_network) << "shared memory is in play";
}

TEST(Devices, AFastInterfaceAnywhereMakesAFastNetwork) {
  std::vector<Host> hosts = ring(4);
  add(hosts[2], address(10, 1, 0, 1), 24, 25'000);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_FALSE(choose_ways(hosts, Seat{rank}).slow_network);
    EXPECT_TRUE(choose_ways(hosts, Seat{rank}).any_wires);
  }
}

TEST(Devices, OneRankWithoutFreeChoiceDecidesForAll) {
  std::vector<Host> hosts = ring(4);
  hosts[3].free_choice = false;
  const Ways ways = choose_ways(hosts, Seat{0});
  EXPECT_THAT(ways.wires, Each(std::nullopt));
  EXPECT_FALSE(ways.slow_network);
}

TEST(Devices, DescriptionsSurviveTheExchange) {
  const Host sent = ring(3)[1];
  EXPECT_EQ(unpack_host(pack(sent)), sent);
  const Host own = describe_host(true);
  EXPECT_EQ(unpack_host(pack(own)), own);
  EXPECT_FALSE(own.id.empty());
  EXPECT_THAT([] { unpack_host("x"); }, ThrowsMessage<Error>(HasSubstr("description of a host")));
  Host wrong = sent;
  wrong.interfaces[0].prefix = 33;
  EXPECT_THAT([&] { unpack_host(pack(wrong)); },
              ThrowsMessage<Error>(HasSubstr("description of a host's interface")));
}

}  // namespace
}  // namespace multitree::runtime
