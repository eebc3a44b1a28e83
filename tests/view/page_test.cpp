// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What stands in a page. How it looks is for the browser test.
#include "view/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace multitree::view {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string page_of(const Topology& topology, const std::vector<std::string>& algorithms,
                    std::size_t most_numbers = kMostNumbers,
                    Collective collective = Collective::AllReduce) {
  std::vector<Schedule> schedules;
  for (const std::string& name : algorithms) {
    schedules.push_back(make_schedule(name, topology, collective));
  }
  const Certified certified = certify(topology, collective);
  return write_page({topology, certified, schedules, 1 << 20, {}}, most_numbers);
}

json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(Page, HoldsNetworkSchedulesAndProof) {
  const Topology topology = make_topology("mesh:2x2");
  const json data = data_of(page_of(topology, {"multitree", "ring"}));
  EXPECT_EQ(data["network"]["nodes"].size(), 4U);
  EXPECT_EQ(data["network"]["links"].size(), 8U);
  EXPECT_EQ(data["bound"]["shards"], "3");
  EXPECT_EQ(data["bound"]["is_optimum"], true);
  EXPECT_GE(data["bound"]["cuts"].size(), 1U);
  EXPECT_EQ(data["styles"]["ring"], json::parse(R"(["#D55E00", []])"));
  ASSERT_EQ(data["schedules"].size(), 2U);
  // No link of an optimal all-reduce is busy for longer than the bound.
  const json with_optimal = data_of(page_of(topology, {"allreduce-optimal"}));
  const json& optimal = with_optimal["schedules"][0];
  for (const double busy : optimal["busy"]) {
    EXPECT_LE(busy, data["bound"]["seconds"].get<double>() * (1 + 1e-6));
  }
}

TEST(Page, TheTransfersAreTheSchedules) {
  const Topology topology = make_topology("torus:3x3");
  const Schedule schedule = make_schedule("multitree", topology);
  const json data = data_of(page_of(topology, {"multitree"}));
  const json& numbers = data["schedules"][0]["transfers"];
  std::size_t at = 0;
  for (const Transfer& transfer : schedule.transfers) {
    EXPECT_EQ(numbers[at], transfer.step);
    EXPECT_EQ(numbers[at + 1], transfer.op == Op::Reduce ? 1 : 0);
    EXPECT_EQ(numbers[at + 2], transfer.chunk);
    EXPECT_EQ(numbers[at + 3], index(transfer.src));
    EXPECT_EQ(numbers[at + 4], index(transfer.dst));
    at += 6 + numbers[at + 5].get<std::size_t>();
  }
  EXPECT_EQ(at, numbers.size());
}

TEST(Page, WhatIsTooLargeIsLeftOutAndSaid) {
  const json data = data_of(page_of(make_topology("torus:4x4"), {"ring", "multitree"}, 4000));
  EXPECT_TRUE(data["schedules"][0].contains("transfers"));
  EXPECT_FALSE(data["schedules"][1].contains("transfers"));
  EXPECT_EQ(data["schedules"][1]["transfer_count"], 480);
  EXPECT_EQ(data["schedules"][1]["busy"].size(), 64U);
}

TEST(Page, NamesCannotEndTheScript) {
  TopologyBuilder builder("</script><b>&\"");
  const NodeId a = builder.add_endpoint("</script><img>"), b = builder.add_endpoint("b");
  builder.add_duplex(a, b, Bandwidth{1'000'000'000}, Time{});
  const std::string page = page_of(std::move(builder).build(), {"ring"});
  EXPECT_THAT(page, Not(HasSubstr("</script><img>")));
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_EQ(data_of(page)["network"]["nodes"][0][3], "</script><img>");
}

TEST(Page, AsksNoOtherMachineAndIsTheSameEveryTime) {
  const Topology topology = make_topology("fattree:2x2");
  const std::string page = page_of(topology, {"multitree"});
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_EQ(page, page_of(topology, {"multitree"}));
}

TEST(Page, EveryCollectiveAndOneRank) {
  for (const Collective collective : all_collectives()) {
    for (const char* spec : {"ring:1", "ring:2", "star:3"}) {
      const std::string page =
          page_of(make_topology(spec), {"multitree"}, kMostNumbers, collective);
      EXPECT_EQ(data_of(page)["collective"], std::string(to_string(collective)));
    }
  }
}

}  // namespace
}  // namespace multitree::view
