// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages between ranks of one host, by what two transports do in turn.
#include "runtime/host/mail_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"

namespace multitree::runtime::test {
namespace {

using host::Group;
using State = Completion::State;
using ::testing::HasSubstr;

/// Both ends of a job of two, which this thread moves. Given: MULTITREE_PEER_MEMORY.
class Mail : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ::setenv("MULTITREE_PEER_MEMORY", GetParam(), 1);
    ends_.resize(2);
    run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      std::string why_not;
      auto group = Group::join(*bootstrap, Deadline{20'000}, why_not);
      ASSERT_NE(group, nullptr) << why_not;
      ends_[index(bootstrap->seat())] = host::make_mail(std::move(group));
    });
    ::unsetenv("MULTITREE_PEER_MEMORY");
  }
  void TearDown() override {
    for (const auto& end : ends_) end->abort();
  }

  void move() {
    for (int turn = 0; turn < 100; ++turn) {
      for (const auto& end : ends_) static_cast<void>(end->progress());
    }
  }

  static std::vector<std::byte> data(std::size_t bytes, std::size_t seed) {
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      made[i] = static_cast<std::byte>(i * 7 + seed + i / 251);
    return made;
  }

  void send(std::uint64_t tag, const std::vector<std::byte>& what, Completion& completion) {
    ends_[0]->send_noted(Seat{1}, tag, note_, what.data(), what.size(), completion);
  }

  std::vector<std::unique_ptr<Transport>> ends_;
  Note note_{{7, 9}};
};

constexpr std::size_t kSizes[] = {0, 1, 4096, 4097, 8192, 10'000, 16'384, 32'768, 40'000, 200'000};

TEST_P(Mail, ComesWholeWhetherItIsAwaitedOrNot) {
  for (const bool awaited : {true, false}) {
    for (const std::size_t bytes : kSizes) {
      const auto sent = data(bytes, bytes + 1);
      std::vector<std::byte> came(bytes);
      Completion out, in;
      Note note = note_;
      const auto receive = [&] {
        ends_[1]->receive_noted(Seat{0}, 5, note, came.data(), bytes, in);
      };
      if (awaited) receive();
      send(5, sent, out);
      if (!awaited) {
        move();
        receive();
      }
      move();
      EXPECT_EQ(out.state, State::Done) << bytes;
      EXPECT_EQ(in.state, State::Done) << bytes;
      EXPECT_EQ(came, sent) << bytes;
    }
  }
}

/// The receiver asks while some parts have come and others have not.
TEST_P(Mail, MayBeAskedForWhenHalfOfItHasCome) {
  for (const std::size_t before : {0U, 1U, 31U, 32U}) {  // of an inbox of 32
    std::deque<Completion> out(before + 1);
    const std::vector<std::byte> small = data(8, 1), sent = data(16'000, 2);
    for (std::size_t i = 0; i < before; ++i) send(100 + i, small, out[i]);
    send(5, sent, out[before]);
    static_cast<void>(ends_[1]->progress());  // what there was room for
    std::vector<std::byte> came(sent.size()), other(8);
    Completion in;
    Note note = note_;
    ends_[1]->receive_noted(Seat{0}, 5, note, came.data(), came.size(), in);
    move();
    EXPECT_EQ(in.state, State::Done) << before;
    EXPECT_EQ(came, sent) << before;
    for (std::size_t i = 0; i < before; ++i) {
      Completion small_in;
      ends_[1]->receive_noted(Seat{0}, 100 + i, note, other.data(), other.size(), small_in);
      move();
      EXPECT_EQ(small_in.state, State::Done);
    }
  }
}

TEST_P(Mail, KeepsTheOrderOfMessagesOfOneTag) {
  std::deque<Completion> out(12), in(12);
  std::deque<std::vector<std::byte>> sent, came;
  for (std::size_t i = 0; i < 12; ++i) {
    sent.push_back(data(kSizes[2 + i % 6], i));
    send(5, sent.back(), out[i]);
  }
  for (std::size_t i = 0; i < 12; ++i) {
    came.emplace_back(sent[i].size());
    Note note = note_;
    ends_[1]->receive_noted(Seat{0}, 5, note, came[i].data(), came[i].size(), in[i]);
    move();
    EXPECT_EQ(in[i].state, State::Done) << i;
    EXPECT_EQ(came[i], sent[i]) << i;
  }
}

/// And what comes of it is not taken for the next.
TEST_P(Mail, AnotherLengthOrNoteIsToldOf) {
  for (const bool awaited : {true, false}) {
    for (const bool other_note : {true, false}) {
      const auto sent = data(10'000, 3), next = data(10'000, 4);
      std::vector<std::byte> came(10'000);
      Completion out, after, in, in_after;
      Note note = other_note ? Note{{7, 8}} : note_;
      const std::size_t bytes = other_note ? 10'000 : 9'000;
      const auto receive = [&] {
        ends_[1]->receive_noted(Seat{0}, 5, note, came.data(), bytes, in);
      };
      if (awaited) receive();
      send(5, sent, out);
      if (!awaited) {
        move();
        receive();
      }
      move();
      EXPECT_EQ(in.state, State::Failed);
      EXPECT_THAT(in.error, HasSubstr(other_note ? "another message from rank 0"
                                                 : "10000 bytes where 9000 were expected"));
      send(5, next, after);
      Note right = note_;
      ends_[1]->receive_noted(Seat{0}, 5, right, came.data(), came.size(), in_after);
      move();
      EXPECT_EQ(in_after.state, State::Done);
      EXPECT_EQ(came, next);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PeerMemory, Mail, ::testing::Values("0", "1"));

}  // namespace
}  // namespace multitree::runtime::test
