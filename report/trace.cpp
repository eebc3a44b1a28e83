// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks what is added to a trace, and keeps it small.
#include "report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "topologies/error.hpp"

namespace multitree::report {
namespace {

constexpr double kLatest = 0x1p53;  // ns, about 104 days; whole numbers are exact up to here

bool needs_no_escape(char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; }

/// `text` as a JSON string.
void append_json(std::string& out, std::string_view text) {
  if (std::ranges::all_of(text, needs_no_escape)) {
    out.append(1, '"').append(text).append(1, '"');
    return;
  }
  try {
    out += nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorCode::InvalidArgument, "trace: expected UTF-8 in a name or argument");
  }
}

void append_json(std::string& out, double value) {
  if (!std::isfinite(value)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("trace: expected a finite argument, got {}", value));
  }
  fmt::format_to(std::back_inserter(out), "{}", value);
}

template <std::integral T>
void append_json(std::string& out, T value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

std::int64_t checked_time(double ns) {
  if (!(ns >= 0 && ns <= kLatest)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("trace: expected a time from 0 to 2^53 ns, got {} ns", ns));
  }
  return std::llround(ns);
}

/// Undoes what a call appended, unless it came to its end.
class Appending {
 public:
  explicit Appending(std::string& text) : text_(text), size_(text.size()) {}
  ~Appending() { text_.resize(size_); }
  Appending(const Appending&) = delete;
  Appending& operator=(const Appending&) = delete;
  void keep() { size_ = text_.size(); }

 private:
  std::string& text_;
  std::size_t size_;
};

}  // namespace

std::uint32_t Trace::Names::number(std::string_view text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  std::string json;
  append_json(json, text);
  const std::uint32_t next = size();
  json_.push_back(std::move(json));
  numbers_.emplace(text, next);
  return next;
}

std::uint32_t Trace::add_track(std::string_view group, std::string_view name) {
  std::string name_json;
  append_json(name_json, name);
  tracks_.push_back({groups_.number(group), std::move(name_json)});
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

std::uint64_t Trace::add_span(std::uint32_t track, std::string_view name, double begin_ns,
                              double end_ns, std::initializer_list<TraceArg> args) {
  if (track >= tracks_.size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("trace: no track {}, there are {}", track, tracks_.size()));
  }
  const std::int64_t begin = checked_time(begin_ns), end = checked_time(end_ns);
  if (end_ns < begin_ns) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("trace: a span ends at {} ns, before its begin at {} ns", end_ns, begin_ns));
  }
  Appending appending(args_json_);
  for (const TraceArg& arg : args) {
    if (&arg != args.begin()) args_json_ += ',';
    append_json(args_json_, arg.key());
    args_json_ += ':';
    std::visit([this](const auto& value) { append_json(args_json_, value); }, arg.value());
  }
  spans_.push_back({begin, end, args_json_.size(), track, names_.number(name)});
  appending.keep();
  Track& row = tracks_[track];
  row.in_order &= begin >= row.last_end;
  row.last_end = end;
  return spans_.size() - 1;
}

void Trace::add_arrow(std::uint64_t from, std::uint64_t to) {
  for (const std::uint64_t span : {from, to}) {
    if (span < spans_.size()) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("trace: no span {}, there are {}", span, spans_.size()));
  }
  if (spans_[to].begin < spans_[from].begin) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("trace: an arrow leads back in time, from {} ns to {} ns",
                            spans_[from].begin, spans_[to].begin));
  }
  arrows_.push_back({from, to});
}

}  // namespace multitree::report
