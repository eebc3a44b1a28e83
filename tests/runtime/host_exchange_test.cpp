// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Exchanges of ranks of one host whose shares differ: on cards, on slips, in messages, and some of
/// each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "host_calls.hpp"
#include "support.hpp"

namespace multitree::runtime::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// One exchange, drawn alike by all ranks, with its result.
class Drawn {
 public:
  Drawn(std::uint32_t ranks, Rank self, std::uint32_t seed)
      : draw_(seed),
        ranks_(ranks),
        me_(index(self)),
        seed_(static_cast<std::int32_t>(seed % 1000)) {
    static constexpr std::array kExchanges = {Exchange::AllToAllv, Exchange::AllGatherv,
                                              Exchange::ReduceScatterv, Exchange::Gatherv,
                                              Exchange::Scatterv};
    call_.exchange = kExchanges[pick(kExchanges.size())];
    call_.type = DataType::Int32;
    call_.peer = Rank{static_cast<std::uint32_t>(pick(ranks))};
    draw_counts();
    place();
    call_.send = sent_.data();
    call_.recv = received_.data();
  }

  [[nodiscard]] const ExchangeCall& call() const { return call_; }
  void check() const { ASSERT_EQ(received_, expected_) << to_string(call_.exchange); }

 private:
  std::size_t pick(std::size_t below) { return draw_() % below; }
  [[nodiscard]] bool is(Exchange exchange) const { return call_.exchange == exchange; }
  [[nodiscard]] bool is_root() const { return index(call_.peer) == me_; }

  /// Some ranks send little, some more than fits on a slip, some nothing.
  void draw_counts() {
    static constexpr std::array<std::size_t, 8> kCounts = {0, 1, 2, 3, 17, 300, 900, 9000};
    counts_.resize(ranks_, std::vector<std::size_t>(ranks_));
    for (auto& row : counts_) {
      const std::size_t most = 1 + pick(kCounts.size());
      for (std::size_t& count : row) count = kCounts[pick(most)];
    }
  }
  /// What rank `from` has for rank `to`, in elements.
  [[nodiscard]] std::size_t count(std::size_t from, std::size_t to) const {
    const bool one_for_all = is(Exchange::AllGatherv) || is(Exchange::Gatherv);
    if (is(Exchange::ReduceScatterv)) return counts_[0][to];
    return counts_[from][one_for_all ? 0 : to];
  }
  [[nodiscard]] std::int32_t value(std::size_t from, std::size_t to, std::size_t i) const {
    const bool one_for_all = is(Exchange::AllGatherv) || is(Exchange::Gatherv);
    return static_cast<std::int32_t>(100'000 * from + (one_for_all ? 0 : 1000 * to) + i % 999) +
           seed_;
  }
  void add_sent(std::size_t to) {
    const std::size_t elements = count(me_, to);
    call_.sent.counts.push_back(elements);
    for (std::size_t i = 0; i < elements; ++i) sent_.push_back(value(me_, to, i));
  }
  void add_received(std::size_t from) {
    const std::size_t elements = count(from, me_);
    call_.received.counts.push_back(elements);
    for (std::size_t i = 0; i < elements; ++i) expected_.push_back(value(from, me_, i));
  }
  void add_sums() {
    call_.received.counts.push_back(count(0, me_));
    for (std::size_t i = 0; i < count(0, me_); ++i) {
      std::int32_t sum = 0;
      for (std::size_t from = 0; from < ranks_; ++from) sum += value(from, me_, i);
      expected_.push_back(sum);
    }
  }
  void place() {
    const bool from_root = is(Exchange::Scatterv), to_root = is(Exchange::Gatherv);
    if (is(Exchange::AllGatherv) || to_root) {
      add_sent(0);
    } else if (!from_root || is_root()) {
      for (std::size_t to = 0; to < ranks_; ++to) add_sent(to);
    }
    if (is(Exchange::ReduceScatterv)) {
      add_sums();
    } else if (from_root) {
      add_received(index(call_.peer));
    } else if (!to_root || is_root()) {
      for (std::size_t from = 0; from < ranks_; ++from) add_received(from);
    }
    received_.resize(expected_.size(), -1);
    sent_.reserve(1);
    received_.reserve(1);
  }

  std::mt19937 draw_;
  std::size_t ranks_, me_;
  std::int32_t seed_;
  ExchangeCall call_;
  std::vector<std::vector<std::size_t>> counts_;  ///< by sender and receiver
  Numbers sent_, received_, expected_;
};

class HostExchanges : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(HostExchanges, OfAllKindsAndSizesInOneStream) {
  run_ranks(GetParam(), [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
      Drawn drawn(communicator.size(), communicator.rank(), seed);
      communicator.run(drawn.call());
      drawn.check();
    }
  });
}

/// Ranks wait for them in other orders than they were started in.
TEST_P(HostExchanges, SeveralAtATime) {
  run_ranks(GetParam(), [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const std::size_t me = index(communicator.rank());
    for (std::uint32_t round = 0; round < 60; ++round) {
      std::vector<std::pair<Drawn, std::optional<Request>>> several;
      several.reserve(4);
      for (std::uint32_t i = 0; i < 4; ++i) {
        auto& [drawn, request] = several.emplace_back(
            std::piecewise_construct,
            std::forward_as_tuple(communicator.size(), communicator.rank(), 10 * round + i),
            std::forward_as_tuple());
        request = communicator.start(drawn.call());
      }
      std::int32_t sum = 1;
      communicator.all_reduce(&sum, &sum, 1, DataType::Int32, ReduceOp::Sum);
      for (std::size_t i = 0; i < several.size(); ++i) {
        auto& [drawn, request] = several[(i + me + round) % several.size()];
        request->wait();
        drawn.check();
      }
      ASSERT_EQ(sum, static_cast<std::int32_t>(communicator.size()));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, HostExchanges, ::testing::Values(1, 2, 3, 5, 8, 13));

ExchangeCall scatter(std::vector<std::int32_t>& numbers, std::uint32_t ranks, Rank self) {
  ExchangeCall call{.exchange = Exchange::Scatterv, .type = DataType::Int32, .peer = Rank{0}};
  if (self == Rank{0}) {
    numbers.resize(ranks, 7);
    call.send = numbers.data();
    call.sent = Shares::equal(1, ranks);
  } else {
    numbers.resize(1);
  }
  call.recv = numbers.data();
  call.received = Shares::one(1);
  return call;
}

/// Who receives nothing waits for nobody.
TEST(HostExchange, TheRootOfAScatterRunsAhead) {
  std::atomic<int> made{0};
  run_ranks(3, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const bool root = rank_of(communicator) == 0;
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (!root && made < 20 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    if (!root) {
      ASSERT_GE(made, 20) << "the root waited";
    }
    for (int call = 0; call < 300; ++call) {
      Numbers numbers;
      communicator.run(scatter(numbers, 3, communicator.rank()));
      if (root) ++made;
      ASSERT_EQ(numbers.front(), 7);
    }
  });
}

/// Both ranks are told, whether the share is on a card or in a message, and of all else that
/// differs.
TEST(HostExchange, SharesOfAnotherSizeAreNamed) {
  for (const std::size_t count : {5U, 50U, 50'000U}) {
    const auto errors = try_ranks(2, [&](const std::shared_ptr<Bootstrap>& bootstrap) {
      Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
      const bool wrong = rank_of(communicator) == 1;
      Numbers from(2 * count), to(2 * count + 1, -1);
      ExchangeCall call{.exchange = Exchange::AllToAllv,
                        .send = from.data(),
                        .recv = to.data(),
                        .type = DataType::Int32};
      call.sent = Shares::equal(count, 2);
      call.received.counts = {wrong ? count + 1 : count, count};
      communicator.run(call);
    });
    EXPECT_THAT(message_of(errors[1]),
                AllOf(HasSubstr("rank 1 expects"), HasSubstr("from rank 0, which sends")))
        << count;
  }
}

TEST(HostExchange, AnotherCallIsNamed) {
  const auto errors = try_ranks(2, [](const std::shared_ptr<Bootstrap>& bootstrap) {
    Communicator communicator(bootstrap, std::vector<Schedule>{}, in_shared_memory());
    const bool other = rank_of(communicator) == 1;
    Numbers from(2), to(2);
    ExchangeCall call{.exchange = other ? Exchange::AllGatherv : Exchange::AllToAllv,
                      .send = from.data(),
                      .recv = to.data(),
                      .type = DataType::Int32};
    call.sent = other ? Shares::one(1) : Shares::equal(1, 2);
    call.received = Shares::equal(1, 2);
    communicator.run(call);
  });
  for (const auto& error : errors) {
    EXPECT_THAT(message_of(error), AllOf(HasSubstr("rank 0 calls alltoallv of "),
                                         HasSubstr("rank 1 calls allgatherv of ")));
  }
}

}  // namespace
}  // namespace multitree::runtime::test
