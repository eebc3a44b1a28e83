// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedule files: round trips over the registries, and what is said about broken ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/tuning/plan.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

TEST(ScheduleFile, RoundTripsByteForByte) {
  for (const TopologyFamily& family : topology_families()) {
    const Topology topology = make_topology(family.example);
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.unsupported(topology)) continue;
      const Schedule schedule = make_schedule(algorithm.name, topology, Collective::AllReduce);
      const std::string text = write_schedule_json(schedule, topology);
      const SchedulePlan plan = parse_schedule_json(text, "memory");
      EXPECT_TRUE(plan.schedule == schedule) << algorithm.name << " on " << family.example;
      EXPECT_TRUE(plan.topology == topology) << family.example;
      EXPECT_EQ(write_schedule_json(plan.schedule, plan.topology), text);
    }
  }
}

/// The message of the error that parsing this text gives.
std::string message_of(const std::string& text) {
  try {
    parse_schedule_json(text, "s.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    return error.what();
  }
  return "no error";
}

class BrokenScheduleFile : public testing::Test {
 protected:
  std::string replaced(const std::string& what, const std::string& by) const {
    std::string text = good;
    const std::size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what << " is not in\n" << good;
    return text.replace(at, what.size(), by);
  }
  std::string good = [] {
    const Topology topology = make_topology("ring:2");
    return write_schedule_json(make_schedule("ring", topology, Collective::AllGather), topology);
  }();
};

TEST_F(BrokenScheduleFile, NamesLineAndExpectation) {
  EXPECT_EQ(message_of(good), "no error");
  EXPECT_THAT(message_of(replaced("schedule/1", "schedule/9")),
              testing::StartsWith("s.json:2: expected the schema 'multitree/schedule/1', got "));
  EXPECT_THAT(message_of(replaced("\"allgather\"", "\"gossip\"")),
              testing::StartsWith("s.json:3: expected a collective ("));
  EXPECT_THAT(message_of(replaced("\"root\":0", "\"root\":2")), testing::StartsWith("s.json:5: "));
  EXPECT_THAT(message_of(replaced("\"ranks\":2,", "\"ranks\":3,")),
              testing::StartsWith("s.json:6: "));
  EXPECT_THAT(message_of(replaced("\"root\":0", "\"rooot\":0")), testing::StartsWith("s.json:"));
  EXPECT_THAT(message_of(good.substr(0, good.size() / 2)), testing::StartsWith("s.json:"));
  EXPECT_THAT(message_of(""), testing::StartsWith("s.json:1: "));
}

TEST_F(BrokenScheduleFile, NamesTheLineOfABadRow) {
  const std::size_t row = good.find("[0,0,1,0]");
  ASSERT_NE(row, std::string::npos);
  const auto line = 1 + std::count(good.begin(), good.begin() + static_cast<long>(row), '\n');
  const std::string prefix = "s.json:" + std::to_string(line) + ": expected ";
  EXPECT_EQ(message_of(replaced("[0,0,1,0]", "[7,0,1,0]")), prefix + "a chunk below 2, got 7");
  EXPECT_EQ(message_of(replaced("[0,0,1,0]", "[0,-1,1,0]")), prefix + "a rank below 2, got -1");
  EXPECT_EQ(message_of(replaced("[0,0,1,0]", "[0,0,\"x\",0]")),
            prefix + "a rank below 2, got \"x\"");
  EXPECT_EQ(message_of(replaced("[0,0,1,0]", "[0,0,1,5]")), prefix + "a link below 2, got 5");
  EXPECT_EQ(message_of(replaced("[0,0,1,0]", "[0,0]")),
            prefix + "a transfer [chunk, src, dst, link, ...], got [0,0]");
}

TEST(PlanJson, RoundTripsToTheSameBytes) {
  const Topology topology = make_topology("torus:3x3");
  const Certificate certificate = certify(topology, Collective::AllReduce).certificate;
  const SizedSchedules schedules = {{make_schedule("recursive-doubling", topology), 4096},
                                    {make_schedule("multitree", topology)}};
  const std::string text = write_plan_json(schedules, topology, &certificate);
  const PlanFile plan = parse_plan_json(text, "plan.json");
  EXPECT_EQ(plan.topology, topology);
  EXPECT_EQ(plan.schedules, schedules);
  EXPECT_EQ(plan.certificate, certificate);
  EXPECT_EQ(write_plan_json(plan.schedules, plan.topology, &*plan.certificate), text);
}

TEST(PlanJson, IsAScheduleFileToo) {
  const Topology topology = make_topology("ring:3");
  const Schedule schedule = make_schedule("ring", topology);
  const PlanFile plan = parse_plan_json(write_schedule_json(schedule, topology), "ring.json");
  EXPECT_EQ(plan.schedules, for_all_sizes(schedule));
  EXPECT_FALSE(plan.certificate.has_value());
}

}  // namespace
}  // namespace multitree
