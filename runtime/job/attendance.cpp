// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// All jobs of a process, and the threads that use them.
#include "runtime/job/attendance_internal.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace multitree::runtime {

struct Attendance::Entry {
  std::shared_ptr<Bootstrap> job;
  std::uint64_t name = 0;
  std::atomic<std::thread::id> user{};  ///< none: nobody has used it
};

namespace {

struct Jobs {
  std::mutex mutex;
  std::vector<std::shared_ptr<Attendance::Entry>> entries;
};
/// Never destroyed: communicators may outlive statics.
Jobs& jobs() {
  static Jobs& all = *new Jobs;
  // Another thread may be looking at them when a process forks, and is not there in the child.
  static const int registered = ::pthread_atfork(
      [] { all.mutex.lock(); }, [] { all.mutex.unlock(); }, [] { all.mutex.unlock(); });
  static_cast<void>(registered);
  return all;
}

/// The seats of `asked` of those that `here` awaits by their seats in `self`.
std::vector<Seat> translated(const std::vector<Seat>& awaits, const Lineage& self,
                             const Lineage& asked) {
  std::vector<Seat> seats;
  if (self.root != asked.root) return seats;
  for (const Seat seat : awaits) {
    if (index(seat) >= self.seats.size()) continue;
    const auto there = std::ranges::find(asked.seats, self.seats[index(seat)]);
    if (there == asked.seats.end()) continue;
    seats.push_back(Seat{static_cast<std::uint32_t>(there - asked.seats.begin())});
  }
  std::ranges::sort(seats);
  return seats;
}

}  // namespace

Attendance::Attendance(std::shared_ptr<Bootstrap> job) : entry_(std::make_shared<Entry>()) {
  entry_->name = job->name();
  entry_->job = std::move(job);
  const std::scoped_lock lock(jobs().mutex);
  jobs().entries.push_back(entry_);
}

Attendance::~Attendance() {
  const std::scoped_lock lock(jobs().mutex);
  std::erase(jobs().entries, entry_);
}

void Attendance::use() {
  entry_->user.store(std::this_thread::get_id(), std::memory_order_relaxed);
}

std::optional<std::string> answer_elsewhere(const Bootstrap& self,
                                            const std::function<Whereabouts()>& where) {
  const std::uint64_t name = self.name();
  std::vector<std::shared_ptr<Bootstrap>> others;
  {
    const std::scoped_lock lock(jobs().mutex);
    for (const auto& entry : jobs().entries) {
      const std::thread::id user = entry->user.load(std::memory_order_relaxed);
      const bool ours = user == std::thread::id() || user == std::this_thread::get_id();
      if (entry->name != name && ours) others.push_back(entry->job);
    }
  }
  for (const auto& other : others) {
    auto words = other->answer_elsewhere([&] {
      Whereabouts here = where();
      here.elsewhere = true;
      here.awaits = translated(here.awaits, self.lineage(), other->lineage());
      return here;
    });
    if (words) return words;
  }
  return std::nullopt;
}

}  // namespace multitree::runtime
