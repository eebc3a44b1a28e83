// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Letters of every kind and length, as they come out of an inbox.
#include "runtime/host/inbox_internal.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <vector>

namespace multitree::runtime::host {
namespace {

using Kind = Letter::Kind;

class InboxTest : public ::testing::Test {
 protected:
  /// What comes out is what was put in.
  void pass(const Letter& letter, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i + taken_ + 1);
    ASSERT_TRUE(inbox_->put(letter, data.data(), bytes));
    bool read = false;
    ASSERT_TRUE(inbox_->take(taken_, [&](const Letter& found, const std::byte* with) {
      read = true;
      EXPECT_EQ(found.tag, letter.tag);
      EXPECT_EQ(found.note, letter.note);
      EXPECT_EQ(found.bytes, letter.bytes);
      EXPECT_EQ(found.offset, letter.offset);
      EXPECT_EQ(found.allocation, letter.allocation);
      EXPECT_EQ(found.number, letter.number);
      EXPECT_EQ(found.from, letter.from);
      EXPECT_EQ(found.kind, letter.kind);
      EXPECT_EQ(std::vector<std::byte>(with, with + bytes), data);
    }));
    EXPECT_TRUE(read);
    ++taken_;
    EXPECT_FALSE(inbox_->take(taken_, [](const Letter&, const std::byte*) { FAIL(); }));
  }

  std::unique_ptr<Inbox> inbox_ = std::make_unique<Inbox>();
  std::uint64_t taken_ = 0;
};

constexpr std::uint64_t kHighestTag = (std::uint64_t{1} << kTagBits) - 1;

TEST_F(InboxTest, MessagesOfEveryLengthAndNote) {
  for (const std::uint64_t word : {0ULL, 7ULL, 0xffffffULL, 0x1000000ULL, ~0ULL}) {
    for (std::uint64_t bytes = 0; bytes <= 130; ++bytes) {
      for (const std::uint64_t length : {bytes, bytes + 1}) {
        const Letter letter{.tag = kHighestTag - bytes,
                            .note = {{length, word}},
                            .bytes = bytes,
                            .from = kMaxRanks - 1};
        ASSERT_NO_FATAL_FAILURE(pass(letter, bytes)) << bytes << " bytes, note " << word;
      }
    }
  }
  ASSERT_NO_FATAL_FAILURE(pass({.tag = 1, .bytes = Inbox::kRoom}, Inbox::kRoom));
}

TEST_F(InboxTest, LettersOfEveryKind) {
  for (const Kind kind : {Kind::Offer, Kind::Want, Kind::Part, Kind::Taken}) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{9}, ~std::uint64_t{0}}) {
      const Letter letter{.tag = kHighestTag,
                          .note = {{bytes, 3}},
                          .bytes = bytes,
                          .offset = ~std::uint64_t{4},
                          .allocation = ~0U,
                          .number = ~1U,
                          .from = 5,
                          .kind = kind};
      ASSERT_NO_FATAL_FAILURE(pass(letter, bytes == 9 ? 9 : 0));
    }
  }
}

TEST_F(InboxTest, IsFullUntilOneIsTaken) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < Inbox::kCells; ++i) {
      EXPECT_FALSE(inbox_->is_full(taken_));
      ASSERT_TRUE(inbox_->put({.tag = i}, nullptr, 0));
    }
    EXPECT_TRUE(inbox_->is_full(taken_));
    EXPECT_FALSE(inbox_->put({.tag = 99}, nullptr, 0));
    for (std::uint64_t i = 0; i < Inbox::kCells; ++i) {
      EXPECT_TRUE(inbox_->take(
          taken_++, [&](const Letter& letter, const std::byte*) { EXPECT_EQ(letter.tag, i); }));
      EXPECT_FALSE(inbox_->is_full(taken_));
    }
    ASSERT_NO_FATAL_FAILURE(pass({.tag = 3, .note = {{8, 1}}, .bytes = 8}, 8));
  }
}

}  // namespace
}  // namespace multitree::runtime::host
