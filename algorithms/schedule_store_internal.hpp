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

 private:
  struct Entry {
    std::mutex mutex;
    SharedSchedule schedule;
  };

  SharedSchedule find_or_make(const std::string& name, const std::function<Schedule()>& make);

  const Topology& topology_;
  std::mutex mutex_;  // of all below
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::size_t transfers_ = 0;  // kept
};

/// generate_schedule(), shared. \throws as that does
SharedSchedule stored_schedule(const std::string& spec, const Topology& topology,
                               Collective collective, Rank root);

}  // namespace multitree
