// SPDX-License-Identifier: BSD-3-Clause
#include "tests/report/drawing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

namespace multitree::report {
namespace {

std::vector<Point> pairs(const std::string& text) {
  static const std::regex kPair("(-?[0-9.]+),(-?[0-9.]+)");
  std::vector<Point> points;
  for (std::sregex_iterator match(text.begin(), text.end(), kPair), end; match != end; ++match) {
    points.emplace_back(std::stod((*match)[1]), std::stod((*match)[2]));
  }
  return points;
}

}  // namespace

Drawing::Drawing(const std::string& svg) {
  const pugi::xml_parse_result result = document_.load_string(svg.c_str());
  EXPECT_TRUE(result) << result.description() << "\n" << svg;
  EXPECT_STREQ(document_.first_child().name(), "svg");
  EXPECT_STREQ(document_.select_node("/svg/g/rect").node().attribute("fill").value(), "#ffffff");
}

double Drawing::width() const { return document_.child("svg").attribute("width").as_double(); }
double Drawing::height() const { return document_.child("svg").attribute("height").as_double(); }

std::vector<std::string> Drawing::texts() const {
  std::vector<std::string> texts;
  for (const pugi::xpath_node& found : document_.select_nodes("//text")) {
    texts.emplace_back(found.node().text().get());
  }
  return texts;
}

pugi::xml_node Drawing::curve(const std::string& label) const {
  for (const pugi::xpath_node& found : document_.select_nodes("//g[g/g/text]")) {
    if (found.node().select_node("g/g/text").node().text().get() == label) return found.node();
  }
  ADD_FAILURE() << "no curve is named " << label;
  return {};
}

std::vector<Point> Drawing::line(const std::string& label) const {
  std::string path = curve(label).select_node(".//path").node().attribute("d").value();
  const std::size_t second = path.find('M', 1);  // the first piece is the sample in the legend
  return second == std::string::npos ? std::vector<Point>{} : pairs(path.substr(second));
}

Point Drawing::legend(const std::string& label) const {
  const pugi::xml_node text = curve(label).select_node("g/g/text").node();
  const std::vector<Point> at = pairs(text.parent().attribute("transform").value());
  EXPECT_EQ(at.size(), 1u);
  return at.empty() ? Point{} : at.front();
}

Look Drawing::look(const std::string& label) const {
  const pugi::xml_node path = curve(label).select_node(".//path").node();
  return {path.attribute("stroke").value(),
          curve(label).select_node(".//use/@xlink:href").attribute().value(),
          path.attribute("stroke-dasharray").value()};
}

std::vector<std::pair<Point, Point>> Drawing::bars(const std::string& label) const {
  std::vector<std::pair<Point, Point>> bars;
  for (const pugi::xpath_node& found : curve(label).select_nodes(".//polygon")) {
    const std::vector<Point> corners = pairs(found.node().attribute("points").value());
    const auto [left, right] = std::ranges::minmax_element(corners, {}, &Point::first);
    const auto [top, bottom] = std::ranges::minmax_element(corners, {}, &Point::second);
    bars.push_back({{left->first, top->second}, {right->first, bottom->second}});
  }
  if (!bars.empty()) bars.erase(bars.begin());  // the sample in the legend
  return bars;
}

}  // namespace multitree::report
