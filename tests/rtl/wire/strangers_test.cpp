// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A software interface whose neighbour sends well-formed frames with anything in them: an error
/// that says so, or nothing, but never more memory than the buffer asks for.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>

#include "algorithms/registry.hpp"
#include "nic/hardware.hpp"
#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/worm.hpp"
#include "topologies/registry.hpp"

namespace multitree::rtl {
namespace {

/// Rank 0 of two.
struct Target {
  Target() {
    part.cables.all.front().flush({}, [](std::span<const std::byte>) {});
    endpoint->start();
  }

  Topology topology = make_topology("ring:2");
  nic::Tables tables =
      nic::compile_tables(make_schedule("multitree", topology), topology, {.elements = 64});
  nic::Parameters parameters = nic::as_hardware({});
  Collective collective{.tables = tables, .parameters = parameters, .step_lengths = {}};
  Cables cables = make_cables(topology, Rank{0}, 0, 1500);
  Part part{topology, collective, Rank{0}, cables};
  std::unique_ptr<Endpoint> endpoint = make_software_endpoint(part);
  std::uint32_t sequence = 0;

  void send(const std::vector<LinkFlit>& flits) {
    for (const LinkFlit& flit : flits) {
      std::vector<std::byte> items;
      append_flit(items, flit);
      cables.all.front().receive({.way = {1, 0, 0}, .sequence = sequence++, .items = items}, {});
    }
    endpoint->work();
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

void expect_error(const Worm& worm, const std::string& words) {
  Target target;
  target.send(worm);
  EXPECT_NE(target.endpoint->error().find(words), std::string::npos)
      << words << ": " << target.endpoint->error();
}

TEST(WireStrangers, AreToldWhatIsWrong) {
  expect_error(worm_of({.last = true, .flits = 3}, 2), "worm of 2 flits that says 3");
  expect_error(worm_of({.last = true, .piece = (1U << mt_pkg::kPieceW) - 1, .flits = 1}, 1),
               "piece");
  expect_error(worm_of({.last = true, .flits = 1, .offset = 60'000}, 1), "behind the end");
  expect_error(worm_of({.last = true, .flits = 1, .start = 0xffffff}, 1), "behind the end");
  expect_error(worm_of({.last = true, .lanes = 7, .flits = 1}, 1), "behind the end");
  expect_error(
      worm_of({.last = true, .flits = 1}, 1, (mt_pkg::kNumPorts - 1) | 1U << mt_pkg::kHopPortW),
      "a route to port");
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
