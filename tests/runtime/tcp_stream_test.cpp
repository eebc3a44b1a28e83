// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages through a stream that comes in pieces, and what ends it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/tcp/incoming_internal.hpp"
#include "runtime/messages/tcp/outgoing_internal.hpp"
#include "support.hpp"
#include "tcp_ends.hpp"

namespace multitree::runtime::test {
namespace {

using tcp::Moved;

/// Everything that is written to send these messages, as bytes.
std::string stream_of(const std::vector<std::string>& messages) {
  StreamEnds ends;
  std::deque<Completion> sent;
  std::string bytes;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ends.one.outgoing.send(i, messages[i].data(), messages[i].size(), sent.emplace_back());
  }
  std::vector<char> buffer(1 << 20);
  while (true) {
    ends.one.move();
    const ssize_t n = ::recv(ends.other.socket.fd(), buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(n));
  }
  for (const Completion& one : sent) EXPECT_EQ(one.state, State::Done);
  return bytes;
}

/// Feeds `bytes` in pieces of `next()`, and expects `messages`. Every second one is awaited before,
/// the others when all has come.
void expect_arrival(const std::string& bytes, const std::vector<std::string>& messages,
                    const std::function<std::size_t()>& next) {
  StreamPipe pipe;
  End end(std::move(pipe.far));
  std::deque<Receive> receives;
  for (std::size_t i = 0; i < messages.size(); i += 2) {
    receives.emplace_back(end, i, messages[i].size());
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t part = std::min(next(), bytes.size() - at);
    const ssize_t n = ::send(pipe.near.fd(), bytes.data() + at, part, 0);
    ASSERT_GT(n, 0);
    at += static_cast<std::size_t>(n);
    end.move();
    ASSERT_FALSE(end.over) << end.why;
  }
  for (std::size_t i = 1; i < messages.size(); i += 2) {
    receives.emplace_back(end, i, messages[i].size());
  }
  for (std::size_t i = 0, r = 0; i < messages.size(); i += 2, ++r) {
    EXPECT_EQ(receives[r].done.state, State::Done) << i;
    EXPECT_EQ(receives[r].data, messages[i]) << i;
  }
  for (std::size_t i = 1, r = (messages.size() + 1) / 2; i < messages.size(); i += 2, ++r) {
    EXPECT_EQ(receives[r].done.state, State::Done) << i;
    EXPECT_EQ(receives[r].data, messages[i]) << i;
  }
}

std::vector<std::string> lettered(std::initializer_list<std::size_t> sizes) {
  std::vector<std::string> all;
  for (const std::size_t size : sizes) {
    all.push_back(letters(size, static_cast<char>('a' + all.size())));
  }
  return all;
}

TEST(TcpStream, ComesByteByByte) {
  const auto messages = lettered({1, 0, 5, 0, 0, 31, 700, 8, 24});
  expect_arrival(stream_of(messages), messages, [] { return std::size_t{1}; });
}

TEST(TcpStream, ComesInAnyPieces) {
  const auto messages = lettered({70'000, 3, 0, 65'536 - 24, 200'000, 1, 65'536, 4096, 0, 9});
  const std::string bytes = stream_of(messages);
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    const std::size_t most = std::size_t{64} << (seed % 12);
    expect_arrival(bytes, messages, [&] { return 1 + random() % most; });
  }
}

TEST(TcpStream, MessagesOfOneTagKeepTheirOrder) {
  StreamEnds ends;
  const std::vector<std::string> texts{"first", "other", "third"};
  std::deque<Completion> sent;
  Receive early(ends.other, 5, 5);
  for (const std::string& text : texts) {
    ends.one.outgoing.send(5, text.data(), text.size(), sent.emplace_back());
  }
  ends.move();
  Receive next(ends.other, 5, 5), last(ends.other, 5, 5);
  EXPECT_EQ(early.data + next.data + last.data, "firstotherthird");
}

TEST(TcpStream, SaysWhenALengthIsNotTheExpectedOne) {
  StreamEnds ends;
  std::deque<Completion> sent;
  const std::string text = letters(100, 'a');
  Receive longer(ends.other, 1, 200), shorter(ends.other, 2, 50), enough(ends.other, 3, 200, true);
  for (std::uint64_t tag = 1; tag <= 5; ++tag) {
    ends.one.outgoing.send(tag, text.data(), text.size(), sent.emplace_back());
  }
  ends.move();
  Receive late_longer(ends.other, 4, 200), late_shorter(ends.other, 5, 50);
  for (const Receive* one : {&longer, &late_longer}) {
    EXPECT_EQ(one->done.error, "message from rank 7 is not of the 200 bytes that were expected");
    EXPECT_EQ(one->done.came, 100U);
    EXPECT_EQ(one->data.substr(0, 100), text);
  }
  for (const Receive* one : {&shorter, &late_shorter}) {
    EXPECT_EQ(one->done.error, "message from rank 7 is not of the 50 bytes that were expected");
    EXPECT_EQ(one->data, std::string(50, '?')) << "nothing beyond the buffer, and nothing in it";
  }
  EXPECT_EQ(enough.done.state, State::Done);
  EXPECT_EQ(enough.done.came, 100U);
  ends.one.outgoing.send(6, "next", 4, sent.emplace_back());
  Receive next(ends.other, 6, 4);
  ends.move();
  EXPECT_EQ(next.data, "next");
}

TEST(TcpStream, BothDirectionsFullAtOnce) {
  StreamEnds ends;
  const std::string there = letters(9'000'000, 'a'), back = letters(9'000'001, 'b');
  Completion sent_there, sent_back;
  ends.one.outgoing.send(1, there.data(), there.size(), sent_there);
  ends.other.outgoing.send(1, back.data(), back.size(), sent_back);
  Receive at_other(ends.other, 1, there.size());
  for (int i = 0; i < 100'000 && sent_there.state != State::Done; ++i) ends.move();
  Receive at_one(ends.one, 1, back.size());  // late
  for (int i = 0; i < 100'000 && at_one.done.state != State::Done; ++i) ends.move();
  EXPECT_EQ(at_one.data, back);
  EXPECT_EQ(at_other.data, there);
  EXPECT_EQ(sent_back.state, State::Done);
}

/// What nobody awaits is limited; what is awaited comes all the same.
TEST(TcpStream, BeyondItsCreditAMessageStaysAtItsSender) {
  StreamEnds ends(10'000);
  const std::string text = letters(4000, 'a');
  std::deque<Completion> sent;
  for (std::uint64_t tag = 0; tag < 6; ++tag) {
    ends.one.outgoing.send(tag, text.data(), text.size(), sent.emplace_back());
  }
  Completion flushed;
  ends.one.outgoing.flush(flushed);
  ends.move();
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].state, i < 2 ? State::Done : State::Pending) << i;
  }
  EXPECT_EQ(flushed.state, State::Pending);
  Receive last(ends.other, 5, text.size());  // overtakes those before it
  ends.move();
  EXPECT_EQ(last.data, text);
  EXPECT_EQ(sent[5].state, State::Done);
  EXPECT_EQ(sent[2].state, State::Pending);
  Receive too_short(ends.other, 4, 10);
  ends.move();
  EXPECT_EQ(too_short.done.error, "message from rank 7 is not of the 10 bytes that were expected");
  EXPECT_EQ(sent[4].state, State::Done) << "nobody will ask for it";
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    EXPECT_EQ(flushed.state, State::Pending) << tag;
    Receive one(ends.other, tag, text.size());
    ends.move();
    EXPECT_EQ(one.data, text) << tag;
  }
  EXPECT_EQ(flushed.state, State::Done);
}

/// Of a stream in one direction the receiver says that it has gone on.
TEST(TcpStream, TakenMessagesMakeRoomForOthers) {
  StreamEnds ends(10'000);
  const std::string text = letters(4000, 'a');
  for (int i = 0; i < 200; ++i) {
    Completion sent;
    ends.one.outgoing.send(1, text.data(), text.size(), sent);
    ends.one.move();
    ASSERT_EQ(sent.state, State::Done) << i << ": it was offered only";
    Receive one(ends.other, 1, text.size());
    ends.move();
    ASSERT_EQ(one.data, text);
  }
}

TEST(TcpStream, WhatCameBeforeTheEndCanBeReceived) {
  StreamEnds ends;
  Completion sent;
  ends.one.outgoing.send(1, "hello", 5, sent);
  ends.one.move();
  ends.one.socket.close();
  Receive never(ends.other, 2, 5);
  ends.other.move();
  EXPECT_TRUE(ends.other.over);
  EXPECT_EQ(ends.other.why, "closed by it");
  ends.other.incoming.fail("gone");
  EXPECT_EQ(never.done.error, "gone");
  Receive there(ends.other, 1, 5), later(ends.other, 3, 5);
  EXPECT_EQ(there.data, "hello");
  EXPECT_EQ(later.done.error, "gone");
}

TEST(TcpStream, AMessageThatEndsInTheMiddleIsNone) {
  for (const bool awaited : {true, false}) {
    const std::string bytes = stream_of({letters(1000, 'a')});
    StreamPipe pipe;
    End end(std::move(pipe.far));
    std::deque<Receive> receive;
    if (awaited) receive.emplace_back(end, 0, 1000);
    ASSERT_EQ(::send(pipe.near.fd(), bytes.data(), 500, 0), 500);
    end.move();
    if (!awaited) receive.emplace_back(end, 0, 1000);
    pipe.near.close();
    end.move();
    ASSERT_TRUE(end.over);
    end.incoming.fail("gone");
    EXPECT_EQ(receive[0].done.error, "gone");
  }
}

TEST(TcpStream, NonsenseEndsIt) {
  constexpr std::size_t kBytes = sizeof(tcp::Header);
  for (const std::string& nonsense :
       {std::string(kBytes, '\0'), std::string(kBytes, '\xff'),
        std::string("\0\0\0\0\0\0\3\0", 8) + std::string(kBytes - 8, '\0')}) {
    StreamPipe pipe;
    End end(std::move(pipe.far));
    ASSERT_EQ(::send(pipe.near.fd(), nonsense.data(), nonsense.size(), 0),
              static_cast<ssize_t>(nonsense.size()));
    end.move();
    EXPECT_TRUE(end.over);
    EXPECT_EQ(end.why, "it has sent an invalid message");
  }
}

TEST(TcpStream, ALostPeerFailsWhatIsOnItsWay) {
  StreamEnds ends(1000);
  const std::string text = letters(4'000'000, 'a');
  Completion queued, offered, flushed;
  ends.one.outgoing.send(1, text.data(), 1000, queued);
  ends.one.outgoing.send(2, text.data(), text.size(), offered);
  ends.one.outgoing.flush(flushed);
  ends.one.outgoing.fail("gone");
  EXPECT_EQ(queued.error, "gone");
  EXPECT_EQ(offered.error, "gone");
  EXPECT_EQ(flushed.state, State::Done);
  EXPECT_TRUE(ends.one.outgoing.all_left());
}

/// No signal, and a word about it.
TEST(TcpStream, WritingToWhoHasLeftIsAnError) {
  StreamEnds ends;
  ends.other.socket.close();
  Completion sent;
  ends.one.outgoing.send(1, "hello", 5, sent);
  std::string why;
  EXPECT_EQ(ends.one.outgoing.write(ends.one.socket.fd(), why), Moved::Over);
  EXPECT_EQ(why, "Broken pipe");
}

}  // namespace
}  // namespace multitree::runtime::test
