// SPDX-License-Identifier: BSD-3-Clause
/// Several collectives in one image.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/encode/format_internal.hpp"
#include "nic/encode/image.hpp"
#include "nic/jobs.hpp"
#include "nic/message/max_plus.hpp"
#include "nic/network/channel_classes.hpp"
#include "nic/program/job_program.hpp"
#include "nic/table/table.hpp"
#include "table_runner.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::compile_groups;
using nic::Entry;
using nic::GroupSource;
using nic::Tables;
using testing::HasSubstr;

/// What an iteration might be: two gradients, the front one first and smaller, of two algorithms.
struct Iteration {
  Topology topology;
  Schedule front, back;
  std::vector<GroupSource> groups;

  explicit Iteration(const char* spec, std::uint64_t each = 3)
      : topology(make_topology(spec)),
        front(make_schedule("multitree", topology)),
        back(make_schedule("ring", topology)),
        groups{{.schedule = &front, .elements = each * front.ranks, .priority = 0},
               {.schedule = &back, .elements = 5 * each * back.ranks, .priority = 3},
               {.schedule = &front, .elements = each * front.ranks, .priority = 7}} {}
  Iteration(const Iteration&) = delete;
  [[nodiscard]] Tables tables() const { return compile_groups(groups, topology); }
};

void expect_thrown(const std::function<void()>& what, ErrorCode code, const std::string& message) {
  try {
    what();
    ADD_FAILURE() << "expected '" << message << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

/// Without routes, whose numbers and classes are those of all groups together.
std::vector<std::vector<Entry>> without_routes(std::vector<std::vector<Entry>> of_rank) {
  for (auto& entries : of_rank) {
    for (Entry& entry : entries) entry.route = 0;
  }
  return of_rank;
}

/// By rank, which classes its entries of several links have on these, by group.
std::vector<std::vector<std::vector<std::uint32_t>>> classes_of(const Tables& tables) {
  std::vector<std::vector<std::vector<std::uint32_t>>> all;
  for (std::size_t r = 0; r < tables.of_rank.size(); ++r) {
    auto& of_rank = all.emplace_back();
    for (const Entry& entry : tables.of_rank[r]) {
      if (entry.op == nic::Opcode::Nop) continue;
      auto& of_entry = of_rank.emplace_back();
      for (const auto& hop : tables.routes[r][entry.route].hops) of_entry.push_back(hop.vc_class);
    }
  }
  return all;
}

/// The same as the simulation of these groups as jobs has them.
std::vector<std::vector<std::vector<std::uint32_t>>> classes_of(const nic::Program& program,
                                                                const Topology& topology) {
  const nic::ChannelClasses classes =
      nic::assign_classes(program.routes, topology.num_links(), 4, topology.name());
  std::vector<std::vector<std::vector<std::uint32_t>>> all;
  for (const std::vector<std::uint32_t>& routes : program.route_of) {
    auto& of_rank = all.emplace_back();
    for (const std::uint32_t route : routes) {
      of_rank.emplace_back(classes.of_route[route].begin(), classes.of_route[route].end());
    }
  }
  return all;
}

TEST(Groups, HaveTheClassesOfVirtualChannelsThatTheirSimulationHas) {
  std::size_t changes = 0;
  for (const char* spec : {"torus:4x4", "torus:3x3", "mesh:3x3", "hypercube:3", "torus:2x2"}) {
    const Topology topology = make_topology(spec);
    const Schedule sums = make_schedule("halving-doubling", topology),
                   all = make_schedule("bidirectional-ring", topology, Collective::Reduce),
                   tree = make_schedule("double-binary-tree", topology);
    const std::vector<const Schedule*> schedules{&tree, &sums, &all};
    std::vector<GroupSource> groups;
    std::vector<nic::Job> jobs;
    for (const Schedule* schedule : schedules) {
      groups.push_back({.schedule = schedule, .elements = std::uint64_t{16} * schedule->ranks});
      jobs.push_back({.schedule = schedule, .bytes = std::uint64_t{64} * schedule->ranks});
    }
    const auto expected = classes_of(nic::compile_jobs(jobs, topology, {}, {}), topology);
    EXPECT_EQ(classes_of(compile_groups(groups, topology)), expected) << spec;
    for (const auto& of_rank : expected) {
      for (const auto& of_entry : of_rank) changes += of_entry.empty() ? 0 : of_entry.back();
    }
  }
  EXPECT_GT(changes, 0U);  // some do not stay in the first class
}

TEST(Groups, AreEachWhatTheyWouldBeAlone) {
  for (const char* spec : {"mesh:1", "ring:2", "torus:4x4", "mesh:3x5", "fattree:4x4"}) {
    for (const std::uint64_t each : {0U, 1U, 3U}) {
      const Iteration it(spec, each);
      const Tables tables = it.tables();
      ASSERT_EQ(tables.groups.size(), 3U);
      EXPECT_EQ(tables.elements, 7 * each * it.front.ranks);
      for (std::uint32_t g = 0; g < 3; ++g) {
        const Tables alone = nic::tables_of_group(tables, g),
                     expected = nic::compile_tables(*it.groups[g].schedule, it.topology,
                                                    {.elements = it.groups[g].elements});
        EXPECT_EQ(without_routes(alone.of_rank), without_routes(expected.of_rank)) << spec;
        EXPECT_EQ(alone.collective, expected.collective);
        EXPECT_EQ(alone.steps, expected.steps);
        EXPECT_EQ(alone.elements, expected.elements);
        EXPECT_TRUE(alone.groups.empty());
      }
    }
  }
}

// Sums of all groups come out right whatever is sent first, for they share no count and no element.
TEST(Groups, AddUpTogetherInAnyOrder) {
  const Iteration it("torus:4x4");
  Tables tables = it.tables();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    test::Buffers buffers(tables.ranks, std::vector<std::uint64_t>(tables.elements));
    std::vector<std::uint64_t> sums(tables.elements, 0);
    for (std::uint32_t r = 0; r < tables.ranks; ++r) {
      for (std::uint64_t i = 0; i < tables.elements; ++i) {
        sums[i] += buffers[r][i] = 1 + i * 1000 + 7 * r * r;
      }
    }
    ASSERT_TRUE(test::run_tables(tables, test::Issue::AsSoonAsPossible, seed, buffers));
    for (const auto& buffer : buffers) ASSERT_EQ(buffer, sums) << seed;
  }
}

TEST(Groups, AreSortedAndKeepTheirPriorities) {
  const Iteration it("mesh:3x3");
  const Tables tables = it.tables();
  for (const auto& entries : tables.of_rank) {
    std::uint32_t last = 0;
    for (const Entry& entry : entries) {
      EXPECT_GE(entry.group, last);
      EXPECT_EQ(entry.priority, it.groups[entry.group].priority);
      last = entry.group;
    }
    EXPECT_EQ(last, 2U);
  }
}

TEST(Groups, AreReadBackFromTheirImage) {
  for (const char* spec : {"mesh:1", "ring:2", "torus:4x4", "fattree:4x4"}) {
    for (const std::uint64_t each : {0U, 1U, 3U}) {
      const Iteration it(spec, each);
      const Tables tables = it.tables();
      const std::string image = nic::write_image(tables);
      EXPECT_EQ(nic::read_image(image, "x"), tables) << spec << " " << each;
      EXPECT_EQ(nic::write_image(nic::read_image(image, "x")), image);
    }
  }
}

// One group alone is not the same as none: it waits for its doorbell.
TEST(Groups, MayBeOne) {
  const Iteration it("mesh:2x2");
  const Tables one = compile_groups({it.groups.data(), 1}, it.topology);
  EXPECT_EQ(one.groups.size(), 1U);
  EXPECT_EQ(nic::read_image(nic::write_image(one), "x"), one);
  EXPECT_EQ(nic::layout_of(one).of(nic::Field::Group), 0U);
}

/// Flips each bit of an image and corrects its checksum. \returns how many are refused.
TEST(Groups, EveryFlippedBitIsRefusedOrTables) {
  const Tables tables = Iteration("mesh:2x2").tables();
  const std::string image = nic::write_image(tables);
  std::size_t refused = 0;
  const std::size_t bits = (image.size() - 4) * 8;
  for (std::size_t bit = 0; bit < bits; ++bit) {
    std::string broken = image;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(static_cast<void>(nic::read_image(broken, "x")), Error) << "bit " << bit;
    std::uint32_t sum = nic::image_checksum(std::string_view(broken).substr(0, bits / 8));
    for (std::size_t b = 0; b < 4; ++b, sum >>= 8) {
      broken[bits / 8 + b] = static_cast<char>(sum & 0xffU);
    }
    try {
      const Tables read = nic::read_image(broken, "x");
      EXPECT_EQ(nic::read_image(nic::write_image(read), "x"), read) << "bit " << bit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidInput) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(2 * refused, bits);
}

TEST(Groups, WrongOnesAreRefusedByTheReader) {
  const Tables good = Iteration("mesh:2x2").tables();
  const auto expect_refused = [&](const std::function<void(Tables&)>& change,
                                  const std::string& message) {
    Tables tables = good;
    change(tables);
    const std::string image = nic::write_image(tables);
    expect_thrown([&] { static_cast<void>(nic::read_image(image, "x")); }, ErrorCode::InvalidInput,
                  message);
  };
  expect_refused([](Tables& t) { t.of_rank[1].back().group = 3; }, "below 3, got 3");
  expect_refused([](Tables& t) { t.of_rank[1].back().group = 0; }, "expected a group from 2 on");
  expect_refused([](Tables& t) { t.of_rank[1].front().flow = t.groups[1].first_flow; },
                 "group 0: expected a step");
  expect_refused([](Tables& t) { t.of_rank[1].front().start = t.groups[1].first_element; },
                 "group 0: expected a step");
  expect_refused([](Tables& t) { t.groups[1].first_element += 4; },
                 "group 1: expected elements from 12");
  expect_refused([](Tables& t) { --t.groups[2].elements; }, "expected groups of 84 elements");
  expect_refused([](Tables& t) { t.groups[2].first_flow = 1; }, "group 2: expected a root below 4");
  expect_refused([](Tables& t) { t.groups[2].root = Rank{4}; }, "group 2: expected a root below 4");
  expect_refused([](Tables& t) { t.groups.clear(); }, "expected neither group nor priority");
}

TEST(Groups, AreRefusedWhereNothingCanBeMadeOfThem) {
  const Iteration it("mesh:2x2");
  const Topology other = make_topology("mesh:2x3");
  expect_thrown([&] { static_cast<void>(compile_groups({}, other)); }, ErrorCode::InvalidArgument,
                "expected one group at least, got none");
  expect_thrown([&] { static_cast<void>(compile_groups(it.groups, other)); },
                ErrorCode::InvalidArgument, "group 0: expected a schedule for the 6 ranks");
  expect_thrown([&] { static_cast<void>(nic::tables_of_group(it.tables(), 3)); },
                ErrorCode::InvalidArgument, "expected a group below 3, got 3");
  expect_thrown([&] { nic::MaxPlus(it.tables(), it.topology, {}); }, ErrorCode::Unsupported,
                "expected tables of one collective, got 3 groups");
}

}  // namespace
}  // namespace multitree
