// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ranks that call different things: an error that names both calls, and nothing written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/communicator.hpp"
#include "support.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kElements = 1024;
constexpr std::byte kMark{0x5a};

/// What one rank calls, and the words for it.
struct Called {
  Call call;
  std::string words;
};

struct Case {
  const char* name;
  Called first, second;
};

std::vector<Case> cases() {
  const Called sum{{Collective::AllReduce, nullptr, nullptr, kElements, DataType::Float32},
                   "allreduce of 1024 float, sum"};
  const auto reduce = [](std::size_t count, DataType type, ReduceOp op) {
    return Called{{Collective::AllReduce, nullptr, nullptr, count, type, op},
                  fmt::format("allreduce of {} {}, {}", count, to_string(type), to_string(op))};
  };
  const Called scatter{
      {Collective::ReduceScatter, nullptr, nullptr, kElements / 2, DataType::Float32},
      "reduce-scatter of 512 float, sum"};
  const Called gather{{Collective::AllGather, nullptr, nullptr, kElements / 2, DataType::Float32},
                      "allgather of 512 float"};
  const Called broadcast{{Collective::Broadcast, nullptr, nullptr, kElements, DataType::Float32},
                         "broadcast of 1024 float, root 0"};
  return {{"type", sum, reduce(kElements, DataType::Int32, ReduceOp::Sum)},
          {"operator", sum, reduce(kElements, DataType::Float32, ReduceOp::Max)},
          {"both", sum, reduce(kElements, DataType::Int32, ReduceOp::Max)},
          {"count", sum, reduce(kElements + 1, DataType::Float32, ReduceOp::Sum)},
          {"bytes", sum, reduce(kElements / 2, DataType::Float64, ReduceOp::Sum)},
          {"nothing", reduce(0, DataType::Float32, ReduceOp::Sum), sum},
          {"scatter", sum, scatter},
          {"gather", scatter, gather},
          // The root waits for nobody.
          {"broadcast", broadcast, sum}};
}

CommunicatorOptions options_of(bool checksums) {
  CommunicatorOptions options;
  options.transport = "loopback";
  options.checksums = checksums;
  options.timeout = Deadline(20'000);
  return options;
}

/// Both errors name both calls, whoever noticed first.
void expect_words(const std::vector<std::exception_ptr>& errors, const std::string& first,
                  const std::string& second) {
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT(message_of(error), HasSubstr("rank 0 calls " + first));
    EXPECT_THAT(message_of(error), HasSubstr("rank 1 calls " + second));
  }
}

/// Whether `happened` within the time.
bool await(const std::atomic<bool>& happened, std::chrono::milliseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (!happened && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return happened;
}

class DifferentCalls : public ::testing::TestWithParam<bool> {};

TEST_P(DifferentCalls, AreAnErrorThatNamesBoth) {
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const auto begin = std::chrono::steady_clock::now();
    const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      Communicator communicator(bootstrap, ring_schedules(2), options_of(GetParam()));
      std::vector<std::byte> send(kElements * 8 + 8, std::byte{1}), recv(send.size(), kMark);
      Call call = (bootstrap->seat() == Seat{0} ? one.first : one.second).call;
      call.send = send.data();
      call.recv = recv.data();
      try {
        communicator.run(call);
        communicator.barrier();
      } catch (const Error&) {
        const bool wrote = std::ranges::any_of(recv, [](std::byte b) { return b != kMark; });
        // Nobody has anything but his own input.
        const bool has_input =
            call.collective == Collective::AllGather ||
            (call.collective == Collective::Broadcast && bootstrap->seat() == Seat{0});
        EXPECT_EQ(wrote, has_input);
        throw;
      }
    });
    expect_words(errors, one.first.words, one.second.words);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

/// The same calls in another order, outstanding together.
TEST_P(DifferentCalls, InAnotherOrderAreNoticed) {
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(2), options_of(GetParam()));
    std::vector<float> data(kElements), other(kElements);
    const Call sum{Collective::AllReduce, data.data(), data.data(), kElements, DataType::Float32};
    Call most = sum;
    most.send = most.recv = other.data();
    most.op = ReduceOp::Max;
    const bool turned = bootstrap->seat() == Seat{1};
    Request first = communicator.start(turned ? most : sum);
    Request second = communicator.start(turned ? sum : most);
    second.wait();
    first.wait();
  });
  expect_words(errors, "allreduce of 1024 float, sum", "allreduce of 1024 float, max");
  EXPECT_THAT(message_of(errors[0]), HasSubstr("call #0: "));
}

/// Ranks that come late hear of it as soon as they call.
TEST_P(DifferentCalls, AreNoticedByWhoComesLater) {
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(2), options_of(GetParam()));
    check_collective(communicator, Collective::AllReduce, Rank{0}, 100, DataType::Int32,
                     ReduceOp::Sum, false);
    std::vector<float> data(kElements);
    const bool late = bootstrap->seat() == Seat{1};
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    communicator.all_reduce(data.data(), data.data(), kElements, DataType::Float32,
                            late ? ReduceOp::Min : ReduceOp::Sum);
  });
  expect_words(errors, "allreduce of 1024 float, sum", "allreduce of 1024 float, min");
  EXPECT_THAT(message_of(errors[1]), HasSubstr("rank 1: call #1: rank 1 calls"));
}

/// The same words for both: then the schedules are told.
TEST_P(DifferentCalls, BySchedulesAlone) {
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Schedule schedule = ring_schedule(Collective::AllReduce, 2);
    if (bootstrap->seat() == Seat{1}) {
      for (Transfer& transfer : schedule.transfers) transfer.step += 1;
    }
    Communicator communicator(bootstrap, {schedule}, options_of(GetParam()));
    std::vector<float> data(kElements);
    communicator.all_reduce(data.data(), data.data(), kElements, DataType::Float32, ReduceOp::Sum);
  });
  expect_words(errors, "allreduce of 1024 float, sum, schedule ",
               "allreduce of 1024 float, sum, schedule ");
}

/// Operators where nothing is reduced are nobody's business.
TEST_P(DifferentCalls, InWhatDoesNotMatterAreNone) {
  run_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(2), options_of(GetParam()));
    std::vector<int> data(kElements, bootstrap->seat() == Seat{0} ? 7 : 0);
    Call call{Collective::Broadcast, data.data(), data.data(), kElements, DataType::Int32};
    call.op = bootstrap->seat() == Seat{0} ? ReduceOp::Sum : ReduceOp::Max;
    communicator.run(call);
    EXPECT_EQ(std::ranges::count(data, 7), kElements);
  });
}

/// Who is waited for comes, and finds the questions of the others: no harm, and no error.
TEST_P(DifferentCalls, AreNotSuspectedOfWhoIsLate) {
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(3), options_of(GetParam()));
    for (std::uint32_t late = 0; late < 3; ++late) {
      if (bootstrap->seat() == Seat{late}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
      }
      for (const Collective collective : all_collectives()) {
        check_collective(communicator, collective, Rank{0}, 100, DataType::Int32, ReduceOp::Sum,
                         false);
      }
      communicator.barrier();
    }
  });
}

/// A root that nobody waits for is as many calls ahead as the numbers in tags go round: what it
/// sends then is not taken for what its peer awaits, whose call it has never made.
TEST_P(DifferentCalls, AreNoticedHoweverFarAheadOneIs) {
  constexpr int kRound = 0x3fff;
  std::atomic<bool> sent{false}, returned{false};
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, ring_schedules(2), options_of(GetParam()));
    std::vector<float> data(2);
    const auto broadcast = [&](std::size_t count) {
      communicator.broadcast(data.data(), data.data(), count, DataType::Float32);
    };
    if (bootstrap->seat() == Seat{0}) {
      for (int call = 0; call < kRound; ++call) broadcast(1);
      broadcast(2);
      sent = true;
      EXPECT_FALSE(await(returned, std::chrono::milliseconds(300)));
    } else {
      EXPECT_TRUE(await(sent, std::chrono::seconds(60)));
      broadcast(2);
      returned = true;
    }
    communicator.barrier();
  });
  expect_words(errors, "broadcast of 1 float, root 0", "broadcast of 2 float, root 0");
}

INSTANTIATE_TEST_SUITE_P(Messages, DifferentCalls, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "WithChecksums" : "Plain"; });

/// Without messages the same words.
TEST(DifferentCallsOnOneHost, AreAnErrorThatNamesBoth) {
  const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    CommunicatorOptions options = options_of(false);
    options.host_path = HostPath::Required;
    Communicator communicator(bootstrap, std::vector<Schedule>{}, options);
    std::vector<float> data(kElements);
    const bool second = bootstrap->seat() == Seat{1};
    communicator.all_reduce(data.data(), data.data(), kElements,
                            second ? DataType::Int32 : DataType::Float32,
                            second ? ReduceOp::Max : ReduceOp::Sum);
  });
  expect_words(errors, "allreduce of 1024 float, sum", "allreduce of 1024 int32, max");
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT(message_of(error), ::testing::Not(HasSubstr("rank  at")));
  }
}

}  // namespace
}  // namespace multitree::runtime::test
