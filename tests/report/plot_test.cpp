// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot.hpp"

#include <gmock/gmock.h>

#include <clocale>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "algorithms/registry.hpp"
#include "report/styles.hpp"
#include "tests/report/drawing.hpp"
#include "tests/topologies/error_matcher.hpp"

namespace multitree::report {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

constexpr double kPixel = 0.05;  // to which gnuplot rounds, with some slack
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Bandwidth over message size, as the program draws it.
Plot sizes(int series) {
  Plot plot{
      .title = "all-reduce", .x_label = "size", .y_label = "GB/s", .log_x = true, .bytes_x = true};
  for (int i = 0; i < series; ++i) {
    plot.series.push_back({"algorithm " + std::to_string(i), {}});
    for (int e = 15; e <= 26; ++e) {
      const double x = std::exp2(e);
      plot.series.back().points.emplace_back(x, 50 * x / (x + 1e5 * (i + 1)));
    }
  }
  plot.limit = {"bound", 50};
  return plot;
}

TEST(Plot, ShowsEveryText) {
  EXPECT_THAT(Drawing(to_svg(sizes(3))).texts(),
              IsSupersetOf({"all-reduce", "size", "GB/s", "algorithm 0", "algorithm 1",
                            "algorithm 2", "bound", "32KiB", "2MiB", "32MiB", "0", "50"}));
}

TEST(Plot, TextsAreShownAsTheyAre) {
  const std::vector<std::string> texts = {"<a> & \"b\" 'c'",
                                          "]]> &amp; &#38;",
                                          "100 % %d %s",
                                          "x_1 ^2 {/Bold y} @z ~a{b}",
                                          "`date` $HOME ${x}",
                                          "\\n \\",
                                          "'quoted'",
                                          "\"",
                                          "Größe ≤ 2⁶",
                                          "# no comment",
                                          "-",
                                          "a; exit",
                                          "END"};
  Plot plot{.title = texts[0], .x_label = texts[1], .y_label = texts[2]};
  for (const std::string& text : texts) plot.series.push_back({text, {{1, 2}, {3, 4}}});
  plot.limit = {"<limit>", 3};
  const Drawing drawing(to_svg(plot));
  std::multiset<std::string> expected(texts.begin(), texts.end());
  expected.insert({texts[0], texts[1], texts[2], "<limit>"});
  EXPECT_THAT(drawing.texts(), IsSupersetOf(expected));
  for (const std::string& text : texts) EXPECT_EQ(drawing.line(text).size(), 2u) << text;
}

TEST(Plot, LinesRiseWithTheirPoints) {
  const Drawing drawing(to_svg(sizes(5)));
  for (int i = 0; i < 5; ++i) {
    const std::vector<Point> line = drawing.line("algorithm " + std::to_string(i));
    ASSERT_EQ(line.size(), 12u);
    for (std::size_t k = 1; k < line.size(); ++k) {
      EXPECT_GT(line[k].first, line[k - 1].first);
      EXPECT_LT(line[k].second, line[k - 1].second);  // from the top
      // Sizes double from point to point.
      EXPECT_NEAR(line[k].first - line[k - 1].first, line[1].first - line[0].first, kPixel);
    }
  }
}

TEST(Plot, LinearAxesKeepProportions) {
  const Plot plot{.series = {{"a", {{0, 0}, {1, 10}, {2, 20}, {4, 40}}}}};
  const std::vector<Point> line = Drawing(to_svg(plot)).line("a");
  ASSERT_EQ(line.size(), 4u);
  for (const auto coordinate : {&Point::first, &Point::second}) {
    const double one = line[1].*coordinate - line[0].*coordinate;
    EXPECT_GT(std::abs(one), 10);
    EXPECT_NEAR(line[2].*coordinate - line[0].*coordinate, 2 * one, kPixel);
    EXPECT_NEAR(line[3].*coordinate - line[0].*coordinate, 4 * one, kPixel);
  }
}

TEST(Plot, LogarithmicResultsKeepRatios) {
  const Plot plot{.log_y = true, .series = {{"a", {{0, 0.02}, {1, 2}, {2, 200}}}}};
  const std::vector<Point> line = Drawing(to_svg(plot)).line("a");
  ASSERT_EQ(line.size(), 3u);
  EXPECT_NEAR(line[0].second - line[1].second, line[1].second - line[2].second, kPixel);
}

TEST(Plot, LimitIsADashedLineAcross) {
  Plot plot = sizes(1);
  plot.series.push_back({"at the bound", {{1e6, 50}, {2e6, 50}}});
  const Drawing drawing(to_svg(plot));
  const std::vector<Point> limit = drawing.line("bound");
  ASSERT_EQ(limit.size(), 2u);
  EXPECT_EQ(limit[0].second, limit[1].second);
  EXPECT_NEAR(limit[0].second, drawing.line("at the bound")[0].second, kPixel);
  EXPECT_LT(limit[0].first, drawing.line("algorithm 0").front().first);
  EXPECT_GT(limit[1].first, drawing.line("algorithm 0").back().first);
  EXPECT_NE(drawing.look("bound").dashes, "");
}

TEST(Plot, TwelveSeriesLookDifferent) {
  const Drawing drawing(to_svg(sizes(12)));
  std::set<Look> looks;
  std::set<std::pair<std::string, std::string>> without_colour;
  for (int i = 0; i < 12; ++i) {
    const Look look = drawing.look("algorithm " + std::to_string(i));
    looks.insert(look);
    without_colour.insert({look.marker, look.dashes});
  }
  EXPECT_EQ(looks.size(), 12u);
  EXPECT_EQ(without_colour.size(), 12u) << "in black and white";
}

/// Whatever is drawn before it.
TEST(Plot, AnAlgorithmLooksTheSameInAllFigures) {
  const Series ring{"ring", {{1, 1}, {2, 2}}}, tree{"multitree?order=ascending", {{1, 3}, {2, 2}}};
  const Drawing one(to_svg(Plot{.series = {ring, tree}}));
  const Drawing other(to_svg(Plot{.series = {{"else", {{1, 2}}}, tree, ring}}));
  for (const char* label : {"ring", "multitree?order=ascending"}) {
    EXPECT_EQ(one.look(label).colour, other.look(label).colour) << label;
    EXPECT_EQ(one.look(label).dashes, other.look(label).dashes) << label;
  }
  EXPECT_NE(one.look("ring").colour, one.look("multitree?order=ascending").colour);
  EXPECT_NE(other.look("else").colour, other.look("multitree?order=ascending").colour);
}

TEST(Styles, AreThoseOfAllAlgorithmsAndDiffer) {
  std::set<std::pair<std::string_view, Dashes>> looks;
  for (const Algorithm& algorithm : algorithms()) {
    const Style* const style = style_of(algorithm.name);
    ASSERT_NE(style, nullptr) << algorithm.name;
    EXPECT_TRUE(looks.insert({style->colour, style->dashes}).second) << algorithm.name;
  }
  EXPECT_EQ(style_of("bound"), nullptr);
}

TEST(Plot, IsAlsoPng) {
  EXPECT_EQ(image_of("a.png"), Image::Png);
  EXPECT_EQ(image_of("png"), Image::Svg);
  const std::string png = to_image(sizes(2), Image::Png);
  ASSERT_GT(png.size(), 1000u);
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(png, to_image(sizes(2), Image::Png));
  const auto width = [](const std::string& image) {
    return static_cast<unsigned char>(image[18]) * 256 + static_cast<unsigned char>(image[19]);
  };
  const std::string svg = to_svg(sizes(2));
  const std::size_t at = svg.find("width=\"") + 7;
  EXPECT_EQ(width(png), 2 * std::stoi(svg.substr(at)));
}

TEST(Plot, LegendIsBesideTheDataOrBelow) {
  for (const std::size_t length : {10u, 40u, 150u}) {
    Plot plot = sizes(12);
    for (Series& series : plot.series) series.label.resize(length, 'x');
    plot.series.front().label += " first";
    plot.series.back().label += " last";
    const Drawing drawing(to_svg(plot));
    const std::vector<Point> data = drawing.line(plot.series.front().label);
    const Point first = drawing.legend(plot.series.front().label);
    const Point last = drawing.legend(plot.series.back().label);
    EXPECT_TRUE(first.first > data.back().first || first.second > data.front().second + 30);
    EXPECT_NEAR(last.second - first.second, 11 * 22, 3);
    EXPECT_LT(last.second, drawing.height());
    EXPECT_LT(first.first + static_cast<double>(length) * 7, drawing.width());
  }
}

TEST(Plot, FortySeriesAreAllInTheLegend) {
  const Plot plot = sizes(40);
  const Drawing drawing(to_svg(plot));
  for (const Series& series : plot.series) {
    EXPECT_LT(drawing.legend(series.label).second, drawing.height()) << series.label;
  }
}

TEST(Plot, SameInputSameBytes) {
  const std::string svg = to_svg(sizes(12));
  EXPECT_EQ(svg, to_svg(sizes(12)));
  EXPECT_NE(svg, to_svg(sizes(11)));
  EXPECT_THAT(svg, Not(HasSubstr("GNUPLOT")));  // its version would make the bytes depend on it
}

TEST(Plot, CommaOfTheLocaleIsIgnored) {
  const std::string svg = to_svg(sizes(2));
  ::setenv("LC_ALL", "de_DE.UTF-8", 1);
  std::setlocale(LC_ALL, "");
  EXPECT_EQ(svg, to_svg(sizes(2)));
  ::unsetenv("LC_ALL");
  std::setlocale(LC_ALL, "C");
}

class PlotOf : public testing::TestWithParam<std::vector<std::pair<double, double>>> {};

TEST_P(PlotOf, IsDrawnWithinItsPicture) {
  for (const bool log : {false, true}) {
    const Plot plot{.log_x = log,
                    .log_y = log,
                    .series = {{"empty", {}}, {"some", GetParam()}, {"also empty", {}}}};
    const Drawing drawing(to_svg(plot));
    EXPECT_THAT(drawing.texts(), IsSupersetOf({"empty", "some", "also empty"}));
    for (const auto& [x, y] : drawing.line("some")) {
      EXPECT_TRUE(x > 0 && x < drawing.width() && y > 0 && y < drawing.height()) << x << "," << y;
    }
    const std::set<Point> different(GetParam().begin(), GetParam().end());
    EXPECT_GE(drawing.line("some").size(), different.size());
    EXPECT_TRUE(drawing.line("empty").empty());
  }
}

INSTANTIATE_TEST_SUITE_P(, PlotOf,
                         testing::Values(std::vector<Point>{}, std::vector<Point>{{3, 7}},
                                         std::vector<Point>{{3, 7}, {4, 7}},
                                         std::vector<Point>{{3, 7}, {3, 9}},
                                         std::vector<Point>{{1e-300, 1e-300}, {1e300, 1e300}},
                                         std::vector<Point>{{1e9, 1e9}, {1e9 + 1000, 1e9 + 1}},
                                         std::vector<Point>(3000, Point{1, 1})));

TEST(Plot, NothingIsAnEmptyFrame) {
  EXPECT_THAT(Drawing(to_svg(Plot{})).texts(), IsSupersetOf({"0", "1"}));
  EXPECT_THAT(Drawing(to_svg(Plot{.limit = {{"bound", 3}}})).texts(), Contains("bound"));
}

Plot one_point(double x, double y) { return {.series = {{"ring", {{x, y}}}}}; }

TEST(Plot, RefusesNumbersThatCannotBeDrawn) {
  for (const double bad : {kNan, kInfinity, -kInfinity, 2e300}) {
    const auto x = [&] { to_svg(one_point(bad, 1)); };
    const auto y = [&] { to_svg(one_point(1, bad)); };
    const auto limit = [&] { to_svg(Plot{.limit = {{"bound", bad}}}); };
    EXPECT_THAT(error_of(ErrorCode::InvalidArgument, x), HasSubstr("ring: x: expected a finite"));
    EXPECT_THAT(error_of(ErrorCode::InvalidArgument, y), HasSubstr("ring: y: expected a finite"));
    EXPECT_THAT(error_of(ErrorCode::InvalidArgument, limit), HasSubstr("bound: expected a finite"));
  }
}

TEST(Plot, RefusesWhatItsAxesCannotShow) {
  const auto fails = [](const Plot& plot) {
    return error_of(ErrorCode::InvalidArgument, [&] { to_svg(plot); });
  };
  for (const double bad : {0.0, -1.0}) {
    Plot x = one_point(bad, 1), y = one_point(1, bad);
    x.log_x = y.log_y = true;
    EXPECT_THAT(fails(x), HasSubstr("ring: x: a logarithmic axis needs numbers > 0, got"));
    EXPECT_THAT(fails(y), HasSubstr("ring: y: a logarithmic axis needs numbers > 0, got"));
    EXPECT_THAT(fails({.log_y = true, .limit = {{"bound", bad}}}),
                HasSubstr("bound: a logarithmic"));
  }
  for (const double bad : {-1.0, 1e20}) {
    Plot plot = one_point(bad, 1);
    plot.bytes_x = true;
    EXPECT_THAT(fails(plot), HasSubstr("ring: x: expected bytes"));
  }
}

TEST(Plot, RefusesTextsThatXmlCannotHold) {
  for (const std::string bad : {"a\nb", "\x01", "\xff", "\x7f"}) {
    const std::vector<Plot> plots = {{.title = bad},
                                     {.x_label = bad},
                                     {.y_label = bad},
                                     {.series = {{bad, {}}}},
                                     {.limit = {{bad, 1}}}};
    for (const Plot& plot : plots) {
      EXPECT_THAT(error_of(ErrorCode::InvalidArgument, [&] { to_svg(plot); }),
                  HasSubstr("expected UTF-8 without control characters"));
    }
  }
}

}  // namespace
}  // namespace multitree::report
