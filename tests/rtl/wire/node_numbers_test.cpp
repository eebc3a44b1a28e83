// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How frames name nodes, which process has which, and how nodes of a process share its port.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/frame_port.hpp"
#include "rtl/wire/node_numbers.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

using Bytes = std::vector<std::byte>;

TEST(WireNodes, AreRanksAndThenSwitches) {
  for (const char* network : {"fattree:2x2", "star:5", "dgx-a100:2", "mesh:2x3"}) {
    const Topology topology = make_topology(network);
    const NodeNumbers numbers(topology);
    ASSERT_EQ(numbers.size(), topology.num_nodes());
    for (std::uint32_t i = 0; i < numbers.size(); ++i) {
      const auto& node = topology.node(numbers.node(i));
      EXPECT_EQ(numbers.of(numbers.node(i)), i);
      EXPECT_EQ(node.is_switch(), i >= topology.num_ranks());
      EXPECT_EQ(numbers.name(i), node.rank ? "rank " + std::to_string(i) : "switch " + node.name);
    }
  }
}

/// The cables of both ends of a link are each other's reverse.
TEST(WireNodes, AgreeOnTheirCables) {
  const Topology topology = make_topology("fattree:2x2");
  const NodeNumbers numbers(topology);
  std::vector<Way> ways;
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    const Cables cables = make_cables(topology, numbers.node(i), 0, 1500, {});
    for (const Cable& cable : cables.all) {
      EXPECT_EQ(cable.peer(), numbers.name(cable.way().to));
      ways.push_back(cable.way());
    }
  }
  EXPECT_EQ(ways.size(), topology.num_links());
  for (const Way& way : ways) {
    EXPECT_EQ(std::ranges::count(ways, Way{way.to, way.from, way.lane}), 1);
  }
}

TEST(WireNodes, AreInAProcessEachOrSwitchesBesideRanks) {
  using Places = std::vector<std::uint32_t>;
  EXPECT_EQ(processes_of(make_topology("star:3"), 4), (Places{0, 1, 2, 3}));
  EXPECT_EQ(processes_of(make_topology("star:3"), 3), (Places{0, 1, 2, 0}));
  EXPECT_EQ(processes_of(make_topology("mesh:2x2"), 4), (Places{0, 1, 2, 3}));
  // Ranks 0 and 1 are at leaf 0, 2 and 3 at leaf 1; the spines are at no rank.
  EXPECT_EQ(processes_of(make_topology("fattree:2x2"), 4), (Places{0, 1, 2, 3, 0, 2, 1, 3}));
  const auto words = [](const char* network) {
    try {
      processes_of(make_topology(network), 5);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(words("star:3"),
            "nic job: expected 3 processes, one a rank, or 4, one a node, for star:3, got 5");
  EXPECT_EQ(words("mesh:2x2"), "nic job: expected 4 processes for mesh:2x2, got 5");
}

/// Frames that a test puts in, and those that were sent.
class Outside final : public FramePort {
 public:
  Outside(std::deque<Bytes>& in, std::vector<Bytes>& out) : in_(in), out_(out) {}
  std::span<const std::byte> receive() override {
    if (in_.empty()) return {};
    last_ = std::move(in_.front());
    in_.pop_front();
    return last_;
  }
  void send(const Way&, std::span<const std::byte> frame) override {
    out_.emplace_back(frame.begin(), frame.end());
  }
  void wait(std::chrono::milliseconds) override {}

 private:
  std::deque<Bytes>& in_;
  std::vector<Bytes>& out_;
  Bytes last_;
};

struct Shared {
  std::deque<Bytes> in;
  std::vector<Bytes> out;
  MemoryWires wires{std::array<std::uint16_t, 2>{2, 7}, std::make_unique<Outside>(in, out)};
  std::unique_ptr<FramePort> two = wires.port(2), seven = wires.port(7);
};

Bytes frame_to(std::uint16_t to) { return encode({.way = {5, to, 0}}); }
Bytes copy_of(std::span<const std::byte> span) { return {span.begin(), span.end()}; }

TEST(WireSharedPort, GivesEveryNodeItsOwn) {
  Shared job;
  job.in = {frame_to(7), frame_to(2), frame_to(7)};
  EXPECT_EQ(copy_of(job.two->receive()), frame_to(2));
  EXPECT_TRUE(job.two->receive().empty());
  EXPECT_EQ(copy_of(job.seven->receive()), frame_to(7));
  EXPECT_EQ(copy_of(job.seven->receive()), frame_to(7));
  EXPECT_TRUE(job.seven->receive().empty());
  job.two->send({2, 7, 0}, frame_to(7));
  job.two->send({2, 5, 0}, frame_to(5));
  EXPECT_EQ(copy_of(job.seven->receive()), frame_to(7));
  EXPECT_EQ(job.out, (std::vector<Bytes>{frame_to(5)}));
}

TEST(WireSharedPort, SomebodyGetsWhatIsForNobody) {
  Shared job;
  job.in = {frame_to(3), Bytes(7), Bytes(1)};
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(job.two->receive().empty() && job.seven->receive().empty()) << i;
  }
}

TEST(WireSharedPort, IsNotFilledByWhoSendsToANodeThatDoesNotAsk) {
  Shared job;
  for (std::size_t i = 0; i < 3 * MemoryWires::kMostFrames; ++i) {
    job.in.push_back(frame_to(7));
    EXPECT_TRUE(job.two->receive().empty());
  }
  std::size_t kept = 0;
  for (; !job.seven->receive().empty(); ++kept) {
  }
  EXPECT_EQ(kept, MemoryWires::kMostFrames);
}

}  // namespace
}  // namespace multitree::rtl
