// SPDX-License-Identifier: BSD-3-Clause
/// Memory with a limited number of words in a cycle: cycles worked out by hand from
/// docs/nic-spec.md, and what no limit may change.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <tuple>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "pipelined.hpp"
#include "simulation.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::Parameters;
using namespace test::pipelined;
using testing::HasSubstr;

Parameters limited(std::uint32_t ports, Parameters p = kPipelined) {
  p.memory_ports = ports;
  return p;
}

/// Every word that is issued in a simulation, one a line.
std::string events_of(const char* topology, const char* algorithm, const Parameters& parameters) {
  const Topology network = make_topology(topology);
  test::Recorder seen;
  const nic::Simulation result = nic::simulate(make_schedule(algorithm, network), network, 4096,
                                               parameters, {.data = true, .observer = &seen});
  EXPECT_TRUE(result.errors.empty()) << result.errors.front();
  std::vector<std::string> lines;
  for (const auto& i : seen.issues) {
    lines.push_back(
        fmt::format("{:08} {} {} {} {} {}", i.cycle, i.rank, i.port, i.piece, i.turn, i.pos));
  }
  std::ranges::sort(lines);  // those of a cycle come in any order
  return fmt::format("{} cycles, {} flits\n{}\n", result.cycles, result.link_flits,
                     fmt::join(lines, "\n"));
}

// A limit that nobody reaches: words for all streams of the interface with the most ports. All goes
// another way through the model, and nothing changes.
TEST(LimitedMemory, WordsForAllStreamsAreNoLimit) {
  struct Case {
    const char *topology, *algorithm;
    std::uint32_t streams;
  };
  for (const Case& c :
       {Case{"torus:3x3", "multitree", 12}, Case{"mesh:2x3", "ring", 9},
        Case{"hypercube:3", "recursive-doubling", 9}, Case{"fattree:2x2", "multitree", 3},
        Case{"torus:4x4", "allreduce-optimal", 12}, Case{"ring:5?lat=7ns", "multitree", 6}}) {
    for (const nic::FlowControl flow : {nic::FlowControl::Message, nic::FlowControl::Packet}) {
      for (const auto& [latency, words, shared] :
           {std::tuple(1U, 4U, 1U), std::tuple(1U, 2U, 2U), std::tuple(30U, 20U, 1U),
            std::tuple(30U, 31U, 2U), std::tuple(30U, 31U, 1U), std::tuple(30U, 2U, 2U)}) {
        SCOPED_TRACE(
            fmt::format("{} {} {} {} {}", c.topology, c.algorithm, latency, words, shared));
        Parameters p = nic::as_hardware({});
        p.flow_control = flow;
        p.memory_cycles = latency;
        p.send_words = p.add_words = words;
        p.ports_per_unit = shared;
        const std::string best = events_of(c.topology, c.algorithm, p);
        p.memory_ports = c.streams;
        EXPECT_EQ(events_of(c.topology, c.algorithm, p), best);
      }
    }
  }
}

// A port that sends and one that adds, each at its own interface: one word read and one written in
// a cycle is all that they ask for.
TEST(LimitedMemory, OneLinkNeedsAWord) {
  const Sum one = test::pipelined::run({150}, 1, limited(1));
  EXPECT_EQ(one.seen.issues_of(0, 0, 0), in_a_row(153));
  EXPECT_EQ(one.result.cycles, test::pipelined::run({150}).result.cycles);
}

// The sums of two children come to the root at the same time, and each word wants one to add to and
// is written: a word of memory each, of one in a cycle. Flits wait for it: beside the buffer each
// would take one read and one written more.
TEST(LimitedMemory, TwoPortsShareAWord) {
  const Sum two = test::pipelined::run({150, 150}, 2, limited(1));
  EXPECT_TRUE(two.result.errors.empty());
  constexpr std::uint64_t kWords = 2 * 2 * test::pipelined::kFlits;
  EXPECT_GE(two.result.cycles, 153 + kWords);
  EXPECT_LE(two.result.cycles, 153 + kWords + kWords / 10);
}

// More words never take longer by more than a few of them, and no fewer than are written.
TEST(LimitedMemory, TimeFollowsTheWords) {
  std::uint64_t before = ~std::uint64_t{0};
  for (const std::uint32_t ports : {1U, 2U, 3U, 4U, 6U, 8U, 12U}) {
    Parameters p = limited(ports, nic::as_hardware({}));
    const std::uint64_t cycles =
        test::simulate_checked({"torus:4x4", "symmetric", 64 << 10}, p).cycles;
    EXPECT_LE(cycles, before + before / 20) << ports;
    // Reduced and gathered, 15 parts of 16 each.
    EXPECT_GE(cycles * ports, 2 * (64 << 10) / 16 * 15 / 16) << ports;
    before = cycles;
  }
}

// An interface of which no port ever gets a word while the others do would never be done: all end
// with the right sums, whatever waits.
TEST(LimitedMemory, NobodyStarves) {
  for (const char* topology : {"full:6", "torus:3x3x3", "star:5"}) {
    for (const std::uint32_t latency : {1U, 50U}) {
      SCOPED_TRACE(fmt::format("{} {}", topology, latency));
      Parameters p = limited(1, nic::as_hardware({}));
      p.memory_cycles = latency;
      EXPECT_GT(test::simulate_checked({topology, "multitree", 20'000}, p).cycles, 0U);
    }
  }
}

TEST(LimitedMemory, RefusesWhatHasNoMeaning) {
  const auto message = [](const Parameters& parameters) {
    try {
      (void)test::pipelined::run({150}, 1, parameters);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Unsupported);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message(limited(4)),
              HasSubstr("expected memory_ports of at most 3, three for each of "
                        "1 ports of an interface, or 0 for no limit, got 4"));
  Parameters no_adders = limited(1);
  no_adders.reduction_cycles = 0;
  EXPECT_THAT(message(no_adders), HasSubstr("reduction_cycles of at least 1"));
}

}  // namespace
}  // namespace multitree
