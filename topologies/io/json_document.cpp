// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One pass over the text builds the values and refuses repeated keys; a second one, only after an
/// error, finds the line.
#include "topologies/io/json_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "topologies/error.hpp"
#include "topologies/io/json_lines_internal.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

using nlohmann::json;

// Deeper nesting is no file of ours, and would exhaust the stack of recursive readers.
constexpr std::size_t kMaxDepth = 64;

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." less its
// head.
std::string syntax_message(const char* what) {
  std::string text = what;
  if (const auto end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
  if (text.starts_with("parse error at line")) text.erase(0, text.find(": ") + 2);
  return text;
}

// SAX handler that builds the values as json::parse does, in the same time, and keeps what went
// wrong: a syntax error with its byte, or a repeated key or excessive depth with the number of
// events (keys and openings) seen before.
class Builder {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  explicit Builder(json& root) : root_(root) {}

  bool null() { return add(nullptr) != nullptr; }
  bool boolean(bool value) { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) { return add(value) != nullptr; }
  bool string(string_t& value) { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(json::value_t::object); }
  bool start_array(std::size_t) { return open(json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(string_t& name) {
    ++events_;
    auto& members = stack_.back()->get_ref<json::object_t&>();
    const auto [place, inserted] = members.emplace(name, nullptr);
    if (!inserted) problem_ = fmt::format("the key '{}' is repeated", name);
    member_ = &place->second;
    return inserted;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    problem_ = syntax_message(e.what());
    byte_ = position;
    return false;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t byte() const { return byte_; }
  [[nodiscard]] std::size_t events() const { return events_; }

 private:
  template <class Value>
  json* add(Value&& value) {
    if (stack_.empty()) {
      root_ = json(std::forward<Value>(value));
      return &root_;
    }
    if (stack_.back()->is_array()) {
      auto& elements = stack_.back()->get_ref<json::array_t&>();
      return &elements.emplace_back(std::forward<Value>(value));
    }
    *member_ = json(std::forward<Value>(value));
    return member_;
  }
  bool open(json::value_t type) {
    ++events_;
    stack_.push_back(add(type));
    if (stack_.size() <= kMaxDepth) return true;
    problem_ = fmt::format("nested deeper than {} levels", kMaxDepth);
    return false;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  json& root_;
  std::vector<json*> stack_;
  json* member_ = nullptr;
  std::size_t events_ = 0, byte_ = 0;
  std::string problem_;
};

std::string describe(const json& value) {
  if (value.is_array()) return fmt::format("an array of {}", value.size());
  if (value.is_object()) return "an object";
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

// Appends the way from `from` to the value at an address; false if it is not there.
bool find_path(const json& from, const json* target, json::json_pointer& path) {
  if (&from == target) return true;
  if (!from.is_structured()) return false;
  std::size_t i = 0;
  for (auto member = from.begin(); member != from.end(); ++member, ++i) {
    if (&*member != target && !member->is_structured()) continue;
    from.is_object() ? path.push_back(member.key()) : path.push_back(std::to_string(i));
    if (find_path(*member, target, path)) return true;
    path.pop_back();
  }
  return false;
}

// 'rank', 'nodes[1]' or the document.
std::string name_of(const json& root, json::json_pointer path) {
  std::string indices;
  for (; !path.empty() && root.at(path.parent_pointer()).is_array(); path.pop_back()) {
    indices = "[" + path.back() + "]" + indices;
  }
  return path.empty() ? "the document" + indices : "'" + path.back() + indices + "'";
}

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)) {
  Builder builder(root_);
  if (json::sax_parse(text.begin(), text.end(), &builder)) return;
  root_ = nullptr;
  check_text(text, file_);  // The parser would quote the bytes.
  // The lexer counts the bytes it took, the offending one included.
  const std::size_t line = builder.byte() > 0 ? line_at(text, builder.byte() - 1)
                                              : json_line_of_event(text, builder.events());
  const bool is_json = builder.events() > 0 || text.find_first_not_of(" \t\r\n") == text.npos;
  fail_at(file_, line, (is_json ? "" : "expected JSON: ") + builder.problem());
}

void JsonDocument::fail(const json::json_pointer& path, const std::string& what) const {
  fail_at(file_, json_line_of_path(text_, path), what);
}

nlohmann::json::json_pointer JsonValue::path() const {
  nlohmann::json::json_pointer path;
  find_path(document_->root(), value_, path);
  return path;
}

void JsonValue::fail(const std::string& what) const { document_->fail(path(), what); }

void JsonValue::fail_expected(const std::string& expected) const {
  fail(fmt::format("{}: expected {}, got {}", name_of(document_->root(), path()), expected,
                   describe(*value_)));
}

bool JsonValue::has(const std::string& key) const {
  return value_->is_object() && value_->contains(key);
}

JsonValue JsonValue::at(const std::string& key) const {
  if (!value_->is_object()) fail_expected("an object");
  const auto found = value_->find(key);
  if (found == value_->end()) fail(fmt::format("the member '{}' is missing", key));
  return {*document_, *found};
}

JsonValue JsonValue::at(std::size_t i) const {
  if (i >= size()) fail_expected(fmt::format("at least {} elements", i + 1));
  return {*document_, (*value_)[i]};
}

std::size_t JsonValue::size() const {
  if (!value_->is_array()) fail_expected("an array");
  return value_->size();
}

std::string JsonValue::string() const {
  if (!value_->is_string()) fail_expected("a string");
  return value_->get<std::string>();
}

std::uint64_t JsonValue::integer(std::uint64_t least, std::uint64_t most) const {
  const bool fits = value_->is_number_unsigned() && value_->get<std::uint64_t>() >= least &&
                    value_->get<std::uint64_t>() <= most;
  if (!fits) fail_expected(fmt::format("an integer from {} to {}", least, most));
  return value_->get<std::uint64_t>();
}

bool JsonValue::boolean() const {
  if (!value_->is_boolean()) fail_expected("true or false");
  return value_->get<bool>();
}

double JsonValue::number() const {
  if (!value_->is_number()) fail_expected("a number from 0 on");
  const double number = value_->get<double>();
  if (!std::isfinite(number) || number < 0) fail_expected("a number from 0 on");
  return number;
}

void JsonValue::check_keys(const std::vector<std::string>& keys) const {
  if (!value_->is_object()) fail_expected("an object");
  for (auto member = value_->begin(); member != value_->end(); ++member) {
    if (std::ranges::find(keys, member.key()) != keys.end()) continue;
    JsonValue(*document_, *member)
        .fail(fmt::format("unknown key '{}'; known here: {}", member.key(), fmt::join(keys, ", ")));
  }
}

void JsonValue::check_schema(const std::vector<std::string_view>& known) const {
  if (!has("schema") && value_->is_object()) {
    fail(fmt::format("expected the schema '{}', found no member 'schema'",
                     fmt::join(known, "' or '")));
  }
  const JsonValue schema = at("schema");
  const std::string found = schema.string();
  if (std::ranges::find(known, found) != known.end()) return;
  schema.fail(fmt::format("expected the schema '{}', got '{}'", fmt::join(known, "' or '"), found));
}

}  // namespace multitree
