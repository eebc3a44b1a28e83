// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "algorithms/cost.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/schedule_store_internal.hpp"

namespace multitree {
namespace {

/// More is not kept: half a gigabyte.
constexpr std::size_t kMostTransfers = std::size_t{1} << 24;

/// Where this thread's work is shared; generators have no business with it otherwise.
thread_local ScheduleStore* current_store = nullptr;

}  // namespace

StoredSchedule::StoredSchedule(Schedule schedule, const Topology& topology)
    : schedule_(std::move(schedule)), topology_(topology) {}

Time StoredSchedule::time(std::uint64_t bytes, Time message) {
  const std::pair key{bytes, message.picoseconds};
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = times_.find(key); found != times_.end()) return found->second;
  }
  // Unlocked, so that two sizes are predicted at once.
  const Time time = predict_time(schedule_, topology_, bytes, CostModel{message});
  const std::scoped_lock lock(mutex_);
  times_[key] = time;
  return time;
}

Time StoredSchedule::floor(std::uint64_t bytes, Time message) {
  const std::scoped_lock lock(mutex_);
  if (!floor_) floor_ = std::make_unique<PriceFloor>(schedule_, topology_);
  return floor_->at(bytes, message);
}

ScheduleStore::Use::Use(ScheduleStore& store) : before_(std::exchange(current_store, &store)) {}

ScheduleStore::Use::~Use() { current_store = before_; }

SharedSchedule ScheduleStore::get(const Topology& topology, const std::string& name,
                                  const std::function<Schedule()>& make) {
  if (current_store != nullptr && &current_store->topology_ == &topology) {
    return current_store->find_or_make(name, make);
  }
  return std::make_shared<StoredSchedule>(make(), topology);
}

SharedSchedule ScheduleStore::find_or_make(const std::string& name,
                                           const std::function<Schedule()>& make) {
  std::shared_ptr<Entry> entry;
  {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Entry>& here = entries_[name];
    if (!here) here = std::make_shared<Entry>();
    entry = here;
  }
  const std::scoped_lock making(entry->mutex);
  if (entry->schedule) return entry->schedule;
  auto made = std::make_shared<StoredSchedule>(make(), topology_);
  const std::scoped_lock lock(mutex_);
  if (transfers_ + made->schedule().transfers.size() <= kMostTransfers) {
    transfers_ += made->schedule().transfers.size();
    entry->schedule = made;
  }
  return made;
}

SharedSchedule stored_schedule(const std::string& spec, const Topology& topology,
                               Collective collective, Rank root) {
  return ScheduleStore::get(topology,
                            fmt::format("{} {} {}", spec, to_string(collective), index(root)),
                            [&] { return generate_schedule(spec, topology, collective, root); });
}

}  // namespace multitree
