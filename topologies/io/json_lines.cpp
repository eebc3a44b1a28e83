// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finding the line of a JSON value with a second, event-driven scan.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "topologies/io/json_lines_internal.hpp"

namespace multitree {
namespace {

using nlohmann::json;

// Remembers the line of the last character taken that is no white space: when an event arrives,
// that is the line of its token, whether or not the lexer looked one character further.
class LineIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  struct Lines {
    std::size_t current = 1, token = 1;
  };

  LineIterator(const char* pos, Lines& lines) : pos_(pos), lines_(&lines) {}
  reference operator*() const { return *pos_; }
  LineIterator& operator++() {
    const char c = *pos_++;
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') lines_->token = lines_->current;
    if (c == '\n') ++lines_->current;
    return *this;
  }
  bool operator==(const LineIterator& other) const { return pos_ == other.pos_; }
  bool operator!=(const LineIterator& other) const { return pos_ != other.pos_; }

 private:
  const char* pos_;
  Lines* lines_;
};

// Folds the events of the parser into four; each returns false to stop the scan.
class Finder : public nlohmann::json_sax<json> {
 public:
  bool null() override { return on_value(); }
  bool boolean(bool) override { return on_value(); }
  bool number_integer(json::number_integer_t) override { return on_value(); }
  bool number_unsigned(json::number_unsigned_t) override { return on_value(); }
  bool number_float(json::number_float_t, const std::string&) override { return on_value(); }
  bool string(std::string&) override { return on_value(); }
  bool binary(json::binary_t&) override { return on_value(); }
  bool start_object(std::size_t) override { return on_open(false); }
  bool start_array(std::size_t) override { return on_open(true); }
  bool end_object() override { return on_close(); }
  bool end_array() override { return on_close(); }
  bool key(std::string& name) override { return on_key(name); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 protected:
  virtual bool on_value() = 0;
  virtual bool on_open(bool is_array) = 0;
  virtual bool on_close() = 0;
  virtual bool on_key(const std::string& name) = 0;
};

// Stops at the value with a given path.
class PathFinder : public Finder {
 public:
  explicit PathFinder(json::json_pointer target) {
    for (; !target.empty(); target.pop_back()) tokens_.insert(tokens_.begin(), target.back());
  }

 protected:
  bool on_value() override {
    if (open_.empty()) return !tokens_.empty();
    Container& in = open_.back();
    const std::size_t depth = open_.size();
    const bool on_path = matched_ + 1 == depth && depth <= tokens_.size() &&
                         tokens_[depth - 1] == (in.is_array ? std::to_string(in.next) : in.key);
    ++in.next;
    if (on_path) matched_ = depth;
    return !(on_path && depth == tokens_.size());
  }
  bool on_open(bool is_array) override {
    if (!on_value()) return false;
    open_.push_back({is_array, 0, {}});
    return true;
  }
  bool on_close() override {
    open_.pop_back();
    matched_ = std::min(matched_, open_.empty() ? 0 : open_.size() - 1);
    return true;
  }
  bool on_key(const std::string& name) override {
    open_.back().key = name;
    return true;
  }

 private:
  struct Container {
    bool is_array;
    std::size_t next;  // index of the next element
    std::string key;   // of the next member
  };

  std::vector<std::string> tokens_;
  std::vector<Container> open_;
  std::size_t matched_ = 0;  // how many leading tokens the open containers match
};

// Stops at the n-th key or opening bracket.
class EventFinder : public Finder {
 public:
  explicit EventFinder(std::size_t event) : left_(event) {}

 protected:
  bool on_value() override { return true; }
  bool on_open(bool) override { return --left_ != 0; }
  bool on_close() override { return true; }
  bool on_key(const std::string&) override { return --left_ != 0; }

 private:
  std::size_t left_;
};

std::size_t line_where_stopped(std::string_view text, Finder& finder) {
  LineIterator::Lines lines;
  const LineIterator first(text.data(), lines), last(text.data() + text.size(), lines);
  json::sax_parse(first, last, &finder);
  return lines.token;
}

}  // namespace

std::size_t json_line_of_path(std::string_view text, const json::json_pointer& path) {
  PathFinder finder(path);
  return line_where_stopped(text, finder);
}

std::size_t json_line_of_event(std::string_view text, std::size_t event) {
  EventFinder finder(event);
  return line_where_stopped(text, finder);
}

}  // namespace multitree
