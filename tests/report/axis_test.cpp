// SPDX-License-Identifier: BSD-3-Clause
#include "report/axis_internal.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace multitree::report {
namespace {

using testing::ElementsAre;
using testing::Ge;
using testing::Le;

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> texts;
  for (const Tick& tick : axis.ticks) {
    if (!tick.label.empty()) texts.push_back(tick.label);
  }
  return texts;
}

TEST(Axis, ResultsStartAtZeroAndEndAtATick) {
  const Axis axis = value_axis(std::vector{3.0, 57.0}, false);
  EXPECT_EQ(axis.low, 0);
  EXPECT_EQ(axis.high, 60);
  EXPECT_THAT(labels(axis), ElementsAre("0", "10", "20", "30", "40", "50", "60"));
  EXPECT_DOUBLE_EQ(axis.position(15), 0.25);
}

TEST(Axis, ResultsBelowZeroAreShown) {
  const Axis axis = value_axis(std::vector{-3.0, 4.0}, false);
  EXPECT_THAT(labels(axis), ElementsAre("-4", "-2", "0", "2", "4", "6"));
}

TEST(Axis, DigitsAreThoseThatDiffer) {
  EXPECT_THAT(labels(value_axis(std::vector{0.011}, false)),
              ElementsAre("0", "0.002", "0.004", "0.006", "0.008", "0.010", "0.012"));
  EXPECT_THAT(
      labels(value_axis(std::vector{3.0e9}, false)),
      ElementsAre("0", "5·10⁸", "1.0·10⁹", "1.5·10⁹", "2.0·10⁹", "2.5·10⁹", "3.0·10⁹", "3.5·10⁹"));
}

TEST(Axis, DecadesAreMarkedIfThereAreSeveral) {
  EXPECT_THAT(labels(value_axis(std::vector{0.003, 700.0}, true)),
              ElementsAre("0.01", "0.1", "1", "10", "100", "1000"));
  EXPECT_THAT(labels(value_axis(std::vector{3.0, 40.0}, true)),
              ElementsAre("2", "5", "10", "20", "50"));
  EXPECT_THAT(labels(value_axis(std::vector{2e6, 3e9}, true)),
              ElementsAre("10⁶", "10⁷", "10⁸", "10⁹"));
}

TEST(Axis, BytesAreMarkedAtPowersOfTwo) {
  const std::vector<double> sizes = {32768, 65536, 131072, 262144, 524288, 1048576};
  EXPECT_THAT(labels(argument_axis(sizes, true, true)),
              ElementsAre("32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB"));
  EXPECT_THAT(labels(argument_axis(std::vector{0.0, 1048576.0}, false, true)),
              ElementsAre("0B", "256KiB", "512KiB", "768KiB", "1MiB"));
  EXPECT_THAT(labels(argument_axis(std::vector{1.0, 0x1p40}, true, true)),
              ElementsAre("1B", "64B", "4KiB", "256KiB", "16MiB", "1GiB", "64GiB"));
}

TEST(Axis, PowersOfTwoAreRecognised) {
  EXPECT_THAT(labels(argument_axis(std::vector{4.0, 16.0, 64.0}, true, false)),
              ElementsAre("4", "8", "16", "32", "64"));
  EXPECT_THAT(labels(argument_axis(std::vector{4.0, 16.0, 60.0}, true, false)),
              ElementsAre("5", "10", "20", "50"));
}

TEST(Axis, TooNarrowForPowersItIsMarkedEvenly) {
  EXPECT_THAT(labels(argument_axis(std::vector{11.0, 19.0}, true, false)),
              ElementsAre("12", "14", "16", "18"));
}

TEST(Axis, PositionsOfALogarithmicAxisGoByRatio) {
  const Axis axis = argument_axis(std::vector{2.0, 2000.0}, true, false);
  EXPECT_NEAR(axis.position(20) - axis.position(2), axis.position(200) - axis.position(20), 1e-12);
}

class AxisOf : public testing::TestWithParam<std::vector<double>> {};

TEST_P(AxisOf, HoldsTheValuesAndTicksAscend) {
  const bool positive = std::ranges::all_of(GetParam(), [](double value) { return value > 0; });
  for (const bool log : {false, true}) {
    if (log && !positive) continue;
    for (const Axis& axis : {value_axis(GetParam(), log), argument_axis(GetParam(), log, false)}) {
      ASSERT_TRUE(std::isfinite(axis.low) && std::isfinite(axis.high));
      ASSERT_LT(axis.low, axis.high);
      for (const double value : GetParam()) {
        EXPECT_THAT(axis.position(value), testing::AllOf(Ge(0.0), Le(1.0))) << value;
      }
      EXPECT_GE(labels(axis).size(), 2u);
      EXPECT_LE(axis.ticks.size(), 100u);
      double last = -1e-6;
      for (const Tick& tick : axis.ticks) {
        EXPECT_GT(axis.position(tick.at), last);
        last = axis.position(tick.at);
      }
      EXPECT_LE(last, 1 + 1e-6);
      std::vector<std::string> texts = labels(axis);
      std::ranges::sort(texts);
      EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end()) << "a label stands twice";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , AxisOf,
    testing::Values(std::vector<double>{}, std::vector{0.0}, std::vector{0.0, 0.0},
                    std::vector{7.0}, std::vector{7.0, 7.0, 7.0}, std::vector{-7.0},
                    std::vector{1e300}, std::vector{-1e300, 1e300}, std::vector{1e-300},
                    std::vector{1e-300, 1e300}, std::vector{1.0, 1.0 + 1e-15},
                    std::vector{1e9, 1e9 + 1}, std::vector{0.1, 0.2, 0.3}, std::vector{1.0, 1e6},
                    std::vector{99.0, 101.0}, std::vector{3.0, 9.0}, std::vector{1.0, 2.0},
                    std::vector{4.0, 5.0}, std::vector{0.00011, 123456.0}));

}  // namespace
}  // namespace multitree::report
