// SPDX-License-Identifier: BSD-3-Clause
/// Images that are read back, and what is no image.
#include "nic/encode/image.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "algorithms/registry.hpp"
#include "nic/encode/format_internal.hpp"
#include "nic/table/relative.hpp"
#include "topologies/error.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

using nic::compile_tables;
using nic::Tables;
using testing::HasSubstr;

Tables small_tables(const char* spec, const char* algorithm, std::uint64_t elements,
                    bool nops = false) {
  const Topology topology = make_topology(spec);
  const Schedule schedule = make_schedule(algorithm, topology);
  return compile_tables(schedule, topology, {.elements = elements, .nops = nops});
}

Tables relative_tables(std::uint64_t elements) {
  return nic::compile_relative_tables(SymmetricSchedule(CayleyGraph::torus({3, 3})),
                                      {.elements = elements, .nops = true});
}

void set(std::string& image, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    image[at + byte] = static_cast<char>(static_cast<unsigned char>(value >> (8 * byte)));
  }
}

void flip(std::string& image, std::size_t bit) {
  image[bit / 8] = static_cast<char>(image[bit / 8] ^ (1 << (bit % 8)));
}

/// With the checksum of what is in it now.
std::string sealed(std::string image) {
  const std::size_t end = image.size() - 4;
  set(image, end, nic::image_checksum(std::string_view(image).substr(0, end)), 4);
  return image;
}

void expect_refused(const std::string& image, const std::string& message) {
  try {
    static_cast<void>(nic::read_image(image, "tables.bin"));
    ADD_FAILURE() << "expected '" << message << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_TRUE(std::string(error.what()).starts_with("tables.bin: byte ")) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(message));
  }
}

TEST(Image, IsReadBackAsItWasWritten) {
  for (const char* spec : {"mesh:1", "ring:2", "torus:4x4", "mesh:3x5", "fattree:4x4", "star:5",
                           "bigraph:2x4", "torus:4x4?without=0-1", "hypercube:4"}) {
    for (const char* algorithm : {"multitree", "allreduce-optimal?form=trees&segments=3", "ring",
                                  "double-binary-tree", "forest"}) {
      for (const std::uint64_t elements : {0U, 3U, 14400U, 16003U}) {
        for (const bool nops : {false, true}) {
          const Tables tables = small_tables(spec, algorithm, elements, nops);
          const std::string image = nic::write_image(tables);
          EXPECT_EQ(nic::read_image(image, "x"), tables) << spec << " " << algorithm;
          EXPECT_EQ(nic::write_image(nic::read_image(image, "x")), image);
        }
      }
    }
  }
  for (const std::uint64_t elements : {0U, 9U, 900U}) {
    const Tables tables = relative_tables(elements);
    EXPECT_EQ(nic::read_image(nic::write_image(tables), "x"), tables);
  }
}

// What 64 interfaces need: a header, 4 routes of 10 bits each and 126 entries of 23 bits.
TEST(Image, IsSmall) {
  const std::string image = nic::write_image(small_tables("torus:8x8", "multitree", 4 << 20));
  EXPECT_EQ(image.size(), 74U + 64 * (8 + 4 * 2 + 126 * 3) + 4);
}

TEST(Image, EveryFlippedBitIsNoticed) {
  for (const Tables& tables :
       {small_tables("mesh:2x2", "multitree", 32), small_tables("mesh:2x2", "multitree", 33, true),
        small_tables("fattree:2x2", "ring", 16), relative_tables(36)}) {
    const std::string image = nic::write_image(tables);
    for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
      std::string broken = image;
      flip(broken, bit);
      EXPECT_THROW(static_cast<void>(nic::read_image(broken, "x")), Error) << "bit " << bit;
    }
  }
}

// Behind the checksum too nothing is taken that could not have been written.
TEST(Image, EveryFlippedBitWithARightChecksumIsNoticedOrTables) {
  std::size_t refused = 0, taken = 0;
  for (const Tables& tables :
       {small_tables("mesh:2x2", "multitree", 32), small_tables("mesh:2x2", "multitree", 33, true),
        small_tables("fattree:2x2", "ring", 16), small_tables("mesh:3x3", "ring", 18, true),
        relative_tables(36)}) {
    const std::string image = nic::write_image(tables);
    for (std::size_t bit = 0; bit < (image.size() - 4) * 8; ++bit) {
      std::string broken = image;
      flip(broken, bit);
      try {
        const Tables read = nic::read_image(sealed(broken), "x");
        EXPECT_EQ(nic::read_image(nic::write_image(read), "x"), read) << "bit " << bit;
        ++taken;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::InvalidInput) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 4 * taken);
}

TEST(Image, EveryCutIsNoticed) {
  for (const Tables& tables : {small_tables("mesh:2x2", "multitree", 32), relative_tables(36)}) {
    const std::string image = nic::write_image(tables);
    for (std::size_t size = 0; size < image.size(); ++size) {
      expect_refused(image.substr(0, size), "");
      if (size >= 14) expect_refused(sealed(image.substr(0, size)), "");
    }
    expect_refused(sealed(image + '\0'), "expected the checksum, got more tables");
  }
}

TEST(Image, OfAnotherVersionIsRefused) {
  std::string image = nic::write_image(small_tables("mesh:2x2", "multitree", 32));
  set(image, 8, 1, 2);
  expect_refused(sealed(image),
                 "expected an image of version 3, got version 1, which has no routes: write it "
                 "again from its schedule");
  set(image, 8, 2, 2);
  expect_refused(sealed(image),
                 "expected an image of version 3, got version 2, which has no groups: write it "
                 "again from its schedule");
  set(image, 8, 4, 2);
  expect_refused(sealed(image), "expected an image of version 3, got version 4");
}

TEST(Image, AWrongHeaderIsRefused) {
  const std::string image = nic::write_image(small_tables("mesh:2x2", "multitree", 32));
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    std::string changed = image;
    set(changed, at, value, bytes);
    return sealed(changed);
  };
  expect_refused(with(10, 8, 1), "expected a collective below 8");
  expect_refused(with(11, 8, 1),
                 "expected flags 1 (relative), 2 (uniform) and 4 (switches), got 8");
  expect_refused(with(11, 0, 1), "expected either uniform pieces or widths");
  expect_refused(with(12, 4, 4), "expected a root below 4, got 4");
  expect_refused(with(16, 0, 4), "expected 1 to 16777216 ranks, got 0");
  expect_refused(with(20, 1, 4), "expected a step below 1");
  expect_refused(with(24, 31, 8), "expected elements up to 31");
  expect_refused(with(24, 7, 8), "an entry has a piece that is out of range");
  expect_refused(with(32, 0, 4), "expected 1 to 255 classes, got 0");
  expect_refused(with(36, 1, 4), "expected a port below 1 and a class below 1, got 1 and 0");
  expect_refused(with(36, 0, 4), "expected a port below 0");
  expect_refused(with(40, 0, 4), "expected either uniform pieces or widths");
  expect_refused(with(52, 1, 1), "expected 2 bits for op, got 1");
  expect_refused(with(53, 33, 1), "expected 0 to 32 bits for step, got 33");
  expect_refused(with(65, 0, 1), "expected 1 to 32 bits for the peer of routes, got 0");
  expect_refused(with(68, 0, 1), "expected 1 to 32 bits for the port of routes, got 0");
  expect_refused(with(74, 0xffffffff, 4), "expected the routes of rank 0, got the end");
  expect_refused(with(78, 0xffffffff, 4), "expected the table of rank 0, got the end");
}

TEST(Image, WrongRoutesAreRefused) {
  const Tables good = small_tables("fattree:2x2", "ring", 16);
  ASSERT_GT(good.routes[1].front().hops.size(), 1U);
  const auto read_with = [&](auto change) {
    Tables tables = good;
    nic::TableRoute& route = tables.routes[1].front();
    change(route);
    for (nic::Entry& entry : tables.of_rank[1]) {
      if (entry.route > 0) continue;
      entry.peer = route.peer;
      entry.port = route.port;
    }
    return nic::write_image(tables);
  };
  expect_refused(read_with([](nic::TableRoute& r) { r.peer = Rank{4}; }),
                 "expected a route from rank 1 to another below 4, got 4");
  expect_refused(read_with([](nic::TableRoute& r) { r.peer = Rank{1}; }),
                 "expected a route from rank 1 to another below 4, got 1");
  expect_refused(read_with([](nic::TableRoute& r) { r.hops[1].vc_class = 1; }),
                 "expected a port below");
  Tables relative = relative_tables(36);
  relative.routes.front().front().ejection = 1;
  expect_refused(nic::write_image(relative),
                 "expected neither hops nor an ejection in a relative route");
}

TEST(Image, WrongEntriesAreRefused) {
  const Tables tables = small_tables("torus:4x4", "multitree", 1001, true);
  // 92 bits an entry: op, step, flow, piece, route, ...; the last one ends before the checksum.
  const nic::Layout layout{.width = {2, 12, 10, 4, 6, 5, 5, 3, 24, 20, 0, 0, 1}};
  const std::string image = nic::write_image(tables, layout);
  const std::size_t last = (image.size() - 4 - layout.bytes()) * 8;
  const auto flipped = [&](std::size_t one, std::size_t other) {
    std::string changed = image;
    flip(changed, last + one);
    flip(changed, last + other);
    return sealed(changed);
  };
  const std::size_t parity = layout.offset(nic::Field::Parity);
  expect_refused(flipped(28, 29 + 64), "an entry has the wrong parity");
  expect_refused(flipped(parity, 93), "an entry has the wrong parity");
  expect_refused(flipped(28 + 5, parity), "expected a route below 4, got 3");
  expect_refused(flipped(2 + 11, parity), "expected a step below ");
  expect_refused(flipped(parity - 1, parity), "expected elements up to 1001, got ");
  expect_refused(flipped(93, 94), "expected zeros to the end of the byte, got ones");
  // A nop of rank 0 that waits.
  Tables waiting = small_tables("mesh:4x4", "multitree", 16, true);
  for (auto& entries : waiting.of_rank) {
    for (nic::Entry& entry : entries) {
      if (entry.op == nic::Opcode::Nop) entry.wait = 1;
    }
  }
  expect_refused(nic::write_image(waiting), "expected nothing but a step in a nop, got more");
}

}  // namespace
}  // namespace multitree
