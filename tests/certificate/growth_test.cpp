// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// TimeReason::Growth and Shares: known values, no pair of numbers that proves more than an
/// exhaustive search or a schedule takes, and every way in which such a proof can be wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/latencies_internal.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/certificate/time_certificate.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/io/time_certificate_file.hpp"
#include "algorithms/registry.hpp"
#include "exhaustive_time.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::int64_t kOverhead = 1'000'000;

TimeCertificate growth_of(const Topology& topology, Collective collective, std::uint64_t bytes) {
  TimeCertificate proof;
  proof.collective = collective;
  proof.ranks = topology.num_ranks();
  proof.bytes = bytes;
  proof.message_overhead = Time{kOverhead};
  proof.reason = TimeReason::Growth;
  proof.doubling = Time{kOverhead};
  proof.bound = evaluate_time(proof, topology);
  return proof;
}

double microseconds(const TimeCertificate& proof, const Topology& topology) {
  return evaluate_time(proof, topology).seconds() * 1e6;
}

/// Pieces of 1 us at 1 GB/s are shorter than those of the best size, which take 1 us / ln 2.
TEST(Growth, HasTheValuesOfItsFormula) {
  const Topology two = make_topology("full:2?bw=1GB/s&lat=0ns");
  TimeCertificate proof = growth_of(two, Collective::Broadcast, 1000);
  EXPECT_NEAR(microseconds(proof, two), std::log2(1 + 2.0), 1e-5);
  proof.doubling = Time{kOverhead / 2};
  // The best size is half as long then.
  const double price = std::exp(1.0) * std::log(2.0);
  EXPECT_NEAR(microseconds(proof, two), std::log2(1 + 3 * 2 * price) / 2, 1e-5);
  // In the last half of a microsecond half of it can come by the link; the rest has to be there.
  proof.doubling = Time{kOverhead};
  proof.rest = Time{kOverhead / 2};
  EXPECT_NEAR(microseconds(proof, two), 0.5 + std::log2(1 + 1.0), 1e-5);
  // All of it can: nothing is proved.
  proof.rest = Time{kOverhead};
  EXPECT_EQ(evaluate_time(proof, two), Time{});
  // Larger ones are cut into pieces of the best size.
  proof.rest = {};
  proof.bytes = 100'000;
  EXPECT_NEAR(microseconds(proof, two), std::log2(1 + 100 * price), 1e-5);
  const Topology late = make_topology("full:2?bw=1GB/s&lat=2us");
  EXPECT_NEAR(microseconds(proof, late), std::log2(1 + 400 * price), 1e-5);
}

TEST(Growth, CountsWhatEachCollectiveNeeds) {
  const Topology four = make_topology("full:4?bw=1GB/s&lat=0ns");
  const auto time = [&](Collective collective) {
    return microseconds(growth_of(four, collective, 4000), four);
  };
  const double piece =
      std::exp(1.0) * std::log(2.0);  // of a microsecond, in pieces of the best size
  EXPECT_NEAR(time(Collective::Broadcast), std::log2(1 + 3 * 4 * piece), 1e-5);
  EXPECT_NEAR(time(Collective::AllReduce), std::log2(1 + 3 * 4 * piece), 1e-5);
  EXPECT_NEAR(time(Collective::ReduceScatter), std::log2(1 + 3 * 2.0), 1e-5);
  EXPECT_NEAR(time(Collective::Scatter), std::log2(1 + 3 * 2.0), 1e-5);
  // Four sources, three shards into each of four ranks.
  EXPECT_NEAR(time(Collective::AllGather), std::log2(1 + 4 * 3 * 2.0 / 4), 1e-5);
  EXPECT_NEAR(time(Collective::AllToAll), std::log2(1 + 4 * 3 * std::pow(2, 0.25) / 4), 1e-5);
}

TEST(Growth, IsFoundInTheMiddle) {
  const Topology topology = make_topology("torus:4x4");
  const LeastTime least(topology, certify(topology, Collective::AllReduce).certificate,
                        kMessageOverhead);
  const TimeCertificate proof = least.at(64 << 10);
  EXPECT_EQ(proof.reason, TimeReason::Growth);
  EXPECT_GT(proof.bound, Time{7 * kOverhead});
  // A broadcast of much is bandwidth after growth.
  const LeastTime cast(topology, certify(topology, Collective::Broadcast).certificate,
                       kMessageOverhead);
  EXPECT_EQ(cast.at(1 << 20).reason, TimeReason::Growth);
  EXPECT_GT(cast.at(1 << 20).bound, Time{22 * kOverhead});
  // Where messages cost nothing, nothing is told of growth.
  const LeastTime free(topology, certify(topology, Collective::AllReduce).certificate, Time{});
  EXPECT_NE(free.at(64 << 10).reason, TimeReason::Growth);
}

TimeCertificate shares_of(const Topology& topology, Collective collective, std::uint64_t bytes) {
  TimeCertificate proof = growth_of(topology, collective, bytes);
  proof.reason = TimeReason::Shares;
  proof.doubling = {};
  proof.bound = evaluate_time(proof, topology);
  return proof;
}

TEST(Shares, AreSentOnOrOneAfterTheOther) {
  const auto time = [](const char* network, std::uint64_t bytes) {
    const Topology topology = make_topology(network);
    return microseconds(shares_of(topology, Collective::ReduceScatter, bytes), topology);
  };
  // A share of 1 us, of which the last of eight units may be on its way later.
  EXPECT_NEAR(time("full:2?bw=1GB/s&lat=1us", 2000), 1 + 1 + 7.0 / 8, 1e-5);
  // Of next to nothing rounds are of use.
  EXPECT_NEAR(time("full:8?bw=1GB/s&lat=0ns", 8), 3, 0.01);
  // What is 16 us under way is not sent on: four messages one after the other.
  EXPECT_NEAR(time("full:5?bw=1GB/s&lat=16us", 5), 20, 0.01);
  // Two shares of 8 units of 1 us: until 6 us messages bring 6, 5, 4 and 3 of them, until 5 us 15.
  EXPECT_NEAR(time("full:3?bw=1GB/s&lat=0ns", 24'000), 6, 1e-5);
  EXPECT_GT(time("torus:4x4", 64 << 10), 6);
}

TEST(Shares, AreFoundAndChecked) {
  const Topology topology = make_topology("torus:4x4");
  for (const Collective collective :
       {Collective::ReduceScatter, Collective::Scatter, Collective::AllReduce}) {
    const LeastTime least(topology, certify(topology, collective).certificate, kMessageOverhead);
    TimeCertificate proof = least.at(64 << 10);
    EXPECT_EQ(proof.reason == TimeReason::Shares, collective != Collective::AllReduce);
    EXPECT_TRUE(check_time_certificate(proof, topology).empty());
    const std::string text = write_time_certificate_json(proof, topology);
    EXPECT_EQ(parse_time_certificate_json(text, "file").certificate, proof);
    ++proof.bound.picoseconds;
    EXPECT_EQ(check_time_certificate(proof, topology).at(0).fault, TimeFault::WrongBound);
    proof.reason = TimeReason::Shares;
    proof.collective = Collective::AllGather;
    EXPECT_EQ(check_time_certificate(proof, topology).at(0).fault, TimeFault::WrongCollective);
    proof.collective = Collective::Scatter;
    proof.path.first = Rank{1};
    EXPECT_EQ(check_time_certificate(proof, topology).at(0).fault, TimeFault::BadPath);
  }
  const Topology star = make_topology("star:4?switches=add,copy");
  const auto found = check_time_certificate(shares_of(star, Collective::Scatter, 4096), star);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().fault, TimeFault::BadGrowth);
}

/// A line of ranks and maybe a switch at its end, of random times.
Topology random_line(std::mt19937_64& random, std::uint32_t ranks, bool with_switch) {
  TopologyBuilder builder("line");
  NodeId last = with_switch ? builder.add_switch("s") : builder.add_endpoint();
  for (std::uint32_t r = with_switch ? 0 : 1; r < ranks; ++r) {
    const NodeId node = builder.add_endpoint();
    builder.add_duplex(last, node, Bandwidth{(1 + random() % 3) * 1'000'000'000},
                       Time{static_cast<std::int64_t>(random() % 3) * 300'000});
    if (!with_switch) last = node;
  }
  return std::move(builder).build();
}

/// Whatever numbers a proof has, if it checks it is true.
TEST(Growth, OfAnyNumbersIsBelowTheExhaustiveSearch) {
  std::mt19937_64 random(5);
  std::uint32_t checked = 0;
  for (std::uint32_t n = 0; n < 24; ++n) {
    const bool gathers = n % 3 == 2;
    const std::uint32_t ranks = gathers ? 3 : 3 + n % 2;
    const Topology topology = random_line(random, ranks, n % 4 < 2);
    const Collective collective = gathers ? Collective::AllGather : Collective::Broadcast;
    for (const std::uint64_t bytes : {600, 2'000, 9'000}) {
      const std::int64_t least =
          test::exhaustive_time(topology, collective, gathers ? 1 : 2, bytes, Time{kOverhead});
      TimeCertificate proof = growth_of(topology, collective, bytes);
      for (std::uint32_t k = 0; k < 40; ++k) {
        proof.doubling = Time{static_cast<std::int64_t>(100'000 + random() % 1'700'000)};
        proof.rest = Time{static_cast<std::int64_t>(random() % 9 * 500'000)};
        proof.bound = evaluate_time(proof, topology);
        if (!check_time_certificate(proof, topology).empty()) continue;
        EXPECT_LE(proof.bound.picoseconds, least) << n << ' ' << bytes << ' ' << k;
        checked += proof.bound > Time{} ? 1 : 0;
      }
    }
  }
  EXPECT_GT(checked, 500U);
}

TEST(Shares, AreBelowTheExhaustiveSearch) {
  std::mt19937_64 random(9);
  for (std::uint32_t n = 0; n < 24; ++n) {
    const Topology topology = random_line(random, 3, n % 2 == 0);
    for (const std::uint64_t bytes : {600, 6'000, 30'000}) {
      EXPECT_LE(shares_of(topology, Collective::Scatter, bytes).bound.picoseconds,
                test::exhaustive_time(topology, Collective::Scatter, 1, bytes, Time{kOverhead}))
          << n << ' ' << bytes;
    }
  }
}

TEST(Growth, IsBelowSchedules) {
  for (const char* network : {"torus:4x4", "full:5", "dgx-a100:2?ranks=0-3,8-11", "mesh:2x3"}) {
    const Topology topology = make_topology(network);
    for (const Collective collective : all_collectives()) {
      if (facts(collective).end == Holder::Root) continue;
      for (const char* spec : {"circulant", "halving-doubling", "multitree?rounds=1", "ring"}) {
        const Schedule schedule = generate_schedule(spec, topology, collective, Rank{0});
        CostModel cost;
        cost.message_overhead = kMessageOverhead;
        for (std::uint64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 4) {
          TimeCertificate proof = growth_of(topology, collective, bytes);
          const Time time = predict_time(schedule, topology, bytes, cost);
          if (facts(collective).end == Holder::Own) {
            EXPECT_LE(0.999 * shares_of(topology, collective, bytes).bound.seconds(),
                      time.seconds())
                << network << ' ' << spec << ' ' << bytes;
          }
          for (std::int64_t rest = 0; rest < 40; rest += 3) {
            proof.rest = Time{rest * kOverhead};
            EXPECT_LE(0.999 * evaluate_time(proof, topology).seconds(), time.seconds())
                << network << ' ' << spec << ' ' << to_string(collective) << ' ' << bytes;
          }
        }
      }
    }
  }
}

TEST(NearestLatencies, AreThoseOfASearchFromEachRank) {
  for (const char* network : {"mesh:3x3?slow=1:0.25", "dgx-a100:2?ranks=0-3,8-11", "ring:7"}) {
    const Topology topology = make_topology(network);
    const std::vector<std::int64_t> nearest = nearest_latencies(topology);
    for (std::uint32_t r = 0; r < topology.num_ranks(); ++r) {
      EXPECT_EQ(nearest[r], rank_latencies(Rank{r}, topology, Along::LinksBackwards).front());
    }
  }
  EXPECT_EQ(nearest_latencies(make_topology("ring:1")).front(), kNoWay);
}

const Topology& grown_network() {
  static const Topology topology = make_topology("torus:3x3");
  return topology;
}

struct GrowthMutation {
  const char* name;
  TimeFault fault;
  std::function<void(TimeCertificate&)> apply;
};
void PrintTo(const GrowthMutation& mutation, std::ostream* out) { *out << mutation.name; }

class MutatedGrowth : public testing::TestWithParam<GrowthMutation> {};

TEST_P(MutatedGrowth, IsFoundAndNamed) {
  TimeCertificate proof = growth_of(grown_network(), Collective::AllReduce, 64 << 10);
  ASSERT_TRUE(check_time_certificate(proof, grown_network()).empty());
  GetParam().apply(proof);
  const std::vector<TimeViolation> found = check_time_certificate(proof, grown_network());
  EXPECT_TRUE(std::ranges::any_of(found, [](const TimeViolation& one) {
    return one.fault == GetParam().fault;
  })) << (found.empty() ? "nothing found" : found.front().message);
}

const GrowthMutation kGrowthMutations[] = {
    {"bound too high", TimeFault::WrongBound, [](auto& c) { ++c.bound.picoseconds; }},
    {"other size", TimeFault::WrongBound, [](auto& c) { c.bytes += 1000; }},
    {"other rest", TimeFault::WrongBound, [](auto& c) { c.rest = Time{kOverhead}; }},
    {"other doubling", TimeFault::WrongBound, [](auto& c) { c.doubling.picoseconds -= 1000; }},
    {"negative rest", TimeFault::BadGrowth, [](auto& c) { c.rest = Time{-1}; }},
    {"no doubling", TimeFault::BadGrowth, [](auto& c) { c.doubling = Time{}; }},
    // In 1.2 us a message of 1 us that is under way for 0.15 us more than doubles it.
    {"doubling too slow", TimeFault::BadGrowth, [](auto& c) { c.doubling = Time{1'200'000}; }},
    {"messages that cost nothing", TimeFault::BadGrowth,
     [](auto& c) { c.message_overhead = Time{}; }},
    {"no such source", TimeFault::BadPath, [](auto& c) { c.path.first = Rank{9}; }},
    {"broadcast from another rank", TimeFault::BadPath,
     [](auto& c) {
       c.collective = Collective::Broadcast;
       c.path.first = Rank{1};
     }},
    {"what only one rank gets", TimeFault::WrongCollective,
     [](auto& c) { c.collective = Collective::Reduce; }},
};

INSTANTIATE_TEST_SUITE_P(Growth, MutatedGrowth, testing::ValuesIn(kGrowthMutations));

TEST(Growth, NeedsSwitchesThatForward) {
  const Topology topology = make_topology("star:4?switches=add,copy");
  const TimeCertificate proof = growth_of(topology, Collective::AllReduce, 64 << 10);
  const std::vector<TimeViolation> found = check_time_certificate(proof, topology);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().fault, TimeFault::BadGrowth);
}

TEST(Growth, IsReadBackAndWrittenTheSame) {
  TimeCertificate proof = growth_of(grown_network(), Collective::AllReduce, 64 << 10);
  proof.rest = Time{1'234'567};
  proof.bound = evaluate_time(proof, grown_network());
  const std::string text = write_time_certificate_json(proof, grown_network());
  const TimeCertificateFile file = parse_time_certificate_json(text, "file");
  EXPECT_EQ(file.certificate, proof);
  EXPECT_EQ(write_time_certificate_json(file.certificate, file.topology), text);
}

}  // namespace
}  // namespace multitree
