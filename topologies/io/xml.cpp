// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// XML texts whose errors name the file and the line.
#include <fmt/format.h>

#include <charconv>

#include "topologies/io/text_internal.hpp"
#include "topologies/io/xml_internal.hpp"

namespace multitree {

XmlText::XmlText(std::string_view text, const std::string& file) : text_(text), file_(file) {
  check_text(text_, file_);
  const auto result =
      document_.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) {
    fail_at(file_, line_at(text_, static_cast<std::size_t>(result.offset)), result.description());
  }
}

std::size_t XmlText::line(const pugi::xml_node& at) const {
  return line_at(text_, static_cast<std::size_t>(at.offset_debug()));
}

void XmlText::fail(const pugi::xml_node& at, const std::string& what) const {
  fail_at(file_, line(at), what);
}

std::string XmlText::require(const pugi::xml_node& element, const char* attribute) const {
  std::string value = element.attribute(attribute).value();
  if (value.empty()) {
    fail(element, fmt::format("<{}> lacks the attribute '{}'", element.name(), attribute));
  }
  return value;
}

std::int64_t XmlText::integer(const pugi::xml_node& element, const char* attribute,
                              std::int64_t least, std::int64_t most) const {
  const std::string text = require(element, attribute);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value < least || value > most) {
    fail(element, fmt::format("{}: expected an integer from {} to {}, got '{}'", attribute, least,
                              most, text));
  }
  return value;
}

}  // namespace multitree
