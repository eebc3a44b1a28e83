// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Frames as bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "rtl/wire/frame.hpp"

namespace multitree::rtl {
namespace {

LinkFlit flit_of(std::uint32_t seed, FlitShape shape = {}) {
  std::mt19937 random(seed);
  LinkFlit flit{
      .valid = true, .vc = static_cast<std::uint8_t>(random() % mt_pkg::kNumVc), .bits = {}};
  for (std::size_t b = 0; b < shape.bits(); ++b) {
    flit.bits[b / 32] |= static_cast<std::uint32_t>(random() & 1) << (b % 32);
  }
  return flit;
}

std::vector<std::byte> example(std::vector<std::byte>& items) {
  append_flit(items, flit_of(1));
  append_credit(items, 3);
  append_flit(items, flit_of(2));
  return encode({.kind = Frame::Kind::Data,
                 .way = {.from = 258, .to = 3, .lane = 4},
                 .job = 0x01020304,
                 .sequence = 0xfffffffe,
                 .ack = 77,
                 .gap = true,
                 .items = items});
}

TEST(Frame, SaysWhatWasWrittenWithTheHighestByteFirst) {
  std::vector<std::byte> items;
  const auto bytes = example(items);
  ASSERT_EQ(bytes.size(), kFrameHeader + items.size());
  EXPECT_EQ(bytes[4], std::byte{1});  // 258
  EXPECT_EQ(bytes[5], std::byte{2});
  EXPECT_EQ(bytes[12], std::byte{1});
  const auto frame = decode(bytes);
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->kind, Frame::Kind::Data);
  EXPECT_EQ(frame->way, (Way{258, 3, 4}));
  EXPECT_EQ(frame->job, 0x01020304U);
  EXPECT_EQ(frame->sequence, 0xfffffffeU);
  EXPECT_EQ(frame->ack, 77U);
  EXPECT_TRUE(frame->gap);
  auto left = frame->items;
  const auto first = take_item(left), second = take_item(left), last = take_item(left);
  ASSERT_TRUE(first && second && last);
  EXPECT_FALSE(first->is_credit);
  EXPECT_EQ(first->flit.bits, flit_of(1).bits);
  EXPECT_TRUE(second->is_credit);
  EXPECT_EQ(second->flit.vc, 3);
  EXPECT_EQ(last->flit.bits, flit_of(2).bits);
  EXPECT_EQ(last->flit.vc, flit_of(2).vc);
  EXPECT_TRUE(left.empty());
}

TEST(Frame, SaysHowWideItsFlitsAre) {
  for (const std::uint32_t bytes : kFlitBytes) {
    const FlitShape shape(bytes);
    std::vector<std::byte> items;
    append_flit(items, flit_of(3, shape), shape);
    append_credit(items, 1);
    EXPECT_EQ(items.size(), 2 + (8 * bytes + 10 + 7) / 8);
    auto frame = decode(encode({.way = {}, .shape = shape, .items = items}));
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->shape.bytes(), bytes);
    const auto item = take_item(frame->items, frame->shape);
    ASSERT_TRUE(item);
    EXPECT_EQ(item->flit.bits, flit_of(3, shape).bits);
    EXPECT_EQ(frame->items.size(), 1U);
    items.at(items.size() - 2) |= std::byte{0x80};  // behind its last bit
    std::span<const std::byte> left = items;
    EXPECT_FALSE(take_item(left, shape));
  }
}

/// Ethernet fills short frames up.
TEST(Frame, IgnoresWhatIsBehindIt) {
  std::vector<std::byte> items;
  auto bytes = example(items);
  bytes.resize(bytes.size() + 18, std::byte{0xee});
  ASSERT_TRUE(decode(bytes).has_value());
  EXPECT_EQ(decode(bytes)->items.size(), items.size());
}

TEST(Frame, IsRefusedWithAnyBitWrongOrCutOff) {
  std::vector<std::byte> items;
  const auto good = example(items);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(decode(bad).has_value()) << bit;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode(std::span(good).first(size)).has_value()) << size;
  }
}

TEST(Frame, ItemsThatAreNoneAreNotTaken) {
  std::vector<std::byte> items;
  append_flit(items, flit_of(5));
  for (std::size_t size = 1; size < items.size(); ++size) {
    std::span<const std::byte> cut(items.data(), size);
    EXPECT_FALSE(take_item(cut)) << size;
    EXPECT_EQ(cut.size(), size);
  }
  std::vector<std::byte> long_flit = items;
  long_flit.back() |= std::byte{1} << (mt_pkg::kFlitBits % 8);
  for (const auto& wrong : {std::vector<std::byte>(flit_item(), std::byte{mt_pkg::kNumVc}),
                            std::vector<std::byte>(1, std::byte{0x80 | mt_pkg::kNumVc}),
                            std::vector<std::byte>(1, std::byte{0xff}), long_flit}) {
    std::span<const std::byte> left = wrong;
    EXPECT_FALSE(take_item(left));
  }
}

}  // namespace
}  // namespace multitree::rtl
