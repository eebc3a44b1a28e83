// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Streams that outlast their connections: what was written and lost is written again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/messages/tcp/replay_internal.hpp"
#include "tcp_ends.hpp"

namespace multitree::runtime::test {
namespace {

using tcp::Replay;

/// Another one for each connection; none: streams are plain.
using Secret = std::optional<std::string>;

/// Both ends over another pair of sockets, each told what the other has had. What was in the old
/// ones is lost. `off`: by how much that is wrong.
bool reconnect(StreamEnds& ends, int off = 0, const Secret& secret = {}) {
  ends.pipe = {};
  ends.one.socket = std::move(ends.pipe.near);
  ends.other.socket = std::move(ends.pipe.far);
  if (secret) ends.seal(*secret);
  const bool one = ends.one.outgoing.go_on_behind(ends.other.incoming.came() + off);
  return ends.other.outgoing.go_on_behind(ends.one.incoming.came()) && one;
}

struct Mail {
  std::uint64_t tag = 0;
  std::string text, got;
  Completion sent, received;
};

/// Messages of one direction; receives are posted before or after they have come.
class Traffic {
 public:
  Traffic(End& from, End& to, std::mt19937& random) : from_(from), to_(to), random_(random) {}

  void send() {
    Mail& mail = mail_.emplace_back();
    mail.tag = random_() % 4;
    mail.text.resize(random_() % 8 == 0 ? random_() % 300'000 : random_() % 600);
    for (char& letter : mail.text) letter = static_cast<char>(random_());
    mail.got.resize(mail.text.size());
    from_.outgoing.send(mail.tag, mail.text.data(), mail.text.size(), mail.sent);
  }
  void receive() {
    if (received_ == mail_.size()) return;
    Mail& mail = mail_[received_++];
    to_.incoming.receive(mail.tag, mail.got.data(), mail.got.size(), mail.received);
  }
  void finish() {
    while (received_ < mail_.size()) receive();
  }
  [[nodiscard]] bool done() const {
    return std::ranges::all_of(mail_, [](const Mail& mail) {
      return mail.received.state == State::Done && mail.sent.state == State::Done;
    });
  }
  void check() const {
    for (const Mail& mail : mail_)
      EXPECT_TRUE(mail.text == mail.got) << mail.text.size() << " bytes";
  }

 private:
  End &from_, &to_;
  std::mt19937& random_;
  std::deque<Mail> mail_;
  std::size_t received_ = 0;
};

void expect_all_to_come(unsigned seed, bool sealed) {
  SCOPED_TRACE(seed);
  const auto secret = [&](int i) { return sealed ? Secret(std::to_string(i)) : std::nullopt; };
  std::mt19937 random(seed);
  StreamEnds ends(seed % 3 == 0 ? tcp::Outgoing::kUnlimited : 50'000);
  ends.one.outgoing.outlast_connections();
  ends.other.outgoing.outlast_connections();
  if (sealed) ends.seal("first");
  Traffic there(ends.one, ends.other, random), back(ends.other, ends.one, random);
  for (int i = 0; i < 200; ++i) {
    Traffic& traffic = random() % 2 == 0 ? there : back;
    random() % 2 == 0 ? traffic.send() : traffic.receive();
    if (random() % 3 == 0) ends.one.move();
    if (random() % 3 == 0) ends.other.move();
    if (random() % 16 == 0) {
      ASSERT_TRUE(reconnect(ends, 0, secret(i)));
    }
  }
  there.finish();
  back.finish();
  for (int i = 0; i < 1000 && !(there.done() && back.done()); ++i) ends.move();
  EXPECT_TRUE(there.done() && back.done());
  EXPECT_FALSE(ends.one.over || ends.other.over) << ends.one.why << ends.other.why;
  there.check();
  back.check();
}

TEST(StreamsThatOutlast, LoseNothingWithConnections) {
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed) expect_all_to_come(seed, false);
}

TEST(StreamsThatOutlast, LoseNothingWithConnectionsWhereTheyAreSealed) {
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed) expect_all_to_come(seed, true);
}

/// What was written once has not left while it is to be written again.
TEST(StreamsThatOutlast, HaveNotLeftUntilAllIsWrittenAgain) {
  StreamEnds ends;
  ends.one.outgoing.outlast_connections();
  ends.other.outgoing.outlast_connections();
  const std::string text(10, 'x');
  Completion sent, received, before, flushed;
  std::string got(text.size(), '?');
  ends.other.incoming.receive(1, got.data(), got.size(), received);
  ends.one.outgoing.send(1, text.data(), text.size(), sent);
  ends.one.move();
  ends.one.outgoing.flush(before);
  EXPECT_EQ(before.state, State::Done);
  ASSERT_TRUE(reconnect(ends));
  ends.one.outgoing.flush(flushed);
  EXPECT_EQ(flushed.state, State::Pending);
  EXPECT_FALSE(ends.one.outgoing.all_left() || ends.one.outgoing.empty());
  ends.move();
  EXPECT_EQ(flushed.state, State::Done);
  EXPECT_TRUE(ends.one.outgoing.all_left());
  EXPECT_EQ(got, text);
}

TEST(StreamsThatOutlast, DoNotGoOnBehindWhatWasNeverSent) {
  StreamEnds ends;
  ends.one.outgoing.outlast_connections();
  ends.other.outgoing.outlast_connections();
  Completion sent;
  ends.one.outgoing.send(1, "hello", 5, sent);
  ends.move();
  EXPECT_TRUE(reconnect(ends));
  EXPECT_FALSE(reconnect(ends, 1));
}

TEST(StreamsThatOutlast, WithoutBeingAskedToDoNot) {
  StreamEnds ends;
  EXPECT_FALSE(reconnect(ends));
}

std::string text_of(Replay& replay) {
  std::string text;
  while (replay.behind()) {
    const auto next = replay.next();
    text.append(reinterpret_cast<const char*>(next.data()), next.size());
    replay.rewrote(next.size());
  }
  return text;
}

/// Pieces of all lengths, across the blocks that they lie in.
TEST(WhatMayNotHaveCome, IsKeptUntilItHas) {
  std::mt19937 random(1);
  Replay replay;
  std::string all;
  std::size_t came = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string piece(random() % 5000, static_cast<char>('a' + i % 26));
    const std::size_t bytes = std::min(piece.size(), replay.room());
    const iovec one{piece.data(), piece.size()};
    replay.keep({&one, 1}, bytes);
    all.append(piece, 0, bytes);
    if (i % 3 == 0) came += random() % (all.size() - came + 1);
    ASSERT_TRUE(replay.came(came));
    ASSERT_EQ(replay.room(), Replay::kMost - (all.size() - came));
    if (i % 100 != 0) continue;
    came += random() % (all.size() - came + 1);
    ASSERT_TRUE(replay.rewind(came));
    ASSERT_EQ(text_of(replay), all.substr(came));
  }
  EXPECT_TRUE(replay.came(0)) << "said before and heard late";
  EXPECT_FALSE(replay.came(all.size() + 1));
  EXPECT_FALSE(replay.rewind(came - 1));
}

TEST(WhatMayNotHaveCome, IsNotKeptWithoutLimit) {
  Replay replay;
  std::string piece(Replay::kMost, 'x');
  const iovec one{piece.data(), piece.size()};
  replay.keep({&one, 1}, replay.room());
  EXPECT_EQ(replay.room(), 0U);
  EXPECT_TRUE(replay.came(10));
  EXPECT_EQ(replay.room(), 10U);
}

}  // namespace
}  // namespace multitree::runtime::test
