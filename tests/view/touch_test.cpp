// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a page that computes by itself is answered, and the solver that it has in place of CLP.
#include "view/touch/touch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "topologies/io/io.hpp"
#include "topologies/registry.hpp"
#include "view/touch/changes.hpp"
#include "view/touch/dense_simplex.hpp"

namespace multitree::view {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json answer_to(const json& question) { return json::parse(answer(question.dump())); }

std::string bound_of(const Topology& topology) {
  return certify(topology, Collective::AllReduce).certificate.bound.str();
}

TEST(Touch, CutsRatesAndCablesChangeTheBound) {
  const Topology mesh = make_topology("mesh:3x3");
  EXPECT_EQ(changed(mesh, {}), mesh);
  const Topology cut = changed(mesh, std::vector<Change>{{"cut", "n0", "n1", "", ""}});
  EXPECT_EQ(cut.num_links(), mesh.num_links() - 2);
  EXPECT_EQ(bound_of(cut), bound_of(make_topology("mesh:3x3?without=0-1")));
  const Topology slow = changed(mesh, std::vector<Change>{{"rate", "n4", "n1", "4GB/s", ""}});
  EXPECT_EQ(bound_of(slow), bound_of(make_topology("mesh:3x3?slow=1-4:4GB/s")));
  const Topology more = changed(mesh, std::vector<Change>{{"cable", "n0", "n8", "16GB/s", "1us"}});
  EXPECT_EQ(more.num_links(), mesh.num_links() + 2);
  EXPECT_LT(certify(more, Collective::AllReduce).certificate.bound,
            certify(mesh, Collective::AllReduce).certificate.bound);
  // One after the other: what was added can be cut, and the old network is back but for its name.
  const Topology back = changed(mesh, std::vector<Change>{{"cable", "n0", "n8", "16GB/s", "1us"},
                                                          {"cut", "n8", "n0", "", ""}});
  EXPECT_EQ(bound_of(back), bound_of(mesh));
}

TEST(Touch, PagesAndFilesAreTheProgrammes) {
  const json page = answer_to({{"network", " torus:3x3 "}, {"algorithms", {"multitree", "hdrm"}}});
  ASSERT_TRUE(page.contains("page")) << page;
  EXPECT_EQ(page["page"]["bound"]["shards"], bound_of(make_topology("torus:3x3")));
  EXPECT_EQ(page["page"]["schedules"].size(), 1U);
  EXPECT_EQ(page["left_out"][0][0], "hdrm");
  const Topology torus = make_topology("torus:3x3");
  const Certified certified = certify(torus, Collective::AllReduce);
  const json files = {{"network", write_topology_json(torus)}, {"algorithms", {"ring"}}};
  const auto text = [&](const char* want) {
    json question = files;
    question["want"] = want;
    return answer_to(question)["text"].get<std::string>();
  };
  EXPECT_EQ(text("network"), write_topology_json(torus));
  EXPECT_EQ(text("certificate"), write_certificate_json(certified.certificate, torus));
  EXPECT_EQ(text("schedule"),
            write_schedule_json(make_schedule("ring", torus), torus, &certified.certificate));
}

TEST(Touch, NodesStayWhereTheyWereDrawn) {
  const json question = {{"network", "mesh:3x3"}, {"algorithms", {"multitree"}}};
  json more = question;
  more["changes"] = {
      {{"kind", "cable"}, {"from", "n0"}, {"to", "n8"}, {"rate", "16GB/s"}, {"latency", "1us"}}};
  const json before = answer_to(question)["page"]["network"];
  const json after = answer_to(more)["page"]["network"];
  EXPECT_EQ(before["nodes"], after["nodes"]);
  EXPECT_EQ(before["links"].size() + 2, after["links"].size());
}

TEST(Touch, OneRankAndEveryCollective) {
  for (const Collective collective : all_collectives()) {
    for (const char* network : {"ring:1", "ring:2", "star:3"}) {
      const json found = answer_to({{"network", network},
                                    {"collective", to_string(collective)},
                                    {"algorithms", {"multitree"}}});
      EXPECT_EQ(found["page"]["collective"], std::string(to_string(collective))) << found;
    }
  }
}

TEST(Touch, CutsThatSplitSayWhichPartsAreLeft) {
  const json cut = {{"kind", "cut"}, {"from", "n0"}, {"to", "n1"}};
  const json other = {{"kind", "cut"}, {"from", "n2"}, {"to", "n3"}};
  const json found = answer_to({{"network", "ring:5"}, {"changes", {cut, other}}});
  EXPECT_THAT(found["error"], HasSubstr("the cuts leave 2 parts: n0, n3, n4 | n1, n2"));
  EXPECT_EQ(found["parts"], json::parse("[[0, 3, 4], [1, 2]]"));
}

TEST(Touch, WhatIsWrongIsSaidInTheLibrarysWords) {
  const auto error = [](const std::string& question) {
    return json::parse(answer(question)).value("error", "");
  };
  EXPECT_THAT(error("nonsense"), HasSubstr("parse error"));
  EXPECT_THAT(error("{}"), HasSubstr("network"));
  EXPECT_THAT(error(R"({"network": "  "})"), HasSubstr("got nothing"));
  EXPECT_THAT(error(R"({"network": "tours:4x4"})"), HasSubstr("torus"));
  EXPECT_THAT(error(R"({"network": "{\n\"schema\": 1}"})"), HasSubstr("the network:"));
  EXPECT_THAT(error(R"({"network": "torus:12x12"})"), HasSubstr("at most 128 nodes"));
  EXPECT_THAT(error(R"({"network": "ring:4", "size": "0"})"), HasSubstr("at least 1 byte"));
  EXPECT_THAT(error(R"({"network": "ring:4", "want": "x"})"), HasSubstr("got 'x'"));
  EXPECT_THAT(error(R"({"network": "ring:4", "collective": "broadcast", "root": 9})"),
              HasSubstr("root below 4"));
  const auto change = [&](const std::string& rest) {
    return error(R"({"network": "ring:4", "changes": [{"kind": ")" + rest + "}]}");
  };
  EXPECT_THAT(change(R"(cut", "from": "n0", "to": "n2")"), HasSubstr("no link between n0 and n2"));
  EXPECT_THAT(change(R"(cut", "from": "n0", "to": "x")"), HasSubstr("change 1: there is no node"));
  EXPECT_THAT(change(R"(rate", "from": "n0", "to": "n1", "rate": "3")"), HasSubstr("change 1"));
  EXPECT_THAT(change(R"(bend", "from": "n0", "to": "n1")"), HasSubstr("got 'bend'"));
}

/// Random packings: the same answers as CLP's, through limits that change and columns that go.
TEST(DenseSimplex, FindsWhatClpFinds) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t end) { return static_cast<int>(random() % end); };
  for (int trial = 0; trial < 60; ++trial) {
    const auto rows = std::size_t{1} + static_cast<std::size_t>(below(30));
    DenseSimplex ours(rows, 1e-9);
    const auto clp = make_lp_solver(rows, 1e-9);
    LpSolver* const solvers[] = {&ours, clp.get()};
    const auto limit_rows = [&] {
      for (std::size_t row = 0; row < rows; ++row) {
        const double most = below(5) / 4.0;  // often 0, often the same
        for (LpSolver* solver : solvers) solver->set_row_limit(row, most);
      }
    };
    const auto add_columns = [&](int count) {
      for (int c = 0; c < count; ++c) {
        std::vector<int> used;
        for (int row = 0; row < static_cast<int>(rows); ++row) {
          if (below(3) == 0) used.push_back(row);
        }
        if (used.empty()) used.push_back(0);
        std::vector<double> counts(used.size());
        for (double& number : counts) number = 1 + below(2);
        for (LpSolver* solver : solvers) solver->add_column(used, counts);
      }
    };
    limit_rows();
    for (int round = 0; round < 4; ++round) {
      add_columns(10);
      for (LpSolver* solver : solvers) solver->solve_primal();
      ASSERT_NEAR(ours.objective(), clp->objective(), 1e-7) << trial;
      std::vector<int> idle;
      for (int c = 0; c < 10 * (round + 1) - static_cast<int>(idle.size()); ++c) {
        if (round == 3 && !ours.is_basic_column(static_cast<std::size_t>(c)) &&
            !clp->is_basic_column(static_cast<std::size_t>(c))) {
          idle.push_back(c);
        }
      }
      for (LpSolver* solver : solvers) solver->delete_columns(idle);
      limit_rows();
      for (LpSolver* solver : solvers) solver->solve_dual();
      ASSERT_NEAR(ours.objective(), clp->objective(), 1e-7) << trial;
    }
  }
}

}  // namespace
}  // namespace multitree::view
