// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks that encrypt: what is on the wire, what comes of bytes that others put there, and who may
/// not encrypt.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "meeting.hpp"
#include "raw_rank.hpp"
#include "runtime/messages/encryption_internal.hpp"
#include "runtime/messages/transport.hpp"
#include "support.hpp"
#include "tcp_ends.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;
using State = Completion::State;
using Clock = std::chrono::steady_clock;

/// Of rank 0 or 1 of two.
std::unique_ptr<Transport> over_tcp(Bootstrap& job, bool encrypt,
                                    OnLinkFailure on_failure = OnLinkFailure::Stop) {
  return make_transport("tcp", job,
                        {.peers = {Seat{1 - index(job.seat())}},
                         .deadline = kTcpPatience,
                         .on_link_failure = on_failure,
                         .encrypt = encrypt});
}

/// Progresses until it is done; its error.
std::string outcome_of(Transport& transport, const Completion& done) {
  const auto until = Clock::now() + kTcpPatience;
  while (done.state == State::Pending && Clock::now() < until) {
    if (!transport.progress()) transport.sleep(std::chrono::milliseconds(1));
  }
  return done.state == State::Pending ? "nothing" : done.error;
}

/// Connections of this process: its sockets of TCP that have another end.
std::set<int> connections() {
  std::set<int> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename().string());
    sockaddr_storage there{};
    socklen_t length = sizeof there;
    const int known = ::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &length);
    if (known == 0 && there.ss_family != AF_UNIX) all.insert(fd);
  }
  return all;
}

/// All that has come to this process and that nobody has read.
std::string on_the_wire() {
  std::string all;
  for (const int fd : connections()) {
    std::string part(1 << 20, ' ');
    const ssize_t n = ::recv(fd, part.data(), part.size(), MSG_PEEK | MSG_DONTWAIT);
    if (n > 0) all.append(part, 0, static_cast<std::size_t>(n));
  }
  return all;
}

/// Rank 0 sends `text`; meanwhile rank 1 looks at what has come, before it reads it.
std::string seen_of(const std::string& text, bool encrypt) {
  std::string seen, got(text.size(), '?');
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& job) {
    const auto transport = over_tcp(*job, encrypt);
    Completion done;
    job->barrier(kTcpPatience);
    if (job->seat() == 0_seat) {
      transport->send(1_seat, 5, text.data(), text.size(), done);
      EXPECT_EQ(outcome_of(*transport, done), "");
      transport->drain(kTcpPatience);
      job->barrier(kTcpPatience);
    } else {
      job->barrier(kTcpPatience);
      const auto until = Clock::now() + kTcpPatience;
      while (seen.size() < text.size() && Clock::now() < until) seen = on_the_wire();
      transport->receive(0_seat, 5, got.data(), got.size(), done);
      EXPECT_EQ(outcome_of(*transport, done), "");
    }
    job->barrier(kTcpPatience);
  });
  EXPECT_EQ(got, text);
  return seen;
}

TEST(TcpEncrypted, ShowsNothingOfMessagesOnTheWire) {
  const std::string text = "what others are not to read, nor any part of it";
  EXPECT_THAT(seen_of(text, false), HasSubstr(text)) << "the look does not see the wire";
  const std::string seen = seen_of(text, true);
  EXPECT_GT(seen.size(), text.size());
  for (std::size_t i = 0; i + 8 <= text.size(); ++i) {
    EXPECT_THAT(seen, Not(HasSubstr(text.substr(i, 8))));
  }
}

/// Bytes of somebody else come at both ends of the connections that this process has, but `before`.
void forge(const std::set<int>& before) {
  const std::string forged(64, '\1');
  for (const int fd : connections()) {
    if (before.contains(fd)) continue;
    EXPECT_EQ(::send(fd, forged.data(), forged.size(), MSG_NOSIGNAL), ssize_t{64});
  }
}

TEST(TcpEncrypted, BytesOfOthersEndTheConnectionWithAnErrorThatNamesTheRank) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    const std::set<int> before = connections();
    job->barrier(kTcpPatience);
    const auto transport = over_tcp(*job, true);
    job->barrier(kTcpPatience);
    if (job->seat() == 0_seat) forge(before);
    job->barrier(kTcpPatience);
    const Seat other{1 - index(job->seat())};
    char letter = 0;
    Completion done;
    transport->receive(other, 1, &letter, 1, done);
    // The first of the two closes it, and the other may hear of that alone.
    EXPECT_THAT(outcome_of(*transport, done),
                ::testing::MatchesRegex(fmt::format(
                    "connection to rank {} failed \\((what came is not what it has sealed: "
                    "damaged, repeated or forged|closed by it|Connection reset by peer)\\)",
                    other)));
    job->barrier(kTcpPatience);
  });
}

/// Where calls go on the two connect again, and what had not come is sent again.
TEST(TcpEncrypted, BytesOfOthersLoseNothingWhereCallsGoOn) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& job) {
    const std::set<int> before = connections();
    job->barrier(kTcpPatience);
    const auto transport = over_tcp(*job, true, OnLinkFailure::Continue);
    const Seat other{1 - index(job->seat())};
    for (std::uint64_t tag = 0; tag < 3; ++tag) {
      job->barrier(kTcpPatience);
      if (job->seat() == 0_seat && tag == 1) forge(before);
      job->barrier(kTcpPatience);
      const std::string text = letters(100'000, 'a');
      std::string got(text.size(), '?');
      Completion sent, received;
      transport->send(other, tag, text.data(), text.size(), sent);
      transport->receive(other, tag, got.data(), got.size(), received);
      EXPECT_EQ(outcome_of(*transport, received), "");
      EXPECT_EQ(outcome_of(*transport, sent), "");
      EXPECT_TRUE(got == text);
      transport->drain(kTcpPatience);
    }
    job->barrier(kTcpPatience);
  });
}

/// Whoever has overheard what opens the doors, and has no key.
TEST(TcpEncrypted, WhoHasNoKeyIsNotLetIn) {
  std::atomic<bool> over{false};
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& job) {
    if (job->seat() == 2_seat) {
      const RawRank raw(*job, true);
      const Socket socket = raw.call(0_seat);
      write_to(socket, bytes_of(raw.hello_to(0_seat)));
      EXPECT_EQ(read_from(socket, 1), "") << "was let in";
      over = true;
      return job->barrier(kTcpPatience);
    }
    const auto transport = over_tcp(*job, true);
    EXPECT_EQ(transport->describe(), "TCP, encrypted");
    std::string text = "?????";
    Completion done;
    if (job->seat() == 0_seat) {
      while (!over) {
        if (!transport->progress()) transport->sleep(std::chrono::milliseconds(1));
      }
      transport->send(1_seat, 1, "hello", 5, done);
    } else {
      transport->receive(0_seat, 1, text.data(), text.size(), done);
    }
    EXPECT_EQ(outcome_of(*transport, done), "");
    if (job->seat() == 1_seat) {
      EXPECT_EQ(text, "hello");
    }
    transport->drain(kTcpPatience);
    job->barrier(kTcpPatience);
  });
}

TEST(TcpEncrypted, NeedsAllRanksToAsk) {
  const auto errors = try_ranks(3, [](const std::shared_ptr<Bootstrap>& job) {
    make_transport("tcp", *job,
                   {.peers = {}, .deadline = kTcpPatience, .encrypt = job->seat() == 2_seat});
  });
  for (const auto& error : errors) {
    EXPECT_THAT(message_of(error),
                HasSubstr("expected encryption (MULTITREE_ENCRYPT) at all ranks or at none, found "
                          "none at rank 0 and encryption at rank 2"));
  }
}

TEST(TcpEncrypted, IsOfNoOtherTransport) {
  run_ranks(1, [](const std::shared_ptr<Bootstrap>& job) {
    EXPECT_THAT([&] { make_transport("ucx", *job, {.peers = {}, .encrypt = true}); },
                ThrowsMessage<Error>(HasSubstr("transport ucx does not encrypt, as "
                                               "MULTITREE_ENCRYPT or --encrypt asks for: take "
                                               "transport tcp")));
  });
}

TEST_F(Meeting, EncryptsNothingWithoutASecret) {
  TcpOptions open = options(0);
  open.size = 1;
  open.open = true;
  Coordinator coordinator(listen_at(0, kLoopback), 1, "");
  open.token = "";
  open.addresses = {{kLoopback, coordinator.port()}};
  const auto job = join_over_tcp(std::move(open));
  EXPECT_TRUE(job->is_open());
  const std::vector<std::string> wishes{pack(encryption_here(*job, true))};
  EXPECT_THAT([&] { agreed_encryption(wishes); },
              ThrowsMessage<Error>(HasSubstr("rank 0 cannot encrypt: the job has no secret, so "
                                             "strangers could take part: name a file with one by "
                                             "MULTITREE_KEY_FILE")));
  EXPECT_FALSE(agreed_encryption(std::vector{pack(encryption_here(*job, false))}));
}

TEST(TcpEncrypted, IsASettingOfTheEnvironment) {
  EXPECT_TRUE(encrypts(true));
  for (const auto& [value, wanted] : {std::pair{"1", true}, {"0", false}, {"", false}}) {
    ::setenv("MULTITREE_ENCRYPT", value, 1);
    EXPECT_EQ(encrypts({}), wanted);
  }
  ::setenv("MULTITREE_ENCRYPT", "yes", 1);
  EXPECT_THAT([] { encrypts({}); },
              ThrowsMessage<Error>(HasSubstr("MULTITREE_ENCRYPT: expected 0 or 1, found \"yes\"")));
  ::unsetenv("MULTITREE_ENCRYPT");
}

}  // namespace
}  // namespace multitree::runtime::test
