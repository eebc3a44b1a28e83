// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a communicator takes for granted about its network is logged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "c_api_support.hpp"
#include "tests/paths.hpp"

namespace multitree::c_api_test {
namespace {

TEST(CApiNotes, OneRankLogsWhatItsNetworkLeavesOpen) {
  const std::string file = test::source_path("tests/data/good/zoo.graphml");
  mtConfig_t config = loopback();
  config.topology = file.c_str();
  config.algorithm = "ring";
  testing::internal::CaptureStderr();
  { const Together ranks(4, config); }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex(R"(\[[0-9:.]+\] multitree [0-9]+: warning: )" + file +
                                    ": 2 of 7 edges, the first in line 68, say no rate; taken as "
                                    "1.25GB/s, the most frequent rate, which 2 of the others have\n"));
}

}  // namespace
}  // namespace multitree::c_api_test
