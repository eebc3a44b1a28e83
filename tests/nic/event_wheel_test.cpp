// SPDX-License-Identifier: BSD-3-Clause
#include "nic/nic/event_wheel.hpp"

#include <gtest/gtest.h>

#include <queue>
#include <random>
#include <tuple>

namespace multitree {
namespace {

using Wheel = nic::EventWheel<std::uint32_t>;

/// The same by a heap: by time, then by arrival.
class OrderedList {
 public:
  void push(std::uint64_t time, std::uint32_t event) { heap_.push({time, order_++, event}); }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::uint64_t next_time() const {
    return heap_.empty() ? Wheel::kNever : std::get<0>(heap_.top());
  }
  std::pair<std::uint64_t, std::uint32_t> pop() {
    const auto [time, order, event] = heap_.top();
    heap_.pop();
    return {time, event};
  }

 private:
  using Item = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> heap_;
  std::uint64_t order_ = 0;
};

/// How far ahead events are: now, soon, about a turn of the wheel, far away.
std::uint64_t delay(std::mt19937_64& random, std::uint64_t turn) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return turn - 2 + random() % 5;
    case 2:
      return random() % (10 * turn);
    case 3:
      return turn * (random() % 4);
    case 4:
      return random() % turn;
    default:
      return random() % 200;
  }
}

TEST(EventWheel, IsAPriorityQueueThatKeepsTheOrderOfEqualTimes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const std::uint64_t reach = std::uint64_t{1} << (seed % 20);
    Wheel wheel(reach);
    OrderedList model;
    std::uint64_t now = 0;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      // More comes than leaves, then the other way round.
      const bool grows = i / 1000 % 2 == 0;
      if (model.empty() || random() % 10 < (grows ? 6U : 4U)) {
        const std::uint64_t time = now + delay(random, seed % 3 == 0 ? reach : 4096);
        wheel.push(time, i);
        model.push(time, i);
      } else {
        const auto expected = model.pop();
        ASSERT_EQ(wheel.pop(), expected) << "seed " << seed << ", event " << i;
        now = expected.first;
      }
      ASSERT_EQ(wheel.next_time(), model.next_time()) << "seed " << seed << ", event " << i;
      ASSERT_EQ(wheel.empty(), model.empty());
    }
    while (!model.empty()) ASSERT_EQ(wheel.pop(), model.pop());
    EXPECT_TRUE(wheel.empty());
  }
}

// Each bucket in turn, so that every bit of the index is used.
TEST(EventWheel, GoesRound) {
  Wheel wheel(1 << 15);
  std::uint64_t now = 0;
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    wheel.push(now + 1 + i % 3 * 32'766, i);
    now = wheel.next_time();
    EXPECT_EQ(wheel.pop(), std::pair(now, i));
  }
  EXPECT_EQ(wheel.next_time(), Wheel::kNever);
}

}  // namespace
}  // namespace multitree
