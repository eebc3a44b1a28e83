// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The study without simulation: points, files of results, tables, reports.
#include <gmock/gmock.h>

#include <set>

#include "tools/study/report.hpp"
#include "tools/study/results.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Point example() {
  Point point{.network = "torus:4x4", .algorithm = "ring", .bytes = 32768};
  point.parameters.flow_control = nic::FlowControl::Packet;
  point.parameters.ports = 1;
  point.parameters.router_cycles = 2;
  return point;
}

constexpr Outcome kOutcome{.cycles = 8610,
                           .clock_hz = 1'000'000'000,
                           .messages = 480,
                           .link_flits = 65280,
                           .busiest_link_flits = 4080};

TEST(StudyPoint, KeyHasWhatItIsAFunctionOf) {
  EXPECT_EQ(key_of(example()),
            R"({"network":"torus:4x4","algorithm":"ring","flow_control":"packet","ports":1,)"
            R"("bytes":32768,"model":"message","parameters":{"router_cycles":2}})");
}

TEST(StudyPoint, KeyHasTheMachineUnlessItIsIdeal) {
  Point point = example();
  point.model = nic::Model::Flit;
  point.machine = nic::Machine::Hardware;
  EXPECT_THAT(key_of(point), HasSubstr(R"("model":"flit","machine":"hardware","parameters")"));
}

TEST(StudyResults, LinesAreReadBack) {
  const ParsedResults parsed =
      parse_results(results_header() + result_line(example(), kOutcome), "r.jsonl");
  EXPECT_THAT(parsed.outcomes, ElementsAre(std::pair(key_of(example()), kOutcome)));
  EXPECT_THAT(parsed.note, IsEmpty());
}

TEST(StudyResults, UnfinishedLineIsLeftOut) {
  const std::string whole = results_header() + result_line(example(), kOutcome);
  const std::string line = result_line(example(), kOutcome);
  for (const std::size_t kept : {std::size_t{1}, line.size() / 2, line.size() - 1}) {
    const ParsedResults parsed = parse_results(whole + line.substr(0, kept), "r.jsonl");
    EXPECT_EQ(parsed.whole, whole.size());
    EXPECT_EQ(parsed.outcomes.size(), 1U);
    EXPECT_THAT(parsed.note, HasSubstr("r.jsonl: dropped the last line"));
  }
  EXPECT_EQ(parse_results("{\"form", "r.jsonl").whole, 0U);
  EXPECT_EQ(parse_results("", "r.jsonl").note, "");
}

/// What reading says.
std::string error_of(const std::string& text) {
  try {
    parse_results(text, "r.jsonl");
  } catch (const Error& error) {
    return error.code() == ErrorCode::InvalidInput ? error.what() : "another error";
  }
  return "";
}

TEST(StudyResults, WrongLinesAreNamed) {
  EXPECT_THAT(error_of("{}\n"), HasSubstr("r.jsonl:1: expected results of this version"));
  EXPECT_EQ(error_of(results_header() + "[]\n"),
            "r.jsonl:2: expected a result, got what is no JSON object");
  EXPECT_EQ(error_of(results_header() + "{\"cycles\":\"8\"}\n"),
            "r.jsonl:2: 'cycles': expected a number");
  EXPECT_EQ(error_of(results_header() + "{\"cycles\":8}\n"),
            "r.jsonl:2: 'clock_hz': expected a number");
}

TEST(StudyPlan, PartsAreParsed) {
  EXPECT_THAT(parse_parts("training,bandwidth"), ElementsAre(Part::Training, Part::Bandwidth));
  EXPECT_THROW(parse_parts("latency"), Error);
  EXPECT_THROW(parse_parts("scaling,scaling"), Error);
}

TEST(StudyPlan, SizesDoubleUpToTheLargest) {
  StudyPlan plan;
  plan.max_bytes = 200 << 10;
  EXPECT_THAT(bandwidth_sizes(plan), ElementsAre(32 << 10, 64 << 10, 128 << 10));
}

TEST(StudyPlan, TrainingAsksForEveryLayerAndTheWhole) {
  study::Workload workload{.name = "w", .layers = {{}, {}, {}}};
  workload.layers[0].parameters = 10;
  workload.layers[2].parameters = 30;
  StudyPlan plan;
  plan.workloads = {{.label = "set", .workloads = {workload, workload}}};
  EXPECT_THAT(training_sizes(plan), ElementsAre(40, 120, 160));
}

TEST(StudyPlan, EveryPointComesOnce) {
  const std::vector<Point> points = points_of(StudyPlan{});
  std::set<std::string> keys;
  for (const Point& point : points) EXPECT_TRUE(keys.insert(key_of(point)).second);
  EXPECT_GT(points.size(), 500U);
}

TEST(StudyPlan, CompatibilityTakesPortsAndIssueFromTheMeasurement) {
  StudyPlan plan;
  plan.compatibility.message.issue = nic::Issue::Lockstep;
  plan.compatibility.packet.ports = 7;
  for (const Measured& one : measured(plan)) {
    const Point point = compatible_point(plan, one);
    EXPECT_EQ(point.parameters.ports, one.contender.ports);
    EXPECT_EQ(point.model, nic::Model::Flit);
    EXPECT_EQ(point.parameters.issue == nic::Issue::Lockstep,
              one.lockstep && one.contender.flow_control == nic::FlowControl::Message);
  }
}

TEST(StudyPlan, MachineIsThatOfAllButTheImitation) {
  StudyPlan plan;
  plan.machine = nic::Machine::Hardware;
  plan.model = nic::Model::Flit;
  const Measured one = measured(plan).front();
  EXPECT_EQ(point_of(plan, "torus:4x4", one.contender, 1).machine, nic::Machine::Hardware);
  EXPECT_EQ(default_point(plan, one).machine, nic::Machine::Hardware);
  EXPECT_EQ(compatible_point(plan, one).machine, nic::Machine::Ideal);
}

TEST(StudyReport, SaysWhoseRoutersItHas) {
  StudyPlan plan;
  plan.quick = true;
  plan.parts = {Part::Compatibility};
  const auto markdown = [&] {
    return make_study_report({.plan = plan,
                              .outcome = [](const Point&) { return kOutcome; },
                              .bound = [](const std::string&, std::uint64_t) { return 1.0; }})
        .markdown;
  };
  EXPECT_THAT(markdown(), AllOf(HasSubstr("of ideal routers"), HasSubstr("| default | ratio |")));
  plan.machine = nic::Machine::Hardware;
  EXPECT_THAT(markdown(),
              AllOf(HasSubstr("the hardware's routers"), HasSubstr("| hardware | ratio |")));
}

TEST(StudyReport, TablesAndNumbers) {
  EXPECT_EQ(markdown_table({{"a", "b"}, {"1", "2"}}), "| a | b |\n|---|---:|\n| 1 | 2 |\n");
  EXPECT_DOUBLE_EQ(geometric_mean({1, 4}), 2);
  EXPECT_EQ(range_of_times({2, 1.5, 1.75}), "1.50x to 2.00x");
  EXPECT_EQ(range_of_times({2, 2.001}), "2.00x");
  EXPECT_EQ(percent(0.304), "30 %");
}

TEST(StudyReport, CompatibilityComparesWithMeasurements) {
  StudyPlan plan;
  plan.quick = true;
  const ReportInput input{.plan = plan,
                          .outcome = [](const Point&) { return kOutcome; },
                          .bound = [](const std::string&, std::uint64_t) { return 1.0; }};
  EXPECT_THAT(compatibility_section(input).text,
              HasSubstr("| torus:4x4 | 32KiB | ring | 9344 | 8610 | 0.921 | 8610 | 0.921 |"));
}

}  // namespace
}  // namespace multitree::tools
