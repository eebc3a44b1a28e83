// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// XML texts whose errors name the file and the line. Include in .cpp files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace multitree {

/// A parsed XML text with checked access to attributes. All errors are Error(InvalidInput)
/// "file:line: ...", the line being that of the element.
class XmlText {
 public:
  /// The text and the name must outlive this.
  XmlText(std::string_view text, const std::string& file);

  [[nodiscard]] const pugi::xml_document& document() const { return document_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::size_t line(const pugi::xml_node& at) const;
  [[noreturn]] void fail(const pugi::xml_node& at, const std::string& what) const;
  /// An attribute that must be there and not be empty.
  [[nodiscard]] std::string require(const pugi::xml_node& element, const char* attribute) const;
  /// An integer in [least, most] that must be there.
  [[nodiscard]] std::int64_t integer(const pugi::xml_node& element, const char* attribute,
                                     std::int64_t least, std::int64_t most) const;

 private:
  std::string_view text_;
  const std::string& file_;
  pugi::xml_document document_;
};

}  // namespace multitree
