// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The rendezvous: who is missing, who does not belong, who died.
#include "runtime/job/bootstrap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <thread>

#include "meeting.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST_F(Meeting, GathersInRankOrder) {
  const auto all = join();
  std::vector<std::thread> threads;
  for (const auto& bootstrap : all) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        const std::string blob(static_cast<std::size_t>(round) * 1000,
                               static_cast<char>('a' + index(bootstrap->seat())));
        const auto blobs = bootstrap->all_gather(blob, Deadline(5000));
        ASSERT_EQ(blobs.size(), 3U);
        for (std::size_t r = 0; r < 3; ++r) {
          ASSERT_EQ(blobs[r], std::string(blob.size(), static_cast<char>('a' + r)));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(all[1]->seat(), 1_seat);
  EXPECT_EQ(all[1]->size(), 3U);
  EXPECT_EQ(all[0]->failure(), std::nullopt);
}

TEST_F(Meeting, NamesTheRanksThatHaveNotCome) {
  EXPECT_THAT([&] { join_over_tcp(options(1, Deadline(200))); },
              ThrowsMessage<Error>(::testing::MatchesRegex(
                  "rank 1: waited [0-9]+ ms in vain for rank 0, 2; ranks 0, 2 have not joined, "
                  "while rank 1 waits for them at a barrier")));
}

TEST_F(Meeting, DoesNotWaitForARankThatDiedBeforeItJoined) {
  std::vector<std::future<std::shared_ptr<Bootstrap>>> joining;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    joining.push_back(
        std::async(std::launch::async, [this, rank] { return join_over_tcp(options(rank)); }));
  }
  coordinator_->died(Origin{2}, "signal 9");
  for (auto& one : joining) {
    EXPECT_THAT(
        [&] { one.get(); },
        ThrowsMessage<Error>(::testing::HasSubstr("rank 2 died before it joined (signal 9)")));
  }
}

TEST_F(Meeting, BelievesConnectionsMoreThanWitnesses) {
  const auto all = join();
  coordinator_->died(Origin{1}, "exit code 1");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(all[0]->failure(), std::nullopt);
}

TEST_F(Meeting, NamesTheRankThatDoesNotTakePart) {
  const auto all = join();
  std::latch both(2);  // whoever gives up sees the other one wait
  const auto wait = [&](std::uint32_t rank) {
    both.arrive_and_wait();
    EXPECT_THAT([&] { all[rank]->barrier(Deadline(500)); },
                ThrowsMessage<Error>(
                    StartsWith("rank " + std::to_string(rank) +
                               ": waited 500 ms in vain for rank 2; rank 2 does not answer: it")));
  };
  auto other = std::async(std::launch::async, [&] { wait(0); });
  wait(1);
}

TEST(InProcess, WhoseWaitEndsInAnErrorHasNotCome) {
  const auto all = make_in_process_bootstraps(2);
  const auto fail = [] { throw Error(ErrorCode::Transport, "a broken wire"); };
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT([&] { all[0]->all_gather("lost", Deadline(60'000), fail); },
                ThrowsMessage<Error>(StrEq("a broken wire")));
  }
  auto other =
      std::async(std::launch::async, [&] { return all[1]->all_gather("b", Deadline(60'000)); });
  EXPECT_THAT(all[0]->all_gather("a", Deadline(60'000)), ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(other.get(), ::testing::ElementsAre("a", "b"));
}

TEST_F(Meeting, RanksOfAnotherBuildAreNamed) {
  std::vector<std::future<std::string>> joining;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    joining.push_back(std::async(std::launch::async, [this, rank] {
      try {
        join_over_tcp(options(rank, Deadline(20'000)));
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string("joined");
    }));
  }
  const Channel other = raw_rank(coordinator_->port(), 2, 3, "secret", {7, "0.0.1"});
  for (auto& one : joining) {
    const std::string words = one.get();
    EXPECT_THAT(words,
                HasSubstr("rank 2 has multitree 0.0.1 (format 7), ranks 0-1 have multitree "));
    EXPECT_THAT(words, HasSubstr(": all ranks of a job need the same build"));
  }
}

TEST_F(Meeting, TellsEverybodyOfADeathAtOnce) {
  Channel mortal = raw_rank(coordinator_->port(), 2, 3, "secret");
  mortal.send(FrameType::Gather, "");
  auto joining = std::async(std::launch::async, [this] { return join_over_tcp(options(1)); });
  const auto zero = join_over_tcp(options(0));
  const auto one = joining.get();
  EXPECT_EQ(one->failure(), std::nullopt);
  auto waiting = std::async(std::launch::async, [&] {
    EXPECT_THAT([&] { zero->barrier(Deadline(5000)); },
                ThrowsMessage<Error>(StrEq("rank 0: rank 2 died (connection closed)")));
  });
  mortal.close();
  waiting.get();
  EXPECT_EQ(await_failure_of(*one), "rank 2 died (connection closed)");
}

TEST_F(Meeting, TellsWhyARankGivesUpAndOnlyTheOthers) {
  const auto all = join();
  all[1]->report_failure("disk full");
  EXPECT_EQ(await_failure_of(*all[0]), "rank 1 gave up: disk full");
  EXPECT_EQ(await_failure_of(*all[2]), "rank 1 gave up: disk full");
  EXPECT_EQ(all[1]->failure(), std::nullopt);
}

/// All three under other numbers: `seat_of` by the old.
std::vector<std::shared_ptr<Bootstrap>> renumber(const std::vector<std::shared_ptr<Bootstrap>>& all,
                                                 const std::vector<std::uint32_t>& seat_of) {
  std::vector<std::future<std::shared_ptr<Bootstrap>>> joining;
  for (std::uint32_t old = 0; old < 3; ++old) {
    joining.push_back(std::async(std::launch::async, [&, old] {
      return renumbered(all[old], Seat{seat_of[old]}, Deadline(5000));
    }));
  }
  std::vector<std::shared_ptr<Bootstrap>> now(3);
  for (std::uint32_t old = 0; old < 3; ++old) now[seat_of[old]] = joining[old].get();
  return now;
}

TEST_F(Meeting, RenumberedIsAJobOfItsOwn) {
  auto all = renumber(join(), {1, 2, 0});
  for (std::uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(all[rank]->seat(), Seat{rank});
  EXPECT_EQ(all[0]->describe(), "test");
  std::vector<std::future<Gathered>> gathering;
  for (const auto& one : all) {
    gathering.push_back(std::async(std::launch::async, [&] {
      return one->all_gather(std::to_string(index(one->seat())), Deadline(5000));
    }));
  }
  for (auto& one : gathering) EXPECT_THAT(one.get(), ::testing::ElementsAre("0", "1", "2"));
  // Words have the new numbers.
  all[2]->report_failure("disk full");
  EXPECT_EQ(await_failure_of(*all[0]), "rank 2 gave up: disk full");
}

TEST_F(Meeting, RenumberedTakesEachNumberOnce) {
  EXPECT_THAT(
      [&] {
        renumber(join(), {1, 1, 0});
      },
      ThrowsMessage<Error>(StrEq("renumbering: expected each rank below 3 once, found 1 twice")));
}

TEST_F(Meeting, LeavingInOrderIsNoDeath) {
  auto all = join();
  all[2].reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(all[0]->failure(), std::nullopt);
  EXPECT_THAT([&] { all[0]->barrier(Deadline(5000)); },
              ThrowsMessage<Error>(StrEq("rank 0: rank 2 has left the job")));
}

TEST_F(Meeting, SaysWhenTheCoordinatorLeaves) {
  const auto all = join();
  coordinator_.reset();
  EXPECT_THAT([&] { all[0]->barrier(Deadline(5000)); },
              ThrowsMessage<Error>(StrEq("rank 0: the launcher has left the job")));
}

TEST_F(Meeting, RefusesWhoDoesNotBelongAndGoesOn) {
  const auto port = coordinator_->port();
  Channel wrong_token = raw_rank(port, 0, 3, "guess");
  EXPECT_EQ(answer(wrong_token), "wrong token: this is the rendezvous of another job");
  Channel wrong_size = raw_rank(port, 0, 4, "secret");
  EXPECT_EQ(answer(wrong_size), "this job has 3 ranks, found rank 0 of 4");
  Channel wrong_rank = raw_rank(port, 3, 3, "secret");
  EXPECT_EQ(answer(wrong_rank), "this job has 3 ranks, found rank 3 of 3");
  const std::string request = "GET / HTTP/1.1\r\nHost: node07\r\nUser-Agent: nobody's/1.0\r\n\r\n";
  const Socket browser = call(port);
  ASSERT_EQ(::send(browser.fd(), request.data(), request.size(), 0),
            static_cast<ssize_t>(request.size()));
  Channel polite = newcomer(port);
  polite.send(FrameType::Gather, "let me in");
  EXPECT_EQ(answer(polite), "not a rank of a multitree job");
  const Channel silent = newcomer(port);

  const auto all = join();
  Channel twin = raw_rank(port, 1, 3, "secret");
  EXPECT_EQ(answer(twin), "another process is or was rank 1 already");
  EXPECT_THAT([&] { join_over_tcp(options(1)); },
              ThrowsMessage<Error>(
                  StrEq("rank 1: the launcher refused: another process is or was rank 1 already")));
  auto one = std::async(std::launch::async, [&] { all[1]->barrier(Deadline(5000)); });
  auto two = std::async(std::launch::async, [&] { all[2]->barrier(Deadline(5000)); });
  all[0]->barrier(Deadline(5000));
  one.get();
  two.get();
}

/// Again and again of the same members, which fail and shrink without the whole.
void part_again(Bootstrap& whole) {
  const std::array members{2_seat, 0_seat};
  for (int round = 0; round < 20; ++round) {
    if (whole.seat() != 1_seat) {
      auto part = whole.part(7, members).join({.deadline = Deadline(5000)});
      const std::string own = std::to_string(index(whole.seat()));
      const Gathered all = part->all_gather(own, Deadline(5000));
      ASSERT_EQ(std::vector(all.begin(), all.end()), (std::vector<std::string>{"2", "0"}));
      if (round % 8 == 3) {
        if (part->seat() == 0_seat) {
          part->report_failure("no more");
        } else {
          for (int i = 0; i < 5000 && !part->failure(); ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          EXPECT_EQ(part->failure(), "rank 0 gave up: no more");
        }
        const Shrunk left = part->shrink(Deadline(5000));
        ASSERT_EQ(left.survivors.size(), 2U);
        part = left.job;
      }
      part->barrier(Deadline(5000));
    }
    EXPECT_EQ(whole.failure(), std::nullopt);
    whole.barrier(Deadline(5000));
  }
}

TEST_F(Meeting, PartsShareItsConnections) {
  const auto all = join();
  std::vector<std::thread> threads;
  for (const auto& one : all) threads.emplace_back([&one] { part_again(*one); });
  for (auto& thread : threads) thread.join();
}

TEST(InProcess, HasParts) {
  const auto all = make_in_process_bootstraps(3);
  std::vector<std::thread> threads;
  for (const auto& one : all) {
    threads.emplace_back([&one] {
      const std::array members{2_seat, 0_seat};
      for (int round = 0; round < 3 && one->seat() != 1_seat; ++round) {
        const auto part = one->part(7, members).join({});
        const Gathered seats = part->all_gather(std::to_string(round), Deadline(5000));
        EXPECT_EQ(seats.size(), 2U);
        EXPECT_EQ(seats[0], seats[1]);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Tcp, WaitsForALateCoordinatorAndGivesUpOnNone) {
  TcpOptions options;
  options.size = 1;
  options.coordinator_name = "rank 0 (coordinator)";
  const std::uint16_t port = port_of(listen_at(0, kLoopback));  // free again at once
  options.addresses = {{"127.0.0.1", port}};
  options.deadline = Deadline(150);
  EXPECT_THAT(
      [&] { join_over_tcp(std::move(options)); },
      ThrowsMessage<Error>(HasSubstr("rank 0: could not reach rank 0 (coordinator) within 150 ms "
                                     "(127.0.0.1:")));
  TcpOptions patient;
  patient.addresses = {{"127.0.0.1", port}};
  auto late = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return std::make_unique<Coordinator>(listen_at(port, kLoopback), 1, "");
  });
  EXPECT_EQ(join_over_tcp(std::move(patient))->size(), 1U);
}

/// Asks for a port at which nobody listens. \returns whether it can be listened at afterwards
bool is_left_free_by_asking() {
  // The kernel may give the asking end the very port that it asks for: one in some ten thousand
  // times, so all are asked. It prefers odd ports for binding and even ones for connecting.
  const auto port = static_cast<std::uint16_t>(port_of(listen_at(0, kLoopback)) ^ 1U);
  for (int i = 0; i < 40'000; ++i) {
    EXPECT_FALSE(connect_to({"127.0.0.1", port}, std::chrono::seconds(1)).socket.open());
  }
  try {
    return listen_at(port, kAnyAddress).open();
  } catch (const Error&) {
    return false;
  }
}

TEST(Tcp, AskingTooEarlyDoesNotTakeTheListenersPort) {
  // One port may be that of another program's connection.
  EXPECT_TRUE(is_left_free_by_asking() || is_left_free_by_asking() || is_left_free_by_asking());
}

TEST(Addresses, AreHostAndPort) {
  EXPECT_EQ(parse_address("node-7:4711", "X"), (Address{"node-7", 4711}));
  EXPECT_EQ(parse_address("[fd00::1]:4711", "X"), (Address{"fd00::1", 4711}));
  EXPECT_EQ(words_of(Address{"fd00::1", 4711}), "[fd00::1]:4711");
  EXPECT_EQ(words_of(Address{"node-7", 4711}), "node-7:4711");
  for (const char* bad : {"", "host", "host:", ":1", "host:0", "host:65536", "host:1x", "fd00::1",
                          "fd00::1:4711", "[host]:1", "[]:1", "[fd00::1]"}) {
    EXPECT_THAT(
        [&] { parse_address(bad, "X"); },
        ThrowsMessage<Error>(StrEq("X: expected host:port, found \"" + std::string(bad) + "\"")));
  }
}

TEST(InProcess, AllHoldOneAnswer) {
  std::array<const std::string*, 4> held{};
  run_ranks(4, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    const Gathered first = bootstrap->all_gather("first", Deadline(5000));
    const Gathered second = bootstrap->all_gather("second", Deadline(5000));
    held[index(bootstrap->seat())] = first.data();
    if (first[3] != "first" || second[0] != "second") throw std::runtime_error("mixed up");
    bootstrap->barrier(Deadline(5000));  // nobody lets go of it before all have looked
  });
  EXPECT_THAT(held, ::testing::Each(held[0]));
}

TEST(InProcess, NamesWhoHasNotComeAndGathersAfterwards) {
  std::atomic<int> late{0};
  const auto errors = try_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    if (bootstrap->seat() == Seat{1}) {
      while (late < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      EXPECT_THAT([&] { bootstrap->barrier(Deadline(50)); },
                  ThrowsMessage<Error>(HasSubstr("in vain for rank ")));
      ++late;
      while (late < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (bootstrap->all_gather("here", Deadline(5000)).size() != 3) {
      throw std::runtime_error("mixed up");
    }
  });
  for (const auto& error : errors) EXPECT_EQ(message_of(error), "");
}

TEST(InProcess, GathersAndFails) {
  run_ranks(5, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    for (int round = 0; round < 200; ++round) {
      const auto all =
          bootstrap->all_gather(std::to_string(index(bootstrap->seat()) + 5), Deadline(5000));
      if (!std::ranges::equal(all, std::vector<std::string>{"5", "6", "7", "8", "9"}))
        throw std::runtime_error("mixed up");
    }
  });
  const auto errors = try_ranks(3, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    if (bootstrap->seat() != Seat{1}) bootstrap->barrier(Deadline(100));
  });
  EXPECT_THAT(message_of(errors[0]) + message_of(errors[2]),
              HasSubstr("waited 100 ms in vain for rank 1"));
}

}  // namespace
}  // namespace multitree::runtime::test
