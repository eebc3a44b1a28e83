// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Writes traces. The format: "Trace Event Format", Google, 2016: M names processes (our groups)
/// and threads (our tracks), X is a span, s and f are the ends of an arrow.
#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <sstream>
#include <tuple>

#include "report/trace.hpp"
#include "topologies/error.hpp"

namespace multitree::report {

/// Gathers text and passes it on in large pieces.
class Trace::Writer {
 public:
  Writer(const Trace& trace, std::ostream& out) : trace_(trace), out_(out) {}

  void write() {
    text("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (std::uint32_t group = 0; group < trace_.groups_.size(); ++group) write_group(group);
    for (std::uint32_t track = 0; track < trace_.tracks_.size(); ++track) write_track(track);
    for (std::size_t span = 0; span < trace_.spans_.size(); ++span) write_span(span);
    // After all spans: of events at the same time, viewers take the first in the file first.
    for (std::size_t arrow = 0; arrow < trace_.arrows_.size(); ++arrow) write_arrow(arrow);
    text("\n]}\n");
    flush();
    if (!out_) throw Error(ErrorCode::Io, "trace: writing failed");
  }

 private:
  static constexpr std::size_t kPiece = 1 << 16;

  void text(std::string_view part) { buffer_.append(part.data(), part.data() + part.size()); }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  template <typename Format, typename... Args>
  void event(const Format& format, const Args&... args) {
    if (buffer_.size() >= kPiece) flush();
    text(first_ ? "\n" : ",\n");
    first_ = false;
    fmt::format_to(std::back_inserter(buffer_), format, args...);
  }

  // No number is both a process and a thread: that would be a process's main thread, which viewers
  // put first.
  static std::uint32_t process(std::uint32_t group) { return group + 1; }
  [[nodiscard]] std::uint32_t process_of(std::uint32_t track) const {
    return process(trace_.tracks_[track].group);
  }
  [[nodiscard]] std::size_t thread(std::uint32_t track) const {
    return trace_.groups_.size() + 1 + track;
  }

  void write_group(std::uint32_t group) {
    event(FMT_COMPILE(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})"),
          process(group), trace_.groups_.json(group));
    event(FMT_COMPILE(
              R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})"),
          process(group), group);
  }

  void write_track(std::uint32_t track) {
    event(
        FMT_COMPILE(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})"),
        process_of(track), thread(track), trace_.tracks_[track].name_json);
    event(FMT_COMPILE(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},)"
                      R"("args":{{"sort_index":{}}}}})"),
          process_of(track), thread(track), track);
  }

  // Times are nanoseconds, and written as microseconds, exactly. None is negative.
  void write_span(std::size_t index) {
    const Span& span = trace_.spans_[index];
    const std::int64_t duration = span.end - span.begin;
    event(FMT_COMPILE(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{}.{:03},"dur":{}.{:03})"),
          trace_.names_.json(span.name), process_of(span.track), thread(span.track),
          span.begin / 1000, span.begin % 1000, duration / 1000, duration % 1000);
    const std::uint64_t args = index == 0 ? 0 : trace_.spans_[index - 1].args_end;
    if (span.args_end > args) {
      text(R"(,"args":{)");
      text(std::string_view(trace_.args_json_).substr(args, span.args_end - args));
      text("}");
    }
    text("}");
  }

  void write_arrow(std::size_t index) {
    const Span& from = trace_.spans_[trace_.arrows_[index].from];
    const Span& to = trace_.spans_[trace_.arrows_[index].to];
    // Within the span, which the instant of its end is not; and not after the other end.
    const std::int64_t leave = std::max(from.begin, std::min(from.end - 1, to.begin));
    write_arrow_end(R"("s")", index, from.track, leave);
    write_arrow_end(R"("f","bp":"e")", index, to.track, to.begin);
  }

  void write_arrow_end(std::string_view kind, std::size_t index, std::uint32_t track,
                       std::int64_t at) {
    event(FMT_COMPILE(R"({{"ph":{},"cat":"arrow","name":"then","id":{},"pid":{},"tid":{},)"
                      R"("ts":{}.{:03}}})"),
          kind, index, process_of(track), thread(track), at / 1000, at % 1000);
  }

  const Trace& trace_;
  std::ostream& out_;
  fmt::basic_memory_buffer<char, kPiece + 4096> buffer_;
  bool first_ = true;
};

void Trace::check_nesting() const {
  std::vector<const Span*> order;
  for (const Span& span : spans_) {
    if (!tracks_[span.track].in_order) order.push_back(&span);
  }
  std::ranges::sort(order, [](const Span* a, const Span* b) {
    return std::tuple(a->track, a->begin, b->end) < std::tuple(b->track, b->begin, a->end);
  });
  std::vector<const Span*> open;  // of one track, each within the one before
  for (const Span* span : order) {
    while (!open.empty() &&
           (open.back()->track != span->track || open.back()->end <= span->begin)) {
      open.pop_back();
    }
    if (!open.empty() && open.back()->end < span->end) {
      throw Error(
          ErrorCode::InvalidArgument,
          fmt::format("trace: on track {}, {} from {} to {} ns overlaps {} from {} to {} ns",
                      tracks_[span->track].name_json, names_.json(open.back()->name),
                      open.back()->begin, open.back()->end, names_.json(span->name), span->begin,
                      span->end));
    }
    open.push_back(span);
  }
}

void Trace::write(std::ostream& out) const {
  check_nesting();
  Writer(*this, out).write();
}

std::string Trace::to_json() const {
  std::ostringstream out;
  write(out);
  return std::move(out).str();
}

}  // namespace multitree::report
