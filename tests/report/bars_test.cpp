// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <limits>

#include "report/plot.hpp"
#include "tests/report/drawing.hpp"
#include "tests/topologies/error_matcher.hpp"

namespace multitree::report {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

constexpr double kBarPixel = 0.05;

Bars ratios() {
  return {.title = "ratio to the bound",
          .y_label = "time / bound",
          .groups = {"torus", "mesh 50% <&>", "dgx"},
          .series = {{"multitree", {1, 2, 4}}, {"ring", {3, 0.5, 1.5}}},
          .limit = {{"bound", 1}}};
}

TEST(Bars, ShowEveryText) {
  EXPECT_THAT(Drawing(to_svg(ratios())).texts(),
              IsSupersetOf({"ratio to the bound", "time / bound", "torus", "mesh 50% <&>", "dgx",
                            "multitree", "ring", "bound", "0", "1", "2"}));
}

TEST(Bars, HeightsAreProportional) {
  const Drawing drawing(to_svg(ratios()));
  const auto bars = drawing.bars("multitree");
  ASSERT_EQ(bars.size(), 3u);
  const double one = bars[0].second.second - bars[0].first.second;
  EXPECT_GT(one, 20);
  EXPECT_NEAR(bars[1].second.second - bars[1].first.second, 2 * one, kBarPixel);
  EXPECT_NEAR(bars[2].second.second - bars[2].first.second, 4 * one, kBarPixel);
  EXPECT_NEAR(drawing.line("bound")[0].second, bars[0].first.second, kBarPixel);
}

TEST(Bars, StandInOrderWithoutOverlap) {
  Bars chart = ratios();
  for (int i = 0; i < 12; ++i) {
    chart.series.push_back({"more " + std::to_string(i), {1, 2, 3}});
  }
  const Drawing drawing(to_svg(chart));
  double last = 0;
  for (std::size_t group = 0; group < 3; ++group) {
    for (const BarSeries& series : chart.series) {
      const auto [top_left, bottom_right] = drawing.bars(series.label).at(group);
      EXPECT_GT(top_left.first, last) << series.label;
      EXPECT_GT(bottom_right.first, top_left.first + 5);
      last = bottom_right.first;
    }
  }
  EXPECT_LT(last, drawing.legend("ring").first);
}

TEST(Bars, BelowZeroTheyHang) {
  const Bars chart{.groups = {"a", "b"}, .series = {{"s", {2, -2}}}};
  const auto bars = Drawing(to_svg(chart)).bars("s");
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_NEAR(bars[0].second.second, bars[1].first.second, kBarPixel);
  EXPECT_GT(bars[1].second.second, bars[1].first.second + 20);
}

TEST(Bars, LongNamesAreSlantedAndFit) {
  Bars chart = ratios();
  EXPECT_THAT(to_svg(chart), Not(HasSubstr("rotate(-30")));
  const double before = Drawing(to_svg(chart)).height();
  for (std::string& group : chart.groups) group += " with a name that is very long for its place";
  EXPECT_THAT(to_svg(chart), HasSubstr("rotate(-30"));
  EXPECT_GT(Drawing(to_svg(chart)).height(), before + 100);
}

TEST(Bars, SameInputSameBytes) {
  EXPECT_EQ(to_svg(ratios()), to_svg(ratios()));
  Bars other = ratios();
  other.series[0].values[0] = 1.1;
  EXPECT_NE(to_svg(ratios()), to_svg(other));
}

TEST(Bars, NothingAndZeroAreDrawn) {
  EXPECT_NO_THROW(static_cast<void>(Drawing(to_svg(Bars{}))));
  EXPECT_THAT(Drawing(to_svg(Bars{.series = {{"s", {}}}})).texts(), testing::Contains("s"));
  EXPECT_THAT(Drawing(to_svg(Bars{.groups = {"g"}})).texts(), testing::Contains("g"));
  const Bars zero{.groups = {"g"}, .series = {{"s", {0}}}};
  EXPECT_TRUE(Drawing(to_svg(zero)).bars("s").empty()) << "of no height, it is not drawn";
}

TEST(Bars, RefuseBadInput) {
  const auto fails = [](const Bars& bars) {
    return error_of(ErrorCode::InvalidArgument, [&] { to_svg(bars); });
  };
  Bars chart = ratios();
  chart.series[1].values.pop_back();
  EXPECT_THAT(fails(chart), HasSubstr("ring: expected a value for each of 3 groups, got 2"));
  chart.series[1].values.push_back(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(fails(chart), HasSubstr("ring: expected a finite number"));
  chart = ratios();
  chart.limit->second = std::numeric_limits<double>::infinity();
  EXPECT_THAT(fails(chart), HasSubstr("bound: expected a finite number"));
  for (const Bars& bad : {Bars{.title = "\n"}, Bars{.y_label = "\n"}, Bars{.groups = {"\n"}},
                          Bars{.series = {{"\n", {}}}}, Bars{.limit = {{"\n", 1}}}}) {
    EXPECT_THAT(fails(bad), HasSubstr("expected UTF-8 without control characters"));
  }
}

}  // namespace
}  // namespace multitree::report
