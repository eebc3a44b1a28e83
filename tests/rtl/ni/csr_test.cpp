// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_csr against a model of its registers, with AXI4-Lite requests that come in any order.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "csr_bench.hpp"

namespace multitree::rtl::csr {
namespace {

TEST(Csr, FollowsItsModel) {
  constexpr std::uint32_t written[] = {
      reg::kControl, reg::kError,     reg::kMode,   reg::kRank,     reg::kPacketFlits,
      reg::kPlaces,  reg::kChunkSize, reg::kPieces, reg::kArrivals, reg::kWatchdog,
      reg::kStep,    reg::kId,        reg::kGroup,  reg::kDoorbell, reg::kOver};
  constexpr std::uint32_t read[] = {
      reg::kId,        reg::kShape,  reg::kStatus,   reg::kError,    reg::kFirstError,
      reg::kMode,      reg::kRank,   reg::kTaken,    reg::kCycles,   reg::kPlaces,
      reg::kChunkSize, reg::kPieces, reg::kArrivals, reg::kWatchdog, reg::kPacketFlits,
      reg::kDoorbell,  reg::kOver,   reg::kGroups};
  for (int seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    Csr csr(seed);
    std::mt19937_64 random(static_cast<unsigned>(seed));
    csr.hurry = static_cast<unsigned>(1 + random() % 8);
    for (int i = 0; i < 3000; ++i) {
      if (csr.writes.size() < 4) {
        // Some to other addresses, and some of parts of a word.
        const bool is_odd = random() % 8 == 0;
        csr.writes.push_back(
            {is_odd ? static_cast<std::uint32_t>(0x48 + random() % 0xfb8)
                    : written[random() % std::size(written)],
             static_cast<std::uint32_t>(random()),
             random() % 6 == 0 ? static_cast<std::uint32_t>(random() % 16) : kWhole});
      }
      if (csr.reads.size() < 4) {
        // Counters, which are a few cycles behind, are read below.
        std::uint32_t address = random() % 8 == 0 ? static_cast<std::uint32_t>(random() & 0xfff)
                                                  : read[random() % std::size(read)];
        if (address >= kCounters && address < kCounters + 16 * kPorts) address = reg::kId;
        csr.reads.push_back(address);
      }
      if (random() % 50 == 0) csr.in.running = random() % 2 == 0;
      if (random() % 50 == 0) csr.in.armed = random() % 3 == 0;
      csr.in.done = random() % 20 == 0;
      csr.in.taken = static_cast<std::uint32_t>(random() & 0xffffff);
      csr.in.error = random() % 10 == 0 ? 1U << random() % kErrors | 1U << random() % kErrors : 0;
      csr.in.rung = static_cast<unsigned>(random() % 16);
      csr.in.over = static_cast<unsigned>(random() % 16);
      csr.in.port = static_cast<std::uint32_t>(random() % 16);
      csr.in.piece = static_cast<std::uint32_t>(random() & 0xffff);
      for (unsigned& event : csr.in.events) event = static_cast<unsigned>(random() % 4);
      csr.cycle();
    }
    csr.finish();
    // Counters are a few cycles behind.
    csr.in.events = {};
    for (unsigned i = 0; i < 4 * kPorts; ++i) csr.cycle();
    for (std::uint32_t c = 0; c < 4 * kPorts; ++c) csr.reads.push_back(kCounters + 4 * c);
    csr.finish();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Csr, CollectsEntriesAndRoutes) {
  Csr csr(1);
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const bool is_entry = random() % 2 == 0;
    if (random() % 5 == 0) {  // one that is given up
      csr.write(is_entry ? reg::kTable : reg::kRoute, 1);
      csr.write(reg::kControl, reg::kClear);
    }
    std::array<std::uint32_t, 4> words{};
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    const std::size_t count = is_entry ? 3 : 4;
    for (std::size_t w = 0; w < count; ++w) {
      csr.write(is_entry ? reg::kTable : reg::kRoute, words[w]);
    }
    if (is_entry) {
      ASSERT_EQ(csr.entries.size(), 1);
      words[2] &= (1U << (kEntryBits - 64)) - 1;
      EXPECT_EQ(csr.entries[0], (std::array{words[0], words[1], words[2]}));
    } else {
      ASSERT_EQ(csr.routes.size(), 1);
      words[3] &= (1U << (kRouteBits - 96)) - 1;
      EXPECT_EQ(csr.routes[0], words);
    }
    csr.entries.clear();
    csr.routes.clear();
  }
}

TEST(Csr, CommandsCountOnlyWhenTheyMay) {
  Csr csr(1);
  csr.write(reg::kControl, reg::kGo);  // not armed
  EXPECT_EQ(csr.commands, std::vector<unsigned>{});
  csr.write(reg::kControl, reg::kArm);
  csr.write(reg::kControl, reg::kClear);
  csr.in.armed = true;
  csr.write(reg::kControl, reg::kGo);
  csr.in.running = true;
  for (const std::uint32_t command : {reg::kGo, reg::kClear, reg::kArm}) {
    csr.write(reg::kControl, command);
  }
  EXPECT_EQ(csr.commands, (std::vector<unsigned>{reg::kArm, reg::kClear, reg::kGo}));
  EXPECT_EQ(csr.read(reg::kError), 0);
}

TEST(Csr, NothingChangesWhileACollectiveRuns) {
  for (const bool is_running : {false, true}) {
    Csr csr(1);
    csr.write(reg::kRank, 7);
    (is_running ? csr.in.running : csr.in.armed) = true;
    csr.in.port = 5;
    csr.in.piece = 0x123;
    for (std::uint32_t address = reg::kMode; address <= reg::kGroup; address += 4) {
      EXPECT_EQ(csr.write(address, 0xffffffff), kSlaveError);
      if (address == reg::kTable + 4) continue;  // there is none
      EXPECT_EQ(csr.read(reg::kError), 1U << kConfigError) << address;
      EXPECT_EQ(csr.read(reg::kFirstError), 0x123U << 16 | 5U << 8 | kConfigError);
      csr.write(reg::kError, 1U << kConfigError);
      EXPECT_EQ(csr.read(reg::kError), 0);
    }
    EXPECT_EQ(csr.read(reg::kRank), 7);
    EXPECT_TRUE(csr.entries.empty() && csr.routes.empty() && csr.steps.empty() &&
                csr.groups.empty() && csr.loads.empty());
  }
}

TEST(Csr, DoorbellsAreRungOnlyWhileACollectiveIsUnderWay) {
  Csr csr(1);
  EXPECT_EQ(csr.write(reg::kDoorbell, 5), kSlaveError);
  EXPECT_EQ(csr.rings, std::vector<unsigned>{});
  csr.in.armed = true;
  EXPECT_EQ(csr.write(reg::kDoorbell, 5), kOkay);
  csr.in.running = true;
  EXPECT_EQ(csr.write(reg::kDoorbell, 0xfffffff8), kOkay);
  EXPECT_EQ(csr.write(reg::kDoorbell, 1, 0x7), kSlaveError) << "a part of a word";
  EXPECT_EQ(csr.rings, (std::vector<unsigned>{5, 8}));
  csr.in.rung = 0xd;
  csr.in.over = 0x4;
  EXPECT_EQ(csr.read(reg::kDoorbell), 0xd);
  EXPECT_EQ(csr.read(reg::kOver), 0x4);
  EXPECT_EQ(csr.write(reg::kOver, 1), kSlaveError) << "it cannot be written";
  EXPECT_EQ(csr.read(reg::kError), 0);
}

TEST(Csr, WhatWasWrittenIsRead) {
  Csr csr(1);
  for (const auto& [address, used] : {std::pair(reg::kMode, 0xf3fU),
                                      {reg::kRank, 0xffU},
                                      {reg::kPacketFlits, 0xffffU},
                                      {reg::kPlaces, 0x3ffU},
                                      {reg::kChunkSize, 0xffffffU},
                                      {reg::kPieces, 0xffffU},
                                      {reg::kArrivals, 0xffffffU},
                                      {reg::kWatchdog, 0xffffffU}}) {
    for (const std::uint32_t value : {0xffffffffU, 0U, 0xa5a5a5a5U, 0x5a5a5a5aU}) {
      EXPECT_EQ(csr.write(address, value), kOkay);
      EXPECT_EQ(csr.read(address), value & used) << address;
      // A part of a word is not written.
      EXPECT_EQ(csr.write(address, ~value, 0xe), kSlaveError);
      EXPECT_EQ(csr.read(address), value & used) << address;
    }
  }
}

TEST(Csr, AddressesWithoutARegisterAreErrors) {
  Csr csr(1);
  for (const std::uint32_t address : {0x3cU, 0x58U, 0x7cU, 0x88U, 0xfcU, 0x120U, 0x800U, 0xffcU}) {
    const Answer answer = csr.answer(address);
    EXPECT_EQ(answer.response, kSlaveError) << address;
    EXPECT_EQ(answer.value, 0) << address;
    EXPECT_EQ(csr.write(address, 1), kSlaveError) << address;
  }
  // Those that can only be read.
  for (const std::uint32_t address : {reg::kId, reg::kShape, reg::kStatus, reg::kFirstError,
                                      reg::kTaken, reg::kCycles, reg::kGroups, kCounters}) {
    EXPECT_EQ(csr.answer(address).response, kOkay) << address;
    EXPECT_EQ(csr.write(address, 1), kSlaveError) << address;
  }
}

TEST(Csr, TheFirstErrorIsKept) {
  Csr csr(1);
  const auto raise = [&](std::uint32_t error, std::uint32_t port) {
    csr.in.error = error;
    csr.in.port = port;
    csr.in.piece = 9;
    csr.cycle();
    csr.in.error = 0;
  };
  raise(1U << 7 | 1U << 5, 3);
  raise(1U << 1, 2);
  EXPECT_EQ(csr.read(reg::kError), 1U << 7 | 1U << 5 | 1U << 1);
  EXPECT_EQ(csr.read(reg::kFirstError), 9U << 16 | 3U << 8 | 5);
  csr.write(reg::kError, 1U << 5 | 1U << 7);  // one is left: still the first
  raise(1U << 2, 1);
  EXPECT_EQ(csr.read(reg::kFirstError), 9U << 16 | 3U << 8 | 5);
  csr.write(reg::kError, ~0U);
  raise(1U << 2, 1);
  EXPECT_EQ(csr.read(reg::kFirstError), 9U << 16 | 1U << 8 | 2);
}

}  // namespace
}  // namespace multitree::rtl::csr
