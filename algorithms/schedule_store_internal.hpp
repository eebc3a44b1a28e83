// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules that several candidates of one network are made of or compared with: each made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "algorithms/packing/steps/period_internal.hpp"
#include "algorithms/packing/trees/tree_packing.hpp"
#include "algorithms/schedule.hpp"
#include "algorithms/tuning/price_floor_internal.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A schedule, and what is known of its times. Safe to use from several threads.
class StoredSchedule {
 public:
  StoredSchedule(Schedule schedule, const Topology& topology);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  /// predict_time() where a message costs its sender `message`; each size is predicted once.
  [[nodiscard]] Time time(std::uint64_t bytes, Time message);
  /// What time() is not below, for less work.
  [[nodiscard]] Time floor(std::uint64_t bytes, Time message);

 private:
  const Schedule schedule_;
  const Topology& topology_;
  std::mutex mutex_;
  std::unique_ptr<PriceFloor> floor_;
  std::map<std::pair<std::uint64_t, std::int64_t>, Time> times_;
};

using SharedSchedule = std::shared_ptr<StoredSchedule>;
using SharedPacking = std::shared_ptr<const TreePacking>;
using SharedPeriod = std::shared_ptr<const Period>;

/// Values by name, each made by whoever asks first while others that ask for it wait. Safe to use
/// from several threads.
template <typename Shared>
class MadeOnce {
 public:
  /// `keep` says whether it may stay; what does not is made again. \throws what `make` does; then
  /// it is made again as well
  template <typename Make, typename Keep>
  Shared get(const std::string& name, const Make& make, const Keep& keep) {
    const std::shared_ptr<Entry> entry = find(name);
    const std::scoped_lock making(entry->mutex);
    if (entry->value) return entry->value;
    Shared made = make();
    if (keep(*made)) entry->value = made;
    return made;
  }

 private:
  struct Entry {
    std::mutex mutex;
    Shared value;
  };

  std::shared_ptr<Entry> find(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Entry>& here = entries_[name];
    if (!here) here = std::make_shared<Entry>();
    return here;
  }

  std::mutex mutex_;  // of the entries, not of what they hold
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

/// What generators make for one network while somebody compares many of them: those that are made
/// for a size share what does not depend on it.
class ScheduleStore {
 public:
  explicit ScheduleStore(const Topology& topology) : topology_(topology) {}

  /// While it lives, what its thread makes for the store's network is shared.
  class Use {
   public:
    explicit Use(ScheduleStore& store);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ScheduleStore* before_;
  };

  /// What `name` stands for on a network: from the store of this thread, or made now, where there
  /// is none or it is of another network. Two threads do not make the same: one waits. The topology
  /// has to outlive what is returned. \throws what `make` does; then it is made again next time
  static SharedSchedule get(const Topology& topology, const std::string& name,
                            const std::function<Schedule()>& make);
  /// The same for trees, which schedules of all sizes are made of.
  static SharedPacking packing(const Topology& topology, const std::string& name,
                               const std::function<TreePacking()>& make);
  /// The same for periods of trees, which take long to find.
  static SharedPeriod period(const Topology& topology, const std::string& name,
                             const std::function<Period()>& make);

 private:
  /// That of this thread, if it is of this network.
  static ScheduleStore* of(const Topology& topology);
  /// Whether there is room for so many more transfers; takes it.
  bool has_room(std::size_t transfers);

  const Topology& topology_;
  MadeOnce<SharedSchedule> schedules_;
  MadeOnce<SharedPacking> packings_;
  MadeOnce<SharedPeriod> periods_;
  std::mutex mutex_;           // of what is kept
  std::size_t transfers_ = 0;  // kept
};

/// generate_schedule(), shared. \throws as that does
SharedSchedule stored_schedule(const std::string& spec, const Topology& topology,
                               Collective collective, Rank root);

}  // namespace multitree
