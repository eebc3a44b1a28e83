// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A queue of events in time: constant time for those of the near future.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace multitree::nic {

/// Events leave in the order of their times, those of one time in the order in which they came.
/// Times near the present have a bucket each (a calendar queue with buckets of one cycle; Brown,
/// CACM 1988), later ones wait in a heap.
template <typename Event>
class EventWheel {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  /// `reach`: cycles that most events lie ahead.
  explicit EventWheel(std::uint64_t reach)
      : size_of_wheel_(std::clamp(std::bit_ceil(reach), kLeast, kMost)),
        buckets_(size_of_wheel_),
        used_(size_of_wheel_ / 64, 0),
        used_words_(size_of_wheel_ / 4096, 0) {}

  /// \pre time >= that of the event that left last.
  void push(std::uint64_t time, const Event& event) {
    ++size_;
    if (time - now_ >= size_of_wheel_) {
      far_.push({time, order_++, event});
      return;
    }
    put(time, event);
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  /// Time of the next event; kNever if there is none.
  [[nodiscard]] std::uint64_t next_time() {
    if (size_ == 0) return kNever;
    const std::uint64_t near = next_near();
    if (far_.empty() || near <= far_.top().time) return near;
    return far_.top().time;
  }

  /// The event that leaves `after` others after the one that left last, if it has the same time;
  /// nullptr otherwise. For looking ahead.
  [[nodiscard]] const Event* ahead(std::size_t after) const {
    const Bucket& bucket = buckets_[now_ & (size_of_wheel_ - 1)];
    return bucket.next + after < bucket.events.size() ? &bucket.events[bucket.next + after]
                                                      : nullptr;
  }

  /// Takes the next event of that time; false if it has no more, those that come while it is
  /// handled included. \pre time is next_time(), or was when the first of them was taken.
  bool take(std::uint64_t time, Event& event) {
    if (time != now_) advance(time);
    const std::uint64_t at = now_ & (size_of_wheel_ - 1);
    Bucket& bucket = buckets_[at];
    if (bucket.next == bucket.events.size()) return false;
    event = bucket.events[bucket.next++];
    --size_;
    if (bucket.next == bucket.events.size()) {
      bucket.events.clear();
      bucket.next = 0;
      used_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
      if (used_[at / 64] == 0) used_words_[at / 4096] &= ~(std::uint64_t{1} << (at / 64 % 64));
    }
    return true;
  }

  /// \pre not empty.
  std::pair<std::uint64_t, Event> pop() {
    Event event;
    const std::uint64_t time = next_time();
    take(time, event);
    return {time, event};
  }

 private:
  static constexpr std::uint64_t kLeast = 4096, kMost = 65536;  // buckets
  struct Bucket {
    std::vector<Event> events;
    std::size_t next = 0;
  };
  struct Far {
    std::uint64_t time, order;
    Event event;
    bool operator>(const Far& other) const {
      return std::pair(time, order) > std::pair(other.time, other.order);
    }
  };

  void put(std::uint64_t time, const Event& event) {
    const std::uint64_t at = time & (size_of_wheel_ - 1);
    buckets_[at].events.push_back(event);
    used_[at / 64] |= std::uint64_t{1} << (at % 64);
    used_words_[at / 4096] |= std::uint64_t{1} << (at / 64 % 64);
  }

  /// Makes `time` the present; what has come within reach moves into buckets. That keeps the order:
  /// anything already in those buckets came later, as it would have gone to the heap before.
  void advance(std::uint64_t time) {
    now_ = time;
    while (!far_.empty() && far_.top().time - now_ < size_of_wheel_) {
      put(far_.top().time, far_.top().event);
      far_.pop();
    }
  }

  /// The first bucket in use from the present on.
  [[nodiscard]] std::uint64_t next_near() const {
    const std::uint64_t at = now_ & (size_of_wheel_ - 1);
    // The rest of this word, the rest of this group of words, then group by group, round once.
    std::uint64_t bits = used_[at / 64] >> (at % 64);
    if (bits != 0) return now_ + static_cast<std::uint64_t>(std::countr_zero(bits));
    std::uint64_t word = at / 64 + 1;
    const std::uint64_t words = size_of_wheel_ / 64;
    for (std::uint64_t seen = 0; seen <= words;) {
      if (word == words) word = 0;
      const std::uint64_t group = used_words_[word / 64] >> (word % 64);
      if (group == 0) {
        seen += 64 - word % 64;
        word += 64 - word % 64;
        continue;
      }
      word += static_cast<std::uint64_t>(std::countr_zero(group));
      const std::uint64_t found =
          word * 64 + static_cast<std::uint64_t>(std::countr_zero(used_[word]));
      return now_ + ((found - at) & (size_of_wheel_ - 1));
    }
    return kNever;
  }

  std::uint64_t size_of_wheel_;  // a power of two
  std::vector<Bucket> buckets_;
  std::vector<std::uint64_t> used_, used_words_;  // bits of buckets, and of words of those
  std::priority_queue<Far, std::vector<Far>, std::greater<>> far_;
  std::uint64_t now_ = 0, order_ = 0, size_ = 0;
};

}  // namespace multitree::nic
