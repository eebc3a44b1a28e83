// SPDX-License-Identifier: BSD-3-Clause
#include "report/axis_internal.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <set>

#include "report/plot.hpp"
#include "tests/report/drawing.hpp"

namespace multitree::report {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> texts;
  for (const Tick& tick : axis.ticks) {
    if (!tick.label.empty()) texts.push_back(tick.label);
  }
  return texts;
}

/// What is written at the axes of a plot without any other text. gnuplot writes those of y first.
std::vector<std::string> drawn(bool log_x, bool log_y,
                               std::vector<std::pair<double, double>> points) {
  std::vector<std::string> texts =
      Drawing(to_svg(Plot{.log_x = log_x, .log_y = log_y, .series = {{"", std::move(points)}}}))
          .texts();
  std::erase(texts, "");
  return texts;
}

TEST(Axis, ResultsStartAtZeroAndEndAtATick) {
  EXPECT_THAT(drawn(false, false, {{1, 3}, {2, 57}}),
              IsSupersetOf({"0", "10", "20", "30", "40", "50", "60"}));
}

TEST(Axis, ResultsBelowZeroAreShown) {
  EXPECT_THAT(drawn(false, false, {{1, -3}, {2, 4}}), IsSupersetOf({"-3", "0", "4"}));
  EXPECT_THAT(drawn(false, false, {{1, -3}, {2, -4}}), IsSupersetOf({"-4", "0"}));
}

TEST(Axis, DigitsAreThoseThatDiffer) {
  const std::vector<std::string> texts = drawn(false, false, {{1e9, 0.011}, {1e9 + 1000, 0}});
  EXPECT_THAT(texts, IsSupersetOf({"0.002", "0.004", "0.01", "1000000200", "1000000400"}));
  EXPECT_EQ(std::set(texts.begin(), texts.end()).size(), texts.size()) << "a label stands twice";
}

TEST(Axis, DecadesAreMarked) {
  EXPECT_THAT(drawn(false, true, {{1, 0.003}, {2, 700}}),
              IsSupersetOf({"0.01", "0.1", "1", "10", "100", "1000"}));
  EXPECT_THAT(drawn(true, false, {{3, 1}, {40, 1}}), IsSupersetOf({"1", "10", "100"}));
}

TEST(Axis, TooNarrowForPowersItIsMarkedEvenly) {
  EXPECT_THAT(drawn(true, false, {{11, 1}, {19, 1}}), IsSupersetOf({"12", "14", "16", "18"}));
}

TEST(Axis, BytesAreMarkedAtPowersOfTwo) {
  const std::vector<double> sizes = {32768, 65536, 131072, 262144, 524288, 1048576};
  EXPECT_THAT(labels(argument_axis(sizes, true, true)),
              ElementsAre("32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "1MiB"));
  EXPECT_THAT(labels(argument_axis(std::vector{40000.0, 50000.0}, true, true)),
              ElementsAre("40KiB", "42KiB", "44KiB", "46KiB", "48KiB"));
  EXPECT_THAT(labels(argument_axis(std::vector{40000.0, 90000.0}, true, true)),
              ElementsAre("32KiB", "64KiB", "128KiB"));
  EXPECT_THAT(labels(argument_axis(std::vector{0.0, 1048576.0}, false, true)),
              ElementsAre("0B", "256KiB", "512KiB", "768KiB", "1MiB"));
  EXPECT_THAT(labels(argument_axis(std::vector{1.0, 0x1p40}, true, true)),
              ElementsAre("1B", "64B", "4KiB", "256KiB", "16MiB", "1GiB", "64GiB"));
}

TEST(Axis, PowersOfTwoAreRecognised) {
  EXPECT_EQ(argument_axis(std::vector{4.0, 16.0, 60.0}, true, false).base, 10);
  EXPECT_EQ(argument_axis(std::vector{4.0, 16.0, 64.0}, true, false).base, 2);
  EXPECT_THAT(drawn(true, false, {{4, 1}, {16, 1}, {64, 1}}),
              IsSupersetOf({"4", "8", "16", "32", "64"}));
}

class AxisOf : public testing::TestWithParam<std::vector<double>> {};

TEST_P(AxisOf, HoldsTheValuesWithAMargin) {
  const bool positive = std::ranges::all_of(GetParam(), [](double value) { return value > 0; });
  for (const bool log : {false, true}) {
    if (log && !positive) continue;
    const Axis axis = argument_axis(GetParam(), log, false);
    double low = 0, high = 0;
    ASSERT_EQ(std::sscanf(axis.range.c_str(), "[%lf:%lf]", &low, &high), 2) << axis.range;
    ASSERT_TRUE(std::isfinite(low) && std::isfinite(high));
    ASSERT_LT(low, high);
    for (const double value : GetParam()) {
      EXPECT_LT(low, value);
      EXPECT_GT(high, value);
    }
    if (!log) {
      EXPECT_EQ(axis.base, 0);
    }
  }
}

TEST_P(AxisOf, BothAreMarked) {
  const bool positive = std::ranges::all_of(GetParam(), [](double value) { return value > 0; });
  for (const bool log : {false, true}) {
    if (log && !positive) continue;
    std::vector<std::pair<double, double>> along_x, along_y;
    for (const double value : GetParam()) {
      along_x.emplace_back(value, 1);
      along_y.emplace_back(1, value);
    }
    for (const auto& points : {along_x, along_y}) {
      const std::vector<std::string> texts = drawn(log, log, points);
      EXPECT_GE(texts.size(), 4U);
      EXPECT_LE(texts.size(), 40U);
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
