// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages that come in parts over several connections: in any order, cut and connected anew.
#include <gmock/gmock.h>

#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "raw_rank.hpp"
#include "tcp_ends.hpp"

namespace multitree::runtime::test {
namespace {

using tcp::Incoming;
using tcp::Moved;
using tcp::Outgoing;
using ::testing::HasSubstr;

/// One end of a connection over a cable; \p first: of the first cable, null: that is this.
struct CableEnd {
  CableEnd(Socket own, std::size_t credit) : socket(std::move(own)), outgoing(credit) {
    incoming = std::make_unique<Incoming>(7_seat, outgoing);
  }
  CableEnd(Socket own, CableEnd& first) : socket(std::move(own)), outgoing(first.outgoing) {
    incoming = std::make_unique<Incoming>(7_seat, outgoing, *first.incoming);
  }
  void read() {
    if (!over) over = incoming->read(socket.fd(), why) == Moved::Over;
  }
  void write() {
    if (!over) over = outgoing.write(socket.fd(), why) == Moved::Over;
  }
  Socket socket;
  Outgoing outgoing;
  std::unique_ptr<Incoming> incoming;
  std::string why;
  bool over = false;
};

using Side = std::deque<CableEnd>;

/// Two ranks with several cables between them.
struct Cables {
  explicit Cables(std::vector<std::uint32_t> mbits, std::size_t credit = Outgoing::kUnlimited) {
    for (std::size_t i = 0; i < mbits.size(); ++i) {
      StreamPipe pipe;
      const int room = 8192;  // so that much is under way in parts
      ::setsockopt(pipe.near.fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
      ::setsockopt(pipe.far.fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
      if (i == 0) {
        one.emplace_back(std::move(pipe.near), credit);
        other.emplace_back(std::move(pipe.far), credit);
      } else {
        one.emplace_back(std::move(pipe.near), one.front());
        other.emplace_back(std::move(pipe.far), other.front());
      }
    }
    one.front().outgoing.share_by(mbits);
    other.front().outgoing.share_by(std::move(mbits));
  }
  [[nodiscard]] bool any_over() const {
    return std::ranges::any_of(one, &CableEnd::over) || std::ranges::any_of(other, &CableEnd::over);
  }
  void move() {
    for (Side* const side : {&one, &other}) {
      for (CableEnd& end : *side) end.write();
      for (CableEnd& end : *side) end.read();
    }
  }
  /// One thing, of all that could happen next.
  void move_one(std::mt19937& random) {
    Side& side = random() % 2 == 0 ? one : other;
    CableEnd& end = side[random() % side.size()];
    random() % 2 == 0 ? end.read() : end.write();
  }
  /// Another connection goes on for a cable; what was under way is lost.
  [[nodiscard]] bool cut(std::size_t cable) {
    StreamPipe pipe;
    CableEnd &here = one[cable], &there = other[cable];
    here.socket = std::move(pipe.near);
    there.socket = std::move(pipe.far);
    return here.outgoing.go_on_behind(there.incoming->came()) &&
           there.outgoing.go_on_behind(here.incoming->came());
  }
  void fail(const std::string& why) {
    for (Side* const side : {&one, &other}) {
      for (CableEnd& end : *side) {
        end.outgoing.fail(why);
        end.incoming->fail(why);
      }
    }
  }
  Side one, other;
};

struct Parcel {
  std::uint64_t tag = 0;
  std::string text, got;
  Completion sent, received;
};

/// A direction, with messages of all lengths and few tags.
class Post {
 public:
  Post(CableEnd& from, CableEnd& to) : from_(from), to_(to) {}
  void send(std::uint64_t tag, std::size_t bytes, std::mt19937& random) {
    Parcel& parcel = parcels_.emplace_back();
    parcel.tag = tag;
    parcel.text.resize(bytes);
    for (char& letter : parcel.text) letter = static_cast<char>(random());
    parcel.got.resize(bytes);
    from_.outgoing.send(tag, parcel.text.data(), bytes, parcel.sent);
  }
  void receive() {
    if (received_ == parcels_.size()) return;
    Parcel& parcel = parcels_[received_++];
    to_.incoming->receive(parcel.tag, parcel.got.data(), parcel.got.size(), parcel.received);
  }
  void receive_all() {
    while (received_ < parcels_.size()) receive();
  }
  [[nodiscard]] bool done() const {
    return std::ranges::all_of(parcels_, [](const Parcel& one) {
      return one.sent.state == State::Done && one.received.state == State::Done;
    });
  }
  [[nodiscard]] bool right() const {
    return std::ranges::all_of(parcels_, [](const Parcel& one) { return one.text == one.got; });
  }
  [[nodiscard]] std::deque<Parcel>& parcels() { return parcels_; }

 private:
  CableEnd &from_, &to_;
  std::deque<Parcel> parcels_;
  std::size_t received_ = 0;
};

void expect_parts_to_come(unsigned seed, bool cuts) {
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::uint32_t> rates(1 + random() % 4);
  const auto draw = [&] { return static_cast<std::uint32_t>(random() % 100); };
  for (std::uint32_t& rate : rates) rate = random() % 5 == 0 ? 0 : 1 + draw();
  Cables cables(rates, random() % 2 == 0 ? Outgoing::kUnlimited : 60'000);
  for (Side* const side : {&cables.one, &cables.other}) {
    for (CableEnd& end : *side) {
      if (cuts) end.outgoing.outlast_connections();
    }
  }
  Post there(cables.one.front(), cables.other.front());
  Post back(cables.other.front(), cables.one.front());
  for (int i = 0; i < 600; ++i) {
    Post& post = random() % 2 == 0 ? there : back;
    if (random() % 6 == 0) {
      post.send(random() % 4, random() % 3 == 0 ? random() % 200'000 : random() % 3000, random);
    }
    if (random() % 5 == 0) post.receive();
    if (random() % 50 == 0) {
      for (std::uint32_t& rate : rates) rate = random() % 4 == 0 ? 0 : draw();
      cables.one.front().outgoing.share_by(rates);
    }
    if (cuts && random() % 40 == 0) {
      ASSERT_TRUE(cables.cut(random() % rates.size()));
    }
    cables.move_one(random);
  }
  there.receive_all();
  back.receive_all();
  for (int i = 0; i < 20'000 && !(there.done() && back.done()); ++i) cables.move();
  EXPECT_FALSE(cables.any_over());
  EXPECT_TRUE(there.done() && back.done());
  EXPECT_TRUE(there.right() && back.right());
  EXPECT_TRUE(cables.one.front().outgoing.all_left());
}

TEST(SeveralCables, BringAllMessagesWhateverComesFirst) {
  for (unsigned seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    expect_parts_to_come(seed, false);
  }
}

TEST(SeveralCables, LoseNothingWhenTheyAreCut) {
  for (unsigned seed = 0; seed < 60 && !testing::Test::HasFailure(); ++seed) {
    expect_parts_to_come(seed, true);
  }
}

TEST(SeveralCables, CarryEachItsShare) {
  std::mt19937 random(1);
  Cables cables({30, 10});
  Post post(cables.one.front(), cables.other.front());
  post.send(1, 400'000, random);
  post.receive();
  for (int i = 0; i < 1000 && !post.done(); ++i) cables.move();
  EXPECT_TRUE(post.done() && post.right());
  EXPECT_NEAR(static_cast<double>(cables.other[0].incoming->came()), 300'000, 200);
  EXPECT_NEAR(static_cast<double>(cables.other[1].incoming->came()), 100'000, 200);
}

/// A part that comes before anybody has said what it is of waits at its cable, and holds up
/// nothing.
TEST(SeveralCables, AwaitTheFirstWordsOfAMessage) {
  std::mt19937 random(1);
  Cables cables({10, 10});
  Post post(cables.one.front(), cables.other.front());
  post.send(1, 8000, random);
  post.receive();
  cables.one[1].write();
  cables.other[1].read();
  EXPECT_FALSE(cables.other[1].incoming->can_go_on());
  cables.one[0].write();
  cables.other[0].read();
  EXPECT_TRUE(cables.other[1].incoming->can_go_on());
  EXPECT_FALSE(post.done());
  cables.other[1].read();
  EXPECT_TRUE(post.done() && post.right());
}

TEST(SeveralCables, BringMessagesThatNobodyAwaitsYetAndThoseOfOtherLengths) {
  std::mt19937 random(1);
  Cables cables({10, 10});
  Completion sent[3], early, shorter, longer;
  const std::string text = letters(50'000, 'A');
  for (int i = 0; i < 3; ++i) {
    cables.one[0].outgoing.send(static_cast<std::uint64_t>(i), text.data(), text.size(), sent[i]);
  }
  std::string all(text.size(), '?'), little(100, '?'), much(text.size() + 10, '?');
  cables.other[0].incoming->receive(1, little.data(), little.size(), shorter);
  longer.or_less = true;
  for (int i = 0; i < 100; ++i) cables.move();
  cables.other[0].incoming->receive(0, all.data(), all.size(), early);
  cables.other[0].incoming->receive(2, much.data(), much.size(), longer);
  EXPECT_EQ(early.state, State::Done);
  EXPECT_EQ(all, text);
  EXPECT_EQ(shorter.state, State::Failed);
  EXPECT_THAT(shorter.error, HasSubstr("is not of the 100 bytes"));
  EXPECT_EQ(little, std::string(100, '?'));
  EXPECT_EQ(longer.state, State::Done);
  EXPECT_EQ(longer.came, text.size());
  EXPECT_EQ(much.substr(0, text.size()), text);
}

TEST(SeveralCables, AreFlushedTogether) {
  std::mt19937 random(1);
  Cables cables({10, 10});
  Post post(cables.one.front(), cables.other.front());
  post.send(1, 40'000, random);
  Completion flushed;
  cables.one[0].outgoing.flush(flushed);
  for (int i = 0; i < 100; ++i) {
    cables.one[0].write();
    cables.other[0].read();
  }
  EXPECT_EQ(flushed.state, State::Pending) << "the other cable's part is here";
  for (int i = 0; i < 100; ++i) cables.move();
  EXPECT_EQ(flushed.state, State::Done);
}

TEST(SeveralCables, FailEachMessageOnce) {
  std::mt19937 random(1);
  Cables cables({10, 10});
  std::vector<Completion*> finished;
  Post post(cables.one.front(), cables.other.front());
  post.send(1, 100'000, random);
  post.send(2, 100'000, random);
  post.receive();
  cables.move();
  for (Parcel& one : post.parcels()) one.sent.finished = one.received.finished = &finished;
  cables.fail("gone");
  EXPECT_EQ(finished.size(), 3U) << "two that were sent, and the one that was awaited";
  for (const Completion* const one : finished) EXPECT_EQ(one->state, State::Failed);
  EXPECT_TRUE(cables.one[0].outgoing.all_left());
}

/// What a peer writes that counts other cables, or counts wrong.
TEST(SeveralCables, RefusePartsOfNothing) {
  const auto refuses = [](std::size_t cable, tcp::Header header, bool behind_a_message) {
    Cables cables({10, 10});
    if (behind_a_message) {
      tcp::Header message(tcp::Kind::Message, 1, 1000);
      message.part = 400;
      const std::string text(400, 'x');
      EXPECT_EQ(::send(cables.one[0].socket.fd(), &message, sizeof message, 0),
                ssize_t{sizeof message});
      EXPECT_EQ(::send(cables.one[0].socket.fd(), text.data(), text.size(), 0), 400);
      cables.other[0].read();
    }
    EXPECT_EQ(::send(cables.one[cable].socket.fd(), &header, sizeof header, 0),
              ssize_t{sizeof header});
    cables.other[cable].read();
    return cables.other[cable].over;
  };
  const auto part = [](std::uint64_t number, std::size_t bytes, std::uint64_t at) {
    tcp::Header header(tcp::Kind::Part, number, bytes);
    header.part = at;
    return header;
  };
  EXPECT_FALSE(refuses(1, part(0, 600, 400), true));
  EXPECT_FALSE(refuses(1, part(0, 600, 400), false)) << "its message may be on its way";
  EXPECT_TRUE(refuses(0, part(0, 600, 400), true)) << "at the first cable";
  EXPECT_TRUE(refuses(1, part(0, 601, 400), true)) << "too long";
  EXPECT_TRUE(refuses(1, part(0, 600, 401), true)) << "beyond the end";
  EXPECT_TRUE(refuses(1, part(0, 0, 400), true)) << "empty";
  EXPECT_TRUE(refuses(1, tcp::Header(tcp::Kind::Message, 1, 100), false)) << "not at the first";
  EXPECT_TRUE(refuses(1, tcp::Header(tcp::Kind::Offer, 1, 100), false));
  EXPECT_FALSE(refuses(0, tcp::Header(tcp::Kind::Message, 1, 100), false));
  tcp::Header more(tcp::Kind::Message, 1, 100);
  more.part = 101;
  EXPECT_TRUE(refuses(0, more, false));
}

/// Rank 1 has another file of cables: that is told, and not waited for.
TEST(SeveralCables, AreCountedByBothEnds) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    if (job->seat() == 1_seat) {
      const RawRank raw(*job);
      tcp::Hello second = raw.hello_to(0_seat);
      second.cable = 1;
      second.cables = 2;
      const Socket socket = raw.call(0_seat);
      write_to(socket, bytes_of(second));
      EXPECT_EQ(read_from(socket, 1), "");
      return job->barrier(kTcpPatience);
    }
    const auto transport = make_transport("tcp", *job, {.peers = {}, .deadline = kTcpPatience});
    Completion done;
    transport->receive(1_seat, 4, nullptr, 0, done);
    const auto until = std::chrono::steady_clock::now() + kTcpPatience;
    while (done.state == State::Pending && std::chrono::steady_clock::now() < until) {
      if (!transport->progress()) transport->sleep(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(
        done.error,
        "connection to rank 1 failed (it comes over cable 2 of 2, where this rank counts 1 by "
        "the cluster's file: expected the same file and version of multitree at both)");
    job->barrier(kTcpPatience);
  });
}

}  // namespace
}  // namespace multitree::runtime::test
