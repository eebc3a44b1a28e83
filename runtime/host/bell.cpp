// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sleeping until another rank has told something: futexes in the memory that the ranks share.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

#include "runtime/host/group_internal.hpp"

namespace multitree::runtime::host {
namespace {

constexpr std::uint32_t kAwake = 0, kAsleep = 1;

/// One announcement, taken back when nobody holds it any more.
class Announced {
 public:
  explicit Announced(std::shared_ptr<Group> group) : group_(std::move(group)) {
    group_->pulse(Seat{0}).sleepers.fetch_add(1);
    word().store(kAsleep);
  }
  // Other threads of this rank may sleep on, so the word stays: at most it costs somebody a ring.
  ~Announced() { group_->pulse(Seat{0}).sleepers.fetch_sub(1); }
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;

  void sleep(std::chrono::microseconds limit) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timespec time{seconds.count(), (limit - seconds).count() * 1000};
    ::syscall(SYS_futex, &word(), FUTEX_WAIT, kAsleep, &time, nullptr, 0);
  }

 private:
  [[nodiscard]] std::atomic<std::uint32_t>& word() const {
    return group_->pulse(group_->self()).asleep;
  }

  std::shared_ptr<Group> group_;
};

}  // namespace

void Group::ring(Seat seat) const {
  std::atomic<std::uint32_t>& word = pulse(seat).asleep;
  if (word.load(std::memory_order_relaxed) == kAwake) return;
  word.store(kAwake);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Group::ring_all() const {
  for (const Seat seat : Seats(size_)) {
    if (seat != self_) ring(seat);
  }
}

std::function<void(std::chrono::microseconds)> arm(std::shared_ptr<Group> group) {
  const auto announced = std::make_shared<const Announced>(std::move(group));
  return [announced](std::chrono::microseconds limit) { announced->sleep(limit); };
}

}  // namespace multitree::runtime::host
