// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The page around what its script draws.
#include "view/page.hpp"

#include <string_view>

namespace multitree::embedded {
extern const std::string_view page_html, page_css, network_js, page_js, timeline_js, chart_js;
}  // namespace multitree::embedded

namespace multitree::view {
namespace {

/// The last line of the page's script.
constexpr const char* kStart = "open_page(JSON.parse(at('data').textContent));\n";

/// JSON that may stand in a page: no text in it can end the element that it stands in.
std::string for_script(std::string_view json) {
  std::string text;
  for (const char c : json) {
    text += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return text;
}

std::string for_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    result += c == '<'   ? std::string("&lt;")
              : c == '&' ? std::string("&amp;")
              : c == '"' ? std::string("&quot;")
                         : std::string(1, c);
  }
  return result;
}

}  // namespace

std::string write_page(const Subject& subject, std::size_t most_numbers) {
  const std::pair<std::string_view, std::string> parts[] = {
      {"@TITLE@", for_html(subject.topology.name())},
      {"@STYLE@", std::string(embedded::page_css)},
      {"@ABOVE@", ""},
      {"@DATA@", for_script(page_data(subject, most_numbers))},
      {"@CHART@", std::string(embedded::chart_js)},
      {"@SCRIPT@", std::string(embedded::network_js) + std::string(embedded::page_js) +
                       std::string(embedded::timeline_js) + kStart}};
  std::string page;
  std::string_view rest = embedded::page_html;
  for (const auto& [mark, text] : parts) {
    const std::size_t at = rest.find(mark);
    page.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

}  // namespace multitree::view
