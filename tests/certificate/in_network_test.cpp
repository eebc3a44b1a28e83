// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All-reduce in networks whose switches add and copy: bounds against all trees there are,
/// schedules against bounds, and what is wrong with either by its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "algorithms/bounds.hpp"
#include "algorithms/certificate/all_reduce_lp.hpp"
#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/certificate/in_network.hpp"
#include "algorithms/certificate/packing_lp_internal.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/degrade.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using testing::HasSubstr;

Topology able(const std::string& spec, const std::string& switches = "add,copy") {
  return make_topology(spec + (spec.find('?') == std::string::npos ? "?" : "&") +
                       "switches=" + switches);
}

std::uint32_t pick(std::mt19937_64& random, std::uint32_t below) {
  return static_cast<std::uint32_t>(random() % below);
}

/// Duplex links at random on a spanning tree; each switch adds and copies, or none of both.
Topology random_able(std::mt19937_64& random, std::uint32_t ranks, std::uint32_t switches,
                     std::uint32_t extra, bool all_able) {
  TopologyBuilder builder("random");
  for (std::uint32_t r = 0; r < ranks; ++r) builder.add_endpoint();
  for (std::uint32_t s = 0; s < switches; ++s) {
    const bool is_able = all_able || s == 0 || pick(random, 2) == 0;
    builder.add_switch("s" + std::to_string(s), {.adds = is_able, .copies = is_able});
  }
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    builder.add_duplex(NodeId{a}, NodeId{b}, {1'000'000'000ULL * (1 + pick(random, 3))},
                       {static_cast<std::int64_t>(pick(random, 3)) * 100'000});
  };
  const std::uint32_t nodes = ranks + switches;
  for (std::uint32_t n = 1; n < nodes; ++n) add(pick(random, n), n);
  for (std::uint32_t e = 0; e < extra; ++e) {
    const std::uint32_t a = pick(random, nodes), b = pick(random, nodes);
    if (a != b) add(a, b);
  }
  return std::move(builder).build();
}

/// The best over every tree of links that joins all ranks and branches at no switch but those that
/// add and copy, by listing them all: the optimum if those are all switches, else no less than it.
/// \pre at most 16 pairs of links. Rounded.
double optimum_of_all_trees(const Topology& topology) {
  std::vector<LinkId> edges;
  std::vector<std::int64_t> bandwidth;
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    if (index(*topology.mate(LinkId{l})) < l) continue;
    edges.push_back(LinkId{l});
    bandwidth.push_back(
        static_cast<std::int64_t>(topology.link(LinkId{l}).bandwidth.bytes_per_second));
  }
  EXPECT_LE(edges.size(), 16U);
  PackingLp program(bandwidth);
  for (std::uint32_t chosen = 1; chosen < 1U << edges.size(); ++chosen) {
    std::vector<std::uint32_t> part(topology.num_nodes());
    for (std::uint32_t n = 0; n < part.size(); ++n) part[n] = n;
    const auto root = [&](std::uint32_t n) {
      while (part[n] != n) n = part[n];
      return n;
    };
    std::vector<RowUse> uses;
    std::vector<std::uint32_t> degree(topology.num_nodes(), 0);
    bool is_forest = true;
    for (std::uint32_t e = 0; e < edges.size(); ++e) {
      if ((chosen >> e & 1) == 0) continue;
      const Link& link = topology.link(edges[e]);
      const std::uint32_t a = root(index(link.src)), b = root(index(link.dst));
      is_forest = is_forest && a != b;
      part[a] = b;
      uses.push_back({e, 1});
      for (const NodeId end : {link.src, link.dst}) {
        const Node& node = topology.node(end);
        const bool branches = node.rank || (node.abilities.adds && node.abilities.copies);
        is_forest = is_forest && (++degree[index(end)] <= 2 || branches);
      }
    }
    bool joins = is_forest;
    for (std::uint32_t r = 1; r < topology.num_ranks() && joins; ++r) {
      joins = root(index(topology.node_of(Rank{r}))) == root(index(topology.node_of(Rank{0})));
    }
    if (joins) program.add_column(uses);
  }
  program.solve();
  return topology.num_ranks() * static_cast<double>(topology.unit_bandwidth().bytes_per_second) /
         program.objective();
}

Certified bound_of(const Topology& topology) {
  return certify(topology, compute_bounds(topology), Collective::AllReduce, Rank{0}, 64);
}

TEST(InNetworkBound, IsThatOfAllTreesOnSmallNetworks) {
  std::mt19937_64 random(5);
  std::uint32_t proven = 0;
  constexpr std::uint32_t kNetworks = 60;
  for (std::uint32_t i = 0; i < kNetworks; ++i) {
    const Topology topology =
        random_able(random, 2 + pick(random, 4), 1 + pick(random, 4), 6, true);
    const InNetworkOptimum optimum = solve_in_network(topology, 64);
    const double time = optimum.time.convert_to<double>();
    EXPECT_NEAR(time, optimum_of_all_trees(topology), 1e-6 * time) << "network " << i;
    EXPECT_LE(optimum.certificate.bound, optimum.time) << "network " << i;
    proven += optimum.certificate.bound == optimum.time ? 1 : 0;
  }
  // Cuts do not prove all trees cheapest (the relaxation of the Steiner tree by cuts), but most.
  EXPECT_GE(proven, kNetworks * 9 / 10);
}

/// Shard times of the whole vector over `bandwidth`.
Exact vector_over(const Topology& topology, std::uint64_t bandwidth) {
  return Exact(topology.num_ranks()) * topology.unit_bandwidth().bytes_per_second / bandwidth;
}

struct Case {
  const char* spec;
  std::uint64_t narrowest;  ///< bandwidth that all must cross, by hand
};

/// What must cross a rank's links, those of a leaf switch, or those of a box.
const Case kCases[] = {
    {"star:1", 0},
    {"star:2", 16'000'000'000},
    {"star:7", 16'000'000'000},
    {"fattree:4x4", 16'000'000'000},
    {"fattree:2x3?spines=1", 16'000'000'000},
    {"fattree:3x4?uplink-bw=2GB/s", 8'000'000'000},
    {"fattree3:4", 16'000'000'000},
    {"bigraph:4x4", 16'000'000'000},
    {"dgx2", 150'000'000'000},
    {"dgx-a100:1", 300'000'000'000},
    {"dgx-a100:2", 200'000'000'000},
    {"dgx-h100:4", 400'000'000'000},
    {"nvl72:2?gpus=5", 250'000'000'000},
    {"star:6?slow=3:0.25", 4'000'000'000},
};

TEST(InNetworkBound, IsTheNarrowestPlaceOfKnownNetworks) {
  for (const Case& one : kCases) {
    const Topology topology = able(one.spec);
    const Certified bound = bound_of(topology);
    EXPECT_TRUE(bound.exact) << one.spec;
    EXPECT_TRUE(check_certificate(bound.certificate, topology).ok()) << one.spec;
    const Exact expected = one.narrowest == 0 ? Exact(0) : vector_over(topology, one.narrowest);
    EXPECT_EQ(bound.certificate.bound, expected) << one.spec;
  }
}

TEST(InNetworkSchedule, MeetsItsBoundOnKnownNetworks) {
  for (const Case& one : kCases) {
    const Topology topology = able(one.spec);
    const Certified bound = bound_of(topology);
    const Schedule schedule = make_schedule("in-network", topology);  // verified
    EXPECT_TRUE(verify(schedule, topology, {.replay_always = true}).ok()) << one.spec;
    EXPECT_EQ(load_of(schedule, topology), bound.certificate.bound) << one.spec;
    const CertificateReport report = check_certificate(bound.certificate, topology, &schedule);
    EXPECT_TRUE(report.ok() && report.optimal) << one.spec;
    const double least = bound.certificate.bound.convert_to<double>() * (64 << 20) /
                         topology.num_ranks() /
                         static_cast<double>(topology.unit_bandwidth().bytes_per_second);
    const double time = predict_time(schedule, topology, 64 << 20).seconds();
    EXPECT_GE(time, least * (1 - 1e-9)) << one.spec;
    EXPECT_LE(time, least * 1.03) << one.spec;
  }
}

// Ranks below a switch that only forwards: their messages part and meet at ranks, and take turns on
// the links that they share.
TEST(InNetworkSchedule, OfEveryCollectiveWhereSomeSwitchesForward) {
  for (const char* spec :
       {"fattree:2x2?switches=leaf0:add,leaf0:copy", "fattree:2x2?switches=spine0:add,spine0:copy",
        "fattree:4x4?switches=spine0:add,spine0:copy,leaf0:add,leaf0:copy"}) {
    const Topology topology = make_topology(spec);
    for (const Collective each :
         {Collective::AllReduce, Collective::AllGather, Collective::Reduce}) {
      const Schedule schedule = make_schedule("in-network?segments=3", topology, each);
      EXPECT_TRUE(verify(schedule, topology).ok()) << spec << " " << to_string(each);
    }
  }
}

TEST(InNetworkSchedule, OfEveryCollectiveOnRandomNetworks) {
  std::mt19937_64 random(11);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const bool all_able = i % 2 == 0;
    const Topology topology =
        random_able(random, 1 + pick(random, 7), 1 + pick(random, 4), pick(random, 8), all_able);
    const InNetworkOptimum optimum = solve_in_network(topology, 64);
    for (const Collective collective :
         {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
          Collective::Broadcast, Collective::Reduce, Collective::Gather, Collective::Scatter}) {
      const Schedule schedule =
          make_schedule("in-network?segments=3", topology, collective,
                        Rank{has_root(collective) ? pick(random, topology.num_ranks()) : 0});
      EXPECT_TRUE(verify(schedule, topology, {.replay_always = true}).ok());
      const CertificateReport proof = check_certificate(
          certify(topology, collective, schedule.root).certificate, topology, &schedule);
      EXPECT_TRUE(proof.ok());
      EXPECT_GE(*proof.load, proof.bound) << "network " << i << " " << to_string(collective);
      if (collective == Collective::AllReduce) {
        EXPECT_LE(optimum.certificate.bound, *proof.load);
        EXPECT_GE(*proof.load * Exact(1'000'000'001, 1'000'000'000), optimum.time);
      }
      EXPECT_NO_THROW(predict_time(schedule, topology, 1 << 20));
    }
  }
}

TEST(InNetworkSchedule, BeatsRanksAloneByNearlyTwo) {
  const Topology topology = able("fattree:8x8");
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
    const auto time = [&](const std::string& spec) {
      return predict_time(make_schedule(told(spec, bytes, {}), topology), topology, bytes)
          .seconds();
    };
    const double in_network = time("in-network"), least = static_cast<double>(bytes) / 16e9;
    EXPECT_LE(in_network, 1.03 * least) << bytes;
    EXPECT_GE(time("allreduce-optimal"), 1.9 * in_network) << bytes;
  }
}

TEST(InNetworkSchedule, IsReadAsItWasWritten) {
  const Topology topology = able("fattree:2x2");
  const Schedule schedule = make_schedule("in-network", topology);
  const Certified bound = bound_of(topology);
  const std::string text = write_schedule_json(schedule, topology, &bound.certificate);
  const SchedulePlan plan = parse_schedule_json(text, "s.json");
  EXPECT_TRUE(plan.schedule.in_network);
  EXPECT_EQ(plan.schedule, schedule);
  EXPECT_EQ(plan.topology, topology);
  EXPECT_EQ(*plan.certificate, bound.certificate);
}

/// The violations of a schedule where switches can do less.
VerifyReport where(const Schedule& schedule, const std::string& spec) {
  return verify(schedule, make_topology(spec), {.max_violations = 1000});
}

TEST(InNetworkVerifier, NamesWhatSwitchesCannotDo) {
  const Schedule schedule = make_schedule("in-network", able("fattree:4x4"));
  EXPECT_TRUE(where(schedule, "fattree:4x4?switches=add,copy").ok());
  const VerifyReport no_add = where(schedule, "fattree:4x4?switches=copy");
  EXPECT_TRUE(no_add.has(ViolationKind::CannotAdd));
  EXPECT_FALSE(no_add.has(ViolationKind::CannotCopy));
  EXPECT_THAT(no_add.violations.front().message, HasSubstr("a switch that cannot add them"));
  const VerifyReport no_copy = where(schedule, "fattree:4x4?switches=add");
  EXPECT_TRUE(no_copy.has(ViolationKind::CannotCopy));
  EXPECT_FALSE(no_copy.has(ViolationKind::CannotAdd));
  const VerifyReport one = where(schedule, "fattree:4x4?switches=add,copy,1");
  EXPECT_TRUE(one.has(ViolationKind::SwitchOverload));
  Schedule apart = schedule;
  apart.in_network = false;  // every message is sent by itself
  EXPECT_TRUE(where(apart, "fattree:4x4?switches=add,copy").has(ViolationKind::LinkConflict));
}

TEST(InNetworkVerifier, SchedulesKeepToWhatSwitchesCanDoAtOnce) {
  for (const char* spec : {"fattree:4x4?switches=add,copy,1", "dgx-a100:2?switches=add,copy,2",
                           "star:5?switches=add,copy,1"}) {
    const Topology topology = make_topology(spec);
    EXPECT_TRUE(verify(make_schedule("in-network", topology), topology).ok()) << spec;
  }
}

TEST(InNetworkVerifier, CatchesEveryLostAndRepeatedTransfer) {
  const Topology topology = able("fattree:2x3");
  const Schedule schedule = make_schedule("in-network?segments=2", topology);
  for (std::size_t i = 0; i < schedule.transfers.size(); ++i) {
    Schedule less = schedule;
    less.transfers.erase(less.transfers.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(verify(less, topology).ok()) << i;
    Schedule more = schedule;
    more.transfers.insert(more.transfers.begin() + static_cast<std::ptrdiff_t>(i),
                          schedule.transfers[i]);
    EXPECT_FALSE(verify(more, topology).ok()) << i;
  }
}

TEST(InNetworkCertificate, ChangedOnesAreRefused) {
  for (const char* spec : {"star:5", "fattree:3x4?uplink-bw=2GB/s", "dgx-a100:2"}) {
    const Topology topology = able(spec);
    const Certificate good = bound_of(topology).certificate;
    ASSERT_TRUE(check_certificate(good, topology).ok());
    Certificate high = good;
    high.bound += Exact(1, 1000);
    EXPECT_TRUE(check_certificate(high, topology).has(CertificateFault::WrongBound)) << spec;
    Certificate heavy = good;
    heavy.cuts.front().gather *= 2;
    EXPECT_TRUE(check_certificate(heavy, topology).has(CertificateFault::WrongBound)) << spec;
    Certificate wide = good;
    wide.cuts.front().far.push_back(wide.cuts.front().far.front());
    EXPECT_TRUE(check_certificate(wide, topology).has(CertificateFault::BadCut)) << spec;
    // What a switch that only forwards may charge, one that copies may not.
    Certificate priced = good;
    priced.prices.push_back({NodeId{topology.num_ranks()}, 1, 0});
    EXPECT_TRUE(check_certificate(priced, topology).has(CertificateFault::BadPrice)) << spec;
    priced.prices.back() = {NodeId{topology.num_ranks()}, 0, -1};
    EXPECT_TRUE(check_certificate(priced, topology).has(CertificateFault::BadPrice)) << spec;
  }
}

/// Cuts and prices at random, of signs that are allowed.
Certificate random_certificate(std::mt19937_64& random, const Topology& topology, bool mirrored) {
  Certificate certificate;
  certificate.ranks = topology.num_ranks();
  for (std::uint32_t c = 1 + pick(random, 5); c > 0; --c) {
    WeightedCut cut{{}, pick(random, 3), pick(random, 3)};
    if (mirrored) cut.reduce = cut.gather;
    for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
      if (pick(random, 2) == 0) cut.far.push_back(NodeId{n});
    }
    certificate.cuts.push_back(std::move(cut));
  }
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    const Node& node = topology.node(NodeId{n});
    if (!node.is_switch() || pick(random, 2) == 0) continue;
    SwitchPrice price{NodeId{n}, Exact(pick(random, 5)) - 2, Exact(pick(random, 5)) - 2};
    if (node.abilities.copies) price.gather = -abs(price.gather);
    if (node.abilities.adds) price.reduce = abs(price.reduce);
    if (mirrored) price.reduce = -price.gather;
    certificate.prices.push_back(price);
  }
  certificate.bound = evaluate(certificate, topology);
  certificate.hops = compute_bounds(topology).diameter;
  certificate.far_apart = compute_bounds(topology).far_apart;
  return certificate;
}

TEST(InNetworkCertificate, ThatIsTakenProvesNothingWrong) {
  std::mt19937_64 random(23);
  std::uint32_t taken = 0, proving = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    Topology topology =
        random_able(random, 2 + pick(random, 3), 1 + pick(random, 3), 5, i % 2 == 0);
    if (i % 5 == 4) topology = change_network(topology, {.switches = i % 2 == 0 ? "add" : "copy"});
    const double best = optimum_of_all_trees(topology);
    for (std::uint32_t k = 0; k < 100; ++k) {
      const Certificate one = random_certificate(random, topology, k % 2 == 0);
      if (!check_certificate(one, topology).ok()) continue;
      ++taken;
      proving += one.bound > 0 ? 1 : 0;
      ASSERT_LE(one.bound.convert_to<double>(), best * (1 + 1e-9)) << "network " << i;
    }
  }
  EXPECT_GT(taken, 1000U);
  EXPECT_GT(proving, 200U);
}

TEST(InNetworkCertificate, OfNetworksThatOnlyForwardDoesNotHoldHere) {
  const Topology plain = make_topology("star:5"), more = able("star:5");
  const Certificate certificate = bound_of(plain).certificate;
  EXPECT_TRUE(check_certificate(certificate, plain).ok());
  EXPECT_FALSE(check_certificate(certificate, more).ok());
  EXPECT_GT(certificate.bound, bound_of(more).certificate.bound);
}

TEST(InNetworkBound, OfSwitchesThatDoOneOfBothIsThatOfForwarding) {
  for (const char* what : {"add", "copy"}) {
    for (const char* spec : {"star:6", "fattree:4x4", "dgx-a100:1"}) {
      const Topology topology = able(spec, what);
      const Certified bound = bound_of(topology);
      EXPECT_TRUE(check_certificate(bound.certificate, topology).ok()) << spec << what;
      EXPECT_EQ(bound.certificate.bound, to_exact(compute_bounds(topology).all_reduce()));
      EXPECT_TRUE(bound.exact) << spec << what;
    }
  }
}

TEST(InNetwork, RefusesWhatItCannotServe) {
  const auto refusal = [](const Topology& topology) {
    return error_of(ErrorCode::Unsupported, [&] { make_schedule("in-network", topology); });
  };
  EXPECT_THAT(refusal(make_topology("torus:4x4")), HasSubstr("there are none"));
  EXPECT_THAT(refusal(make_topology("star:4")), HasSubstr("only forward"));
  EXPECT_THAT(refusal(able("star:4", "copy")), HasSubstr("adds and copies or does neither"));
}

}  // namespace
}  // namespace multitree
