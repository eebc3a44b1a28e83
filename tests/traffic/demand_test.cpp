// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Matrices as text: what they mean, and each way to be wrong.
#include "algorithms/traffic/demand.hpp"

#include <gtest/gtest.h>

#include <string>

#include "topologies/error.hpp"

namespace multitree {
namespace {

TEST(Demand, RowsMayHaveSpacesCommasUnitsAndComments) {
  const Demand demand =
      parse_demand("# who has what\n0 1KiB,3\n\n4\t0 5 # rank 1\r\n6,7,0", "m", 3);
  EXPECT_EQ(demand.entries(), (std::vector<std::uint64_t>{0, 1024, 3, 4, 0, 5, 6, 7, 0}));
  EXPECT_EQ(demand.shard(), 1027);
  EXPECT_FALSE(demand.is_uniform());
  EXPECT_EQ(demand.at(Rank{2}, Rank{0}), 6);
}

TEST(Demand, UniformIsOneForEveryone) {
  const Demand demand = Demand::uniform(5);
  EXPECT_TRUE(demand.is_uniform());
  EXPECT_EQ(demand.shard(), 5);
  EXPECT_EQ(demand.at(Rank{3}, Rank{3}), 1);
}

struct BadMatrix {
  const char* text;
  const char* message;
};

class WrongMatrix : public testing::TestWithParam<BadMatrix> {};

TEST_P(WrongMatrix, IsOneLine) {
  try {
    parse_demand(GetParam().text, "m.txt", 2);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_EQ(std::string(error.what()), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongMatrix,
    testing::Values(
        BadMatrix{"", "m.txt:0: expected 2 rows, one a rank, got 0"},
        BadMatrix{"0 1\n", "m.txt:1: expected 2 rows, one a rank, got 1"},
        BadMatrix{"0 1\n1 0\n2 2\n", "m.txt:3: expected 2 rows, one a rank, got more"},
        BadMatrix{"0 1\n1\n", "m.txt:2: expected 2 sizes, one for each rank, got 1"},
        BadMatrix{"0 1 2\n1 0\n", "m.txt:1: expected 2 sizes, one for each rank, got 3"},
        BadMatrix{"0 -1\n1 0\n",
                  "m.txt:1: column 1: expected a size of 0 bytes or more such as "
                  "4096 or 1KiB, got '-1'"},
        BadMatrix{"0 inf\n1 0\n",
                  "m.txt:1: column 1: expected a size of 0 bytes or more such as "
                  "4096 or 1KiB, got 'inf'"},
        BadMatrix{"0 1\nnan 0\n",
                  "m.txt:2: column 0: expected a size of 0 bytes or more such as "
                  "4096 or 1KiB, got 'nan'"},
        BadMatrix{"0 1\n? 0\n",
                  "m.txt:2: column 0: expected a size of 0 bytes or more such as "
                  "4096 or 1KiB, got '?'"},
        BadMatrix{"0 4000000000000000000\n1 0\n",
                  "m.txt: row 0: expected at most 2305843009213693952 bytes together, got more"},
        BadMatrix{"7 0\n0 7\n",
                  "m.txt: expected a byte for another rank in some row, got a matrix "
                  "that moves nothing"}));

TEST(Demand, IsNotOfOneRank) {
  EXPECT_THROW(Demand::uniform(1), Error);
  EXPECT_THROW(Demand(3, {1, 2, 3}), Error);
}

}  // namespace
}  // namespace multitree
