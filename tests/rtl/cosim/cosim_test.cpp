// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every begun entry, flit, added word, message and step of random points of (topology, algorithm,
/// collective, flow control, issue, type, size, buffers) in every cycle, and every sum.
///
/// MULTITREE_COSIM_POINTS: how many points instead of 240; MULTITREE_COSIM_SEED: others than in CI.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "rtl/sim/cosim.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

constexpr std::array kTopologies = {"ring:2",           "ring:3",
                                    "ring:5",           "mesh:3",
                                    "mesh:2x3",         "mesh:3x3",
                                    "mesh:4x4",         "torus:2x2",
                                    "torus:3x2",        "torus:3x3",
                                    "torus:4x2",        "torus:4x4",
                                    "torus:5x3",        "torus:4x1",
                                    "full:4",           "full:5",
                                    "hypercube:3",      "hypercube:4",
                                    "star:3",           "star:6",
                                    "fattree:2x2",      "fattree:2x3",
                                    "fattree:4x4",      "fattree3:4",
                                    "bigraph:2x2",      "bigraph:3x2",
                                    "dragonfly:2x1x1",  "twisted-torus:4x2",
                                    "mesh:2x2?lat=2ns", "torus:3x3?lat=7ns",
                                    "ring:4?lat=40ns",  "circulant:7?offsets=1,2"};
/// Switches that add and copy; the last ones, beside others that only forward.
constexpr std::array kInNetwork = {
    "star:3?switches=add,copy",
    "star:4?switches=add,copy&lat=3ns",
    "star:7?switches=add,copy",
    "fattree:2x2?switches=add,copy",
    "fattree:3x2?switches=add,copy&lat=20ns",
    "fattree:4x4?switches=add,copy",
    "fattree3:4?switches=add,copy",
    "bigraph:2x2?switches=add,copy",
    "bigraph:4x4?switches=add,copy",
    "dgx-a100:1?nvlink=25GB/s&switches=add,copy",
    "dgx-h100:2?nvlink=50GB/s&lat=9ns&nic-lat=15ns&switches=add,copy",
    "fattree:2x2?switches=leaf0:add,leaf0:copy",
    "fattree:3x3?switches=leaf1:add,leaf1:copy,spine0:add,spine0:copy"};
constexpr std::array kSizes = {8, 64, 200, 1000, 1024, 4096, 4104, 9000, 16384, 32768};
constexpr std::uint32_t kPointsPerTest = 10;
constexpr std::uint32_t kFirstShared = 500'000;  // of the points with shared units
constexpr std::uint32_t kFirstSynthesized = 2'000'000;
constexpr std::uint32_t kFirstSlow = 3'000'000;       // of the points with slow memory
constexpr std::uint32_t kFirstInNetwork = 4'000'000;  // of those with switches that add and copy
constexpr std::uint32_t kFirstLimited = 5'000'000;    // of those with few words of memory
constexpr std::uint32_t kFirstLimitedShared = 6'000'000;

std::uint32_t from_environment(const char* name, std::uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

struct Point {
  std::string topology, algorithm;
  multitree::Collective collective = multitree::Collective::AllReduce;
  std::uint64_t bytes = 0;
  nic::Parameters parameters;
  HardwareType type = HardwareType::Fp32;
  bool own_chunks = false;
};

template <typename T, std::size_t N>
const T& pick(const std::array<T, N>& all, std::mt19937& random) {
  return all[random() % N];
}

/// A number of its own for each point, so that they do not depend on each other.
Point make_point(std::uint32_t number) {
  std::mt19937 random(from_environment("MULTITREE_COSIM_SEED", 1) * 1'000'003 + number);
  constexpr std::array kCollectives = {
      multitree::Collective::AllReduce, multitree::Collective::AllReduce,
      multitree::Collective::AllReduce, multitree::Collective::ReduceScatter,
      multitree::Collective::AllGather, multitree::Collective::Broadcast,
      multitree::Collective::Reduce};
  constexpr std::array kTypes = {HardwareType::Fp32, HardwareType::Int32, HardwareType::Bf16,
                                 HardwareType::Fp16};
  Point point;
  // Each topology in turn, so that a few points have them all.
  point.topology = kTopologies[number % kTopologies.size()];
  const auto all = algorithms();
  point.algorithm = all[random() % all.size()].name;
  point.collective = pick(kCollectives, random);
  point.bytes = static_cast<std::uint64_t>(pick(kSizes, random));
  point.type = pick(kTypes, random);
  nic::Parameters& p = point.parameters;
  p.flow_control = random() % 2 == 0 ? nic::FlowControl::Message : nic::FlowControl::Packet;
  p.issue = random() % 2 == 0 ? nic::Issue::Dependency : nic::Issue::Lockstep;
  constexpr std::array kPackets = {32U, 64U, 256U, 256U, 1024U};
  p.packet_bytes = pick(kPackets, random);
  constexpr std::array kBuffers = {2U, 20U, 318U, 318U, 512U};
  p.buffer_flits = pick(kBuffers, random);
  constexpr std::array kChannels = {2U, 4U, 4U};
  p.virtual_channels = pick(kChannels, random);
  point.own_chunks = random() % 2 == 0;
  // Far fewer places than a link's round trip: right, but slow.
  if (p.buffer_flits < 100) point.bytes = std::min<std::uint64_t>(point.bytes, 1024);
  return point;
}

std::string describe(const Point& p) {
  return fmt::format("{} {} {} {} bytes, type {}, {}", p.topology, p.algorithm,
                     multitree::to_string(p.collective), p.bytes, static_cast<int>(p.type),
                     nic::write_parameters(p.parameters));
}

class Cosimulation : public testing::TestWithParam<std::uint32_t> {};

/// Memory of a point's own latency, and words that wait for it in turn; few bytes, for without
/// words enough they take long.
void slow_memory(std::uint32_t number, Point& point) {
  std::mt19937 random(from_environment("MULTITREE_COSIM_SEED", 1) * 1'000'003 + number);
  constexpr std::array kCycles = {1U, 20U, 100U, 200U, 400U};
  nic::Parameters& p = point.parameters;
  p.memory_cycles = random() % 4 == 0 ? static_cast<std::uint32_t>(1 + random() % 400)
                                      : kCycles[number % kCycles.size()];
  p.send_words = kWordsUnderWay[number % kWordsUnderWay.size()].send;
  p.add_words = kWordsUnderWay[number % kWordsUnderWay.size()].add;
  point.bytes = std::min<std::uint64_t>(point.bytes, p.send_words > 4 ? 9000 : 1024);
}

/// A network whose switches work, in as many pieces as the point's number says; slow memory now and
/// then.
void work_in_network(std::uint32_t number, Point& point) {
  constexpr std::array kSegments = {1U, 2U, 5U, 16U, 40U};
  std::mt19937 random(from_environment("MULTITREE_COSIM_SEED", 1) * 1'000'003 + number);
  point.topology = kInNetwork[number % kInNetwork.size()];
  point.algorithm = fmt::format("in-network?segments={}", pick(kSegments, random));
  if (random() % 4 == 0) {
    point.parameters.memory_cycles = static_cast<std::uint32_t>(1 + random() % 50);
  }
}

/// Few words of memory in a cycle, of a latency of its own; switches that work now and then.
void limit_memory(std::uint32_t number, Point& point) {
  slow_memory(number, point);
  std::mt19937 random(from_environment("MULTITREE_COSIM_SEED", 1) * 2'000'003 + number);
  if (random() % 4 == 0) work_in_network(number, point);
  constexpr std::array kLatencies = {1U, 1U, 5U, 30U, 150U};
  constexpr std::array kPorts = {1U, 1U, 2U, 3U, 4U, 7U};
  point.parameters.memory_cycles = pick(kLatencies, random);
  point.parameters.memory_ports = pick(kPorts, random);
}

/// As above, with two ports a reduction unit, which have the usual words; some slow memory without
/// a limit.
void limit_shared(std::uint32_t number, Point& point) {
  limit_memory(number, point);
  const nic::Parameters usual;
  point.parameters.send_words = usual.send_words;
  point.parameters.add_words = usual.add_words;
  if (number % 4 == 0) point.parameters.memory_ports = 0;
  point.bytes =
      std::min<std::uint64_t>(point.bytes, point.parameters.memory_cycles > 5 ? 1024 : 9000);
}

/// Ten points from `first` on, with so many ports a reduction unit.
/// \param change of a point, by its number
void compare_points(std::uint32_t first, std::uint32_t ports_per_unit, bool synthesized = false,
                    const std::function<void(std::uint32_t, Point&)>& change = {}) {
  std::uint32_t compared = 0, unsupported = 0;
  std::uint64_t events = 0;
  // Points that are not possible (an algorithm on a network, a route, too many early worms) do not
  // count: others take their place.
  for (std::uint32_t i = 0; compared < kPointsPerTest && i < 40 * kPointsPerTest; ++i) {
    Point point = make_point(first + i);
    point.parameters.ports_per_unit = ports_per_unit;
    if (change) change(first + i, point);
    SCOPED_TRACE(describe(point));
    const Topology topology = make_topology(point.topology);
    try {
      const Schedule schedule = make_schedule(point.algorithm, topology, point.collective, Rank{0});
      const CosimResult result = cosimulate(
          schedule, topology, point.bytes, point.parameters,
          {.type = point.type, .own_chunks = point.own_chunks, .synthesized = synthesized});
      EXPECT_EQ(result.difference, "");
      EXPECT_EQ(result.wrong, "");
      for (const std::string& error : result.hardware.errors) ADD_FAILURE() << error;
      EXPECT_EQ(result.hardware.cycles, result.model_cycles);
      events += result.events;
      ++compared;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Unsupported) << error.what();
      ++unsupported;
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(compared, kPointsPerTest);
  fmt::print("{} points, {} events compared, {} points not possible\n", compared, events,
             unsupported);
}

TEST_P(Cosimulation, ModelAndHardwareAgreeInEveryCycle) { compare_points(GetParam() * 1000, 1); }

std::uint32_t tests_of(std::uint32_t points) {
  return (points + kPointsPerTest - 1) / kPointsPerTest;
}

INSTANTIATE_TEST_SUITE_P(Random, Cosimulation,
                         testing::Range(0U,
                                        tests_of(from_environment("MULTITREE_COSIM_POINTS", 240))));

/// A fourth as many, others: two ports a reduction unit.
class SharedUnits : public testing::TestWithParam<std::uint32_t> {};

TEST_P(SharedUnits, ModelAndHardwareAgreeInEveryCycle) {
  compare_points(kFirstShared + GetParam() * 1000, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Random, SharedUnits,
    testing::Range(0U, tests_of(from_environment("MULTITREE_COSIM_POINTS", 240) / 4)));

/// A twelfth as many: the hardware as it is synthesized, without what simulation skips.
class AsSynthesized : public testing::TestWithParam<std::uint32_t> {};

TEST_P(AsSynthesized, ModelAndHardwareAgreeInEveryCycle) {
  compare_points(kFirstSynthesized + GetParam() * 1000, 1, true);
}

INSTANTIATE_TEST_SUITE_P(
    Random, AsSynthesized,
    testing::Range(0U, tests_of(from_environment("MULTITREE_COSIM_POINTS", 240) / 12)));

/// An eighth as many: memory that takes up to 400 cycles, and few or many words that wait for it.
class SlowMemory : public testing::TestWithParam<std::uint32_t> {};

TEST_P(SlowMemory, ModelAndHardwareAgreeInEveryCycle) {
  compare_points(kFirstSlow + GetParam() * 1000, 1, false, slow_memory);
}

INSTANTIATE_TEST_SUITE_P(
    Random, SlowMemory,
    testing::Range(0U, tests_of(from_environment("MULTITREE_COSIM_POINTS", 240) / 8)));

/// A fourth as many: memory that accepts few words in a cycle, for which all ports take turns.
class LimitedMemory : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LimitedMemory, ModelAndHardwareAgreeInEveryCycle) {
  compare_points(kFirstLimited + GetParam() * 1000, 1, GetParam() % 3 == 2, limit_memory);
}

INSTANTIATE_TEST_SUITE_P(
    Random, LimitedMemory,
    testing::Range(0U, tests_of(from_environment("MULTITREE_COSIM_POINTS", 240) / 4)));

/// A sixth as many: that, and units for two ports.
class LimitedSharedUnits : public testing::TestWithParam<std::uint32_t> {};

TEST_P(LimitedSharedUnits, ModelAndHardwareAgreeInEveryCycle) {
  compare_points(kFirstLimitedShared + GetParam() * 1000, 2, false, limit_shared);
}

INSTANTIATE_TEST_SUITE_P(
    Random, LimitedSharedUnits,
    testing::Range(0U, tests_of(from_environment("MULTITREE_COSIM_POINTS", 240) / 6)));

/// A third as many: switches that add and copy.
class InNetwork : public testing::TestWithParam<std::uint32_t> {};

TEST_P(InNetwork, ModelAndHardwareAgreeInEveryCycle) {
  compare_points(kFirstInNetwork + GetParam() * 1000, 1, GetParam() % 2 == 1, work_in_network);
}

INSTANTIATE_TEST_SUITE_P(
    Random, InNetwork,
    testing::Range(0U, tests_of(from_environment("MULTITREE_COSIM_POINTS", 240) / 3)));

/// The networks and schedules that results are reported for.
TEST(CosimulationOf, TheNetworksInTheDocuments) {
  const std::array networks = {"torus:4x4", "mesh:4x4", "fattree:4x4"};
  for (const char* network : networks) {
    const Topology topology = make_topology(network);
    for (const auto& [algorithm, issue] :
         {std::pair("multitree", nic::Issue::Dependency), std::pair("ring", nic::Issue::Dependency),
          std::pair("allreduce-optimal", nic::Issue::Lockstep)}) {
      SCOPED_TRACE(fmt::format("{} {}", network, algorithm));
      nic::Parameters parameters;
      parameters.issue = issue;
      const CosimResult result =
          cosimulate(make_schedule(algorithm, topology), topology, 32768, parameters, {});
      EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
    }
  }
}

/// 256 KiB on a 4x4 torus with links of 150 cycles, with the hardware's adders.
TEST(CosimulationOf, MultitreeIsAsFastAsItIsMeantToBe) {
  const Topology topology = make_topology("torus:4x4");
  const CosimResult result =
      cosimulate(make_schedule("multitree", topology), topology, 256 * 1024, {}, {});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
  EXPECT_LE(result.hardware.cycles, 10'900U);
}

/// Memory of 200 and 400 cycles with words enough costs little more than its latency; with fewer so
/// many words in that time.
TEST(CosimulationOf, SlowMemoryIsHiddenByWordsEnough) {
  const Topology topology = make_topology("torus:2x2?lat=20ns");
  const Schedule schedule = make_schedule("multitree", topology);
  const auto cycles = [&](std::uint32_t latency, const WordsUnderWay& words) {
    const CosimResult result = cosimulate(
        schedule, topology, 128 * 1024,
        {.memory_cycles = latency, .send_words = words.send, .add_words = words.add}, {});
    EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
    return result.hardware.cycles;
  };
  const std::uint64_t best = cycles(1, kWordsUnderWay[0]);
  EXPECT_LT(cycles(200, kWordsUnderWay[2]), best + 10 * 200);
  EXPECT_LT(cycles(400, kWordsUnderWay[2]), best + 10 * 400);
  const std::uint64_t few = cycles(100, kWordsUnderWay[1]);
  EXPECT_GT(few, best * 101 / kWordsUnderWay[1].send * 9 / 10);
  EXPECT_LT(few, best * 101 / kWordsUnderWay[1].send * 3 / 2);
}

/// Words of memory limit what links carry, and enough of them do not.
TEST(CosimulationOf, FewWordsOfMemoryAreWhatLimits) {
  const Topology topology = make_topology("torus:2x2?lat=20ns");
  const Schedule schedule = make_schedule("multitree", topology);
  const auto cycles = [&](std::uint32_t ports) {
    const CosimResult result =
        cosimulate(schedule, topology, 64 * 1024, {.memory_ports = ports}, {});
    EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
    return result.hardware.cycles;
  };
  const std::uint64_t best = cycles(0);
  EXPECT_EQ(cycles(3 * 2), best);  // three for each port
  const std::uint64_t one = cycles(1), two = cycles(2), three = cycles(3);
  EXPECT_GT(one, 2 * best);
  EXPECT_LT(one, 4 * best);
  EXPECT_LT(two, one);
  EXPECT_LT(three, two);
}

/// 256 KiB as above with two ports a reduction unit.
TEST(CosimulationOf, SharedUnitsCostNoMoreThanTheyAreMeantTo) {
  const Topology topology = make_topology("torus:4x4");
  const CosimResult result = cosimulate(make_schedule("multitree", topology), topology, 256 * 1024,
                                        {.ports_per_unit = 2}, {});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
  EXPECT_LE(result.hardware.cycles, 17'800U);
}

/// More worms are early at a time than the usual places hold: interfaces with more of them, or no
/// before anything runs.
TEST(CosimulationOf, EarlyWormsHavePlacesOrAreRefusedBefore) {
  const Topology cube = make_topology("hypercube:4?lat=30ns");
  const CosimResult result = cosimulate(make_schedule("forest", cube), cube, 4096, {}, {});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
  nic::Parameters usual;
  usual.ports_per_unit = 2;  // there are none with more places that share units
  EXPECT_THROW((void)cosimulate(make_schedule("forest", cube), cube, 4096, usual, {}), Error);
  const Topology torus = make_topology("torus:5x5");
  nic::Parameters packets;
  packets.flow_control = nic::FlowControl::Packet;
  try {
    (void)cosimulate(make_schedule("recursive-doubling", torus), torus, 65536, packets, {});
    FAIL() << "more places than there can be";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_NE(std::string(error.what()).find("none of park_slots (255) is free"), std::string::npos)
        << error.what();
  }
}

TEST(CosimulationOf, SixtyFourRanks) {
  const Topology topology = make_topology("torus:8x8");
  const CosimResult result = cosimulate(make_schedule("multitree", topology), topology, 64 * 1024,
                                        {}, {.adders = Adders::Function});
  EXPECT_TRUE(result.agrees()) << result.difference << result.wrong;
}

}  // namespace
}  // namespace multitree::rtl
