// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which transport is taken where nobody has named one.
#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/messages/auto_internal.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

TEST(AutoTransport, IsWhatAllRanksHave) {
  const auto of = [](std::vector<std::string> wanted) {
    return agreed_transport(Gathered(std::move(wanted)));
  };
  EXPECT_EQ(of({"ucx", "ucx", "ucx"}), "ucx");
  EXPECT_EQ(of({"ucx", "ucx", "tcp"}), "tcp");
  EXPECT_EQ(of({"tcp", "ucx", "ucx"}), "tcp");
  EXPECT_EQ(of({"=loopback", "=loopback"}), "loopback");
  EXPECT_THAT(
      [&] {
        of({"ucx", "=tcp"});
      },
      ThrowsMessage<Error>("expected one transport at all ranks, found no "
                           "MULTITREE_TRANSPORT at rank 0 and MULTITREE_TRANSPORT=tcp at "
                           "rank 1"));
  EXPECT_THAT(
      [&] {
        of({"=ucx", "=ucx", "=tcp"});
      },
      ThrowsMessage<Error>(HasSubstr("MULTITREE_TRANSPORT=ucx at rank 0 and "
                                     "MULTITREE_TRANSPORT=tcp at rank 2")));
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
  EXPECT_EQ(transport_here("ucx"), "ucx");
  ::setenv(kTransportVariable, "tcp", 1);
  EXPECT_EQ(transport_here("auto"), "tcp");
}

}  // namespace
}  // namespace multitree::runtime::test
