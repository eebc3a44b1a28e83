// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Writes traces. The format: "Trace Event Format", Google, 2016: M names processes (our groups)
/// and threads (our tracks), X is a span, s and f are the ends of an arrow.
#include <fmt/format.h>

#include <algorithm>
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

  void number(std::int64_t value) {
    const fmt::format_int digits(value);
    text({digits.data(), digits.size()});
  }

  /// Nanoseconds as microseconds, exactly. No time is negative.
  void microseconds(std::int64_t ns) {
    number(ns / 1000);
    const auto rest = static_cast<char>(ns % 1000 / 100);
    const auto low = static_cast<int>(ns % 100);
    const char fraction[] = {'.', static_cast<char>('0' + rest), static_cast<char>('0' + low / 10),
                             static_cast<char>('0' + low % 10)};
    text({fraction, sizeof fraction});
  }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

  void begin_event(std::string_view head) {
    if (buffer_.size() >= kPiece) flush();
    text(first_ ? "\n" : ",\n");
    first_ = false;
    text(head);
  }

  // No number is both a process and a thread: that would be a process's main thread, which viewers
  // put first.
  void process(std::uint32_t group) {
    text(",\"pid\":");
    number(std::int64_t{group} + 1);
  }

  void thread(std::uint32_t track) {
    process(trace_.tracks_[track].group);
    text(",\"tid\":");
    number(std::int64_t{trace_.groups_.size()} + 1 + track);
  }

  void write_group(std::uint32_t group) {
    begin_event(R"({"ph":"M","name":"process_name")");
    process(group);
    text(R"(,"args":{"name":)");
    text(trace_.groups_.json(group));
    text("}}");
    begin_event(R"({"ph":"M","name":"process_sort_index")");
    process(group);
    text(R"(,"args":{"sort_index":)");
    number(group);
    text("}}");
  }

  void write_track(std::uint32_t track) {
    begin_event(R"({"ph":"M","name":"thread_name")");
    thread(track);
    text(R"(,"args":{"name":)");
    text(trace_.tracks_[track].name_json);
    text("}}");
    begin_event(R"({"ph":"M","name":"thread_sort_index")");
    thread(track);
    text(R"(,"args":{"sort_index":)");
    number(track);
    text("}}");
  }

  void write_span(std::size_t index) {
    const Span& span = trace_.spans_[index];
    begin_event(R"({"ph":"X","name":)");
    text(trace_.names_.json(span.name));
    thread(span.track);
    text(R"(,"ts":)");
    microseconds(span.begin);
    text(R"(,"dur":)");
    microseconds(span.end - span.begin);
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
    write_arrow_end(R"({"ph":"s","cat":"arrow","name":"then","id":)", index, from.track, leave);
    write_arrow_end(R"({"ph":"f","bp":"e","cat":"arrow","name":"then","id":)", index, to.track,
                    to.begin);
  }

  void write_arrow_end(std::string_view head, std::size_t index, std::uint32_t track,
                       std::int64_t at) {
    begin_event(head);
    number(static_cast<std::int64_t>(index));
    thread(track);
    text(R"(,"ts":)");
    microseconds(at);
    text("}");
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
