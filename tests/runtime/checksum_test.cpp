// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a bad network does to messages, and that it is noticed.
#include "runtime/messages/checksum_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Sends to itself what `spoil` makes of the messages.
class BadWire final : public Transport {
 public:
  using Spoil = std::function<void(std::uint64_t tag, std::string& contents)>;
  explicit BadWire(Spoil spoil) : spoil_(std::move(spoil)) {}

  void send(Seat, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override {
    std::string contents(static_cast<const char*>(data), bytes);
    spoil_(tag, contents);
    sent_.push_back({tag, std::move(contents)});
    done_.push_back(&completion);
  }
  void receive(Seat, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override {
    wanted_.push_back({tag, data, bytes, &completion});
    completion.state = Completion::State::Pending;
  }
  bool progress() override {
    for (Completion* completion : done_) completion->complete();
    done_.clear();
    for (Wanted& wanted : wanted_) {
      const auto it = std::ranges::find(sent_, wanted.tag, &Sent::tag);
      if (wanted.completion == nullptr || it == sent_.end()) continue;
      Completion& completion = *std::exchange(wanted.completion, nullptr);
      if (it->contents.size() != wanted.bytes) {
        completion.fail("of another size");
      } else {
        std::ranges::copy(it->contents, static_cast<char*>(wanted.data));
        completion.complete();
      }
      sent_.erase(it);
    }
    return true;
  }
  bool drain(Deadline) override { return true; }
  void abort() override { wanted_.clear(); }
  [[nodiscard]] std::string describe() const override { return "bad wire"; }

 private:
  struct Sent {
    std::uint64_t tag;
    std::string contents;
  };
  struct Wanted {
    std::uint64_t tag;
    void* data;
    std::size_t bytes;
    Completion* completion;
  };
  Spoil spoil_;
  std::vector<Sent> sent_;
  std::deque<Wanted> wanted_;
  std::vector<Completion*> done_;
};

/// Sends `text` as message `tag` and says how it arrived: as it is, or the error.
std::string deliver(Transport& wire, std::uint64_t tag, const std::string& text) {
  std::string received(text.size(), '?');
  Completion sent, arrived;
  wire.receive(Seat{3}, tag, received.data(), received.size(), arrived);
  wire.send(Seat{3}, tag, text.data(), text.size(), sent);
  for (int i = 0; i < 4; ++i) wire.progress();
  EXPECT_EQ(sent.state, Completion::State::Done);
  EXPECT_NE(arrived.state, Completion::State::Pending);
  return arrived.state == Completion::State::Done ? received : arrived.error;
}

TEST(Checksums, LetGoodMessagesThrough) {
  const auto wire = with_checksums(std::make_unique<BadWire>([](auto, auto&) {}));
  for (std::uint64_t tag = 0; tag < 100; ++tag) {
    const std::string text(tag * 37, static_cast<char>(tag));
    EXPECT_EQ(deliver(*wire, tag, text), text);
  }
  EXPECT_EQ(wire->describe(), "bad wire, with checksums");
}

TEST(Checksums, NoticeEveryFlippedBit) {
  const std::string text = "a message of many bytes";
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    const auto wire =
        with_checksums(std::make_unique<BadWire>([&](std::uint64_t tag, std::string& contents) {
          if ((tag & kChecksumTag) == 0) contents[bit / 8] ^= static_cast<char>(1 << bit % 8);
        }));
    EXPECT_THAT(deliver(*wire, 1, text), StartsWith("message from rank 3 is corrupted: checksum"));
  }
}

TEST(Checksums, NoticeABadChecksumAndAMessageOfAnother) {
  const auto bad = with_checksums(std::make_unique<BadWire>([](auto tag, std::string& contents) {
    if ((tag & kChecksumTag) != 0) contents[5] ^= 1;
  }));
  EXPECT_THAT(deliver(*bad, 1, "text"), HasSubstr("is corrupted"));
  // Message 8 arrives as message 7, with its own sum: the same length, another place.
  std::string kept;
  const auto mixed = with_checksums(std::make_unique<BadWire>([&](auto tag, std::string& contents) {
    if ((tag & ~kChecksumTag) == 8) kept = contents;
    if (tag == (7 | kChecksumTag)) contents = kept;
  }));
  EXPECT_EQ(deliver(*mixed, 8, "same"), "same");
  EXPECT_THAT(deliver(*mixed, 7, "same"), HasSubstr("is corrupted"));
}

TEST(Checksums, PassOnWhatFailsBelow) {
  const auto wire = with_checksums(std::make_unique<BadWire>([](auto tag, std::string& contents) {
    if ((tag & kChecksumTag) == 0) contents.pop_back();
  }));
  EXPECT_EQ(deliver(*wire, 1, "text"), "of another size");
  EXPECT_EQ(deliver(*wire, 2, "text"), "of another size");
}

}  // namespace
}  // namespace multitree::runtime::test
