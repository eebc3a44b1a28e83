// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A switch in hardware or in software between neighbours that send anything: worms go where their
/// routes say, once and whole; what is wrong is said, or passed on as wrong; and nobody fills it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "nic/hardware.hpp"
#include "rtl/sim/stop.hpp"
#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/node_numbers.hpp"
#include "rtl/wire/station.hpp"
#include "rtl/wire/worm.hpp"
#include "tests/rtl/wire/neighbour.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

using Bytes = std::vector<std::byte>;

/// The switch in the middle of a star, and three ranks.
struct Star {
  Star() {
    for (Cable& cable : cables.all) neighbours.emplace_back(cable, places);
  }
  [[nodiscard]] SwitchPart part(Cables& of) { return {topology, parameters, node, of}; }

  Topology topology = make_topology("star:3");
  NodeId node = NodeNumbers(topology).node(3);
  nic::Parameters parameters = nic::as_hardware({});
  Places places{parameters.virtual_channels, parameters.buffer_flits};
  Cables cables = make_cables(topology, node, 0, 1500, places);
  std::vector<Neighbour> neighbours;
};

constexpr std::uint32_t hop(std::uint32_t port, std::uint32_t channels) {
  return port | channels << mt_pkg::kHopPortW;
}

/// Through a port of the switch, then to the interface.
Worm worm_to(std::uint32_t port, std::uint32_t payload, std::uint32_t channels = 1) {
  const std::uint32_t route = hop(port, channels) | hop(mt_pkg::kNumPorts, 1) << mt_pkg::kHopW;
  Worm worm{make_flit(encode({.last = true, .flits = payload}, route), true, payload == 0)};
  for (std::uint32_t f = 0; f < payload; ++f) {
    worm.push_back(make_flit({f + 1, f * f}, false, f + 1 == payload));
  }
  return worm;
}

class WireSwitch : public testing::TestWithParam<bool> {
 protected:
  /// Some turns: hardware takes cycles. \returns flits that came out meanwhile
  std::size_t turns(int count = 4) {
    const std::size_t before = came();
    for (; count > 0; --count) {
      for (Neighbour& neighbour : star.neighbours) neighbour.hear();
      node->work();
      for (Neighbour& neighbour : star.neighbours) neighbour.say();
    }
    return came() - before;
  }
  [[nodiscard]] std::size_t came() const {
    std::size_t sum = 0;
    for (const Neighbour& neighbour : star.neighbours) sum += neighbour.got.size();
    return sum;
  }
  /// As far as it has places. \returns flits that were sent
  std::size_t send(std::size_t from, const Worm& worm) {
    Neighbour& neighbour = star.neighbours[from];
    for (std::size_t sent = 0; sent < worm.size(); ++sent) {
      std::uint32_t& left = neighbour.left[worm[sent].vc];
      if (left == 0) turns(16);
      if (left == 0) return sent;
      neighbour.here.put_flit(worm[sent]);
      --left;
    }
    turns();
    return worm.size();
  }

  Star star;
  std::unique_ptr<Endpoint> node = GetParam() ? make_hardware_switch(star.part(star.cables))
                                              : make_software_switch(star.part(star.cables));
};

INSTANTIATE_TEST_SUITE_P(Kinds, WireSwitch, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Hardware" : "Software"; });

TEST_P(WireSwitch, GivesWormsToWhereTheirRoutesLead) {
  for (std::uint32_t to = 0; to < 3; ++to) {
    const Worm worm = worm_to(to, 5, 1U << to);
    auto& got = star.neighbours[to].got;
    got.clear();
    send((to + 1) % 3, worm);
    turns();
    ASSERT_EQ(got.size(), worm.size()) << to;
    EXPECT_EQ(data_of(got[0])[0] & 0x1ff, hop(mt_pkg::kNumPorts, 1)) << "the next hop is first";
    for (std::size_t f = 0; f < worm.size(); ++f) {
      EXPECT_TRUE(is_intact(got[f]));
      EXPECT_EQ(got[f].vc, to) << "the virtual channel that the route names";
      if (f == 0) continue;
      EXPECT_EQ(got[f].bits, worm[f].bits);
    }
  }
  EXPECT_TRUE(node->is_done());
  EXPECT_EQ(node->error(), "");
}

/// Its neighbour stops, and gets through to others by other virtual channels.
TEST_P(WireSwitch, CannotBeFilled) {
  star.neighbours[1].returns_credits = false;
  std::size_t taken = 0;
  for (int i = GetParam() ? 10 : 100; i > 0; --i) taken += send(0, worm_to(1, 99));
  EXPECT_GE(taken, 2 * star.places.flits);
  EXPECT_LT(taken, 6000U);
  EXPECT_EQ(star.neighbours[1].got.size(), star.places.flits);
  Worm other = worm_to(2, 7);
  for (LinkFlit& flit : other) flit.vc = 1;
  EXPECT_EQ(send(0, other), other.size());
  turns(16);
  EXPECT_EQ(star.neighbours[2].got.size(), other.size());
  EXPECT_EQ(node->error(), "");
}

TEST_P(WireSwitch, NamesWhoIgnoresCredits) {
  for (std::uint32_t i = 0; i <= star.places.flits; ++i) {
    star.neighbours[2].here.put_flit(make_flit({}, false, false));
  }
  try {
    turns();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("from rank 2 until it gets a credit"),
              std::string::npos)
        << error.what();
  }
}

/// Who takes in a worm looks at its parity; software at once.
TEST_P(WireSwitch, WrongBitsStayWrong) {
  Worm worm = worm_to(1, 3);
  worm[2].bits[1] ^= 4;
  send(0, worm);
  turns();
  const auto& got = star.neighbours[1].got;
  if (!GetParam()) {
    EXPECT_EQ(node->error(), "corrupt flit at port 0");
    EXPECT_TRUE(got.empty());
    return;
  }
  ASSERT_EQ(got.size(), worm.size());
  EXPECT_FALSE(is_intact(got[2]));
  EXPECT_TRUE(is_intact(got[0]) && is_intact(got[1]) && is_intact(got[3]));
}

/// Software says what is wrong, hardware fails an assertion.
TEST_P(WireSwitch, RoutesToNoPortAreNotSilent) {
  const Worm worm = worm_to(20, 3);
  if (GetParam()) {
    EXPECT_THROW(send(0, worm), AssertionFailed);
    return;
  }
  send(0, worm);
  EXPECT_EQ(came(), 0U);
  EXPECT_EQ(node->error(), "a route to port 20");
}

TEST_P(WireSwitch, WormsWithoutAHeadAreNotSilent) {
  const Worm worm(300, make_flit({hop(1, 1)}, false, false));
  if (GetParam()) {
    EXPECT_THROW(send(0, worm), AssertionFailed);
    return;
  }
  for (int i = 0; i < 300 && node->error().empty(); ++i) send(0, worm);
  EXPECT_NE(node->error().find("without an end"), std::string::npos);
}

/// Whatever is in flits of software, it is an error or goes on; memory is the sanitizers' part.
TEST(WireSwitchInSoftware, TakesAnyBits) {
  std::mt19937 random(5);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    Star star;
    const auto node = make_software_switch(star.part(star.cables));
    const std::size_t flits = 1 + random() % 5;
    for (std::size_t f = 0; f < flits; ++f) {
      FlitData data{};
      for (std::uint32_t& word : data) word = static_cast<std::uint32_t>(random());
      if (random() % 2 == 0) data[0] = (data[0] & ~0x1ffU) | hop(i % 4, 1U << i / 4 % 4);
      LinkFlit flit = make_flit(data, f == 0, f + 1 == flits);
      flit.vc = static_cast<std::uint8_t>(i % 4);
      star.neighbours[i % 3].here.put_flit(flit);
    }
    star.neighbours[i % 3].hear();
    node->work();
    for (Neighbour& neighbour : star.neighbours) neighbour.say();
    std::size_t got = 0;
    for (const Neighbour& neighbour : star.neighbours) got += neighbour.got.size();
    EXPECT_TRUE(got == 0 || node->error().empty());
  }
}

/// The switch with frames: what comes from rank 0 goes to rank 1.
struct Framed {
  explicit Framed(bool is_hardware) {
    auto cables =
        std::make_unique<Cables>(make_cables(star.topology, star.node, 0, 1500, star.places));
    auto node = is_hardware ? make_hardware_switch(star.part(*cables))
                            : make_software_switch(star.part(*cables));
    station = std::make_unique<Station>(std::move(node), std::move(cables), wires.port(3), 0);
    for (std::uint16_t r = 0; r < 3; ++r) ranks.emplace_back(Way{r, 3, 0}, 0, 1500, star.places);
  }

  void turn() {
    for (int i = 0; i < 4; ++i) station->turn();
    for (std::uint16_t r = 0; r < 3; ++r) {
      const auto port = wires.port(r);
      for (auto frame = port->receive(); !frame.empty(); frame = port->receive()) {
        if (const auto whole = decode(frame)) ranks[r].receive(*whole, {});
      }
    }
  }
  void hears(const Bytes& frame) {
    wires.port(0)->send({0, 3, 0}, frame);
    turn();
  }
  std::size_t came() {
    LinkFlit flit;
    for (; ranks[1].take_flit(flit); ++got) ranks[1].put_credit(flit.vc);
    return got;
  }

  Star star;
  MemoryWires wires{std::array<std::uint16_t, 4>{0, 1, 2, 3}};
  std::unique_ptr<Station> station;
  std::vector<Cable> ranks;
  std::size_t got = 0;
};

std::vector<Bytes> frames_of(Cable& cable, const Worm& worm) {
  for (const LinkFlit& flit : worm) cable.put_flit(flit);
  std::vector<Bytes> frames;
  cable.flush({}, [&](std::span<const std::byte> frame) {
    frames.emplace_back(frame.begin(), frame.end());
  });
  return frames;
}

TEST_P(WireSwitch, FramesThatAreFlippedOrCutAreCountedAndNotTaken) {
  Framed job(GetParam());
  const Worm worm = worm_to(1, 3);
  const Bytes good = frames_of(job.ranks[0], worm).front();
  std::uint64_t bad = 0;
  const std::size_t step = GetParam() ? 29 : 1;  // hardware takes its time
  for (std::size_t bit = 0; bit < good.size() * 8; bit += step) {
    Bytes frame = good;
    frame[bit / 8] ^= std::byte{1} << (bit % 8);
    job.hears(frame);
    ASSERT_EQ(job.station->bad_frames(), ++bad) << bit;
  }
  for (std::size_t size = 1; size < good.size(); size += step) {
    job.hears({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_EQ(job.station->bad_frames(), ++bad) << size;
  }
  EXPECT_EQ(job.came(), 0U);
  job.hears(good);
  job.turn();
  EXPECT_EQ(job.came(), worm.size());
  EXPECT_EQ(job.station->endpoint().error(), "");
}

TEST_P(WireSwitch, FramesThatAreReplayedOrTurnedRoundAreTakenOnce) {
  Framed job(GetParam());
  const Worm worm = worm_to(1, 200);
  const auto frames = frames_of(job.ranks[0], worm);
  ASSERT_GE(frames.size(), 3U);
  job.hears(frames[1]);
  EXPECT_EQ(job.came(), 0U) << "one is missing before it";
  for (int again = 0; again < 3; ++again) {
    for (const Bytes& frame : frames) {
      for (int twice = 0; twice < 2; ++twice) job.hears(frame);
    }
    for (int i = 0; i < 4; ++i) job.turn();
    EXPECT_EQ(job.came(), worm.size()) << again;
  }
  EXPECT_EQ(job.station->endpoint().error(), "");
}

}  // namespace
}  // namespace multitree::rtl
