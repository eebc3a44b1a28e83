// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The checker of certificates: known bounds, every way to be wrong, and loads of schedules.
#include "algorithms/certificate/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/registry.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

/// A line of ranks 0-1-2, 2 GB/s then 1 GB/s.
Topology line() {
  TopologyBuilder builder("line");
  for (int r = 0; r < 3; ++r) builder.add_endpoint();
  builder.add_duplex(NodeId{0}, NodeId{1}, Bandwidth{2'000'000'000}, Time{0});
  builder.add_duplex(NodeId{1}, NodeId{2}, Bandwidth{1'000'000'000}, Time{0});
  return std::move(builder).build();
}

TEST(Evaluate, OneCutOfAnAllGather) {
  Certificate certificate;
  certificate.collective = Collective::AllGather;
  certificate.ranks = 3;
  certificate.cuts = {{.far = {NodeId{2}}, .gather = 5, .reduce = 0}};
  EXPECT_EQ(evaluate(certificate, line()), 2);  // two shards over 1 GB/s, any weight
  certificate.cuts = {{.far = {NodeId{0}}, .gather = 1, .reduce = 0}};
  EXPECT_EQ(evaluate(certificate, line()), 1);  // two shards over 2 GB/s
}

TEST(Evaluate, TheDearestRootOfAnAllReduceIsNotAssumed) {
  // What enters rank 2 is nothing if rank 2 is the root.
  Certificate certificate;
  certificate.ranks = 3;
  certificate.cuts = {{.far = {NodeId{2}}, .gather = 1, .reduce = 0}};
  EXPECT_EQ(evaluate(certificate, line()), 0);
  // Either partial sums or results leave it, and the other way something enters it.
  certificate.cuts = {{.far = {NodeId{2}}, .gather = 1, .reduce = 1},
                      {.far = {NodeId{0}, NodeId{1}}, .gather = 1, .reduce = 1}};
  EXPECT_EQ(evaluate(certificate, line()), 3);
}

TEST(Evaluate, ASwitchWithoutPricesIsPassedForNothing) {
  Certificate certificate = certify(make_topology("star:4"), Collective::AllReduce).certificate;
  EXPECT_EQ(evaluate(certificate, make_topology("star:4")), 6);
  certificate.prices.clear();
  EXPECT_EQ(evaluate(certificate, make_topology("star:4")), 3);
}

struct Mutation {
  const char* name;
  CertificateFault fault;
  std::function<void(Certificate&)> apply;
};
void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

class Mutated : public testing::TestWithParam<Mutation> {};

/// Nodes 0..8 are switches and ranks of a fat-tree; its cuts are single ranks.
const Topology& network() {
  static const Topology topology = make_topology("fattree:2x3x2");
  return topology;
}

NodeId node(std::uint32_t rank) { return network().node_of(Rank{rank}); }

NodeId a_switch() {
  for (std::uint32_t n = 0; n < network().num_nodes(); ++n) {
    if (network().node(NodeId{n}).is_switch()) return NodeId{n};
  }
  return NodeId{network().num_nodes()};
}

std::vector<NodeId> all_nodes() {
  std::vector<NodeId> nodes;
  for (std::uint32_t n = 0; n < network().num_nodes(); ++n) nodes.push_back(NodeId{n});
  return nodes;
}

TEST_P(Mutated, IsFoundAndNamed) {
  Certificate certificate = certify(network(), Collective::AllReduce).certificate;
  ASSERT_TRUE(check_certificate(certificate, network()).ok());
  GetParam().apply(certificate);
  const CertificateReport report = check_certificate(certificate, network());
  EXPECT_TRUE(report.has(GetParam().fault))
      << (report.ok() ? "nothing found" : report.violations.front().message);
  EXPECT_FALSE(report.optimal);
}

const Mutation kMutations[] = {
    {"bound too high", CertificateFault::WrongBound, [](auto& c) { c.bound += 1; }},
    {"bound too low", CertificateFault::WrongBound,
     [](auto& c) { c.bound -= Exact(1, 1'000'000'007); }},
    {"cut lost", CertificateFault::WrongBound, [](auto& c) { c.cuts.pop_back(); }},
    {"cut twice", CertificateFault::WrongBound, [](auto& c) { c.cuts.push_back(c.cuts[0]); }},
    {"weight changed", CertificateFault::WrongBound, [](auto& c) { c.cuts[0].gather = 2; }},
    {"price changed", CertificateFault::WrongBound,
     [](auto& c) { c.prices[0].reduce = Exact(1, 3); }},
    {"price lost", CertificateFault::WrongBound, [](auto& c) { c.prices.clear(); }},
    {"node out of range", CertificateFault::BadCut,
     [](auto& c) { c.cuts[0].far = {NodeId{network().num_nodes()}}; }},
    {"far side empty", CertificateFault::BadCut, [](auto& c) { c.cuts[0].far.clear(); }},
    {"far side without a rank", CertificateFault::BadCut,
     [](auto& c) { c.cuts[0].far = {a_switch()}; }},
    {"far side of all nodes", CertificateFault::BadCut,
     [](auto& c) { c.cuts[0].far = all_nodes(); }},
    {"far side descending", CertificateFault::BadCut,
     [](auto& c) {
       c.cuts[0].far = {node(0), node(1)};
       std::ranges::sort(c.cuts[0].far, std::greater{});
     }},
    {"node twice", CertificateFault::BadCut,
     [](auto& c) {
       c.cuts[0].far = {node(0), node(0)};
     }},
    {"gather weight negative", CertificateFault::BadWeight, [](auto& c) { c.cuts[0].gather = -1; }},
    {"reduce weight negative", CertificateFault::BadWeight,
     [](auto& c) { c.cuts[0].reduce = Exact(-1, 9); }},
    {"reduce weight in an all-gather", CertificateFault::BadWeight,
     [](auto& c) { c.collective = Collective::AllGather; }},
    {"gather weight in a reduce", CertificateFault::BadWeight,
     [](auto& c) { c.collective = Collective::Reduce; }},
    {"gather price in a reduce-scatter", CertificateFault::BadPrice,
     [](auto& c) { c.collective = Collective::ReduceScatter; }},
    {"price at a rank", CertificateFault::BadPrice, [](auto& c) { c.prices[0].node = node(0); }},
    {"price out of range", CertificateFault::BadPrice,
     [](auto& c) { c.prices.back().node = NodeId{network().num_nodes()}; }},
    {"price twice", CertificateFault::BadPrice,
     [](auto& c) { c.prices.push_back(c.prices.back()); }},
    {"other network", CertificateFault::WrongNetwork, [](auto& c) { c.ranks = 7; }},
    {"root without a rooted collective", CertificateFault::WrongCollective,
     [](auto& c) { c.root = Rank{1}; }},
    {"root out of range", CertificateFault::WrongCollective,
     [](auto& c) {
       c.collective = Collective::Broadcast;
       c.root = Rank{6};
     }},
    {"hops", CertificateFault::WrongHops, [](auto& c) { c.hops += 1; }},
    {"pair", CertificateFault::WrongHops,
     [](auto& c) {
       c.far_apart = {Rank{0}, Rank{0}};
     }},
    {"pair out of range", CertificateFault::WrongHops,
     [](auto& c) { c.far_apart.second = Rank{6}; }}};

INSTANTIATE_TEST_SUITE_P(Certificates, Mutated, testing::ValuesIn(kMutations));

TEST(CheckCertificate, HopsOfARootedCollectiveAreCountedAtTheRoot) {
  const Topology topology = make_topology("mesh:5");
  Certificate certificate = certify(topology, Collective::Broadcast, Rank{1}).certificate;
  EXPECT_EQ(certificate.hops, 3U);
  EXPECT_TRUE(check_certificate(certificate, topology).ok());
  certificate.hops = 4;
  certificate.far_apart = {Rank{0}, Rank{4}};  // true, but it does not start at the root
  EXPECT_TRUE(check_certificate(certificate, topology).has(CertificateFault::WrongHops));
  certificate = certify(topology, Collective::Reduce, Rank{1}).certificate;
  EXPECT_EQ(certificate.far_apart, std::pair(Rank{4}, Rank{1}));
  std::swap(certificate.far_apart.first, certificate.far_apart.second);
  EXPECT_TRUE(check_certificate(certificate, topology).has(CertificateFault::WrongHops));
}

TEST(CheckCertificate, BelongsToTheSchedule) {
  const Topology topology = make_topology("ring:4");
  const Schedule schedule = make_schedule("ring", topology, Collective::Broadcast, Rank{1});
  const auto check = [&](Collective collective, Rank root) {
    const Certificate certificate = certify(topology, collective, root).certificate;
    return check_certificate(certificate, topology, &schedule);
  };
  EXPECT_TRUE(check(Collective::Broadcast, Rank{1}).ok());
  EXPECT_TRUE(check(Collective::Broadcast, Rank{2}).has(CertificateFault::WrongCollective));
  EXPECT_TRUE(check(Collective::AllReduce, Rank{0}).has(CertificateFault::WrongCollective));
  const Topology larger = make_topology("ring:5");
  const Certificate other = certify(larger, Collective::Broadcast, Rank{1}).certificate;
  EXPECT_TRUE(check_certificate(other, larger, &schedule).has(CertificateFault::WrongNetwork));
}

TEST(CheckCertificate, ComparesLoadAndSteps) {
  const Topology topology = make_topology("ring:4");
  const Certificate certificate = certify(topology, Collective::AllGather).certificate;
  const Schedule one_way = make_schedule("ring", topology, Collective::AllGather);
  const CertificateReport slow = check_certificate(certificate, topology, &one_way);
  EXPECT_TRUE(slow.ok());
  EXPECT_EQ(*slow.load, 3);
  EXPECT_EQ(*slow.ratio, 2);
  EXPECT_FALSE(slow.optimal);
  EXPECT_EQ(slow.steps, 3U);
  EXPECT_EQ(slow.step_bound, 2U);
  const Schedule both_ways = make_schedule("bidirectional-ring", topology, Collective::AllGather);
  const CertificateReport fast = check_certificate(certificate, topology, &both_ways);
  EXPECT_EQ(*fast.load, Exact(3, 2));
  EXPECT_EQ(*fast.ratio, 1);
  EXPECT_TRUE(fast.optimal);
}

TEST(CheckCertificate, AWrongCertificateMakesNothingOptimal) {
  const Topology topology = make_topology("ring:4");
  Certificate certificate = certify(topology, Collective::AllGather).certificate;
  certificate.hops = 3;
  const Schedule schedule = make_schedule("bidirectional-ring", topology, Collective::AllGather);
  const CertificateReport report = check_certificate(certificate, topology, &schedule);
  EXPECT_EQ(*report.load, report.bound);
  EXPECT_FALSE(report.optimal);
}

TEST(LoadOf, AddsSharesOfUnequalChunksOverUnequalLinks) {
  const Topology topology = line();
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.ranks = 3;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 2), Chunk::rooted(Rank{0}, 0, 5)};
  const LinkId first{0}, second{2};
  schedule.add(0, Op::Copy, 0, Rank{0}, Rank{1}, {&first, 1});
  schedule.add(1, Op::Copy, 1, Rank{0}, Rank{1}, {&first, 1});
  EXPECT_EQ(load_of(schedule, topology), Exact(3, 2));  // three shards over 2 GB/s
  schedule.add(2, Op::Copy, 1, Rank{1}, Rank{2}, {&second, 1});
  EXPECT_EQ(load_of(schedule, topology), Exact(15, 7));  // 5/7 of three shards over 1 GB/s
  EXPECT_EQ(largest_chunk(schedule), Exact(15, 7));
  EXPECT_EQ(least_steps(Exact(15, 7), schedule), 1U);
  EXPECT_EQ(least_steps(Exact(16, 7), schedule), 2U);
}

TEST(LoadOf, ShardsAreSharesOfTheirOwner) {
  const Topology topology = line();
  Schedule schedule;
  schedule.collective = Collective::AllGather;
  schedule.ranks = 3;
  schedule.chunks = {Chunk::rooted(Rank{0}, 0, 1), Chunk::rooted(Rank{0}, 1, 2),
                     Chunk::rooted(Rank{1}, 2, 7), Chunk::rooted(Rank{2}, 3, 1)};
  const LinkId link{2};
  schedule.add(0, Op::Copy, 0, Rank{1}, Rank{2}, {&link, 1});
  schedule.add(1, Op::Copy, 2, Rank{1}, Rank{2}, {&link, 1});
  EXPECT_EQ(load_of(schedule, topology), Exact(4, 3));
}

}  // namespace
}  // namespace multitree
