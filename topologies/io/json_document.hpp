// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// JSON input whose errors name the file and the line. Include in .cpp files only.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace multitree {

/// A parsed JSON text that remembers where it came from. Lines are found only when an error needs
/// them, by scanning the text again up to the offending value: the good path pays nothing.
class JsonDocument {
 public:
  /// \throws Error(InvalidInput) "file:line: ..." on a syntax error, a repeated key, or trailing
  /// text.
  JsonDocument(std::string_view text, std::string file);

  [[nodiscard]] const nlohmann::json& root() const { return root_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  /// Throws Error(InvalidInput) "file:line: <what>", the line being that of the value at `path`.
  [[noreturn]] void fail(const nlohmann::json::json_pointer& path, const std::string& what) const;

 private:
  std::string_view text_;
  std::string file_;
  nlohmann::json root_;
};

/// A value inside a JsonDocument: checked access that reports its own location. Cheap: the path is
/// searched for, by the value's address, only when an error needs it.
class JsonValue {
 public:
  explicit JsonValue(const JsonDocument& document) : JsonValue(document, document.root()) {}
  /// `value` must be inside the document.
  JsonValue(const JsonDocument& document, const nlohmann::json& value)
      : document_(&document), value_(&value) {}

  [[nodiscard]] const nlohmann::json& json() const { return *value_; }
  [[nodiscard]] bool has(const std::string& key) const;
  /// Member of an object. \throws Error(InvalidInput) if this is no object or lacks it.
  [[nodiscard]] JsonValue at(const std::string& key) const;
  [[nodiscard]] JsonValue at(std::size_t i) const;
  /// Length of an array. \throws if this is no array.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::string string() const;
  /// An integer in [least, most].
  [[nodiscard]] std::uint64_t integer(std::uint64_t least, std::uint64_t most) const;
  [[nodiscard]] bool boolean() const;
  /// A finite number from 0 on.
  [[nodiscard]] double number() const;
  /// \throws Error(InvalidInput) naming the first member that is not in `keys`.
  void check_keys(const std::vector<std::string>& keys) const;
  /// \throws Error(InvalidInput) unless the member "schema" is one of these.
  void check_schema(const std::vector<std::string_view>& known) const;
  [[noreturn]] void fail(const std::string& what) const;

 private:
  [[nodiscard]] nlohmann::json::json_pointer path() const;
  // "'<key or index>': expected <expected>, got <this value>".
  [[noreturn]] void fail_expected(const std::string& expected) const;

  const JsonDocument* document_;
  const nlohmann::json* value_;
};

/// Parses a native topology embedded in another document (a schedule file).
class Topology;
Topology parse_topology(const JsonValue& value);

}  // namespace multitree
