// SPDX-License-Identifier: BSD-3-Clause
/// Widths, chosen and given, and what is made of them for hardware.
#include "nic/encode/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "nic/encode/image.hpp"
#include "nic/encode/route_layout.hpp"
#include "nic/encode/uniform.hpp"
#include "nic/program/program.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::compile_tables;
using nic::Field;
using nic::Layout;
using nic::Tables;
using testing::HasSubstr;

Tables tables_of(const char* spec, const char* algorithm, std::uint64_t elements) {
  const Topology topology = make_topology(spec);
  return compile_tables(make_schedule(algorithm, topology), topology, {.elements = elements});
}

Layout with(Layout layout, Field field, std::uint8_t width) {
  layout.width[static_cast<std::size_t>(field)] = width;
  return layout;
}

/// As an interface might have them: room for all tables of this test, more than they need.
Layout generous() { return {.width = {2, 12, 10, 4, 6, 5, 5, 3, 24, 20, 0, 0, 1}}; }

void expect_error(const std::function<void()>& what, ErrorCode code, const std::string& message) {
  try {
    what();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

// 64 ranks and 8 KiB chunks of floats: every width by hand.
TEST(Layout, HasTheWidthsThatTheValuesNeed) {
  const Tables tables = tables_of("torus:8x8", "multitree", 64 * 2048);
  const Layout layout = nic::layout_of(tables);
  EXPECT_EQ(layout.of(Field::Op), 2U);
  EXPECT_EQ(layout.of(Field::Step), 6U);  // 34 steps
  EXPECT_EQ(layout.of(Field::Flow), 6U);
  EXPECT_EQ(layout.of(Field::Piece), 0U);  // one chunk a tree
  EXPECT_EQ(layout.of(Field::Route), 2U);  // 4 neighbours
  EXPECT_EQ(layout.of(Field::Wait), 3U);   // up to 4 children
  EXPECT_EQ(layout.of(Field::Turn), 2U);   // at most 4 messages of a piece arrive
  EXPECT_EQ(layout.of(Field::After), 1U);  // a result comes after the rank's own sum has left
  EXPECT_EQ(layout.of(Field::Start), 0U);  // flow times 2048
  EXPECT_EQ(layout.of(Field::Size), 0U);
  EXPECT_EQ(layout.of(Field::Parity), 1U);
  EXPECT_EQ(layout.bits(), 23U);
  EXPECT_EQ(layout.offset(Field::Flow), 8U);
  EXPECT_FALSE(layout.has_elements());
  const nic::RouteLayout routes = nic::route_layout_of(tables);
  EXPECT_EQ(routes,
            (nic::RouteLayout{.peer = 6, .ejection = 2, .further = 0, .port = 2, .vc_class = 0}));
  EXPECT_EQ(nic::bits_of(tables.routes[0][0], routes), 10U);
  EXPECT_EQ(nic::ports_of(tables), 4U);
}

TEST(Layout, KeepsStartAndSizeOfUnevenPieces) {
  const Tables tables = tables_of("torus:8x8", "multitree", 64 * 2048 + 3);
  EXPECT_FALSE(nic::uniform_pieces(tables).has_value());
  const Layout layout = nic::layout_of(tables);
  EXPECT_EQ(layout.of(Field::Start), 17U);
  EXPECT_EQ(layout.of(Field::Size), 12U);
}

TEST(UniformPieces, CountThePiecesOfAFlow) {
  const Tables tables = tables_of("torus:4x4", "allreduce-optimal?form=trees&segments=3", 16 * 900);
  const auto pieces = nic::uniform_pieces(tables);
  ASSERT_TRUE(pieces.has_value());
  for (const auto& entries : tables.of_rank) {
    for (const nic::Entry& entry : entries) {
      EXPECT_EQ(entry.start, pieces->number_of(entry) * pieces->size);
      EXPECT_EQ(entry.size, pieces->size);
    }
  }
  EXPECT_EQ(pieces->pieces_per_flow, 3U);
}

TEST(UniformPieces, AreNotSoIfOneIsElsewhere) {
  const Tables good = tables_of("mesh:2x2", "multitree", 16);
  ASSERT_TRUE(nic::uniform_pieces(good).has_value());
  Tables moved = good, longer = good;
  ++moved.of_rank[1].back().start;
  ++longer.of_rank[2].front().size;
  EXPECT_FALSE(nic::uniform_pieces(moved).has_value());
  EXPECT_FALSE(nic::uniform_pieces(longer).has_value());
}

TEST(GivenLayout, IsReadBack) {
  for (const char* spec : {"mesh:1", "torus:4x4", "mesh:3x5", "fattree:4x4"}) {
    for (const std::uint64_t elements : {0U, 960U, 1001U}) {
      const Tables tables = tables_of(spec, "multitree", elements);
      const std::string image = nic::write_image(tables, generous());
      EXPECT_EQ(nic::read_image(image, "x"), tables) << spec << " " << elements;
      EXPECT_EQ(image, nic::write_image(nic::read_image(image, "x"), generous()));
      if (!nic::uniform_pieces(tables)) continue;
      const Layout without = with(with(generous(), Field::Start, 0), Field::Size, 0);
      EXPECT_EQ(nic::read_image(nic::write_image(tables, without), "x"), tables) << spec;
    }
  }
}

TEST(GivenLayout, OfTheTablesIsTheDefault) {
  const Tables tables = tables_of("torus:4x4", "multitree", 64);
  const Layout layout = nic::layout_of(tables);
  EXPECT_EQ(nic::write_image(tables), nic::write_image(tables, layout));
  EXPECT_EQ(nic::memory_file(tables, Rank{3}), nic::memory_file(tables, Rank{3}, layout));
  EXPECT_EQ(nic::systemverilog_package(tables), nic::systemverilog_package(tables, layout));
}

// One bit less than needed, in each field: the error names the first entry with such a value.
TEST(GivenLayout, RefusesWhatDoesNotFit) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule front = make_schedule("multitree", topology),
                 back = make_schedule("allreduce-optimal?form=trees&segments=3", topology);
  const std::vector<nic::GroupSource> groups = {
      {.schedule = &front, .elements = 48, .priority = 1},
      {.schedule = &back, .elements = 16 * 100 + 7, .priority = 5}};
  const Tables tables = nic::compile_groups(groups, topology);
  const Layout least = nic::layout_of(tables);
  for (std::size_t f = 1; f + 1 < nic::kFields; ++f) {
    const auto field = static_cast<Field>(f);
    ASSERT_GT(least.width[f], 0) << nic::kFieldNames[f];
    const Layout narrow = with(least, field, static_cast<std::uint8_t>(least.width[f] - 1));
    std::string expected;
    for (std::size_t r = 0; r < tables.of_rank.size() && expected.empty(); ++r) {
      for (std::size_t i = 0; i < tables.of_rank[r].size() && expected.empty(); ++i) {
        const std::uint64_t value = nic::values_of(tables.of_rank[r][i])[f];
        if (value >> narrow.width[f] == 0) continue;
        expected = "tables: rank " + std::to_string(r) + ", entry " + std::to_string(i) +
                   ": expected " + std::string(nic::kFieldNames[f]) + " in " +
                   std::to_string(narrow.width[f]) + " bits, got " + std::to_string(value);
      }
    }
    expect_error([&] { static_cast<void>(nic::write_image(tables, narrow)); },
                 ErrorCode::Unsupported, expected);
    expect_error(
        [&] {
          for (std::uint32_t r = 0; r < tables.ranks; ++r) {
            static_cast<void>(nic::memory_file(tables, Rank{r}, narrow));
          }
        },
        ErrorCode::Unsupported, expected);
  }
}

TEST(GivenLayout, WithoutElementsRefusesUnevenPieces) {
  const Layout without = with(with(generous(), Field::Start, 0), Field::Size, 0);
  expect_error(
      [&] {
        static_cast<void>(nic::write_image(tables_of("torus:4x4", "multitree", 1001), without));
      },
      ErrorCode::Unsupported, "in 0 bits, got");
}

TEST(GivenLayout, RefusesWidthsThatAreNone) {
  const Tables tables = tables_of("mesh:2x2", "multitree", 16);
  const auto write = [&](const Layout& layout) {
    return [&tables, layout] { static_cast<void>(nic::write_image(tables, layout)); };
  };
  expect_error(write(with(generous(), Field::Op, 3)), ErrorCode::InvalidArgument,
               "expected 2 bits for op, got 3");
  expect_error(write(with(generous(), Field::Parity, 0)), ErrorCode::InvalidArgument,
               "expected 1 bits for parity, got 0");
  expect_error(write(with(generous(), Field::Step, 33)), ErrorCode::InvalidArgument,
               "expected 0 to 32 bits for step, got 33");
  expect_error(write(with(with(generous(), Field::Start, 64), Field::Size, 60)),
               ErrorCode::Unsupported, "expected entries of at most 128 bits");
}

TEST(Image, IsNotMadeOfTablesWithoutRoutes) {
  const Topology topology = make_topology("torus:4x4");
  const Schedule schedule = make_schedule("multitree", topology);
  const Tables bare = nic::compile_program(schedule, topology, 64).tables;
  expect_error([&] { static_cast<void>(nic::write_image(bare)); }, ErrorCode::InvalidArgument,
               "tables: rank 0, entry 0: expected a route to rank ");
  Tables astray = compile_tables(schedule, topology, {.elements = 64});
  astray.of_rank[5][1].peer = Rank{(index(astray.of_rank[5][1].peer) + 1) % 16};
  expect_error([&] { static_cast<void>(nic::write_image(astray)); }, ErrorCode::InvalidArgument,
               "tables: rank 5, entry 1: expected a route to rank ");
}

TEST(MemoryFile, HasALineForEachEntry) {
  for (const bool wide : {false, true}) {
    const Tables tables = tables_of("mesh:2x2", "multitree", 32);
    const Layout layout =
        wide ? Layout{.width = {2, 5, 5, 2, 3, 3, 3, 3, 8, 6, 0, 0, 1}} : nic::layout_of(tables);
    const std::string text = nic::memory_file(tables, Rank{2}, layout);
    const std::size_t digits = (layout.bits() + 3) / 4;
    const auto& entries = tables.of_rank[2];
    ASSERT_EQ(text.size(), entries.size() * (digits + 1));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::uint64_t bits = std::stoull(text.substr(i * (digits + 1), digits), nullptr, 16);
      EXPECT_EQ(std::popcount(bits) % 2, 0);
      for (std::size_t f = 0; f + 1 < nic::kFields; ++f) {
        if (layout.width[f] == 0) continue;
        const auto field = static_cast<Field>(f);
        const std::uint64_t mask = (1ULL << layout.width[f]) - 1;
        EXPECT_EQ(bits >> layout.offset(field) & mask, nic::values_of(entries[i])[f]);
      }
    }
  }
}

TEST(EntryWords, HaveEveryFieldWhereTheLayoutSays) {
  // Words that are full, and words that are not; fields that lie in two of them.
  const Tables tables = tables_of("mesh:2x2", "multitree", 36);
  for (const Layout& layout : {Layout{.width = {2, 12, 10, 4, 6, 6, 5, 5, 7, 6, 0, 0, 1}},
                               Layout{.width = {2, 12, 8, 8, 8, 6, 6, 6, 24, 24, 0, 0, 1}}}) {
    const std::vector<std::uint32_t> words = nic::entry_words(tables, Rank{3}, layout);
    const auto& entries = tables.of_rank[3];
    const std::size_t each = (layout.bits() + 31) / 32;
    ASSERT_EQ(words.size(), entries.size() * each);
    const auto bit = [&](std::size_t entry, std::uint32_t at) {
      return std::uint64_t{words[each * entry + at / 32] >> at % 32 & 1};
    };
    for (std::size_t i = 0; i < entries.size(); ++i) {
      std::uint64_t ones = 0;
      for (std::uint32_t b = 0; b < 32 * each; ++b) {
        ones += bit(i, b);
        if (b >= layout.bits()) {
          EXPECT_EQ(bit(i, b), 0U) << b;
        }
      }
      EXPECT_EQ(ones % 2, 0U);
      for (std::size_t f = 0; f + 1 < nic::kFields; ++f) {
        const auto field = static_cast<Field>(f);
        std::uint64_t value = 0;
        for (std::uint32_t b = 0; b < layout.of(field); ++b) {
          value |= bit(i, layout.offset(field) + b) << b;
        }
        EXPECT_EQ(value, nic::values_of(entries[i])[f]) << nic::kFieldNames[f];
      }
    }
  }
}

TEST(Package, HasEveryField) {
  const std::string text = nic::systemverilog_package(tables_of("mesh:2x2", "multitree", 32));
  for (const std::string_view name : nic::kFieldNames) {
    std::string upper(name);
    for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
    EXPECT_THAT(text, HasSubstr(upper + "_W = "));
    EXPECT_THAT(text, HasSubstr(upper + "_LSB = "));
  }
  EXPECT_THAT(text, HasSubstr(" START_W = 0;"));
  EXPECT_THAT(text, HasSubstr(" UNIFORM = 1;"));
  EXPECT_THAT(text, HasSubstr("longint unsigned PIECE_ELEMENTS = 8;"));
  EXPECT_THAT(text, HasSubstr(" ROUTES = 2;"));
  const std::string given =
      nic::systemverilog_package(tables_of("mesh:2x2", "multitree", 32), generous());
  EXPECT_THAT(given, HasSubstr(" START_W = 24;"));
  EXPECT_THAT(given, HasSubstr(" UNIFORM = 0;"));
}

}  // namespace
}  // namespace multitree
