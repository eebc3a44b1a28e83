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

ScheduleStore* ScheduleStore::of(const Topology& topology) {
  const bool fits = current_store != nullptr && &current_store->topology_ == &topology;
  return fits ? current_store : nullptr;
}

bool ScheduleStore::has_room(std::size_t transfers) {
  const std::scoped_lock lock(mutex_);
  if (transfers_ + transfers > kMostTransfers) return false;
  transfers_ += transfers;
  return true;
}

SharedSchedule ScheduleStore::get(const Topology& topology, const std::string& name,
                                  const std::function<Schedule()>& make) {
  const auto stored = [&] { return std::make_shared<StoredSchedule>(make(), topology); };
  ScheduleStore* const store = of(topology);
  if (store == nullptr) return stored();
  return store->schedules_.get(name, stored, [&](const StoredSchedule& made) {
    return store->has_room(made.schedule().transfers.size());
  });
}

SharedPacking ScheduleStore::packing(const Topology& topology, const std::string& name,
                                     const std::function<TreePacking()>& make) {
  const auto packed = [&] { return std::make_shared<const TreePacking>(make()); };
  ScheduleStore* const store = of(topology);
  if (store == nullptr) return packed();
  return store->packings_.get(name, packed, [](const TreePacking&) { return true; });
}

SharedPeriod ScheduleStore::period(const Topology& topology, const std::string& name,
                                   const std::function<Period()>& make) {
  const auto found = [&] { return std::make_shared<const Period>(make()); };
  ScheduleStore* const store = of(topology);
  if (store == nullptr) return found();
  return store->periods_.get(name, found, [](const Period&) { return true; });
}

SharedSchedule stored_schedule(const std::string& spec, const Topology& topology,
                               Collective collective, Rank root) {
  return ScheduleStore::get(topology,
                            fmt::format("{} {} {}", spec, to_string(collective), index(root)),
                            [&] { return generate_schedule(spec, topology, collective, root); });
}

}  // namespace multitree
