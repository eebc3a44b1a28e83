// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two ends of a cable, and a network between them that loses, doubles and turns round.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "rtl/wire/cable.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

using Clock = Cable::Clock;
using namespace std::chrono_literals;

constexpr std::size_t kFrameBytes = 200;
constexpr Places kPlaces{.channels = 4, .flits = 64};

struct Network {
  double lost = 0, doubled = 0, swapped = 0;
  std::mt19937_64 random{1};
  std::deque<std::vector<std::byte>> to_a = {}, to_b = {};

  bool happens(double chance) {
    return std::uniform_real_distribution<double>(0, 1)(random) < chance;
  }
  Cable::Send into(std::deque<std::vector<std::byte>>& frames) {
    return [this, &frames](std::span<const std::byte> frame) {
      EXPECT_LE(frame.size(), kFrameBytes);
      if (happens(lost)) return;
      frames.emplace_back(frame.begin(), frame.end());
      if (happens(doubled)) frames.emplace_back(frame.begin(), frame.end());
      if (frames.size() > 1 && happens(swapped))
        std::swap(frames.back(), frames[frames.size() - 2]);
    };
  }
  static void deliver(std::deque<std::vector<std::byte>>& frames, Cable& to,
                      Clock::time_point now) {
    for (; !frames.empty(); frames.pop_front()) to.receive(*decode(frames.front()), now);
  }
};

LinkFlit numbered(std::uint32_t number) {
  LinkFlit flit{.valid = true, .vc = static_cast<std::uint8_t>(number % 4), .bits = {}};
  flit.bits[0] = number;
  return flit;
}

struct Outcome {
  std::uint32_t flits = 0, credits = 0;
  bool in_order = true;
  Clock::duration time{};
  Cable::Counts counts;
};

/// Flits one way, as many under way as there are places, a credit back for each, until all are
/// there.
Outcome carry(Network& network, std::uint32_t flits) {
  Cable a({0, 1, 0}, 9, kFrameBytes, kPlaces), b({1, 0, 0}, 9, kFrameBytes, kPlaces);
  const Clock::time_point start{};
  Clock::time_point now = start;
  Outcome outcome;
  std::uint32_t made = 0;
  while (outcome.credits < flits && now - start < 60s) {
    const std::uint32_t most = outcome.credits + kPlaces.channels * kPlaces.flits;
    for (int i = 0; i < 7 && made < std::min(flits, most); ++i) a.put_flit(numbered(made++));
    a.flush(now, network.into(network.to_b));
    Network::deliver(network.to_b, b, now);
    LinkFlit flit;
    while (b.take_flit(flit)) {
      outcome.in_order = outcome.in_order && flit.bits == numbered(outcome.flits).bits;
      ++outcome.flits;
      b.put_credit(flit.vc);
    }
    b.flush(now, network.into(network.to_a));
    Network::deliver(network.to_a, a, now);
    std::uint8_t vc = 0;
    while (a.take_credit(vc)) {
      outcome.in_order = outcome.in_order && vc == outcome.credits % 4;
      ++outcome.credits;
    }
    now += 100us;
  }
  outcome.time = now - start;
  outcome.counts = a.counts();
  return outcome;
}

TEST(Cable, CarriesAllInOrderWhenNothingIsLost) {
  Network network;
  const Outcome outcome = carry(network, 5000);
  EXPECT_EQ(outcome.flits, 5000U);
  EXPECT_EQ(outcome.credits, 5000U);
  EXPECT_TRUE(outcome.in_order);
  EXPECT_EQ(outcome.counts.again, 0U);
  EXPECT_EQ(outcome.counts.flits, 5000U);
}

TEST(Cable, CarriesAllOnceAndInOrderOverALossyNetwork) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Network network{.lost = 0.3, .doubled = 0.1, .swapped = 0.1, .random = std::mt19937_64(seed)};
    const Outcome outcome = carry(network, 3000);
    EXPECT_EQ(outcome.flits, 3000U) << seed;
    EXPECT_EQ(outcome.credits, 3000U) << seed;
    EXPECT_TRUE(outcome.in_order) << seed;
    EXPECT_GT(outcome.counts.again, 0U) << seed;
  }
}

TEST(Cable, KeepsAWindowAndSaysHowLongNobodyAnswers) {
  Cable cable({0, 1, 0}, 9, kFrameBytes, kPlaces);
  const Clock::time_point start{};
  std::size_t frames = 0;
  const auto count = [&](std::span<const std::byte>) { ++frames; };
  for (std::uint32_t i = 0; i < 10'000; ++i) cable.put_flit(numbered(i));
  cable.flush(start, count);
  EXPECT_EQ(frames, Cable::kWindow);
  EXPECT_GT(cable.backlog(), 0U);
  cable.flush(start + 1ms, count);
  EXPECT_EQ(frames, Cable::kWindow);
  EXPECT_EQ(cable.silence(start + 3s), 3s);
  cable.flush(start + 2 * Cable::kAgain, count);
  EXPECT_EQ(frames, 2 * Cable::kWindow);
}

/// Neither what came nor what goes back grows without limit, whatever is not acknowledged.
TEST(Cable, TakesNoMoreThanThereArePlacesFor) {
  Cable a({0, 1, 0}, 9, kFrameBytes, kPlaces), b({1, 0, 0}, 9, kFrameBytes, kPlaces);
  const auto lose = [](std::span<const std::byte>) {};
  std::uint32_t sent = 0;
  const auto carry_one = [&] {
    a.put_flit(numbered(4 * sent++));
    a.flush({}, [&](std::span<const std::byte> frame) { b.receive(*decode(frame), {}); });
    LinkFlit flit;
    while (b.take_flit(flit)) b.put_credit(flit.vc);
    b.flush({}, lose);
    // What comes is acknowledged, the credits that went back with it never are.
    a.receive({.way = {1, 0, 0}, .job = 9, .sequence = 0, .ack = sent}, {});
  };
  const std::uint32_t sent_with_credits = Cable::kWindow;
  try {
    for (int i = 0; i < 10'000; ++i) carry_one();
    ADD_FAILURE() << "took all";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_NE(std::string(error.what()).find("at most 64 flits of virtual channel 0 from rank 0"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(sent, sent_with_credits + kPlaces.flits + 1);
}

TEST(Cable, NumbersOfFramesGoRound) {
  Cable a({0, 1, 0}, 9, kFrameBytes, kPlaces);
  const Frame late{.way = {1, 0, 0}, .job = 9, .sequence = 0, .ack = 0xfffffff0};
  a.put_flit(numbered(0));
  std::size_t frames = 0;
  a.flush({}, [&](std::span<const std::byte>) { ++frames; });
  a.receive(late, {});  // an ack from before the first frame acknowledges nothing
  EXPECT_GT(a.silence(Clock::time_point{} + 1s), 0s);
  const Frame wild{.way = {1, 0, 0}, .job = 9, .sequence = 0, .ack = 2};  // only one was sent
  EXPECT_THROW(a.receive(wild, {}), Error);
}

/// Both ends have to be of one mind how wide flits are.
TEST(Cable, FlitsOfAnotherWidthAreRefused) {
  Places wide = kPlaces;
  wide.shape = FlitShape(64);
  Cable here({0, 1, 0}, 0, kFrameBytes, kPlaces), there({1, 0, 0}, 0, kFrameBytes, wide);
  here.put_flit(numbered(1));
  std::string said;
  here.flush({}, [&](std::span<const std::byte> frame) {
    try {
      there.receive(*decode(frame), {});
    } catch (const Error& error) {
      said = error.what();
    }
  });
  EXPECT_EQ(said,
            "frame: expected flits of 64 bytes from rank 0, got some of 16; give all ranks the "
            "same flit_bytes");
  LinkFlit flit;
  EXPECT_FALSE(there.take_flit(flit));
}

}  // namespace
}  // namespace multitree::rtl
