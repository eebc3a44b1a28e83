// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Timelines in Chrome's Trace Event Format, as https://ui.perfetto.dev and chrome://tracing show
/// them: a row for each link or interface, bars for what it does, arrows for what waits for what.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace multitree::report {

/// A detail of a span, shown when it is selected. Refers to its texts; lives for one call.
class TraceArg {
 public:
  using Value = std::variant<std::int64_t, std::uint64_t, double, std::string_view>;

  template <std::signed_integral T>
  TraceArg(std::string_view key, T value) : key_(key), value_(std::int64_t{value}) {}
  template <std::unsigned_integral T>
  TraceArg(std::string_view key, T value) : key_(key), value_(std::uint64_t{value}) {}
  TraceArg(std::string_view key, double value) : key_(key), value_(value) {}
  TraceArg(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  TraceArg(std::string_view key, const char* value) : key_(key), value_(std::string_view(value)) {}

  [[nodiscard]] std::string_view key() const { return key_; }
  [[nodiscard]] const Value& value() const { return value_; }

 private:
  std::string_view key_;
  Value value_;
};

/// Collects spans and arrows, 32 bytes a span and the text of its arguments, then writes them in
/// the order in which they came. The same calls give the same bytes. Texts are UTF-8.
class Trace {
 public:
  /// A new row, named `name`, in the group of rows `group`; rows and groups are shown in the order
  /// of these calls. \returns its number, from 0. \throws Error(InvalidArgument) if not UTF-8.
  std::uint32_t add_track(std::string_view group, std::string_view name);

  /// Something that lasts from `begin_ns` to `end_ns`, nanoseconds from the start, rounded to
  /// whole ones. Spans of a track may touch and may lie within each other; write() checks.
  /// \returns its number, from 0. \throws Error(InvalidArgument) if there is no such track, a time
  /// is not finite, negative or beyond 2^53, the end is before the begin, a text is not UTF-8 or a
  /// number not finite.
  std::uint64_t add_span(std::uint32_t track, std::string_view name, double begin_ns, double end_ns,
                         std::initializer_list<TraceArg> args = {});

  /// An arrow from the end of one span to the begin of another, or, if that begins before the
  /// first ends, from where the first is then. A viewer may not show arrows at spans that last
  /// less than 1 ns. \throws Error(InvalidArgument) if there is no such span or `to` begins before
  /// `from`.
  void add_arrow(std::uint64_t from, std::uint64_t to);

  /// Writes the JSON. \throws Error(InvalidArgument) if two spans of a track overlap and neither
  /// lies within the other, which viewers would draw wrong; Error(Io) if `out` fails.
  void write(std::ostream& out) const;
  [[nodiscard]] std::string to_json() const;

  [[nodiscard]] std::uint64_t spans() const { return spans_.size(); }
  [[nodiscard]] std::uint64_t arrows() const { return arrows_.size(); }

 private:
  struct Track {
    std::uint32_t group;
    std::string name_json;
    std::int64_t last_end = 0;  ///< ns
    bool in_order = true;       ///< each span begins at or after the end of the one before
  };

  struct Span {
    std::int64_t begin;  ///< ns
    std::int64_t end;
    std::uint64_t args_end;  ///< in args_json_; they begin where those of the span before end
    std::uint32_t track;
    std::uint32_t name;
  };

  struct Arrow {
    std::uint64_t from;
    std::uint64_t to;
  };

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  /// Numbers of texts that come again and again; only looked up, never walked through.
  class Names {
   public:
    std::uint32_t number(std::string_view text);
    [[nodiscard]] const std::string& json(std::uint32_t number) const { return json_[number]; }
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(json_.size()); }

   private:
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> numbers_;
    std::vector<std::string> json_;
  };

  class Writer;

  void check_nesting() const;

  Names groups_;
  Names names_;
  std::vector<Track> tracks_;
  std::vector<Span> spans_;
  std::vector<Arrow> arrows_;
  std::string args_json_;
};

}  // namespace multitree::report
