// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From where ranks are to who keeps them waiting.
#include "runtime/job/blame_internal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "meeting.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

Sighting in_call(std::uint64_t number, const std::vector<std::uint32_t>& awaits) {
  Whereabouts call{number,
                   "allreduce #" + std::to_string(number) + " of 8 float, sum",
                   "waiting to receive chunk 0",
                   "train.cpp:88",
                   {}};
  for (const std::uint32_t rank : awaits) call.awaits.push_back(Seat{rank});
  return {.call = call};
}
Sighting at_barrier() { return {.at_barrier = true}; }

std::string blame_of(const std::vector<Sighting>& ranks) { return blame(ranks); }

TEST(Blame, NamesWhoDoesNotAnswer) {
  EXPECT_EQ(blame_of({in_call(7, {1}), in_call(7, {2}), {}, in_call(7, {0, 2})}),
            "rank 2 does not answer: it computes or is stopped, while ranks 1, 3 wait for it in "
            "allreduce #7 of 8 float, sum at train.cpp:88");
  EXPECT_EQ(blame_of({{}, in_call(7, {0, 2}), {}, in_call(7, {0, 2})}),
            "ranks 0, 2 do not answer: they compute or are stopped, while ranks 1, 3 wait for "
            "them in allreduce #7 of 8 float, sum at train.cpp:88");
}

TEST(Blame, DoesNotNameWhoIsNotAwaited) {
  EXPECT_THAT(blame_of({in_call(7, {1}), {}, {}}), HasSubstr("rank 1 does not answer"));
}

TEST(Blame, NamesWhoIsGone) {
  EXPECT_EQ(blame_of({in_call(7, {1}), {.gone = "left the job"}, {}}),
            "rank 1 has left the job, while rank 0 waits for it in allreduce #7 of 8 float, sum "
            "at train.cpp:88");
}

TEST(Blame, TellsBarriersFromCalls) {
  EXPECT_EQ(blame_of({in_call(7, {1}), at_barrier(), in_call(7, {0, 1})}),
            "rank 1 is at a barrier, while ranks 0, 2 are in allreduce #7 of 8 float, sum at "
            "train.cpp:88: ranks call in different orders");
  EXPECT_EQ(blame_of({at_barrier(), {}, at_barrier()}),
            "rank 1 does not answer: it computes or is stopped, while ranks 0, 2 wait for it at a "
            "barrier");
  EXPECT_EQ(blame_of({at_barrier(), at_barrier()}), "");
}

TEST(Blame, NamesTheEarliestCall) {
  EXPECT_EQ(blame_of({in_call(9, {1}), in_call(8, {2}), in_call(9, {0})}),
            "rank 1 is still in allreduce #8 of 8 float, sum at train.cpp:88, waiting to receive "
            "chunk 0, while ranks 0, 2 are in allreduce #9 of 8 float, sum at train.cpp:88");
}

Sighting elsewhere(const std::vector<std::uint32_t>& awaits) {
  Sighting one = in_call(3, awaits);
  one.call->elsewhere = true;
  one.call->job = 0xb;
  return one;
}

TEST(Blame, NamesWhoWaitsInAnotherCommunicator) {
  EXPECT_EQ(blame_of({in_call(7, {1}), elsewhere({2}), {}}),
            "rank 1 waits in allreduce #3 of 8 float, sum on communicator 000000000000000b at "
            "train.cpp:88 for rank 2, while rank 0 waits for it in allreduce #7 of 8 float, sum on "
            "communicator 0000000000000000 at train.cpp:88");
  // Who does not answer comes first: the other may wait for it.
  EXPECT_THAT(blame_of({in_call(7, {1, 2}), elsewhere({2}), {}}),
              HasSubstr("rank 2 does not answer"));
  EXPECT_THAT(blame_of({in_call(7, {1}), elsewhere({})}),
              HasSubstr("rank 1 waits in allreduce #3 of 8 float, sum on communicator "
                        "000000000000000b at train.cpp:88, while"));
}

TEST(Blame, NamesThoseThatWaitCrosswise) {
  const Blame two = find_blame(std::vector{in_call(7, {1}), elsewhere({0})});
  EXPECT_EQ(two.words,
            "rank 1 waits in allreduce #3 of 8 float, sum on communicator 000000000000000b at "
            "train.cpp:88 for rank 0, while rank 0 waits for it in allreduce #7 of 8 float, sum on "
            "communicator 0000000000000000 at train.cpp:88: ranks call on the two communicators in "
            "different orders");
  EXPECT_EQ(two.crossed, std::vector({false, true}));
  // By way of others, here and there.
  const Blame ring =
      find_blame(std::vector{in_call(7, {3}), elsewhere({0}), elsewhere({1}), elsewhere({2})});
  EXPECT_THAT(ring.words, HasSubstr("ranks 1-3 wait in "));
  EXPECT_EQ(ring.crossed, std::vector({false, true, true, true}));
  EXPECT_THAT(find_blame(std::vector{in_call(7, {1}), elsewhere({2}), in_call(7, {})}).crossed,
              ::testing::IsEmpty());
}

TEST(Blame, SaysThatNobodyIsBehind) {
  EXPECT_EQ(blame_of({in_call(7, {1}), in_call(7, {0})}),
            "ranks 0-1 wait for others in allreduce #7 of 8 float, sum at train.cpp:88: a message "
            "between them is missing");
  EXPECT_EQ(blame_of({}), "");
  EXPECT_EQ(blame_of({{}, {}}), "");
}

TEST(Blame, TakesRanksThatNobodyHas) {
  EXPECT_THAT(blame_of({in_call(7, {1, 99}), {}}), HasSubstr("rank 1 does not answer"));
}

TEST(Blame, WhereaboutsSurvivePacking) {
  const Whereabouts there{(std::uint64_t{3} << 32) + 5, "what", "how", "", {Seat{1}, Seat{4}}};
  const auto back = unpack_whereabouts(pack(there));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->call, there.call);
  EXPECT_EQ(back->what + back->how + back->place, "whathow");
  EXPECT_EQ(back->awaits, there.awaits);
  const std::string packed = pack(there);
  for (std::size_t cut = 0; cut < packed.size() - 8; ++cut) {
    EXPECT_FALSE(unpack_whereabouts(packed.substr(0, cut)).has_value()) << cut;
  }
}

/// One asks, one answers, one is at a barrier, one says nothing.
void ask_around(const std::vector<std::shared_ptr<Bootstrap>>& jobs) {
  std::thread answers([&] {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!jobs[1]->failure() && !jobs[1]->asked_where()) {
      if (std::chrono::steady_clock::now() > until) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(jobs[1]->asked_where());
    jobs[1]->tell_where(*in_call(4, {2}).call);
    EXPECT_FALSE(jobs[1]->asked_where());
  });
  const std::string words = jobs[0]->culprit(in_call(4, {1}).call);
  answers.join();
  EXPECT_EQ(words,
            "rank 2 does not answer: it computes or is stopped, while rank 1 waits for it in "
            "allreduce #4 of 8 float, sum at train.cpp:88");
}

TEST(Blame, RanksAreAskedInOneProcess) { ask_around(make_in_process_bootstraps(3)); }

using BlameOverTcp = Meeting;
TEST_F(BlameOverTcp, RanksAreAsked) { ask_around(join()); }

TEST_F(BlameOverTcp, WhoIsLateForABarrierIsNamed) {
  const auto jobs = join();
  try {
    jobs[0]->barrier(Deadline(50));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("in vain for rank 1, 2; ranks 1-2 do not answer"));
  }
}

TEST(Blame, WhoIsLateForABarrierIsNamed) {
  const auto jobs = make_in_process_bootstraps(2);
  try {
    jobs[0]->barrier(Deadline(50));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("in vain for rank 1; rank 1 does not answer"));
  }
}

/// Rank 0 calls on the first, then on the second, and rank 1 the other way round.
void cross(const std::vector<std::shared_ptr<Bootstrap>>& jobs) {
  const std::vector<Seat> all{Seat{0}, Seat{1}};
  std::vector<std::string> told(2);
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      CommunicatorOptions options;
      options.transport = "loopback";
      options.timeout = Deadline(600);
      options.host_path = HostPath::Off;
      // Both deadlines may be the first.
      std::vector<std::unique_ptr<Communicator>> both;
      for (const std::uint64_t which : {1, 2}) {
        both.push_back(std::make_unique<Communicator>(jobs[rank]->part(which, all).join({}),
                                                      ring_schedules(2, Rank{0}), options));
      }
      float number = 1;
      try {
        both[rank]->all_reduce(&number, &number, 1, DataType::Float32, ReduceOp::Sum);
        both[1 - rank]->all_reduce(&number, &number, 1, DataType::Float32, ReduceOp::Sum);
      } catch (const Error& error) {
        told[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::string& words : told) {
    EXPECT_THAT(words,
                ::testing::ContainsRegex(
                    "rank [01] waits in allreduce #0 of 1 float, sum on communicator .* for "
                    "rank [01], while rank [01] waits for it in allreduce #0 of 1 float, sum "
                    "on communicator .* in different orders"));
  }
}

TEST(Blame, CrossedCommunicatorsAreNamedInOneProcess) { cross(make_in_process_bootstraps(2)); }

}  // namespace
}  // namespace multitree::runtime::test
