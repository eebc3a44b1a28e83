// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which transport is taken where nobody has named one.
#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "runtime/messages/auto_internal.hpp"
#include "runtime/messages/network/devices_internal.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

/// A rank on a host with one interface.
TransportWish on_host(const std::string& id, std::uint32_t mbits) {
  TransportWish wish;
  wish.has_ucx = true;
  wish.host = pack(Host{id, true, {{"eth0", 0x0a000001, 24, mbits}}});
  return wish;
}

TransportWish told(const std::string& name) {
  TransportWish wish;
  wish.told = name;
  return wish;
}

AgreedTransport agreed_by(const std::vector<TransportWish>& wishes) {
  std::vector<std::string> texts;
  for (const TransportWish& wish : wishes) texts.push_back(pack(wish));
  return agreed_transport(Gathered(std::move(texts)));
}

TEST(AutoTransport, IsSocketsBetweenHostsOnSlowNetworks) {
  const TransportWish a = on_host("a", 1000), b = on_host("b", 0), fast = on_host("c", 100'000);
  EXPECT_EQ(agreed_by({a, b}).name, "tcp");
  EXPECT_THAT(agreed_by({a, b}).why, HasSubstr("a host of its own"));
  EXPECT_EQ(agreed_by({a, b, fast}).name, "ucx");
  EXPECT_EQ(agreed_by({a, b, b}).name, "ucx") << "two share memory";
}

TEST(AutoTransport, IsSocketsWhereAFileNamesCables) {
  TransportWish wish = on_host("a", 100'000);
  wish.host = pack(Host{"a", true, {}, "digest", {{0, "tb0", "fe80::1", 40'000, false}}});
  TransportWish other = wish;
  other.host = pack(Host{"b", true, {}, "digest", {{0, "tb1", "fe80::2", 40'000, false}}});
  EXPECT_EQ(agreed_by({wish, other}).name, "tcp");
  EXPECT_THAT(agreed_by({wish, other}).why, HasSubstr("MULTITREE_CLUSTER"));
}

TEST(AutoTransport, IsUcxWhereARankNeedsIt) {
  TransportWish gpu = on_host("b", 1000);
  gpu.needs = "uses CUDA";
  const AgreedTransport agreed = agreed_by({on_host("a", 1000), gpu});
  EXPECT_EQ(agreed.name, "ucx");
  EXPECT_EQ(agreed.why, "rank 1 uses CUDA");
}

TEST(AutoTransport, IsSocketsWhereARankHasNoUcx) {
  TransportWish without = on_host("a", 1000), gpu = on_host("a", 1000);
  without.has_ucx = false;
  gpu.needs = "uses CUDA";
  const AgreedTransport agreed = agreed_by({gpu, on_host("a", 1000), without});
  EXPECT_EQ(agreed.name, "tcp");
  EXPECT_EQ(agreed.why, "rank 2 has no UCX");
}

TEST(AutoTransport, IsAsAllWereTold) {
  EXPECT_EQ(agreed_by({told("loopback"), told("loopback")}).name, "loopback");
  EXPECT_THAT(
      [] {
        agreed_by({on_host("a", 0), told("tcp")});
      },
      ThrowsMessage<Error>("expected one transport at all ranks, found no "
                           "MULTITREE_TRANSPORT at rank 0 and MULTITREE_TRANSPORT=tcp at "
                           "rank 1"));
  EXPECT_THAT(
      [] {
        agreed_by({told("ucx"), told("ucx"), told("tcp")});
      },
      ThrowsMessage<Error>(HasSubstr("MULTITREE_TRANSPORT=ucx at rank 0 and "
                                     "MULTITREE_TRANSPORT=tcp at rank 2")));
  EXPECT_THAT([] { agreed_transport(Gathered({"pigeon"})); },
              ThrowsMessage<Error>("invalid wish for a transport"));
}

/// The environment, for one test.
class AutoTransportBy : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv(kTransportVariable); }
  /// How two ranks of it describe themselves; "" where they do not come about.
  static std::string two_ranks(const char* variable) {
    ::setenv(kTransportVariable, variable, 1);
    std::string words;
    run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
      const auto transport = make_transport("auto", *job, {{Seat{1 - index(job->seat())}}});
      if (job->seat() == 0_seat) words = transport->describe();
      job->barrier(Deadline(10'000));
    });
    return words;
  }
};

TEST_F(AutoTransportBy, TheEnvironment) {
  EXPECT_EQ(two_ranks("tcp"), "TCP");
  EXPECT_THAT(two_ranks("loopback"), StartsWith("loopback"));
  EXPECT_THAT([] { two_ranks("pigeon"); },
              ThrowsMessage<Error>(HasSubstr("unknown transport \"pigeon\"; one of: auto")));
  ::setenv(kTransportVariable, "tcp", 1);
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    EXPECT_EQ(transport_of_job("auto", *job, {}).name, "tcp");
    EXPECT_EQ(transport_of_job("ucx", *job, {}).name, "ucx");
  });
}

}  // namespace
}  // namespace multitree::runtime::test
