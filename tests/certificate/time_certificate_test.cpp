// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Least times: known ones, never above what an exhaustive search or any schedule takes, every way
/// in which a proof can be wrong, and files.
#include "algorithms/certificate/time_certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "algorithms/certificate/certify.hpp"
#include "algorithms/certificate/least_time.hpp"
#include "algorithms/certificate/streams.hpp"
#include "algorithms/cost.hpp"
#include "algorithms/io/time_certificate_file.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/tuning/tune.hpp"
#include "exhaustive_time.hpp"
#include "tests/topologies/error_matcher.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;

TimeCertificate certify_time(const Topology& topology, Collective collective, Rank root,
                             std::uint64_t bytes, Time overhead) {
  return LeastTime(topology, certify(topology, collective, root).certificate, overhead).at(bytes);
}

TEST(LeastTime, OfAWordIsTheLongestWay) {
  const Topology topology = make_topology("mesh:1x5?lat=1us");
  for (const Collective collective : all_collectives()) {
    const TimeCertificate proof = certify_time(topology, collective, Rank{0}, 1, Time{0});
    EXPECT_GE(proof.bound, Time{4 * kMicrosecond}) << to_string(collective);
    EXPECT_LE(proof.bound, Time{4 * kMicrosecond + 1000}) << to_string(collective);
  }
}

/// Each round of one message doubles those that know, at most.
TEST(LeastTime, OfAWordIsRoundsOfMessages) {
  for (const auto& [ranks, rounds] : {std::pair{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}}) {
    const Topology topology = make_topology("full:" + std::to_string(ranks) + "?lat=0ns");
    const TimeCertificate proof =
        certify_time(topology, Collective::Broadcast, Rank{0}, 1, Time{kMicrosecond});
    EXPECT_GE(proof.bound, Time{rounds * kMicrosecond}) << ranks;
    EXPECT_LE(proof.bound, Time{rounds * kMicrosecond + 1000}) << ranks;
    const TimeCertificate to_root =
        certify_time(topology, Collective::Reduce, Rank{0}, 1, Time{kMicrosecond});
    EXPECT_LE(to_root.bound, Time{kMicrosecond + 1000}) << "all may send at once";
  }
}

TEST(LeastTime, OfMuchIsTheBandwidthBoundAfterOneMessage) {
  const Topology topology = make_topology("star:4?bw=1GB/s&lat=1us");
  const TimeCertificate proof =
      certify_time(topology, Collective::AllGather, Rank{0}, 4'000'000'000, Time{kMicrosecond});
  // Three of four gigabytes into each rank; a message, and two links.
  EXPECT_EQ(proof.bound, Time{3'000'000 * kMicrosecond + 3 * kMicrosecond});
}

/// Between the two: when three quarters know, a quarter of all is still to come.
TEST(LeastTime, InTheMiddleIsMoreThanEither) {
  const Topology topology = make_topology("full:16?bw=1GB/s&lat=0ns");
  const Time overhead{10 * kMicrosecond};
  TimeCertificate proof = certify_time(topology, Collective::Broadcast, Rank{0}, 450'000, overhead);
  EXPECT_GT(proof.bound, Time{42 * kMicrosecond});  // four rounds are 40
  proof.reason = TimeReason::Arrivals;
  proof.informed = 12;
  EXPECT_GT(evaluate_time(proof, topology), Time{41 * kMicrosecond});
}

/// A tree of links whose way from rank to rank is the only one, of random times.
Topology random_tree(std::mt19937_64& random, std::uint32_t ranks, bool with_switch) {
  TopologyBuilder builder("tree");
  std::vector<NodeId> nodes;
  if (with_switch) nodes.push_back(builder.add_switch("s"));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const NodeId node = builder.add_endpoint();
    if (!nodes.empty()) {
      builder.add_duplex(nodes[random() % nodes.size()], node,
                         Bandwidth{(1 + random() % 3) * 1'000'000'000},
                         Time{static_cast<std::int64_t>(random() % 4) * 500'000});
    }
    nodes.push_back(node);
  }
  return std::move(builder).build();
}

struct Tiny {
  Collective collective;
  std::uint32_t ranks, chunks;
};
void PrintTo(const Tiny& tiny, std::ostream* out) {
  *out << to_string(tiny.collective) << " of " << tiny.chunks << " among " << tiny.ranks;
}

class Exhaustive : public testing::TestWithParam<Tiny> {};

TEST_P(Exhaustive, SearchIsNeverFaster) {
  const auto [collective, ranks, chunks] = GetParam();
  std::mt19937_64 random(7 * ranks + chunks);
  std::uint32_t met = 0;
  for (std::uint32_t n = 0; n < 12; ++n) {
    const Topology topology = random_tree(random, ranks, n % 2 == 1);
    for (const std::uint64_t bytes : {8, 2'000, 100'000}) {
      for (const std::int64_t overhead : {std::int64_t{0}, kMicrosecond}) {
        const std::int64_t least =
            test::exhaustive_time(topology, collective, chunks, bytes, Time{overhead});
        const TimeCertificate proof =
            certify_time(topology, collective, Rank{0}, bytes, Time{overhead});
        EXPECT_TRUE(check_time_certificate(proof, topology).empty());
        EXPECT_LE(proof.bound.picoseconds, least + 20) << bytes << " bytes, network " << n;
        if (100 * least <= 101 * proof.bound.picoseconds) ++met;
      }
    }
  }
  EXPECT_GT(met, 0U) << "a bound that nothing meets";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Exhaustive,
    testing::Values(Tiny{Collective::Broadcast, 2, 3}, Tiny{Collective::Broadcast, 3, 2},
                    Tiny{Collective::Broadcast, 4, 1}, Tiny{Collective::Broadcast, 5, 1},
                    Tiny{Collective::AllGather, 3, 1}, Tiny{Collective::Scatter, 3, 1}));

/// What is made for a network takes no less than what is proved of it.
TEST(LeastTime, IsBelowEverySchedule) {
  for (const char* network : {"torus:4x4", "mesh:3x3?slow=1:0.25", "star:5", "full:4", "ring:1",
                              "dgx-a100:2?ranks=0-3,8-11", "fattree:2x3x2", "mesh:2x3"}) {
    const Topology topology = make_topology(network);
    for (const Collective collective : all_collectives()) {
      const LeastTime least(topology, certify(topology, collective).certificate, kMessageOverhead);
      const LeastTime without(topology, certify(topology, collective).certificate, Time{0});
      for (const std::string& spec : candidate_specs()) {
        Schedule schedule;
        try {
          schedule = generate_schedule(spec, topology, collective, Rank{0});
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
          continue;
        }
        SCOPED_TRACE(std::string(network) + " " + spec + " " + std::string(to_string(collective)));
        for (const std::uint64_t bytes : {8ULL, 4096ULL, 1ULL << 16, 1ULL << 20, 1ULL << 28}) {
          const auto time = [&](Time overhead) {
            CostModel cost;
            cost.message_overhead = overhead;
            return predict_time(schedule, topology, bytes, cost).seconds();
          };
          // Predictions round each transfer's time to a picosecond.
          EXPECT_LE(0.999 * least.seconds(bytes), time(kMessageOverhead)) << bytes;
          EXPECT_LE(0.999 * without.seconds(bytes), time(Time{0})) << bytes;
        }
      }
    }
  }
}

/// The farthest rank is 4 us away, and what leaves a corner has one link to do so.
TEST(Streams, AddLatencyToWhatTheEndsCarry) {
  const Topology line = make_topology("mesh:1x5?lat=1us&bw=1GB/s");
  EXPECT_EQ(Streams(line).at(1000).bound, Time{5 * kMicrosecond});
  // By two links of a corner, 6 us from the opposite one.
  const Topology mesh = make_topology("mesh:4x4?lat=1us&bw=1GB/s");
  EXPECT_EQ(Streams(mesh).at(1000).bound, Time{6 * kMicrosecond + kMicrosecond / 2});
  EXPECT_LT(certify_time(mesh, Collective::AllReduce, Rank{0}, 1000, Time{0}).bound,
            Streams(mesh).at(1000).bound);
  // The slower of two links to a switch is used for 1 us less than the faster: 3 us * 1 GB/s and
  // 2 us * 1 GB/s are 5 KB.
  TopologyBuilder builder("two ways");
  const NodeId a = builder.add_endpoint(), b = builder.add_endpoint();
  builder.add_duplex(a, b, Bandwidth{1'000'000'000}, Time{kMicrosecond});
  builder.add_duplex(a, b, Bandwidth{1'000'000'000}, Time{2 * kMicrosecond});
  EXPECT_EQ(Streams(std::move(builder).build()).at(5000).bound, Time{4 * kMicrosecond});
}

TEST(Streams, AreBelowEverySchedule) {
  for (const char* network : {"torus:4x4", "mesh:3x3?slow=1:0.25", "star:5", "full:4", "ring:1",
                              "dgx-a100:2?ranks=0-3,8-11", "fattree:2x3x2", "mesh:2x3"}) {
    const Topology topology = make_topology(network);
    const Streams streams(topology);
    for (const std::string& spec : candidate_specs()) {
      Schedule schedule;
      try {
        schedule = generate_schedule(spec, topology, Collective::AllReduce, Rank{0});
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
        continue;
      }
      for (const std::uint64_t bytes : {8ULL, 4096ULL, 65536ULL, 1ULL << 20, 1ULL << 28}) {
        const TimeCertificate proof = streams.at(bytes);
        EXPECT_TRUE(check_time_certificate(proof, topology).empty());
        EXPECT_LE(0.999 * proof.bound.seconds(), predict_time(schedule, topology, bytes).seconds())
            << network << ' ' << spec << ' ' << bytes;
      }
    }
  }
}

TEST(Streams, OfShardsAreShorter) {
  const Topology mesh = make_topology("mesh:2x2?lat=1us&bw=1GB/s");
  TimeCertificate proof = Streams(mesh).at(4000);
  EXPECT_EQ(proof.bound, Time{4 * kMicrosecond});
  proof.path = {Rank{0}, Rank{3}};
  EXPECT_EQ(evaluate_time(proof, mesh), proof.bound);
  proof.collective = Collective::AllGather;
  EXPECT_EQ(evaluate_time(proof, mesh), Time{2 * kMicrosecond + kMicrosecond / 2});
  proof.message_overhead = Time{kMicrosecond};
  EXPECT_EQ(evaluate_time(proof, mesh), Time{3 * kMicrosecond + kMicrosecond / 2});
}

TEST(LeastTime, GrowsWithSizeAndOverhead) {
  const Topology topology = make_topology("mesh:3x3");
  for (const Collective collective : all_collectives()) {
    Time before{};
    for (std::uint64_t bytes = 1; bytes <= 1ULL << 30; bytes *= 8) {
      const Time now = certify_time(topology, collective, Rank{4}, bytes, Time{1000}).bound;
      EXPECT_GE(now, before);
      EXPECT_GE(certify_time(topology, collective, Rank{4}, bytes, Time{1'000'000}).bound, now);
      before = now;
    }
  }
}

const Topology& network() {
  static const Topology topology = make_topology("fattree:2x3x2");
  return topology;
}

struct TimeMutation {
  const char* name;
  std::uint64_t bytes;
  TimeFault fault;
  std::function<void(TimeCertificate&)> apply;
};
void PrintTo(const TimeMutation& mutation, std::ostream* out) { *out << mutation.name; }

class MutatedTime : public testing::TestWithParam<TimeMutation> {};

TEST_P(MutatedTime, IsFoundAndNamed) {
  TimeCertificate proof =
      certify_time(network(), Collective::AllReduce, Rank{0}, GetParam().bytes, Time{kMicrosecond});
  ASSERT_TRUE(check_time_certificate(proof, network()).empty());
  GetParam().apply(proof);
  const std::vector<TimeViolation> found = check_time_certificate(proof, network());
  EXPECT_TRUE(std::ranges::any_of(found, [](const TimeViolation& one) {
    return one.fault == GetParam().fault;
  })) << (found.empty() ? "nothing found" : found.front().message);
}

constexpr std::uint64_t kWord = 8, kMuch = 64 << 20;
const TimeMutation kTimeMutations[] = {
    {"bound too high", kWord, TimeFault::WrongBound, [](auto& c) { ++c.bound.picoseconds; }},
    {"bound too low", kWord, TimeFault::WrongBound, [](auto& c) { --c.bound.picoseconds; }},
    {"bound of much too high", kMuch, TimeFault::WrongBound,
     [](auto& c) { ++c.bound.picoseconds; }},
    {"other size", kMuch, TimeFault::WrongBound, [](auto& c) { c.bytes *= 2; }},
    {"other overhead", kWord, TimeFault::WrongBound,
     [](auto& c) { c.message_overhead.picoseconds *= 2; }},
    {"other reason", kWord, TimeFault::WrongBound, [](auto& c) { c.reason = TimeReason::Path; }},
    {"other network", kWord, TimeFault::WrongNetwork, [](auto& c) { c.ranks = 7; }},
    {"root without a rooted collective", kWord, TimeFault::WrongCollective,
     [](auto& c) { c.root = Rank{1}; }},
    {"spread of what only one rank gets", kWord, TimeFault::WrongCollective,
     [](auto& c) { c.collective = Collective::Reduce; }},
    {"path from no rank", kWord, TimeFault::BadPath,
     [](auto& c) {
       c.reason = TimeReason::Path;
       c.path.first = Rank{6};
     }},
    {"broadcast from another rank", kWord, TimeFault::BadPath,
     [](auto& c) {
       c.collective = Collective::Broadcast;
       c.reason = TimeReason::Path;
       c.path.first = Rank{2};
     }},
    {"reduction to another rank", kWord, TimeFault::BadPath,
     [](auto& c) {
       c.collective = Collective::Reduce;
       c.reason = TimeReason::Path;
       c.path = {Rank{0}, Rank{1}};
     }},
    {"stream to no rank", kWord, TimeFault::BadPath,
     [](auto& c) {
       c.reason = TimeReason::Stream;
       c.path = {Rank{0}, Rank{6}};
     }},
    {"stream of an alltoall", kWord, TimeFault::WrongCollective,
     [](auto& c) {
       c.reason = TimeReason::Stream;
       c.collective = Collective::AllToAll;
     }},
    {"stream of another size", kWord, TimeFault::WrongBound,
     [](auto& c) {
       c = Streams(network()).at(1 << 20);
       c.bytes *= 2;
     }},
    {"stream between others", kWord, TimeFault::WrongBound,
     [](auto& c) {
       c = Streams(network()).at(1 << 20);
       c.path.second = c.path.first;
     }},
    {"nobody informed", kWord, TimeFault::BadCount,
     [](auto& c) {
       c.reason = TimeReason::Arrivals;
       c.informed = 0;
     }},
    {"all informed", kWord, TimeFault::BadCount,
     [](auto& c) {
       c.reason = TimeReason::Arrivals;
       c.informed = 6;
     }},
    {"no cuts", kWord, TimeFault::BadCuts, [](auto& c) { c.reason = TimeReason::Cuts; }},
    {"cut lost", kMuch, TimeFault::BadCuts, [](auto& c) { c.cuts.cuts.pop_back(); }},
    {"cuts for another collective", kMuch, TimeFault::BadCuts,
     [](auto& c) { c.cuts = certify(network(), Collective::AllGather).certificate; }},
};

INSTANTIATE_TEST_SUITE_P(TimeCertificates, MutatedTime, testing::ValuesIn(kTimeMutations));

TEST(TimeCertificateFiles, AreReadBackAndWrittenTheSame) {
  const Topology topology = make_topology("fattree:2x3x2");
  for (const Collective collective : all_collectives()) {
    for (const std::uint64_t bytes : {8ULL, 1ULL << 16, 1ULL << 30}) {
      const TimeCertificate proof =
          certify_time(topology, collective, Rank{5}, bytes, Time{kMicrosecond});
      const std::string text = write_time_certificate_json(proof, topology);
      EXPECT_TRUE(is_time_certificate(text));
      const TimeCertificateFile file = parse_time_certificate_json(text, "file");
      EXPECT_EQ(file.certificate, proof);
      EXPECT_EQ(file.topology, topology);
      EXPECT_EQ(write_time_certificate_json(file.certificate, file.topology), text);
    }
  }
  const TimeCertificate stream = Streams(topology).at(1000);
  const std::string text = write_time_certificate_json(stream, topology);
  EXPECT_EQ(parse_time_certificate_json(text, "file").certificate, stream);
}

struct BadTimeText {
  const char *from, *to, *message;
};
void PrintTo(const BadTimeText& bad, std::ostream* out) { *out << bad.to; }

class BadTimeCertificates : public testing::TestWithParam<BadTimeText> {};

TEST_P(BadTimeCertificates, NameFileAndLine) {
  const Topology topology = make_topology("star:4");
  std::string text = write_time_certificate_json(
      certify_time(topology, Collective::Broadcast, Rank{0}, 8, Time{kMicrosecond}), topology);
  const auto [from, to, message] = GetParam();
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(from).size(), to);
  const std::string error =
      error_of(ErrorCode::InvalidInput, [&] { parse_time_certificate_json(text, "t.json"); });
  EXPECT_THAT(error, testing::StartsWith("t.json:"));
  EXPECT_THAT(error, testing::HasSubstr(message));
}

/// How the reason stands in the text that is changed.
constexpr const char* kArrivals = "\"arrivals\",\n\"informed\":3}";

INSTANTIATE_TEST_SUITE_P(
    Texts, BadTimeCertificates,
    testing::Values(BadTimeText{"certificate/1", "certificate/2", "expected the schema"},
                    BadTimeText{"\"arrivals\"", "\"hope\"", "expected a reason"},
                    BadTimeText{kArrivals, "\"path\",\n\"path\":[0]}", "expected two ranks, got 1"},
                    BadTimeText{kArrivals, "\"path\",\n\"path\":[0,4]}",
                                "expected an integer from 0"},
                    BadTimeText{"\"bytes\":8", "\"bytes\":-8", "expected an integer"},
                    BadTimeText{"\"1us\"", "\"1\"", "expected a time"},
                    BadTimeText{"store and forward", "magic", "expected the model"}));

}  // namespace
}  // namespace multitree
