// SPDX-License-Identifier: BSD-3-Clause
#include "report/trace.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <random>

#include "tests/topologies/error_matcher.hpp"

namespace multitree::report {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

/// Events of one kind, parsed back from the JSON.
std::vector<json> events(const Trace& trace, const std::string& kind) {
  const json document = json::parse(trace.to_json());
  EXPECT_EQ(document.at("displayTimeUnit"), "ns");
  std::vector<json> found;
  for (const json& event : document.at("traceEvents")) {
    if (event.at("ph") == kind) found.push_back(event);
  }
  return found;
}

/// Microseconds back to whole nanoseconds.
std::int64_t ns(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

/// A network at work: random spans one after the other on each track, arrows forward in time.
Trace busy(std::uint32_t tracks, int spans) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  Trace trace;
  for (std::uint32_t i = 0; i < tracks; ++i) {
    trace.add_track(i % 3 == 0 ? "interfaces" : "links", "n" + std::to_string(i));
  }
  std::vector<double> free(tracks, 0);
  std::vector<std::pair<double, std::uint64_t>> done;
  for (int i = 0; i < spans; ++i) {
    const std::uint32_t track = below(tracks);
    const double begin = free[track] + below(5) * 0.37, end = begin + 1 + below(9999) * 0.1;
    free[track] = end;
    const std::uint64_t span =
        trace.add_span(track, "chunk " + std::to_string(below(9)), begin, end,
                       {{"bytes", below(4096)}, {"share", 0.25}, {"op", "reduce"}});
    if (!done.empty() && done[below(done.size())].first <= begin) {
      const auto from = std::ranges::find_if(done, [&](const auto& d) { return d.first <= begin; });
      trace.add_arrow(from->second, span);
    }
    done.emplace_back(begin, span);
  }
  return trace;
}

TEST(Trace, NamesGroupsAndTracks) {
  Trace trace;
  EXPECT_EQ(trace.add_track("links", "n0->n1"), 0u);
  EXPECT_EQ(trace.add_track("interfaces", "n0"), 1u);
  EXPECT_EQ(trace.add_track("links", "n1->n0"), 2u);
  std::map<int, std::string> process, thread;
  std::map<int, int> process_place, thread_place, owner;
  for (const json& event : events(trace, "M")) {
    const std::string name = event.at("name");
    if (name == "process_name") process[event.at("pid")] = event.at("args").at("name");
    if (name == "process_sort_index") {
      process_place[event.at("pid")] = event.at("args").at("sort_index");
    }
    if (name == "thread_name") {
      thread[event.at("tid")] = event.at("args").at("name");
      owner[event.at("tid")] = event.at("pid");
    }
    if (name == "thread_sort_index") {
      thread_place[event.at("tid")] = event.at("args").at("sort_index");
    }
  }
  EXPECT_THAT(process, testing::ElementsAre(std::pair(1, "links"), std::pair(2, "interfaces")));
  EXPECT_THAT(process_place, testing::ElementsAre(std::pair(1, 0), std::pair(2, 1)));
  EXPECT_THAT(thread, testing::ElementsAre(std::pair(3, "n0->n1"), std::pair(4, "n0"),
                                           std::pair(5, "n1->n0")));
  EXPECT_THAT(thread_place,
              testing::ElementsAre(std::pair(3, 0), std::pair(4, 1), std::pair(5, 2)));
  EXPECT_THAT(owner, testing::ElementsAre(std::pair(3, 1), std::pair(4, 2), std::pair(5, 1)));
}

TEST(Trace, WritesSpansInMicrosecondsWithNanoseconds) {
  Trace trace;
  trace.add_track("links", "n0->n1");
  trace.add_span(0, "chunk 3", 1234.4, 1001005.6, {{"bytes", 65536u}, {"slot", -1}, {"x", 0.5}});
  trace.add_span(0, "chunk 4", 1001006, 1001006);
  const std::string text = trace.to_json();
  EXPECT_THAT(text, HasSubstr(R"("name":"chunk 3","pid":1,"tid":2,"ts":1.234,"dur":999.772,)"
                              R"("args":{"bytes":65536,"slot":-1,"x":0.5}})"));
  EXPECT_THAT(text, HasSubstr(R"("ts":1001.006,"dur":0.000})"));
}

TEST(Trace, LateTimesAreExact) {
  Trace trace;
  trace.add_track("links", "n0->n1");
  trace.add_span(0, "late", 0x1p53 - 1, 0x1p53);
  EXPECT_THAT(trace.to_json(), HasSubstr(R"("ts":9007199254740.991,"dur":0.001})"));
}

TEST(Trace, EscapesTexts) {
  const std::string odd = "a\"b\\c\n\x01\x7f é <&>";
  Trace trace;
  trace.add_track(odd, odd + "t");
  trace.add_span(0, odd + "s", 0, 1, {{odd, std::string_view(odd)}});
  EXPECT_EQ(events(trace, "M")[0].at("args").at("name"), odd);
  EXPECT_EQ(events(trace, "M")[2].at("args").at("name"), odd + "t");
  EXPECT_EQ(events(trace, "X")[0].at("name"), odd + "s");
  EXPECT_EQ(events(trace, "X")[0].at("args"), json({{odd, odd}}));
}

TEST(Trace, KeepsExtremeArguments) {
  Trace trace;
  trace.add_track("g", "t");
  trace.add_span(0, "s", 0, 1,
                 {{"most", std::numeric_limits<std::uint64_t>::max()},
                  {"least", std::numeric_limits<std::int64_t>::min()},
                  {"third", 1.0 / 3},
                  {"huge", 1e300}});
  const json args = events(trace, "X")[0].at("args");
  EXPECT_EQ(args.at("most").get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(args.at("least").get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(args.at("third").get<double>(), 1.0 / 3);
  EXPECT_EQ(args.at("huge").get<double>(), 1e300);
}

TEST(Trace, SpansOfATrackDoNotOverlap) {
  const Trace trace = busy(20, 5000);
  std::map<int, std::int64_t> free;
  const std::vector<json> spans = events(trace, "X");
  ASSERT_EQ(spans.size(), 5000u);
  for (const json& span : spans) {
    EXPECT_GE(ns(span.at("ts")), free[span.at("tid")]);
    EXPECT_GE(ns(span.at("dur")), 0);
    free[span.at("tid")] = ns(span.at("ts")) + ns(span.at("dur"));
    EXPECT_EQ(span.at("args").at("op"), "reduce");
  }
  EXPECT_EQ(free.size(), 20u);
}

TEST(Trace, ArrowsPairUpWithinTheirSpans) {
  const Trace trace = busy(20, 5000);
  ASSERT_GT(trace.arrows(), 1000u);
  const auto inside = [spans = events(trace, "X")](const json& end) {
    return std::ranges::any_of(spans, [&](const json& span) {
      const std::int64_t begin = ns(span.at("ts")), at = ns(end.at("ts"));
      return span.at("pid") == end.at("pid") && span.at("tid") == end.at("tid") && begin <= at &&
             at < begin + ns(span.at("dur"));
    });
  };
  const std::vector<json> starts = events(trace, "s"), finishes = events(trace, "f");
  ASSERT_EQ(starts.size(), trace.arrows());
  ASSERT_EQ(finishes.size(), trace.arrows());
  std::map<std::uint64_t, std::int64_t> started;
  for (const json& start : starts) {
    EXPECT_TRUE(started.emplace(start.at("id"), ns(start.at("ts"))).second) << "an id twice";
    EXPECT_TRUE(inside(start)) << start;
  }
  for (const json& finish : finishes) {
    ASSERT_EQ(started.count(finish.at("id")), 1u);
    EXPECT_LE(started[finish.at("id")], ns(finish.at("ts")));
    EXPECT_EQ(finish.at("bp"), "e");
    EXPECT_EQ(finish.at("cat"), starts[0].at("cat"));
    EXPECT_EQ(finish.at("name"), starts[0].at("name"));
    EXPECT_TRUE(inside(finish)) << finish;
    started.erase(finish.at("id"));
  }
  EXPECT_TRUE(started.empty());
}

TEST(Trace, ArrowsLeaveAtTheEndOrWhenTheOtherBegins) {
  Trace trace;
  for (const char* name : {"a", "b", "c"}) trace.add_track("g", name);
  const std::uint64_t a = trace.add_span(0, "a", 100, 200), b = trace.add_span(1, "b", 250, 300),
                      c = trace.add_span(2, "c", 150, 300);
  trace.add_arrow(a, b);
  trace.add_arrow(a, c);
  const std::vector<json> starts = events(trace, "s"), finishes = events(trace, "f");
  EXPECT_EQ(ns(starts.at(0).at("ts")), 199);
  EXPECT_EQ(ns(finishes.at(0).at("ts")), 250);
  EXPECT_EQ(ns(starts.at(1).at("ts")), 150);
  EXPECT_EQ(ns(finishes.at(1).at("ts")), 150);
}

TEST(Trace, EmptyIsValid) {
  EXPECT_EQ(Trace().to_json(), "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
}

TEST(Trace, SameCallsSameBytes) {
  EXPECT_EQ(busy(7, 300).to_json(), busy(7, 300).to_json());
  EXPECT_NE(busy(7, 300).to_json(), busy(7, 301).to_json());
}

struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Trace, IgnoresTheLocale) {
  const std::string expected = busy(3, 100).to_json();
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  EXPECT_EQ(busy(3, 100).to_json(), expected);
  std::locale::global(before);
}

TEST(Trace, SpansMayTouchAndNest) {
  Trace trace;
  trace.add_track("g", "a");
  trace.add_span(0, "inner", 10, 20);
  trace.add_span(0, "next", 20, 30);
  trace.add_span(0, "outer", 10, 30);
  trace.add_span(0, "instant", 20, 20);
  trace.add_span(0, "before", 0, 10);
  trace.add_span(0, "same", 0, 10);
  EXPECT_EQ(events(trace, "X").size(), 6u);
}

TEST(Trace, RefusesSpansThatCross) {
  Trace trace;
  trace.add_track("g", "a");
  trace.add_track("g", "n0->n1");
  trace.add_span(0, "elsewhere", 0, 15);
  trace.add_span(1, "second", 10, 20);
  EXPECT_NO_THROW(static_cast<void>(trace.to_json()));
  trace.add_span(1, "first", 5, 11);
  EXPECT_EQ(
      error_of(ErrorCode::InvalidArgument, [&] { static_cast<void>(trace.to_json()); }),
      "trace: on track \"n0->n1\", \"first\" from 5 to 11 ns overlaps \"second\" from 10 to 20 ns");
}

TEST(Trace, RefusesBadInputAndStaysAsItWas) {
  Trace trace;
  const auto fails = [&](auto action) {
    const std::uint64_t spans = trace.spans(), arrows = trace.arrows();
    const std::string before = trace.to_json();
    std::string message = error_of(ErrorCode::InvalidArgument, action);
    EXPECT_EQ(trace.spans(), spans);
    EXPECT_EQ(trace.arrows(), arrows);
    EXPECT_EQ(trace.to_json(), before);
    return message;
  };
  EXPECT_THAT(fails([&] { trace.add_span(0, "s", 0, 1); }), HasSubstr("no track 0, there are 0"));
  trace.add_track("g", "t");
  EXPECT_THAT(fails([&] { trace.add_span(1, "s", 0, 1); }), HasSubstr("no track 1, there are 1"));
  EXPECT_THAT(fails([&] { trace.add_span(0, "s", 2, 1); }),
              HasSubstr("ends at 1 ns, before its begin at 2 ns"));
  for (const double bad : {kNotANumber, kEndless, -1.0, 1e17}) {
    EXPECT_THAT(fails([&] { trace.add_span(0, "s", bad, 1e18); }), HasSubstr("0 to 2^53 ns"));
    EXPECT_THAT(fails([&] { trace.add_span(0, "s", 0, bad); }), HasSubstr("0 to 2^53 ns"));
  }
  EXPECT_THAT(fails([&] {
                trace.add_span(0, "s", 0, 1, {{"ok", 1}, {"x", kNotANumber}});
              }),
              HasSubstr("a finite argument, got nan"));
  EXPECT_THAT(fails([&] {
                trace.add_span(0, "s", 0, 1, {{"ok", 1}, {"x", "\xff"}});
              }),
              HasSubstr("UTF-8"));
  EXPECT_THAT(fails([&] { trace.add_span(0, "\xff", 0, 1, {{"ok", 1}}); }), HasSubstr("UTF-8"));
  EXPECT_THAT(fails([&] { trace.add_track("g", "\xff"); }), HasSubstr("UTF-8"));
  EXPECT_THAT(fails([&] { trace.add_track("\xff", "t"); }), HasSubstr("UTF-8"));
  const std::uint64_t early = trace.add_span(0, "s", 0, 1), late = trace.add_span(0, "s", 5, 6);
  EXPECT_THAT(fails([&] { trace.add_arrow(early, 2); }), HasSubstr("no span 2, there are 2"));
  EXPECT_THAT(fails([&] { trace.add_arrow(2, early); }), HasSubstr("no span 2, there are 2"));
  EXPECT_THAT(fails([&] { trace.add_arrow(late, early); }),
              HasSubstr("back in time, from 5 ns to 0 ns"));
}

TEST(Trace, SaysIfTheStreamFails) {
  std::ostream nowhere(nullptr);
  EXPECT_THAT(error_of(ErrorCode::Io, [&] { busy(2, 10).write(nowhere); }),
              HasSubstr("writing failed"));
}

}  // namespace
}  // namespace multitree::report
