// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks over TCP sockets: how they meet, who is kept out, and what a loss says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <net/if.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <latch>
#include <string>

#include "raw_rank.hpp"
#include "runtime/messages/tcp/frame_internal.hpp"
#include "runtime/messages/transport.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using State = Completion::State;
using Clock = std::chrono::steady_clock;

std::unique_ptr<Transport> over_tcp(Bootstrap& job, const std::vector<Seat>& peers) {
  return make_transport("tcp", job, {.peers = peers, .deadline = kTcpPatience});
}

/// Progresses until `condition`; false if it takes too long.
bool await(Transport& transport, const std::function<bool()>& condition) {
  const auto until = Clock::now() + kTcpPatience;
  while (!condition()) {
    if (Clock::now() > until) return false;
    if (!transport.progress()) transport.sleep(std::chrono::milliseconds(1));
  }
  return true;
}

/// What came of a message, or of sending one: its text, or the error.
std::string outcome_of(Transport& transport, const Completion& done, const std::string& text) {
  if (!await(transport, [&] { return done.state != State::Pending; })) return "nothing";
  return done.state == State::Done ? text : done.error;
}

std::string receive(Transport& transport, Seat from, std::uint64_t tag, std::size_t bytes) {
  std::string text(bytes, '?');
  Completion done;
  transport.receive(from, tag, text.data(), text.size(), done);
  const std::string outcome = outcome_of(transport, done, "");
  return outcome.empty() ? text : outcome;
}

std::string send(Transport& transport, Seat to, std::uint64_t tag, const std::string& text) {
  Completion done;
  transport.send(to, tag, text.data(), text.size(), done);
  return outcome_of(transport, done, "sent");
}

/// Open files of this process.
std::ptrdiff_t count_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

/// Both set out at once, time after time: one connection is left, and every message has come.
TEST(Tcp, BothConnectAtOnce) {
  constexpr int kTimes = 200;
  std::atomic<std::ptrdiff_t> before{0};
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    const Seat other{1 - index(job->seat())};
    for (int i = 0; i < kTimes; ++i) {
      if (job->seat() == 0_seat) before = count_files();
      job->barrier(kTcpPatience);
      const auto transport = over_tcp(*job, {});
      job->barrier(kTcpPatience);
      const std::string text = fmt::format("{} from {}", i, job->seat());
      std::deque<Completion> sent;
      for (std::uint64_t tag = 0; tag < 3; ++tag) {
        transport->send(other, tag, text.data(), text.size(), sent.emplace_back());
      }
      for (const std::uint64_t tag : {2, 0, 1}) {
        ASSERT_EQ(receive(*transport, other, tag, text.size()),
                  fmt::format("{} from {}", i, other));
      }
      for (const Completion& one : sent) ASSERT_EQ(outcome_of(*transport, one, "sent"), "sent");
      job->barrier(kTcpPatience);
      // Each has a door, a poller and one end of the connection.
      const bool alone = await(*transport, [&] { return count_files() <= before + 6; });
      EXPECT_TRUE(alone) << count_files() - before << " files in round " << i;
      job->barrier(kTcpPatience);
    }
  });
}

/// Neighbours are connected from the beginning, others when something is sent to them.
TEST(Tcp, ConnectionsAreMadeWhenTheyAreUsed) {
  constexpr std::uint32_t kRanks = 8;
  std::atomic<std::ptrdiff_t> before{count_files()};
  run_ranks(kRanks, [&](const std::shared_ptr<Bootstrap>& job) {
    const std::uint32_t self = index(job->seat());
    const Seat next{(self + 1) % kRanks}, previous{(self + kRanks - 1) % kRanks};
    const auto transport = over_tcp(*job, {std::min(next, previous), std::max(next, previous)});
    job->barrier(kTcpPatience);
    if (self == 0) {
      EXPECT_EQ(count_files() - before, 2 * kRanks + 2 * kRanks) << "not of a ring";
    }
    job->barrier(kTcpPatience);
    const Seat opposite{(self + kRanks / 2) % kRanks};
    EXPECT_EQ(send(*transport, opposite, 1, "hello"), "sent");
    EXPECT_EQ(receive(*transport, opposite, 1, 5), "hello");
    EXPECT_EQ(send(*transport, next, 1, ""), "sent");
    EXPECT_EQ(receive(*transport, previous, 1, 0), "");
    transport->drain(kTcpPatience);
    job->barrier(kTcpPatience);
  });
}

/// Ranks 0 and 1 talk until rank 2, which does `mischief`, is through; or rank 0 does `work`.
void with_raw_rank(const std::function<void(RawRank&)>& mischief,
                   const std::function<void(Transport&)>& work = nullptr) {
  std::atomic<bool> over{false};
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    if (job->seat() == 2_seat) {
      RawRank raw(*job);
      mischief(raw);
      over = true;
      job->barrier(kTcpPatience);
      return;
    }
    const Seat other{1 - index(job->seat())};
    const auto transport = over_tcp(*job, {other});
    if (job->seat() == 0_seat && work) work(*transport);
    for (bool last = false; !last;) {
      last = over;
      const std::string word = job->seat() == 0_seat && last ? "stop" : "more";
      ASSERT_EQ(send(*transport, other, 9, word), "sent");
      const std::string heard = receive(*transport, other, 9, 4);
      ASSERT_THAT(heard, AnyOf("stop", "more"));
      last = job->seat() == 0_seat ? last : heard == "stop";
    }
    job->barrier(kTcpPatience);
  });
}

TEST(Tcp, StrangersStayOut) {
  with_raw_rank([](RawRank& raw) {
    const Socket silent = raw.call(0_seat);
    tcp::Hello wrong = raw.hello_to(0_seat);
    wrong.knock[3] ^= 1;
    tcp::Hello nobody = raw.hello_to(0_seat);
    nobody.from = 3;
    tcp::Hello itself = raw.hello_to(0_seat);
    itself.from = 0;
    tcp::Hello misled = raw.hello_to(0_seat);
    misled.to = 1;
    tcp::Hello swapped = raw.hello_to(0_seat);
    swapped.order = __builtin_bswap32(swapped.order);
    for (const tcp::Hello& one : {wrong, nobody, itself, misled, swapped}) {
      const Socket socket = raw.call(0_seat);
      write_to(socket, bytes_of(one));
      EXPECT_EQ(read_from(socket, 1), "") << "was let in";
    }
    const Socket browser = raw.call(1_seat);
    write_to(browser, "GET / HTTP/1.1\r\nHost: localhost:1234\r\n\r\n");
    EXPECT_EQ(read_from(browser, 1), "");
    write_to(silent, "mt tcp");
    reset(raw.call(0_seat));
  });
}

TEST(Tcp, WhoIsThereAlreadyIsNotLetInAgain) {
  with_raw_rank([](RawRank& raw) {
    const Socket first = raw.call(0_seat);
    write_to(first, bytes_of(raw.hello_to(0_seat)), 1);
    EXPECT_EQ(read_from(first, sizeof(tcp::Welcome)), bytes_of(raw.welcome_of(0_seat)));
    const Socket second = raw.call(0_seat);
    write_to(second, bytes_of(raw.hello_to(0_seat)));
    EXPECT_EQ(read_from(second, 1), "");
  });
}

/// Frames as they are written on the way.
std::string frames_of(std::uint64_t tag, const std::string& text) {
  const tcp::Header header(tcp::Kind::Message, tag, text.size());
  return std::string(bytes_of(header)) + text;
}

TEST(Tcp, ComesByteByByte) {
  const std::string text = "some words that take their time";
  const auto mischief = [&](RawRank& raw) {
    const Socket socket = raw.call(0_seat);
    write_to(socket, bytes_of(raw.hello_to(0_seat)), 1);
    EXPECT_EQ(read_from(socket, sizeof(tcp::Welcome)), bytes_of(raw.welcome_of(0_seat)));
    write_to(socket, frames_of(4, text) + frames_of(5, "") + frames_of(6, text), 1);
    EXPECT_EQ(read_from(socket, sizeof(tcp::Header) + 6).substr(sizeof(tcp::Header)), "thanks");
  };
  const auto work = [&](Transport& transport) {
    EXPECT_EQ(receive(transport, 2_seat, 4, text.size()), text);
    EXPECT_EQ(receive(transport, 2_seat, 6, text.size()), text);
    EXPECT_EQ(receive(transport, 2_seat, 5, 0), "");
    EXPECT_EQ(send(transport, 2_seat, 1, "thanks"), "sent");
  };
  with_raw_rank(mischief, work);
}

/// Rank 2 leaves in the middle of a message: it closes its connection, or that is reset.
void expect_loss_is_named(bool politely) {
  const auto mischief = [&](RawRank& raw) {
    Socket socket = raw.call(0_seat);
    write_to(socket, bytes_of(raw.hello_to(0_seat)));
    EXPECT_EQ(read_from(socket, sizeof(tcp::Welcome)), bytes_of(raw.welcome_of(0_seat)));
    write_to(socket, frames_of(4, "whole") + frames_of(5, "half").substr(0, 26));
    EXPECT_EQ(read_from(socket, sizeof(tcp::Header)).size(), sizeof(tcp::Header));
    if (!politely) reset(std::move(socket));
  };
  const auto work = [&](Transport& transport) {
    EXPECT_EQ(receive(transport, 2_seat, 4, 5), "whole");
    EXPECT_EQ(send(transport, 2_seat, 1, ""), "sent");
    const std::string lost = politely ? "connection to rank 2 failed (closed by it)"
                                      : "connection to rank 2 failed (Connection reset by peer)";
    EXPECT_EQ(receive(transport, 2_seat, 5, 4), lost);
    EXPECT_EQ(send(transport, 2_seat, 1, "there?"), lost);
    EXPECT_EQ(receive(transport, 2_seat, 6, 4), lost);
  };
  with_raw_rank(mischief, work);
}

TEST(Tcp, ARankThatIsLostIsNamedAtOnce) {
  expect_loss_is_named(true);
  expect_loss_is_named(false);
}

TEST(Tcp, NobodyBehindTheDoor) {
  with_raw_rank([](RawRank& raw) { raw.close_door(); },
                [](Transport& transport) {
                  EXPECT_THAT(send(transport, 2_seat, 1, "hello"),
                              MatchesRegex("connection to rank 2 failed \\(127.0.0.1:[0-9]+: "
                                           "Connection refused\\)"));
                });
}

TEST(Tcp, SomebodyElseBehindTheDoor) {
  with_raw_rank(
      [](RawRank& raw) {
        const Socket socket = raw.open();
        tcp::Hello hello = tcp::make_hello(0_seat, 2_seat, raw.own().knock);
        hello.standing.attempt = 1;
        EXPECT_EQ(read_from(socket, sizeof(tcp::Hello)), bytes_of(hello));
        write_to(socket, bytes_of(tcp::Welcome{raw.own().knock, {}}));
      },
      [](Transport& transport) {
        EXPECT_THAT(send(transport, 2_seat, 1, "hello"), HasSubstr("somebody else listens there"));
      });
}

/// It tries again, as the other may be on its way to here; then that way is taken.
TEST(Tcp, ADoorThatIsNotOpenedIsTriedAgain) {
  with_raw_rank(
      [](RawRank& raw) {
        for (int i = 0; i < 3; ++i) {
          const Socket socket = raw.open();
          EXPECT_EQ(read_from(socket, sizeof(tcp::Hello)).size(), sizeof(tcp::Hello));
        }
        const Socket socket = raw.open();
        EXPECT_EQ(read_from(socket, sizeof(tcp::Hello)).size(), sizeof(tcp::Hello));
        write_to(socket, bytes_of(tcp::Welcome{raw.own().answer, {}}));
        EXPECT_EQ(read_from(socket, sizeof(tcp::Header) + 5).substr(sizeof(tcp::Header)), "hello");
      },
      [](Transport& transport) { EXPECT_EQ(send(transport, 2_seat, 1, "hello"), "sent"); });
}

TEST(Tcp, ANeighbourThatDoesNotComeIsATimeout) {
  std::latch given_up(1);
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    if (job->seat() == 0_seat) {
      const RawRank raw(*job);
      return given_up.wait();
    }
    try {
      make_transport("tcp", *job, {.peers = {0_seat}, .deadline = Deadline(200)});
    } catch (const Error&) {
      given_up.count_down();
      throw;
    }
  });
  EXPECT_EQ(message_of(errors[1]), "rank 1: no first message from rank 0 over TCP within 200 ms");
}

TEST(Tcp, AbortLeavesCompletionsAlone) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    const Seat other{1 - index(job->seat())};
    const auto transport = over_tcp(*job, {other});
    std::string text(4'000'000, 'x'), received(10, '?');
    Completion sent, awaited;
    transport->send(other, 1, text.data(), text.size(), sent);
    transport->receive(other, 2, received.data(), received.size(), awaited);
    job->barrier(kTcpPatience);
    transport->abort();
    EXPECT_FALSE(transport->progress());
    EXPECT_EQ(sent.state, State::Pending);
    EXPECT_EQ(awaited.state, State::Pending);
    job->barrier(kTcpPatience);
  });
}

/// Of a host at 10.0.n.host in networks n.
Host host_in(const std::string& id, std::uint32_t number,
             const std::vector<std::uint32_t>& networks) {
  Host host{id, true, {}};
  for (const std::uint32_t n : networks) {
    host.interfaces.push_back({fmt::format("eth{}", n), 0x0a000000 + 256 * n + number, 24, 100});
  }
  return host;
}

std::vector<std::string> words_of_routes(const tcp::Entrance& there, const Host& here,
                                         const std::optional<Wire>& wire) {
  std::vector<std::string> words;
  for (const tcp::Route& route : tcp::routes_to(there, here, wire)) {
    words.push_back(tcp::words_of(route.to));
    if (route.from) words.back() += " from " + tcp::words_of(*route.from);
  }
  return words;
}

TEST(Tcp, RoutesBeginInNetworksThatBothShare) {
  const Host here = host_in("here", 1, {1, 2, 5});
  tcp::Entrance there{host_in("there", 2, {4, 2, 1}), {"fd00::2", "nonsense"}, 77, {}, {}};
  using ::testing::ElementsAre;
  EXPECT_THAT(words_of_routes(there, here, {}),
              ElementsAre("10.0.2.2:77", "10.0.1.2:77", "10.0.4.2:77", "[fd00::2]:77"));
  EXPECT_THAT(words_of_routes(there, here, Wire{"eth1", {0x0a000100, 24}}),
              ElementsAre("10.0.1.2:77 from 10.0.1.1:0"));
  there.host.interfaces.push_back(here.interfaces[2]);  // a network of the same numbers at each
  EXPECT_THAT(words_of_routes(there, here, {}), ::testing::SizeIs(4));
  there.host.id = "here";
  EXPECT_THAT(words_of_routes(there, here, {}), ElementsAre("127.0.0.1:77"));
  EXPECT_EQ(tcp::unpack_entrance(tcp::pack(there)).ipv6, there.ipv6);
  EXPECT_THROW(tcp::unpack_entrance("x"), Error);
}

/// At a cable the interface of this host is part of the address.
TEST(Tcp, ACableIsTheOnlyRoute) {
  Host here = host_in("here", 1, {1}), other = host_in("there", 2, {1});
  here.cables = {{3, "lo", "fe80::1", 100, false}};
  other.cables = {{3, "tb1", "fe80::2", 100, false}};
  const tcp::Entrance there{other, {}, 77, {}, {}};
  EXPECT_THAT(words_of_routes(there, here, Wire{"lo", {}, 3}),
              ::testing::ElementsAre("[fe80::2]:77 from [fe80::1]:0"));
  const auto routes = tcp::routes_to(there, here, Wire{"lo", {}, 3});
  const auto* const to = reinterpret_cast<const sockaddr_in6*>(&routes.front().to.storage);
  EXPECT_EQ(to->sin6_scope_id, ::if_nametoindex("lo"));
  EXPECT_THAT(words_of_routes(there, here, Wire{"lo", {}, 4}), ::testing::IsEmpty());
}

/// Who comes by IPv6 comes to the same door, after a way that leads nowhere.
TEST(Tcp, TheNextWayIsTakenWhereOneLeadsNowhere) {
  const Socket door = tcp::open_entrance(false, 0);
  const std::uint16_t port = tcp::port_at(door);
  const auto last = tcp::socket_address("::1", port);
  ASSERT_TRUE(last);
  const Socket probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.open() || ::connect(probe.fd(), last->get(), last->length) != 0) {
    GTEST_SKIP() << "this host has no IPv6";
  }
  accept_from(door).close();
  const std::uint16_t nobody = [] { return tcp::port_at(tcp::open_entrance(true, 0)); }();
  const tcp::Secret knock = tcp::make_secret(), answer = tcp::make_secret();
  tcp::Dial dial({{tcp::socket_address(0x7f000001, nobody), {}}, {*last, {}}},
                 tcp::make_hello(1_seat, 2_seat, knock), answer, {},
                 tcp::Dial::Patience{kTcpPatience});
  const auto until = Clock::now() + kTcpPatience;
  std::unique_ptr<tcp::Guest> guest;
  auto step = dial.go_on();
  while (step != tcp::Dial::Step::Met && Clock::now() < until) {
    ASSERT_NE(step, tcp::Dial::Step::Failed) << dial.why();
    if (guest == nullptr) {
      Socket socket = accept_from(door);
      if (socket.open()) guest = std::make_unique<tcp::Guest>(std::move(socket));
    } else if (guest->go_on(2_seat, knock, 3) == tcp::Guest::Step::Known) {
      EXPECT_EQ(guest->from(), 1_seat);
      const Socket opened = guest->take();
      tcp::welcome(opened, {answer, {}, {}, {}});
      while ((step = dial.go_on()) == tcp::Dial::Step::Waiting && Clock::now() < until) {
      }
      break;
    }
    step = dial.go_on();
  }
  EXPECT_EQ(step, tcp::Dial::Step::Met);
}

}  // namespace
}  // namespace multitree::runtime::test
