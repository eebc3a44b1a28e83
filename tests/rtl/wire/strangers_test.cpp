// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A software interface whose neighbour sends well-formed frames with anything in them: an error
/// that says so, or nothing, but never more memory than places and messages that are to come ask
/// for.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/worm.hpp"
#include "tests/rtl/wire/neighbour.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

/// Rank 0 of a ring, and its neighbours.
struct Target {
  explicit Target(const std::string& ring = "ring:2", const nic::Parameters& of_links = {})
      : topology(make_topology(ring)), parameters(nic::as_hardware(of_links)) {
    for (Cable& cable : cables.all) neighbours.emplace_back(cable, places);
    endpoint->start();
    turn();
  }

  Topology topology;
  nic::Tables tables =
      nic::compile_tables(make_schedule("multitree", topology), topology, {.elements = 64});
  nic::Parameters parameters;
  Collective collective{.tables = tables, .parameters = parameters, .step_lengths = {}};
  Places places{parameters.virtual_channels, parameters.buffer_flits};
  Cables cables = make_cables(topology, topology.node_of(Rank{0}), 0, 1500, places);
  Part part{topology, collective, Rank{0}, cables};
  std::unique_ptr<Endpoint> endpoint = make_software_endpoint(part);
  std::vector<Neighbour> neighbours;

  void turn() {
    for (Neighbour& neighbour : neighbours) neighbour.hear();
    endpoint->work();
    for (Neighbour& neighbour : neighbours) neighbour.say();
  }
  /// Of the first neighbour, as long as it has places.
  /// \returns flits that were sent
  std::size_t send(const std::vector<LinkFlit>& flits) {
    Neighbour& from = neighbours.front();
    for (std::size_t sent = 0; sent < flits.size(); ++sent) {
      std::uint32_t& left = from.left[flits[sent].vc];
      for (int tries = 0; left == 0; ++tries) {
        if (tries == 3) return sent;
        turn();
      }
      from.here.put_flit(flits[sent]);
      --left;
    }
    turn();
    return flits.size();
  }
};

/// To the interface of the rank that it comes to.
constexpr std::uint32_t kToInterface = mt_pkg::kNumPorts | 1U << mt_pkg::kHopPortW;

Worm worm_of(const WormHeader& header, std::uint32_t payload, std::uint32_t route = kToInterface) {
  Worm worm{make_flit(encode(header, route), true, payload == 0)};
  for (std::uint32_t f = 0; f < payload; ++f)
    worm.push_back(make_flit({}, false, f + 1 == payload));
  return worm;
}

void expect_error(const Worm& worm, const std::string& words,
                  const nic::Parameters& parameters = {}) {
  Target target("ring:2", parameters);
  target.send(worm);
  EXPECT_NE(target.endpoint->error().find(words), std::string::npos)
      << words << ": " << target.endpoint->error();
}

TEST(WireStrangers, AreToldWhatIsWrong) {
  expect_error(worm_of({.last = true, .flits = 3}, 2), "worm of 2 flits that says 3");
  expect_error(worm_of({.last = true, .piece = (1U << mt_pkg::kPieceW) - 1, .flits = 1}, 1),
               "piece");
  expect_error(worm_of({.last = true, .flits = 1, .offset = 60'000}, 1), "behind the end");
  // Half of the buffer is 8 flits: what is behind belongs to the other message.
  expect_error(worm_of({.last = true, .flits = 1, .offset = 8}, 1),
               "behind the end of a message of 8 flits");
  expect_error(worm_of({.last = true, .flits = 1, .start = 0xffffff}, 1), "behind the end");
  expect_error(worm_of({.last = true, .lanes = 7, .flits = 1}, 1), "behind the end");
  expect_error(
      worm_of({.last = true, .flits = 1}, 1, (mt_pkg::kNumPorts - 1) | 1U << mt_pkg::kHopPortW),
      "a route to port");
  expect_error(worm_of({.last = true, .flits = 1}, 1, 4U << mt_pkg::kHopPortW),
               "virtual channel 2 of port 0, which has 2", {.virtual_channels = 2});
  expect_error(worm_of({.last = true, .flits = 1}, 1, 0), "without a virtual channel");
  Worm broken = worm_of({.last = true, .flits = 1}, 1);
  broken.back().bits[0] ^= 1;
  expect_error(broken, "corrupt flit");
}

TEST(WireStrangers, AWormWithoutAnEndIsNotKept) {
  Target target;
  const Worm part(1000, make_flit({}, false, false));
  for (int i = 0; i < 70 && target.endpoint->error().empty(); ++i) target.send(part);
  EXPECT_NE(target.endpoint->error().find("without an end"), std::string::npos);
}

void expect_refused(Target& target, const std::string& words) {
  try {
    target.turn();
    ADD_FAILURE() << "expected an error with '" << words << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(WireStrangers, WhoIgnoresCreditsIsNamed) {
  Target target;
  const LinkFlit flit = make_flit({}, false, false);
  for (std::uint32_t i = 0; i <= target.places.flits; ++i) {
    target.neighbours.front().here.put_flit(flit);
  }
  expect_refused(target, "expected at most 318 flits of virtual channel 0 from rank 1");
}

TEST(WireStrangers, WhoSendsNoItemsIsNamed) {
  Target target("ring:5");
  const Way back = target.neighbours.back().here.way();
  const std::vector<std::byte> items(5, std::byte{0});
  try {
    target.cables.all.back().receive({.way = back, .items = items}, {});
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "frame: expected whole flits and credits from rank 4, got 5 bytes that begin with "
              "none");
  }
}

TEST(WireStrangers, ChannelsThatThereAreNotAreNamed) {
  Target target("ring:2", {.virtual_channels = 2});
  LinkFlit flit = make_flit({}, false, false);
  flit.vc = 2;
  target.neighbours.front().here.put_flit(flit);
  expect_refused(target, "2 virtual channels from rank 1, got one of virtual channel 2");
}

TEST(WireStrangers, CreditsThatNobodyLentAreRefused) {
  Target target;
  target.neighbours.front().here.put_credit(3);
  expect_refused(target, "rank 1 returns a credit of virtual channel 3");
}

/// As a router does: who cannot get rid of worms takes no more of them.
TEST(WireStrangers, CannotFillARankThatCannotForward) {
  Target target("ring:3");
  const std::uint32_t on = target.cables.out[0] == 0 ? 1 : 0;  // the port to the second neighbour
  Neighbour& last = target.neighbours.back();
  last.returns_credits = false;
  const Worm worm = worm_of({.last = true, .flits = 99}, 99, on | 1U << mt_pkg::kHopPortW);
  std::size_t taken = 0;
  for (int i = 0; i < 1000; ++i) taken += target.send(worm);
  EXPECT_GT(taken, 4096U);
  EXPECT_LT(taken, 6000U);
  EXPECT_EQ(target.endpoint->error(), "");
}

TEST(WireStrangers, MaySendAnyBits) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    Target target;
    Worm worm;
    for (std::size_t flits = 1 + random() % 4; worm.size() < flits;) {
      FlitData data{};
      for (std::uint32_t& word : data) word = static_cast<std::uint32_t>(random());
      if (random() % 2 == 0) data[0] = (data[0] & ~0x1ffU) | kToInterface;
      worm.push_back(make_flit(data, worm.empty(), worm.size() + 1 == flits));
    }
    target.send(worm);
    EXPECT_FALSE(target.endpoint->is_done());
  }
}

}  // namespace
}  // namespace multitree::rtl
