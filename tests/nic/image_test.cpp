// SPDX-License-Identifier: BSD-3-Clause
#include "nic/encode/image.hpp"

#include <gtest/gtest.h>

#include <string>

#include "algorithms/registry.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::compile_tables;
using nic::Field;
using nic::Tables;

Tables tables_of(const char* spec, const char* algorithm, std::uint64_t shard, bool nops = false) {
  const Topology topology = make_topology(spec);
  const Schedule schedule = make_schedule(algorithm, topology);
  return compile_tables(schedule, topology, {.elements = shard * schedule.ranks, .nops = nops});
}

TEST(Image, IsReadBackAsItWasWritten) {
  for (const char* spec : {"mesh:1", "ring:2", "torus:4x4", "mesh:3x5", "fattree:4x4"}) {
    for (const char* algorithm : {"multitree", "allreduce-optimal?form=trees&segments=3"}) {
      for (const bool nops : {false, true}) {
        const Tables tables = tables_of(spec, algorithm, 1000, nops);
        const std::string image = nic::write_image(tables);
        EXPECT_EQ(nic::read_image(image, "x"), tables) << spec << " " << algorithm;
        EXPECT_EQ(nic::write_image(nic::read_image(image, "x")), image);
      }
    }
  }
}

// 64 ranks and 8 KiB chunks of floats: every width by hand.
TEST(Layout, HasTheWidthsThatTheValuesNeed) {
  const nic::Layout layout = nic::layout_of(tables_of("torus:8x8", "multitree", 2048));
  const auto width = [&](Field field) { return layout.width[static_cast<std::size_t>(field)]; };
  EXPECT_EQ(width(Field::Op), 2);
  EXPECT_EQ(width(Field::Step), 6);  // 34 steps
  EXPECT_EQ(width(Field::Flow), 6);
  EXPECT_EQ(width(Field::Piece), 1);
  EXPECT_EQ(width(Field::Peer), 6);
  EXPECT_EQ(width(Field::Port), 2);
  EXPECT_EQ(width(Field::Wait), 3);   // up to 4 children
  EXPECT_EQ(width(Field::Turn), 2);   // at most 4 messages of a piece arrive
  EXPECT_EQ(width(Field::After), 1);  // a result comes after the rank's own sum has left
  EXPECT_EQ(width(Field::Start), 17);
  EXPECT_EQ(width(Field::Size), 12);
  EXPECT_EQ(width(Field::Parity), 1);
  EXPECT_EQ(layout.bits(), 59U);
  EXPECT_EQ(layout.offset(Field::Flow), 8U);
}

TEST(Image, EveryFlippedBitIsNoticed) {
  const std::string image = nic::write_image(tables_of("mesh:2x2", "multitree", 8));
  for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
    std::string broken = image;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THROW(static_cast<void>(nic::read_image(broken, "x")), Error) << "bit " << bit;
  }
}

TEST(Image, EveryCutIsNoticed) {
  const std::string image = nic::write_image(tables_of("mesh:2x2", "multitree", 8));
  for (std::size_t size = 0; size < image.size(); ++size) {
    try {
      static_cast<void>(nic::read_image(image.substr(0, size), "tables.bin"));
      FAIL() << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
      EXPECT_TRUE(std::string(error.what()).starts_with("tables.bin: byte ")) << error.what();
    }
  }
}

TEST(MemoryFile, HasALineForEachEntry) {
  const Tables tables = tables_of("mesh:2x2", "multitree", 8);
  const nic::Layout layout = nic::layout_of(tables);
  const std::string text = nic::memory_file(tables, Rank{2});
  const std::size_t digits = (layout.bits() + 3) / 4;
  ASSERT_EQ(text.size(), tables.of_rank[2].size() * (digits + 1));
  // The first line, taken apart again.
  const std::uint64_t bits = std::stoull(text.substr(0, digits), nullptr, 16);
  for (const Field field : {Field::Op, Field::Step, Field::Peer, Field::Start, Field::Parity}) {
    const std::uint64_t mask = (1ULL << layout.width[static_cast<std::size_t>(field)]) - 1;
    EXPECT_EQ(bits >> layout.offset(field) & mask, nic::value_of(tables.of_rank[2].front(), field));
  }
}

TEST(Package, HasEveryField) {
  const std::string text = nic::systemverilog_package(tables_of("mesh:2x2", "multitree", 8));
  for (const std::string_view name : nic::kFieldNames) {
    std::string upper(name);
    for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
    EXPECT_NE(text.find(upper + "_W = "), std::string::npos) << text;
    EXPECT_NE(text.find(upper + "_LSB = "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace multitree
