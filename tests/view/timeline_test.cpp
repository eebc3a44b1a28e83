// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Traces as timelines, and what is no such trace.
#include "view/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "algorithms/registry.hpp"
#include "report/trace.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"
#include "view/page.hpp"

namespace multitree::view {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two messages that overlap on a link, from 1000 ns on, and one on the way back.
std::string trace_text(const std::string& link = "n0->n1", int iterations = 1) {
  report::Trace trace;
  const auto run = trace.add_track("run", "iterations");
  for (int i = 0; i < iterations; ++i) trace.add_span(run, "multitree", 5000.0 * i, 5000.0 * i + 1);
  const auto port = trace.add_track("interfaces", "n0 port 0");
  trace.add_span(port, "reduce flow 0", 900, 1500, {{"step", 7U}});
  const auto first = trace.add_track("links", link);
  const auto second = trace.add_track("links", link + " (2)");
  const auto back = trace.add_track("links", "n1->n0");
  trace.add_span(second, "gather flow 1", 1500, 4000, {{"step", 1U}});
  trace.add_span(first, "reduce flow 0", 1000, 2000, {{"step", 0U}});
  trace.add_span(back, "gather flow 1", 4000, 4500, {{"step", 2U}});
  return trace.to_json();
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_timeline(text, "a.json", make_topology("ring:3")));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    return error.what();
  }
}

TEST(Timeline, HasTheMessagesOfLinksFromTheFirstOn) {
  const Topology ring = make_topology("ring:3");
  EXPECT_THAT(link_rows(ring),
              ElementsAre("n0->n1", "n1->n0", "n1->n2", "n2->n1", "n2->n0", "n0->n2"));
  EXPECT_EQ(link_rows(make_topology("ring:3?parallel=0-1:3")).size(), 6U);
  const Timeline timeline = parse_timeline(trace_text(), "a.json", ring);
  ASSERT_EQ(timeline.passages.size(), 3U);
  const std::uint32_t rows[] = {0, 0, 1}, steps[] = {0, 1, 2};
  const double begins[] = {0, 500e-9, 3000e-9}, ends[] = {1000e-9, 3000e-9, 3500e-9};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(timeline.passages[i].row, rows[i]);
    EXPECT_EQ(timeline.passages[i].step, steps[i]);
    EXPECT_EQ(timeline.passages[i].reduces, i == 0);
    EXPECT_NEAR(timeline.passages[i].begin, begins[i], 1e-12);
    EXPECT_NEAR(timeline.passages[i].end, ends[i], 1e-12);
  }
}

TEST(Timeline, WhatIsNoTraceOfThisNetworkIsSaid) {
  EXPECT_THAT(error_of("[]"), HasSubstr("a.json:1: "));
  EXPECT_THAT(error_of("{"), HasSubstr("a.json:1: "));
  EXPECT_THAT(error_of(R"({"traceEvents": []})"), HasSubstr("expected messages on links"));
  EXPECT_THAT(error_of(trace_text("n0->n9")), HasSubstr("expected a link of ring:3, got 'n0->n9'"));
  EXPECT_THAT(error_of(trace_text("n0->n1", 2)), HasSubstr("got another iteration"));
  EXPECT_THAT(error_of(R"({"traceEvents": [{"ph": "X"}]})"), HasSubstr("pid"));
}

TEST(Timeline, StandsInThePage) {
  const Topology ring = make_topology("ring:3");
  const Schedule schedules[] = {make_schedule("ring", ring)};
  const Certified certified = certify(ring, Collective::AllReduce);
  const Timeline timelines[] = {parse_timeline(trace_text(), "a.json", ring)};
  const auto data = [&](std::span<const Timeline> shown) {
    return nlohmann::json::parse(page_data({.topology = ring,
                                            .certified = certified,
                                            .schedules = schedules,
                                            .bytes = 1,
                                            .cost = {},
                                            .places_of = nullptr,
                                            .timelines = shown}));
  };
  EXPECT_FALSE(data({}).contains("timelines"));
  const auto page = data(timelines);
  EXPECT_EQ(page["timeline_rows"].size(), 6U);
  EXPECT_EQ(page["timelines"][0]["all"], 3);
  EXPECT_EQ(page["timelines"][0]["passages"][1][1], 1);
}

}  // namespace
}  // namespace multitree::view
