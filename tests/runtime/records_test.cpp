// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Records that were changed, repeated, exchanged, left out, cut or taken from elsewhere on their
/// way, and first words that were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "runtime/messages/tcp/handshake_internal.hpp"
#include "runtime/messages/tcp/pact_internal.hpp"
#include "runtime/messages/tcp/sealed_internal.hpp"
#include "tcp_ends.hpp"

namespace multitree::runtime::test {
namespace {

using tcp::Hello;
using tcp::Pact;
using tcp::Records;
using tcp::SealedReader;
using tcp::SealedWriter;
using tcp::Welcome;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kRefused = "refused";

/// What somebody on the way sees of each text: a record, or several.
std::vector<std::string> sealed(SealedWriter& writer, const std::vector<std::string>& texts) {
  StreamPipe pipe;
  std::vector<std::string> all;
  for (std::string text : texts) {
    const iovec piece{text.data(), text.size()};
    EXPECT_EQ(writer.write(pipe.near.fd(), {&piece, 1}), static_cast<ssize_t>(text.size()));
    std::string seen(1 << 20, ' ');
    const ssize_t n = ::recv(pipe.far.fd(), seen.data(), seen.size(), MSG_DONTWAIT);
    seen.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    all.push_back(seen);
  }
  return all;
}

std::vector<std::string> sealed(const std::vector<std::string>& texts) {
  SealedWriter writer(key_of("ours"));
  return sealed(writer, texts);
}

/// What a reader makes of these bytes: a text, followed by kRefused if it takes no more.
std::string opened(SealedReader& reader, const std::string& bytes) {
  StreamPipe pipe;
  EXPECT_EQ(::send(pipe.near.fd(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  std::string text;
  while (true) {
    std::string part(100, ' ');
    const iovec room{part.data(), part.size()};
    const ssize_t n = reader.read(pipe.far.fd(), {&room, 1});
    if (n < 0 && errno == EBADMSG) return text + kRefused;
    if (n <= 0) return text;
    text.append(part, 0, static_cast<std::size_t>(n));
  }
}

std::string opened(const std::string& bytes, const char* secret = "ours") {
  SealedReader reader(key_of(secret));
  return opened(reader, bytes);
}

TEST(SealedRecords, AreOpenedAsTheyWere) {
  for (const std::size_t size : {1, 15, 16, 17, 1000, 16383, 16384, 16385, 100'000}) {
    const std::string text = letters(size, 'a');
    const std::string seen = sealed({text})[0];
    const std::size_t records = (size + Records::kMost - 1) / Records::kMost;
    EXPECT_EQ(seen.size(), size + records * Records::kAround);
    EXPECT_EQ(opened(seen), text) << size;
    if (size >= 15) {
      EXPECT_THAT(seen, Not(HasSubstr(text.substr(0, 15))));
    }
  }
}

TEST(SealedRecords, OfTheSameTextDiffer) {
  const auto seen = sealed({"text", "text", "text"});
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 3U);
}

/// Of the length, of what is sealed and of the tag; behind it comes what fills any length.
TEST(SealedRecords, WithOneBitChangedAreRefused) {
  const std::string record = sealed({"small"})[0], rest(2 * Records::kMost, '\0');
  ASSERT_EQ(opened(record), "small");
  for (std::size_t bit = 0; bit < record.size() * 8; ++bit) {
    std::string changed = record;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(opened(changed + rest), kRefused) << "bit " << bit;
  }
}

TEST(SealedRecords, ThatDoNotFollowAreRefused) {
  const auto r = sealed({"one", "two", "three"});
  EXPECT_EQ(opened(r[0] + r[1] + r[2]), "onetwothree");
  EXPECT_EQ(opened(r[0] + r[0]), std::string("one") + kRefused) << "repeated";
  EXPECT_EQ(opened(r[1] + r[0]), kRefused) << "exchanged";
  EXPECT_EQ(opened(r[0] + r[2]), std::string("one") + kRefused) << "one left out";
  const std::string cut = r[0].substr(0, r[0].size() - 1);
  EXPECT_EQ(opened(cut), "") << "not all there";
  EXPECT_EQ(opened(cut + r[1]), kRefused) << "cut";
  EXPECT_EQ(opened(r[0], "another"), kRefused) << "of another connection";
  EXPECT_EQ(opened(std::string(100, '\0')), kRefused) << "empty";
}

/// Somebody who holds one back does not get it in later.
TEST(SealedRecords, AreAllRefusedBehindOneThatWas) {
  const auto r = sealed({"one", "two"});
  SealedReader reader(key_of("ours"));
  EXPECT_EQ(opened(reader, r[1]), kRefused);
  EXPECT_EQ(opened(reader, r[1]), kRefused);
  Records records(key_of("ours"));
  std::string wrong = r[1], right = r[0];
  EXPECT_FALSE(records.open(reinterpret_cast<std::byte*>(wrong.data()), 3));
  EXPECT_FALSE(records.open(reinterpret_cast<std::byte*>(right.data()), 3));
}

/// Ranks on machines with and without OpenSSL understand each other.
TEST(Ciphers, MakeTheSameBytesAndOpenEachOthers) {
  const std::array ciphers{tcp::openssl_cipher(key_of("ours")), tcp::sodium_cipher(key_of("ours"))};
  if (!ciphers[0]) GTEST_SKIP() << "no " << tcp::kLibcrypto;
  if (!ciphers[1]) GTEST_SKIP() << "libsodium does not know how to use this processor for AES";
  const std::array<unsigned char, 4> header{1, 2, 3, 4};
  const auto bytes_of = [](std::string& text) {
    return tcp::Cipher::Bytes(reinterpret_cast<unsigned char*>(text.data()),
                              text.size() - tcp::Cipher::kTag);
  };
  for (const std::size_t size : {1, 15, 16, 17, 255, 4096, 16384}) {
    const tcp::Cipher::Number number{static_cast<unsigned char>(size % 251), 7};
    const std::string text = letters(size, 'a') + std::string(tcp::Cipher::kTag, '\0');
    std::array sealed{text, text};
    for (int i : {0, 1}) {
      ciphers.at(i)->take(key_of(size % 2 == 0 ? "ours" : "another"));
      ciphers.at(i)->seal(number, header, bytes_of(sealed.at(i)));
    }
    EXPECT_EQ(sealed[0], sealed[1]) << size;
    for (int i : {0, 1}) {
      std::string changed = sealed[0], right = sealed[0];
      changed.back() = static_cast<char>(changed.back() ^ 1);
      EXPECT_FALSE(ciphers.at(i)->open(number, header, bytes_of(changed))) << size;
      EXPECT_TRUE(ciphers.at(i)->open(number, header, bytes_of(right))) << size;
      EXPECT_EQ(right.substr(0, size), text.substr(0, size));
    }
  }
}

TEST(SealedRecords, GetAnotherKeyNowAndThen) {
  Records writer(key_of("ours"), 3), reader(key_of("ours"), 3), other(key_of("ours"), 4);
  for (int i = 0; i < 10; ++i) {
    std::string record(Records::kAround + 5, '\0');
    std::memcpy(record.data() + Records::kHeader, "hello", 5);
    writer.seal(reinterpret_cast<std::byte*>(record.data()), 5);
    std::string copy = record;
    EXPECT_EQ(other.open(reinterpret_cast<std::byte*>(copy.data()), 5), i < 3) << i;
    ASSERT_TRUE(reader.open(reinterpret_cast<std::byte*>(record.data()), 5)) << i;
    EXPECT_EQ(record.substr(Records::kHeader, 5), "hello");
  }
}

/// What the socket does not take is held, and taken later.
TEST(SealedRecords, AreHeldWhileThereIsNoRoom) {
  StreamEnds ends;
  ends.seal("ours");
  const std::string text = letters(4 << 20, 'a');
  Completion sent, flushed;
  ends.one.outgoing.send(1, text.data(), text.size(), sent);
  std::string why;
  EXPECT_EQ(ends.one.outgoing.write(ends.one.socket.fd(), why), tcp::Moved::Blocked);
  ends.one.outgoing.flush(flushed);
  Receive receive(ends.other, 1, text.size());
  while (sent.state == State::Pending) {
    ASSERT_EQ(flushed.state, State::Pending) << "left before it was sealed";
    ends.other.move();
    ASSERT_NE(ends.one.outgoing.write(ends.one.socket.fd(), why), tcp::Moved::Over);
  }
  EXPECT_EQ(ends.one.outgoing.all_left(), flushed.state == State::Done);
  for (int i = 0; i < 100 && receive.done.state == State::Pending; ++i) ends.move();
  EXPECT_EQ(flushed.state, State::Done);
  EXPECT_TRUE(ends.one.outgoing.all_left() && ends.one.outgoing.empty());
  EXPECT_TRUE(receive.data == text);
}

/// A message is of no concern to its sender any more, though its record has not left.
TEST(SealedRecords, HaveNotLeftWhileTheyAreHeld) {
  StreamEnds ends;
  ends.seal("ours");
  const std::string filling(4096, 'x'), text(64, 'y');
  while (::send(ends.one.socket.fd(), filling.data(), filling.size(), MSG_DONTWAIT) > 0) {
  }
  Completion sent, flushed;
  std::string why;
  ends.one.outgoing.send(1, text.data(), text.size(), sent);
  EXPECT_EQ(ends.one.outgoing.write(ends.one.socket.fd(), why), tcp::Moved::Blocked);
  EXPECT_EQ(sent.state, State::Done);
  EXPECT_FALSE(ends.one.outgoing.all_left() || ends.one.outgoing.empty());
  ends.one.outgoing.flush(flushed);
  EXPECT_EQ(flushed.state, State::Pending);
  std::string drained(1 << 22, ' ');
  while (::recv(ends.other.socket.fd(), drained.data(), drained.size(), MSG_DONTWAIT) > 0) {
  }
  EXPECT_EQ(ends.one.outgoing.write(ends.one.socket.fd(), why), tcp::Moved::Nothing);
  EXPECT_EQ(flushed.state, State::Done);
  EXPECT_TRUE(ends.one.outgoing.all_left() && ends.one.outgoing.empty());
}

TEST(SealedRecords, EndTheStreamWhereTheyAreForged) {
  StreamEnds ends;
  ends.seal("ours");
  Receive receive(ends.other, 1, 5);
  const std::string forged(100, '\1');
  ASSERT_EQ(::send(ends.one.socket.fd(), forged.data(), forged.size(), 0), 100);
  ends.other.move();
  EXPECT_TRUE(ends.other.over);
  EXPECT_EQ(ends.other.why, "what came is not what it has sealed: damaged, repeated or forged");
  EXPECT_EQ(receive.done.state, State::Pending);
}

/// Two ranks that have a key.
struct Met {
  explicit Met(const Pact& pact) {
    pact.sign(hello);
    pact.sign(hello, welcome);
  }
  Hello hello = tcp::make_hello(1_seat, 2_seat, tcp::make_secret());
  Welcome welcome{tcp::make_secret(), {1, 2, 3}, {}, {}};
};

template <typename Words, typename Known>
void expect_every_bit_to_matter(const Words& words, const Known& known) {
  ASSERT_TRUE(known(words));
  for (std::size_t bit = 0; bit < sizeof words * 8; ++bit) {
    Words changed = words;
    reinterpret_cast<unsigned char*>(&changed)[bit / 8] ^= static_cast<unsigned char>(1 << bit % 8);
    EXPECT_FALSE(known(changed)) << "bit " << bit;
  }
}

TEST(FirstWords, AreOfWhoeverHasTheKey) {
  const Pact pact(key_of("ours")), other(key_of("another"));
  const Met met(pact);
  expect_every_bit_to_matter(met.hello, [&](const Hello& hello) { return pact.knows(hello); });
  expect_every_bit_to_matter(met.welcome,
                             [&](const Welcome& one) { return pact.knows(met.hello, one); });
  EXPECT_FALSE(other.knows(met.hello));
  EXPECT_FALSE(other.knows(met.hello, met.welcome));
  EXPECT_FALSE(pact.knows(Met(pact).hello, met.welcome)) << "an answer to other words";
  EXPECT_TRUE(Pact().knows(tcp::make_hello(1_seat, 2_seat, {})));
}

TEST(FirstWords, MakeKeysOfTheConnectionAndTheDirection) {
  const Pact pact(key_of("ours"));
  const Met met(pact), again(pact);
  const auto caller = pact.sealing(Pact::Side::Caller, met.hello, met.welcome);
  const auto opener = pact.sealing(Pact::Side::Opener, met.hello, met.welcome);
  const auto later = pact.sealing(Pact::Side::Opener, again.hello, again.welcome);
  const std::string there = sealed(*caller.writes, {"there"})[0];
  const std::string back = sealed(*opener.writes, {"back"})[0];
  EXPECT_EQ(opened(*opener.reads, there), "there");
  EXPECT_EQ(opened(*caller.reads, back), "back");
  const auto fresh = [&](Pact::Side side) { return pact.sealing(side, met.hello, met.welcome); };
  EXPECT_EQ(opened(*fresh(Pact::Side::Caller).reads, there), kRefused) << "sent back";
  EXPECT_EQ(opened(*later.reads, there), kRefused) << "of the connection before";
  EXPECT_EQ(Pact().sealing(Pact::Side::Caller, met.hello, met.welcome).writes, nullptr);
}

}  // namespace
}  // namespace multitree::runtime::test
