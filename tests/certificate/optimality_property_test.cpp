// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the optimal generators promise, from end to end, on random networks of every kind: their
/// schedules are right, take exactly what the certificates prove necessary, and are reproducible.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/evaluate.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/io/io.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/verify.hpp"
#include "brute_force.hpp"
#include "property_networks.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kEntries = 50, kNetworksEach = 50;
constexpr std::uint32_t kComparedOf = 8;  // one of so many networks, of all kinds, also sizes
constexpr std::uint32_t kSmall = 8;       // nodes up to which all cuts are enumerated
constexpr std::uint32_t kMiddle = 18;     // and up to which several sizes are compared: minutes

/// Half of the networks are small, a tenth is large.
std::uint32_t most_nodes(std::mt19937_64& random) {
  const std::uint64_t die = random() % 10;
  if (die < 5) return kSmall;
  return die < 9 ? kMiddle : 40;
}

std::string json(const char* algorithm, const Topology& topology, Collective collective) {
  return write_schedule_json(generate_schedule(algorithm, topology, collective, Rank{0}), topology);
}

/// Networks of this entry whose all-reduce has rounded shares.
std::uint32_t inexact = 0;

/// Verified, of the certificate's load, accepted by the checker, and made again byte by byte.
void expect_optimal(const char* algorithm, const Topology& topology, Collective collective,
                    const Certified& certified) {
  SCOPED_TRACE(fmt::format("{} {}", algorithm, to_string(collective)));
  const Schedule schedule = generate_schedule(algorithm, topology, collective, Rank{0});
  const VerifyReport right = verify(schedule, topology);
  ASSERT_TRUE(right.ok()) << right.violations.front().message;
  EXPECT_EQ(json(algorithm, topology, collective), write_schedule_json(schedule, topology));
  const CertificateReport report = check_certificate(certified.certificate, topology, &schedule);
  ASSERT_TRUE(report.ok()) << report.violations.front().message;
  EXPECT_EQ(report.bound, certified.certificate.bound);
  const Exact load = load_of(schedule, topology);
  EXPECT_GE(load, report.bound);
  if (!certified.exact) return;
  if (collective == Collective::AllReduce && load != report.bound && inexact++ == 0) {
    // Shares that 62 bits cannot count are rounded; at most one network of an entry has them.
    EXPECT_LT(load, report.bound * Exact((1LL << 40) + 1, 1LL << 40));
    return;
  }
  EXPECT_EQ(load, report.bound);
  EXPECT_TRUE(report.optimal);
}

/// Switches that can send more than they receive, or less, and are needed to: no packing is known
/// to meet the bound there, and there is a clear refusal.
bool is_refused(const Topology& topology, Collective collective) {
  try {
    static_cast<void>(generate_schedule("forest", topology, collective, Rank{0}));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_NE(std::string(error.what()).find("as much bandwidth into each switch as out of it"),
              std::string::npos)
        << error.what();
    return true;
  }
  return false;
}

void expect_optimal_in_all_collectives(const Topology& topology, test::NetworkKind kind) {
  const Bounds bounds = compute_bounds(topology);
  const bool is_unbalanced = kind == test::NetworkKind::SwitchedUnbalanced;
  for (const Collective collective : {Collective::AllGather, Collective::ReduceScatter}) {
    if (is_unbalanced && is_refused(topology, collective)) continue;
    const Certified certified = certify(topology, bounds, collective);
    EXPECT_TRUE(certified.exact || is_unbalanced);
    expect_optimal("forest", topology, collective, certified);
  }
  const Certified certified = certify(topology, bounds, Collective::AllReduce);
  EXPECT_TRUE(certified.exact);
  expect_optimal("allreduce-optimal?form=trees&segments=1", topology, Collective::AllReduce,
                 certified);
}

/// At any size, allreduce-optimal takes no longer than reduce-scatter + all-gather by whatever
/// algorithm.
void expect_never_worse(const Topology& topology, std::uint64_t bytes) {
  const std::string name = fmt::format("allreduce-optimal?size={}", bytes);
  const Schedule best = generate_schedule(name, topology, Collective::AllReduce, Rank{0});
  const Time time = predict_time(best, topology, bytes);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.all_reduce != nullptr || algorithm.unsupported(topology)) continue;
    SCOPED_TRACE(fmt::format("{} at {} bytes", algorithm.name, bytes));
    try {
      const Schedule other =
          generate_schedule(algorithm.name, topology, Collective::AllReduce, Rank{0});
      EXPECT_LE(time, predict_time(other, topology, bytes));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
    }
  }
}

void expect_bounds_of_brute_force(const Topology& topology) {
  const Bounds bounds = compute_bounds(topology);
  const auto bound = [&](Collective collective) {
    return certify(topology, bounds, collective).certificate.bound;
  };
  EXPECT_EQ(bound(Collective::AllGather), test::all_gather_by_cuts(topology));
  EXPECT_EQ(bound(Collective::ReduceScatter), test::all_gather_by_cuts(topology.transposed()));
  const Exact all_reduce = bound(Collective::AllReduce);
  const double time = all_reduce.convert_to<double>();
  EXPECT_NEAR(test::all_reduce_by_program(topology), time, 1e-7 * (1 + time));
  if (topology.has_switches() || !topology.is_symmetric()) return;
  EXPECT_EQ(all_reduce, test::all_reduce_by_partitions(topology));
}

class Optimality : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Optimality, OfRandomNetworks) {
  inexact = 0;
  for (std::uint32_t i = 0; i < kNetworksEach; ++i) {
    const std::uint32_t seed = GetParam() * kNetworksEach + i;
    std::mt19937_64 random(seed);
    const auto kind = static_cast<test::NetworkKind>(seed % test::kNetworkKinds);
    const Topology topology = test::random_of_kind(random, kind, most_nodes(random));
    SCOPED_TRACE(fmt::format("seed {}: {} nodes, {} ranks, {} links", seed, topology.num_nodes(),
                             topology.num_ranks(), topology.num_links()));
    expect_optimal_in_all_collectives(topology, kind);
    if (seed % kComparedOf == 0) {
      expect_never_worse(topology, 1ULL << 18);
      if (topology.num_nodes() > kMiddle) continue;
      for (const std::uint64_t bytes : {1ULL << 10, 1ULL << 26}) {
        expect_never_worse(topology, bytes);
      }
    }
    if (topology.num_nodes() <= kSmall) expect_bounds_of_brute_force(topology);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Optimality, testing::Range(0U, kEntries));

}  // namespace
}  // namespace multitree
