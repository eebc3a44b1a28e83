// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Certificates of all-to-alls: known bounds, every way to be wrong, and their files.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/traffic/all_to_all.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// A line of ranks 0-1-2, 2 GB/s then 1 GB/s.
Topology uneven_line() {
  TopologyBuilder builder("line");
  for (int r = 0; r < 3; ++r) builder.add_endpoint();
  builder.add_duplex(NodeId{0}, NodeId{1}, Bandwidth{2'000'000'000}, Time{0});
  builder.add_duplex(NodeId{1}, NodeId{2}, Bandwidth{1'000'000'000}, Time{0});
  return std::move(builder).build();
}

Certificate with_prices(std::vector<LinkPrice> links) {
  Certificate certificate;
  certificate.collective = Collective::AllToAll;
  certificate.ranks = 3;
  certificate.links = std::move(links);
  return certificate;
}

TEST(Prices, OfOneLinkCountWhatMustPassIt) {
  // Link 2 leads from rank 1 to rank 2: two thirds of a shard at 1 GB/s.
  EXPECT_EQ(evaluate(with_prices({{LinkId{2}, 7}}), uneven_line()), Exact(2, 3));
  EXPECT_EQ(evaluate(with_prices({{LinkId{0}, Exact(1, 9)}}), uneven_line()), Exact(1, 3));
  EXPECT_EQ(evaluate(with_prices({}), uneven_line()), 0);
}

TEST(Prices, AreComparedInWholeNumbersOfAnySize) {
  const Exact huge = Exact(boost::multiprecision::cpp_int(1) << 200);
  EXPECT_EQ(evaluate(with_prices({{LinkId{2}, huge}, {LinkId{3}, huge / 3}}), uneven_line()),
            Exact(2, 3));
}

TEST(Prices, CountADemandInSharesOfTheLargestRow) {
  Certificate certificate = with_prices({{LinkId{2}, 1}});
  certificate.demand = {0, 0, 1, 0, 4, 5, 0, 0, 0};  // 6 of 9 pass the slow link
  EXPECT_EQ(evaluate(certificate, uneven_line()), Exact(6, 9));
}

struct PriceMutation {
  const char* name;
  CertificateFault fault;
  std::function<void(Certificate&)> apply;
};
void PrintTo(const PriceMutation& mutation, std::ostream* out) { *out << mutation.name; }

class MutatedPrices : public testing::TestWithParam<PriceMutation> {};

TEST_P(MutatedPrices, AreFoundAndNamed) {
  const Topology topology = make_topology("mesh:3x2");
  const Demand demand(6, {0, 1, 2, 3, 4, 5, 5, 0, 4, 3, 2, 1, 9, 9, 0, 9, 9, 9,
                          1, 1, 1, 1, 1, 1, 0, 0, 7, 0, 0, 0, 2, 2, 2, 2, 2, 0});
  const RoutedDemand routed = route_demand(topology, demand);
  const Schedule schedule = all_to_all_schedule(routed, demand, topology);
  Certificate certificate = routed.certificate;
  ASSERT_TRUE(check_certificate(certificate, topology, &schedule).ok());
  GetParam().apply(certificate);
  const CertificateReport report = check_certificate(certificate, topology, &schedule);
  EXPECT_TRUE(report.has(GetParam().fault))
      << (report.ok() ? "nothing found" : report.violations.front().message);
  EXPECT_FALSE(report.optimal);
}

const PriceMutation kPriceMutations[] = {
    {"bound too high", CertificateFault::WrongBound, [](auto& c) { c.bound += 1; }},
    {"bound a little too high", CertificateFault::WrongBound,
     [](auto& c) { c.bound += Exact(1, 1'000'000'007); }},
    {"price changed", CertificateFault::WrongBound, [](auto& c) { c.links[0].price *= 3; }},
    {"price lost", CertificateFault::WrongBound, [](auto& c) { c.links.erase(c.links.begin()); }},
    {"prices lost", CertificateFault::WrongBound, [](auto& c) { c.links.clear(); }},
    {"price negative", CertificateFault::BadLinkPrice, [](auto& c) { c.links[0].price = -1; }},
    {"link out of range", CertificateFault::BadLinkPrice,
     [](auto& c) { c.links.back().link = LinkId{14}; }},
    {"link twice", CertificateFault::BadLinkPrice,
     [](auto& c) { c.links.push_back(c.links.back()); }},
    {"links descending", CertificateFault::BadLinkPrice,
     [](auto& c) { std::swap(c.links.front(), c.links.back()); }},
    {"cuts beside prices", CertificateFault::BadLinkPrice,
     [](auto& c) { c.cuts.push_back({.far = {NodeId{0}}, .gather = 1, .reduce = 0}); }},
    {"prices of an all-gather", CertificateFault::BadLinkPrice,
     [](auto& c) { c.collective = Collective::AllGather; }},
    {"entry raised", CertificateFault::WrongDemand, [](auto& c) { c.demand[1] += 1; }},
    {"demand forgotten", CertificateFault::WrongDemand, [](auto& c) { c.demand.clear(); }},
    {"a row too few", CertificateFault::WrongDemand, [](auto& c) { c.demand.resize(30); }},
    {"demand of an all-gather", CertificateFault::WrongDemand,
     [](auto& c) { c.collective = Collective::AllGather; }},
    {"another network", CertificateFault::WrongNetwork, [](auto& c) { c.ranks = 7; }},
    {"a root", CertificateFault::WrongCollective, [](auto& c) { c.root = Rank{1}; }},
    {"hops", CertificateFault::WrongHops, [](auto& c) { ++c.hops; }}};

INSTANTIATE_TEST_SUITE_P(All, MutatedPrices, testing::ValuesIn(kPriceMutations));

TEST(Prices, SurviveTheirFile) {
  for (const char* spec : {"torus:4x4", "mesh:3x2", "dgx-a100:2"}) {
    const Topology topology = make_topology(spec);
    std::vector<std::uint64_t> entries(std::size_t{topology.num_ranks()} * topology.num_ranks());
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = i % 7;
    for (const Demand& demand :
         {Demand::uniform(topology.num_ranks()), Demand(topology.num_ranks(), entries)}) {
      const RoutedDemand routed = route_demand(topology, demand);
      const Schedule schedule = all_to_all_schedule(routed, demand, topology);
      const std::string text = write_schedule_json(schedule, topology, &routed.certificate);
      const SchedulePlan plan = parse_schedule_json(text, "file");
      EXPECT_EQ(plan.schedule, schedule) << spec;
      EXPECT_EQ(plan.certificate, routed.certificate) << spec;
      EXPECT_EQ(write_schedule_json(plan.schedule, plan.topology, &*plan.certificate), text);
    }
  }
}

}  // namespace
}  // namespace multitree
