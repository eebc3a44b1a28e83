// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks of one host that run ahead of each other, and fail meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host_calls.hpp"
#include "runtime/communicator.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Until `counter` is `least`; whether it got there.
bool await(const std::atomic<int>& counter, int least) {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (counter < least && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(1ms);
  return counter >= least;
}

/// Elements of a vector, and calls that who only sends makes while nobody reads: as many as there
/// are cards, or slips for what fits on none.
struct Ahead {
  std::size_t count;
  int calls;
};

class RunningAhead : public ::testing::TestWithParam<Ahead> {};

/// All but the root come only when it is as far ahead as it may be; it makes three times the calls.
TEST_P(RunningAhead, RootsOfBroadcasts) {
  const auto [count, most] = GetParam();
  std::atomic<int> made{0};
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const bool root = rank_of(communicator) == 1;
    if (!root) {
      ASSERT_TRUE(await(made, most)) << "after " << made << " calls the root waited";
    }
    for (int call = 0; call < 3 * most + 50; ++call) {
      Numbers data(count);
      if (root) std::iota(data.begin(), data.end(), call);
      run_rooted(communicator, Collective::Broadcast, 1, data);
      if (root) ++made;
      ASSERT_EQ(data.front(), call);
      ASSERT_EQ(data.back(), call + static_cast<int>(count) - 1);
    }
  });
}

TEST_P(RunningAhead, SendersOfReductions) {
  const auto [count, most] = GetParam();
  std::atomic<int> made{0};
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const int me = rank_of(communicator);
    if (me == 0) {
      ASSERT_TRUE(await(made, 2 * most)) << "after " << made << " calls both waited";
    }
    for (int call = 0; call < 3 * most + 50; ++call) {
      Numbers data(count, call + me);
      run_rooted(communicator, Collective::Reduce, 0, data);
      if (me != 0) ++made;
      if (me == 0) {
        ASSERT_EQ(data, Numbers(count, 3 * call + 3));
      }
    }
  });
}

std::string name_of_ahead(const ::testing::TestParamInfo<Ahead>& ahead) {
  return "Of" + std::to_string(ahead.param.count);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RunningAhead,
                         ::testing::Values(Ahead{1, 127}, Ahead{10, 127}, Ahead{11, 127},
                                           Ahead{16, 127}, Ahead{17, 32}, Ahead{4000, 32}),
                         name_of_ahead);

/// What is written for one root is not taken for what another writes.
TEST(HostOrder, TheRootChangesInEveryCall) {
  constexpr int kRanks = 4;
  run_ranks(kRanks, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const int me = rank_of(communicator);
    for (int call = 0; call < 1200; ++call) {
      const int root = call * 7 % kRanks;
      const std::size_t count =
          std::vector<std::size_t>{1, 12, 100}[static_cast<std::size_t>(call % 3)];
      if (call % 90 == me * 11) std::this_thread::sleep_for(1ms);
      Numbers data(count, 10 * call + me);
      run_rooted(communicator, call % 5 < 3 ? Collective::Broadcast : Collective::Reduce, root,
                 data);
      if (call % 5 < 3) {
        ASSERT_EQ(data, Numbers(count, 10 * call + root)) << call;
      } else if (me == root) {
        ASSERT_EQ(data, Numbers(count, kRanks * 10 * call + 6)) << call;
      }
    }
  });
}

/// One of a stream of calls, drawn alike by all ranks.
class Mixture {
 public:
  Mixture(Communicator& communicator, std::uint32_t seed)
      : communicator_(communicator), draw_(seed) {}

  void make_one() {
    static constexpr std::size_t kCounts[] = {1, 10, 11, 12, 16, 17, 300, 2000, 30'000};
    const int kind = pick(6), root = pick(ranks());
    const std::size_t count = kCounts[static_cast<std::size_t>(pick(9))];
    const int late = pick(ranks() * 40);
    if (late == me()) std::this_thread::sleep_for(300us);
    Numbers data(count, ++calls_ * 10 + me());
    if (kind < 2) return message(root, count);
    if (kind == 2) return gather(count);
    const bool all = kind == 3, down = kind == 4;
    if (all) {
      communicator_.all_reduce(data.data(), data.data(), count, DataType::Int32, ReduceOp::Sum);
    } else {
      run_rooted(communicator_, down ? Collective::Broadcast : Collective::Reduce, root, data);
    }
    const int sum = ranks() * calls_ * 10 + ranks() * (ranks() - 1) / 2;
    const int expected = down ? calls_ * 10 + root : all || me() == root ? sum : calls_ * 10 + me();
    ASSERT_EQ(data, Numbers(count, expected)) << "call " << calls_;
  }

 private:
  int pick(int below) { return static_cast<int>(draw_() % static_cast<std::uint32_t>(below)); }
  [[nodiscard]] int me() const { return rank_of(communicator_); }
  [[nodiscard]] int ranks() const { return static_cast<int>(communicator_.size()); }

  /// To the next rank.
  void message(int from, std::size_t count) {
    const int to = (from + 1) % ranks();
    Numbers data(count, calls_ * 10 + me());
    ExchangeCall call{.type = DataType::Int32, .count = count};
    call.exchange = me() == from ? Exchange::Send : Exchange::Receive;
    call.send = call.recv = data.data();
    call.peer = Rank{static_cast<std::uint32_t>(me() == from ? to : from)};
    if (me() != from && me() != to) return;
    communicator_.run(call);
    ASSERT_EQ(data, Numbers(count, calls_ * 10 + from)) << "call " << calls_;
  }
  void gather(std::size_t count) {
    Numbers data(count, calls_ * 10 + me()), all(count * communicator_.size());
    communicator_.all_gather(data.data(), all.data(), count, DataType::Int32);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i], calls_ * 10 + static_cast<int>(i / count)) << "call " << calls_;
    }
  }

  Communicator& communicator_;
  std::mt19937 draw_;
  int calls_ = 0;
};

TEST(HostOrder, CallsOfAllKindsInOneStream) {
  for (const std::uint32_t ranks : {2U, 3U, 8U}) {
    run_ranks(ranks, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
      Mixture mixture(communicator, ranks);
      for (int i = 0; i < 1500; ++i) mixture.make_one();
    });
  }
}

/// Two streams of the same ranks, of different roots.
TEST(HostOrder, TwoCommunicatorsRunAheadByThemselves) {
  run_ranks(3, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator first(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    Communicator second(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const int me = rank_of(first);
    for (int round = 0; round < 60; ++round) {
      for (int call = 0; call < 40; ++call) {
        Communicator& one = call % 2 == 0 ? first : second;
        const int root = call % 2 == 0 ? 0 : 2;
        Numbers data(1 + static_cast<std::size_t>(call), 100 * round + call + me);
        run_rooted(one, Collective::Broadcast, root, data);
        ASSERT_EQ(data, Numbers(data.size(), 100 * round + call + root));
      }
      if (round % 10 == me) std::this_thread::sleep_for(1ms);
    }
  });
}

/// Without a thread for it, a collective that was started moves inside other calls, though each of
/// these is over at once.
TEST(HostOrder, OutstandingCallsMoveInsideBlockingOnes) {
  run_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    CommunicatorOptions options = in_shared_memory();
    options.progress = "off";
    Communicator communicator(bootstrap, std::vector<Schedule>{}, options);
    const Rank other{1 - index(communicator.rank())};
    Numbers data(300'000, 1), sums(data.size());
    Request request = communicator.start_all_reduce(data.data(), sums.data(), data.size(),
                                                    DataType::Int32, ReduceOp::Sum);
    const auto until = std::chrono::steady_clock::now() + 20s;
    for (std::int32_t both = 0; both < 2;) {
      const bool late = std::chrono::steady_clock::now() > until;
      const std::int32_t mine = late ? -9 : sums == Numbers(data.size(), 2) ? 1 : 0;
      std::int32_t its = 0;
      communicator.run({.exchange = Exchange::Send,
                        .send = &mine,
                        .type = DataType::Int32,
                        .peer = other,
                        .count = 1});
      communicator.run({.exchange = Exchange::Receive,
                        .recv = &its,
                        .type = DataType::Int32,
                        .peer = other,
                        .count = 1});
      both = mine + its;
      ASSERT_GE(both, 0) << "nothing moved";
    }
    request.wait();
  });
}

/// The root has left long before a reader finds that it calls something else.
TEST(HostFailure, ReadersThatCallSomethingElseAreToldAndGetNothing) {
  const auto errors = try_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const int me = rank_of(communicator);
    for (int call = 0; call < 1000; ++call) {
      Numbers data(me == 1 && call == 70 ? 11 : 10, me == 0 ? call : -1);
      try {
        run_rooted(communicator, Collective::Broadcast, 0, data);
      } catch (...) {
        if (me == 1) {
          EXPECT_EQ(data, Numbers(11, -1));
        }
        EXPECT_TRUE(me == 0 || call == 70);
        throw;
      }
    }
  });
  for (const auto& error : errors) {
    EXPECT_THAT(message_of(error), AllOf(HasSubstr("calls broadcast of 10 int32, root 0"),
                                         HasSubstr("calls broadcast of 11 int32, root 0")));
  }
}

/// A sender whose cards are all used waits, and says for whom.
TEST(HostFailure, WhoIsTooFarAheadOfASilentRankTimesOut) {
  const auto errors = try_ranks(3, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory(Deadline(300)));
    if (rank_of(communicator) == 2) {
      while (!bootstrap->failure()) std::this_thread::sleep_for(1ms);
      throw std::runtime_error("silent");
    }
    for (int call = 0; call < 1000; ++call) {
      Numbers data(5, call);
      run_rooted(communicator, Collective::Broadcast, 0, data);
    }
  });
  EXPECT_THAT(message_of(errors[0]), HasSubstr("waiting in shared memory for rank 2 at part 0"));
}

/// Each waits for the other: a reader for what does not come, a root for who does not read.
TEST(HostFailure, AnAbortEndsWaiting) {
  for (const int gives_up : {0, 1}) {
    const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
      if (rank_of(communicator) == gives_up) {
        std::this_thread::sleep_for(50ms);
        communicator.abort("had enough");
        return;
      }
      for (int call = 0; call < 1000; ++call) {
        Numbers data(5, call);
        run_rooted(communicator, Collective::Broadcast, 0, data);
      }
    });
    const auto waiting = static_cast<std::size_t>(1 - gives_up);
    EXPECT_THAT(message_of(errors[waiting]), HasSubstr("had enough"));
    EXPECT_EQ(message_of(errors[1 - waiting]), "");
  }
}

TEST(HostFailure, AnAbortEndsTheReceiptOfAMessage) {
  const auto errors = try_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    if (rank_of(communicator) == 1) {
      std::this_thread::sleep_for(50ms);
      return communicator.abort("had enough");
    }
    std::int32_t number = 0;
    communicator.run({.exchange = Exchange::Receive,
                      .recv = &number,
                      .type = DataType::Int32,
                      .peer = Rank{1},
                      .count = 1});
  });
  EXPECT_THAT(message_of(errors[0]),
              AllOf(HasSubstr("had enough"), HasSubstr("receive 4 bytes from rank 1")));
}

}  // namespace
}  // namespace multitree::runtime::test
