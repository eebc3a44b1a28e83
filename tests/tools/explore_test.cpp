// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree explore` without the program: fronts, areas, results.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>

#include "tools/explore/area.hpp"
#include "tools/explore/design.hpp"
#include "tools/explore/front.hpp"
#include "tools/explore/results.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Figures = std::vector<double>;

/// By the definition: nobody is at most as large everywhere and smaller somewhere; of equal ones
/// the first.
std::vector<std::size_t> front_by_definition(const std::vector<Figures>& points) {
  std::vector<std::size_t> front;
  for (std::size_t p = 0; p < points.size(); ++p) {
    bool is_beaten = false;
    for (std::size_t q = 0; q < points.size(); ++q) {
      bool at_most = true, less = false;
      for (std::size_t i = 0; i < points[p].size(); ++i) {
        at_most = at_most && points[q][i] <= points[p][i];
        less = less || points[q][i] < points[p][i];
      }
      is_beaten = is_beaten || (at_most && (less || q < p));
    }
    if (!is_beaten) front.push_back(p);
  }
  std::ranges::stable_sort(front, {}, [&](std::size_t p) { return points[p]; });
  return front;
}

TEST(ExploreFront, IsThatOfTheDefinition) {
  std::mt19937 random(7);
  std::size_t longest = 0;
  for (int round = 0; round < 300; ++round) {
    // Few values, so that many are equal; many, so that fronts are long.
    const unsigned values = round % 2 == 0 ? 4 : 1000;
    const std::size_t count = random() % 60, figures = 1 + random() % 3;
    std::vector<Figures> points(count, Figures(figures));
    for (Figures& point : points) {
      for (double& figure : point) figure = static_cast<double>(random() % values);
    }
    const std::vector<std::size_t> front = pareto_front(points);
    EXPECT_EQ(front, front_by_definition(points));
    longest = std::max(longest, front.size());
  }
  EXPECT_GT(longest, 10U);
  EXPECT_THAT(pareto_front({}), ElementsAre());
}

AreaQuestion hardware() {
  AreaQuestion question;
  question.ranks = 64;
  question.links = question.ports = 4;
  question.parameters.reduction = nic::Reduction::Pipelined;
  question.parameters.shared_inputs = true;
  question.parameters.reduction_cycles = 2;
  question.parameters.park_slots = 4;
  question.parameters.buffer_flits = 8;
  question.parameters.issue = nic::Issue::Lockstep;
  return question;
}

/// The records of the routers and everything that a test needs of the interface.
GateCount record(const char* name) { return area_records().at(name); }

TEST(ExploreArea, OfWhatWasSynthesizedIsTheRecord) {
  for (const auto& [name, change] : std::vector<std::pair<const char*, void (*)(AreaQuestion&)>>{
           {"ni64.fp32", [](AreaQuestion&) {}},
           {"ni64.shared", [](AreaQuestion& q) { q.parameters.ports_per_unit = 2; }},
           {"ni64", [](AreaQuestion& q) { q.adders = "none"; }},
           {"ni16",
            [](AreaQuestion& q) {
              q.adders = "none";
              q.ranks = 16;
            }},
           {"ni64.slots8", [](AreaQuestion& q) {
              q.adders = "none";
              q.parameters.park_slots = 8;
            }}}) {
    AreaQuestion question = hardware();
    change(question);
    const Area area = area_of(question, area_records());
    const GateCount router = record("router8.vc4.depth8");
    EXPECT_EQ(area.kind, AreaKind::Record) << name;
    EXPECT_EQ(area.cells, static_cast<std::uint64_t>(record(name).cells + router.cells));
    EXPECT_EQ(area.memory_bits,
              static_cast<std::uint64_t>(record(name).memory_bits + router.memory_bits));
    EXPECT_EQ(area.source, std::string(name) + " + router8.vc4.depth8");
  }
}

// Sums leave out what options have in common: within 1 % of interfaces that have several.
TEST(ExploreArea, SumsAreNearRecords) {
  for (const auto& [name, change] : std::vector<std::pair<const char*, void (*)(AreaQuestion&)>>{
           {"ni64.fp32.vc2.packets.slots8",
            [](AreaQuestion& q) {
              q.parameters.virtual_channels = 2;
              q.parameters.flow_control = nic::FlowControl::Packet;
              q.parameters.park_slots = 8;
            }},
           {"ni64.fp32.vc1.latency3.slots2", [](AreaQuestion& q) {
              q.parameters.virtual_channels = 1;
              q.parameters.reduction_cycles = 3;
              q.parameters.park_slots = 2;
            }}}) {
    AreaQuestion question = hardware();
    change(question);
    const Area area = area_of(question, area_records());
    EXPECT_EQ(area.kind, AreaKind::Sum);
    const GateCount router = record(
        question.parameters.virtual_channels == 1 ? "router8.vc1.depth8" : "router8.vc2.depth8");
    const double cells = static_cast<double>(area.cells) - router.cells;
    EXPECT_NEAR(cells / record(name).cells, 1, 0.01) << name << ": " << area.source;
  }
}

TEST(ExploreArea, RoutersBetweenTwoDepths) {
  AreaQuestion question = hardware();
  question.parameters.buffer_flits = 181;  // about in the middle of 64 and 512, by logarithm
  const Area area = area_of(question, area_records());
  const GateCount low = record("router8.vc4.depth64"), high = record("router8.vc4.depth512");
  const GateCount interface = record("ni64.fp32");
  EXPECT_EQ(area.kind, AreaKind::Interpolated);
  EXPECT_NEAR(static_cast<double>(area.cells), interface.cells + (low.cells + high.cells) / 2, 10);
  // Of each place the bits of a flit.
  const double bits = low.memory_bits + (high.memory_bits - low.memory_bits) * (181 - 64) / 448;
  EXPECT_NEAR(static_cast<double>(area.memory_bits), interface.memory_bits + bits, 1);
}

TEST(ExploreArea, SaysWhatNoRecordCovers) {
  const auto source = [](void (*change)(AreaQuestion&)) {
    AreaQuestion question = hardware();
    change(question);
    const Area area = area_of(question, area_records());
    EXPECT_EQ(area.kind, AreaKind::Unknown);
    EXPECT_EQ(area.cells, 0U);
    return area.source;
  };
  EXPECT_EQ(source([](AreaQuestion& q) { q.parameters.flit_bytes = 64; }),
            "flit_bytes: records have 16, got 64");
  EXPECT_EQ(source([](AreaQuestion& q) { q.parameters.virtual_channels = 3; }),
            "virtual_channels: records have 1, 2, 4, got 3");
  EXPECT_EQ(source([](AreaQuestion& q) { q.parameters.buffer_flits = 513; }),
            "buffer_flits: records of router8.vc4.depth* have 8 to 512, got 513");
  EXPECT_EQ(source([](AreaQuestion& q) { q.parameters.buffer_flits = 4; }),
            "buffer_flits: records of router8.vc4.depth* have 8 to 512, got 4");
  EXPECT_EQ(source([](AreaQuestion& q) { q.ranks = 1024; }),
            "topology: records have 16 to 256 ranks, got 1024");
  EXPECT_EQ(source([](AreaQuestion& q) { q.links = 6; }),
            "ports: records have ranks of 4 links and 4 interface ports, got 6 and 4");
  EXPECT_EQ(source([](AreaQuestion& q) { q.has_switches = true; }),
            "topology: switches between ranks are not counted");
  EXPECT_EQ(source([](AreaQuestion& q) { q.is_hardware = false; }),
            "machine: ideal interfaces are no hardware");
  EXPECT_THAT(source([](AreaQuestion& q) { q.parameters.reduction = nic::Reduction::Store; }),
              HasSubstr("the hardware has pipelined sums"));
}

constexpr const char* kContent = R"({"bytes":64})";

TEST(ExploreResults, LinesAreReadBack) {
  const ExploreOutcome simulated{.model = "flit",
                                 .why = "so",
                                 .cycles = 10,
                                 .clock_hz = 1'000'000'000,
                                 .messages = 3,
                                 .link_flits = 4,
                                 .busiest_link_flits = 2,
                                 .header_flits = 2,
                                 .exchanges = true};
  const ExploreOutcome refused{.refused = "no"};
  for (const ExploreOutcome& outcome : {simulated, refused}) {
    const std::string text = explore_header() + explore_line(kContent, outcome);
    EXPECT_THAT(parse_explore_results(text, "r"), ElementsAre(std::pair(kContent, outcome)));
    // A line that was interrupted is left out.
    EXPECT_TRUE(parse_explore_results(text.substr(0, text.size() - 1), "r").empty());
  }
}

TEST(ExploreResults, ChangedLinesAreNamed) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_explore_results(text, "r.jsonl");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string line = explore_line(kContent, {.model = "flit", .why = "so", .cycles = 10});
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = line;
    return explore_header() + text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(error_of(explore_header() + line), "");
  for (const auto& [from, to] : {std::pair{"\"bytes\":64", "\"bytes\":65"},
                                 {"\"cycles\":10", "\"cycles\":-1"},
                                 {"\"cycles\":10", "\"cycle\":10"},
                                 {"\"clock_hz\":1", "\"clock_hz\":0"}}) {
    EXPECT_THAT(error_of(changed(from, to)), HasSubstr("r.jsonl:2: expected a result")) << to;
  }
  EXPECT_THAT(error_of("{}\n"), HasSubstr("r.jsonl:1: expected results of this version"));
}

TEST(ExploreDesign, PointsAreAllCombinations) {
  const ExploreDesign design = read_explore_design(R"({"schema": "multitree/exploration/1",
    "topology": ["ring:4", "torus:2x2"], "algorithm": "ring",
    "bytes": [0, {"from": "1KiB", "to": "5KiB", "factor": 2}],
    "adders": ["none", "fp32"],
    "parameters": {"buffer_flits": {"from": 10, "to": 30, "step": 10}, "shared_inputs": true}})",
                                                   "d.json");
  EXPECT_EQ(design.num_points(), 2U * 4 * 2 * 3);
  std::set<std::string> contents, all;
  for (std::size_t p = 0; p < design.num_points(); ++p) {
    const ExplorePoint point = design.point(p);
    contents.insert(point.content);
    all.insert(point.content + point.adders);
    EXPECT_EQ(point.id, digest_of(point.content));
  }
  EXPECT_EQ(all.size(), design.num_points());
  // Adders change the area alone.
  EXPECT_EQ(contents.size(), design.num_points() / 2);
  const ExplorePoint last = design.point(design.num_points() - 1);
  EXPECT_EQ(last.bytes, 4096U);
  EXPECT_EQ(last.parameters.buffer_flits, 30U);
  EXPECT_TRUE(last.is_hardware);
}

// What is written as the default is the same point.
TEST(ExploreDesign, DefaultsAreNoDifference) {
  const auto content = [](const std::string& more) {
    return read_explore_design(
               R"({"schema": "multitree/exploration/1", "topology": "ring:4", "algorithm": "ring",
                   "bytes": "1KiB")" +
                   more + "}",
               "d.json")
        .point(0)
        .content;
  };
  EXPECT_EQ(content(R"(, "parameters": {"virtual_channels": 4}, "machine": ["hardware"])"),
            content(""));
  EXPECT_NE(content(R"(, "parameters": {"virtual_channels": 2})"), content(""));
  EXPECT_NE(content(R"(, "stragglers": "1:5ns")"), content(""));
}

}  // namespace
}  // namespace multitree::tools
