// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Everything is in pixels: programs that turn SVG into pixels do not draw letters of less than one
/// unit.
#include "view/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "view/drawing.hpp"

namespace multitree::view {
namespace {

constexpr double kMostPixels = 1600, kUnit = 84;  ///< pixels of a unit of layout()
constexpr double kLeastWidth = 420;
constexpr double kTitle = 34, kLine = 24, kLetters = 14;
/// Numbers smaller than this are left out.
constexpr double kLeastLetters = 5;
/// Numbers on lines stand in a white rim.
constexpr std::string_view kHalo =
    " font-weight=\"bold\" stroke=\"#ffffff\" stroke-width=\"4\" paint-order=\"stroke\"";
/// Names stand below their nodes, in units of layout().
constexpr double kNameLetters = 0.125, kNameBelow = 0.27;
constexpr std::string_view kRim = " stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"";
/// Pixels a letter of the sentence takes, for the width.
constexpr double kLetterWidth = 0.56 * kLetters;

std::string for_xml(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '<'   ? std::string("&lt;")
              : c == '&' ? std::string("&amp;")
              : c == '"' ? std::string("&quot;")
                         : std::string(1, c);
  }
  return result;
}

class Canvas {
 public:
  Canvas(const Topology& topology, const Scene& scene)
      : topology_(topology), scene_(scene), drawing_(drawing_of(topology)) {
    unit_ = std::min(kUnit, kMostPixels / std::max(drawing_.size.x, drawing_.size.y));
    const double words = kLetterWidth * static_cast<double>(scene.told.size()) + 2 * kLetters;
    width_ = std::max({drawing_.size.x * unit_, kLeastWidth, words});
    left_ = (width_ - drawing_.size.x * unit_) / 2;
  }

  std::string write(const std::string& title) {
    const double bottom = kTitle + drawing_.size.y * unit_;
    const double height = bottom + kLine * (scene_.legend.empty() ? 1.2 : 2.2);
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\" font-family=\"sans-serif\">\n"
        "<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        width_, height, for_xml(title));
    words(width_ / 2, kTitle * 0.6, 17, title, "#1b1f24", "middle");
    // What is shown lies over what is idle.
    for (const bool shown : {false, true}) links(shown);
    for (std::uint32_t n = 0; n < topology_.num_nodes(); ++n) node(n);
    names();
    numbers();
    words(width_ / 2, bottom + kLine * 0.6, kLetters, scene_.told, "#3c434b", "middle");
    legend(bottom + kLine * 1.6);
    return text_ + "</svg>\n";
  }

 private:
  [[nodiscard]] Point at(const Point& point) const {
    return {left_ + (point.x - drawing_.corner.x) * unit_,
            kTitle + (point.y - drawing_.corner.y) * unit_};
  }

  /// `more`: other attributes.
  void words(double x, double y, double size, std::string_view text, std::string_view colour,
             std::string_view anchor, std::string_view more = "") {
    text_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"{}\" text-anchor=\"{}\"{}>"
        "{}</text>\n",
        x, y + 0.35 * size, size, colour, anchor, more, for_xml(text));
  }

  void links(bool shown) {
    for (std::uint32_t l = 0; l < topology_.num_links(); ++l) {
      const auto look = scene_.links.find(l);
      if ((look != scene_.links.end()) != shown) continue;
      link(l, shown ? look->second : Look{std::string(kIdleColour), 0.02});
    }
  }

  void link(std::uint32_t number, const Look& look) {
    const Link& link = topology_.link(LinkId{number});
    const Curve& curve = drawing_.links[number];
    const Point a = at(curve.from), c = at(curve.control), b = at(curve.to);
    const double width = look.width * drawing_.line * unit_;
    const std::string dashes =
        look.dashed ? fmt::format(" stroke-dasharray=\"{:.2f} {:.2f}\"", 0.16 * unit_, 0.07 * unit_)
                    : "";
    text_ += fmt::format(
        "<path d=\"M{:.1f},{:.1f} Q{:.1f},{:.1f} {:.1f},{:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"{:.2f}\"{}><title>{} to {}: {}, {}</title></path>\n",
        a.x, a.y, c.x, c.y, b.x, b.y, look.colour, width, dashes,
        for_xml(topology_.node(link.src).name), for_xml(topology_.node(link.dst).name),
        to_string(link.bandwidth), to_string(link.latency));
  }

  void node(std::uint32_t number) {
    const Node& node = topology_.node(NodeId{number});
    const Point place = at(drawing_.nodes[number]);
    const auto mark = scene_.nodes.find(number);
    const std::string fill = mark == scene_.nodes.end() ? "#ffffff" : mark->second;
    const double line = std::min(1.5, 0.03 * unit_);
    if (node.is_switch()) {
      const double w = 0.4 * unit_, h = 0.28 * unit_;
      text_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.1f}\" "
          "fill=\"{}\" stroke=\"#3c434b\" stroke-width=\"{:.2f}\"><title>switch "
          "{}</title></rect>\n",
          place.x - w / 2, place.y - h / 2, w, h, 0.04 * unit_, fill, line, for_xml(node.name));
      return;
    }
    text_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" stroke=\"#3c434b\" "
        "stroke-width=\"{:.2f}\"><title>rank {} ({})</title></circle>\n",
        place.x, place.y, 0.17 * unit_, fill, line, index(*node.rank), for_xml(node.name));
    number_at(place, std::to_string(index(*node.rank)), "#1b1f24");
  }

  void numbers() {
    for (const auto& [link, look] : scene_.links) {
      if (look.number == 0) continue;
      number_at(at(drawing_.links[link].label), std::to_string(look.number), look.colour, kHalo);
    }
  }

  void names() {
    const std::vector<std::string> labels = labels_of(topology_);
    const double size = kNameLetters * unit_;
    if (size < kLeastLetters) return;
    for (std::size_t n = 0; n < labels.size(); ++n) {
      const Point place = at(drawing_.nodes[n]);
      words(place.x, place.y + kNameBelow * unit_, size, labels[n], "#3c434b", "middle", kRim);
    }
  }

  void number_at(const Point& place, const std::string& number, std::string_view colour,
                 std::string_view more = "") {
    const double size = 0.16 * unit_;
    if (size >= kLeastLetters) words(place.x, place.y, size, number, colour, "middle", more);
  }

  void legend(double y) {
    double wide = 0;
    for (const auto& [colour, text] : scene_.legend) wide += legend_width(text);
    double x = (width_ - wide) / 2;
    for (const auto& [colour, text] : scene_.legend) {
      text_ +=
          fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n",
                      x, y - 6, colour);
      words(x + 18, y, kLetters, text, "#3c434b", "start");
      x += legend_width(text);
    }
  }
  static double legend_width(const std::string& text) {
    return kLetterWidth * static_cast<double>(text.size()) + 42;
  }

  const Topology& topology_;
  const Scene& scene_;
  Drawing drawing_;
  double unit_ = 1, width_ = 0, left_ = 0;
  std::string text_;
};

}  // namespace

std::string write_picture(const Topology& topology, const Scene& scene, const std::string& title) {
  return Canvas(topology, scene).write(title);
}

}  // namespace multitree::view
