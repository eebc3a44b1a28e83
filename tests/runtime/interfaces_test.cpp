// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which interfaces a job may be met at, and addresses of both kinds.
#include "runtime/job/interfaces_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

#include "meeting.hpp"
#include "runtime/job/endpoint_internal.hpp"
#include "runtime/job/unique_id.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<OwnAddress> kHostsAddresses{
    {"eth0", "10.1.2.3", false}, {"eth1", "10.2.0.1", false}, {"docker0", "172.17.0.1", false},
    {"ib0", "fd00:1::7", false}, {"ib1", "fd00:2::7", false}, {"lo", "127.0.0.1", true}};

std::string left_by(std::string_view text) {
  const InterfaceChoice choice(text, "X");
  std::string names;
  for (const OwnAddress& one : kHostsAddresses) {
    if (choice.allows(one)) names += one.interface + " ";
  }
  return names;
}

TEST(Interfaces, AreChosenByNameSubnetAndExclusion) {
  EXPECT_EQ(left_by(""), "eth0 eth1 docker0 ib0 ib1 lo ");
  EXPECT_EQ(left_by("eth0"), "eth0 lo ");
  EXPECT_EQ(left_by("eth*"), "eth0 eth1 lo ");
  EXPECT_EQ(left_by("eth"), "lo ");
  EXPECT_EQ(left_by("^docker0"), "eth0 eth1 ib0 ib1 lo ");
  EXPECT_EQ(left_by("10.0.0.0/8"), "eth0 eth1 lo ");
  EXPECT_EQ(left_by("10.1.0.0/16,fd00:2::/32"), "eth0 ib1 lo ");
  EXPECT_EQ(left_by("10.0.0.0/8,^10.2.0.0/23"), "eth0 lo ");
  EXPECT_EQ(left_by("10.2.0.1"), "eth1 lo ");
  EXPECT_EQ(left_by("0.0.0.0/0"), "eth0 eth1 docker0 lo ");
  EXPECT_EQ(left_by("^lo,^eth*"), "docker0 ib0 ib1 lo ");
  EXPECT_EQ(left_by("10.1.2.2/31"), "eth0 lo ");
  EXPECT_EQ(left_by("10.1.2.4/31"), "lo ");
}

TEST(Interfaces, NonsenseIsRefused) {
  for (const char* bad : {",", "^", "eth0,,eth1", "10.0.0.0/33", "10.0.0.0/x", "fd00::/129",
                          "eth0/24", "eth0 eth1"}) {
    EXPECT_THAT([&] { InterfaceChoice(bad, "X"); },
                ThrowsMessage<Error>(HasSubstr("X: expected names of interfaces and subnets")))
        << bad;
  }
}

/// MULTITREE_INTERFACE for a while.
class Chosen {
 public:
  explicit Chosen(const char* text) { ::setenv("MULTITREE_INTERFACE", text, 1); }
  ~Chosen() { ::unsetenv("MULTITREE_INTERFACE"); }
  Chosen(const Chosen&) = delete;
  Chosen& operator=(const Chosen&) = delete;
};

TEST(Interfaces, ThatDoNotExistAreAnError) {
  const Chosen none("no-such-interface0");
  EXPECT_THAT([] { host_addresses(); },
              ThrowsMessage<Error>(HasSubstr("this host has no such interface")));
  EXPECT_THROW(make_unique_id(), Error);
}

/// A job over the only interface that was chosen, where the host has one beside loopback.
TEST(Interfaces, AJobListensAtTheChosenOne) {
  const std::vector<OwnAddress> own = own_addresses();
  if (own.empty() || own.front().loopback) GTEST_SKIP() << "no interface beyond loopback";
  const Chosen one(own.front().number.c_str());
  EXPECT_EQ(widest_interface(), own.front().number);
  EXPECT_EQ(host_addresses().front(), own.front().number);
  EXPECT_TRUE(may_be_met_at(own.front().number));
  EXPECT_TRUE(may_be_met_at("127.0.0.1"));
  EXPECT_FALSE(may_be_met_at("192.0.2.77"));
  const UniqueId id = make_unique_id();
  auto other = std::async(std::launch::async, [&] { return join_by_id(id, Seat{1}, 2); });
  EXPECT_EQ(join_by_id(id, Seat{0}, 2)->size(), 2U);
  EXPECT_EQ(other.get()->seat(), Seat{1});
}

TEST(Endpoints, AreTextAndBack) {
  for (const char* number : {"10.0.0.1", "::1", "fd00::7"}) {
    const auto endpoint = Endpoint::of(number, 4711);
    ASSERT_TRUE(endpoint.has_value()) << number;
    EXPECT_EQ(endpoint->host(), number);
    EXPECT_EQ(endpoint->port(), 4711);
  }
  EXPECT_FALSE(Endpoint::of("localhost", 1).has_value());
  EXPECT_FALSE(Endpoint::of("", 1).has_value());
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("fd00::1"));
  std::string why;
  EXPECT_TRUE(Endpoint::find("no.such.host.invalid", 1, &why).empty());
  EXPECT_NE(why, "");
}

bool has_ipv6() {
  const Socket probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto loopback = Endpoint::of("::1", 0);
  return probe.open() && ::bind(probe.fd(), loopback->get(), loopback->length()) == 0;
}

/// Ranks that come by IPv4 and by IPv6 to one door, and all by IPv6.
TEST(Endpoints, OfBothKindsMeet) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6";
  for (const char* interface : {kAnyAddress, "::1"}) {
    Coordinator coordinator(listen_at(0, interface), 2, "secret");
    EXPECT_EQ(coordinator.address(), interface);
    std::vector<std::future<std::shared_ptr<Bootstrap>>> joining;
    for (const std::uint32_t rank : {0U, 1U}) {
      joining.push_back(std::async(std::launch::async, [&coordinator, interface, rank] {
        TcpOptions options;
        options.seat = Seat{rank};
        options.size = 2;
        const bool all = interface == std::string_view(kAnyAddress);
        options.addresses = {{all && rank == 0 ? kLoopback : "::1", coordinator.port()}};
        options.token = "secret";
        return join_over_tcp(std::move(options));
      }));
    }
    const auto one = joining[0].get(), two = joining[1].get();
    auto waiting = std::async(std::launch::async, [&] { two->barrier(Deadline(20'000)); });
    one->barrier(Deadline(20'000));
    waiting.get();
  }
}

}  // namespace
}  // namespace multitree::runtime::test
