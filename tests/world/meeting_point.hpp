// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The control connections of a world: words that take their time, and deaths that are noticed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/blame_internal.hpp"
#include "runtime/job/bootstrap.hpp"
#include "tests/world/world.hpp"

namespace multitree::runtime::world {

class WorldBootstrap;

/// What all ranks of a job meet at, which does not die.
class MeetingPoint {
 public:
  MeetingPoint(World& world, std::uint32_t ranks) : world_(world), ends_(ranks), blobs_(ranks) {}

  [[nodiscard]] World& world() const { return world_; }
  /// Its connection has ended: the others are told after a moment.
  void lose(std::uint32_t rank);

 private:
  friend class WorldBootstrap;
  void gather(std::uint32_t rank, const std::string& blob);
  void fail(std::uint32_t except, const std::string& why, std::optional<Seat> lost,
            std::optional<DeadLink> link);
  void say(std::uint32_t from, const std::string& words);
  /// All are asked where they are, and those who ask are told who keeps them waiting.
  void ask_where(std::uint32_t rank, const Sighting& self);
  void answer_where(std::uint32_t rank, const Sighting& self);
  /// To one rank, behind all that it was told before.
  void tell(std::uint32_t rank, std::function<void(WorldBootstrap&)> what);
  /// From one rank, behind all that it has said before.
  void hear(std::uint32_t rank, std::function<void()> what);

  World& world_;
  std::vector<WorldBootstrap*> ends_;
  std::vector<std::optional<std::string>> blobs_;
  std::map<std::uint64_t, Nanoseconds> last_;  ///< by direction and rank: when the last word comes
  bool failed_ = false;
  std::vector<Sighting> sightings_;
  std::vector<std::uint32_t> askers_;
};

class WorldBootstrap final : public Bootstrap {
 public:
  WorldBootstrap(std::shared_ptr<MeetingPoint> meeting, Seat self, std::uint32_t size);
  ~WorldBootstrap() override;

  [[nodiscard]] Seat seat() const override { return self_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  std::optional<std::string> failure() override;
  void report_failure(const std::string& reason) override;
  void report_dead_links(std::span<const Seat> peers, std::span<const Seat> left,
                         const std::string& reason) override;
  std::optional<DeadLink> dead_link() override { return link_; }
  std::optional<Seat> lost_seat() override { return lost_; }
  std::string culprit(const std::optional<Whereabouts>& self) override;
  bool asked_where() override { return asked_where_; }
  void tell_where(const Whereabouts& self) override;
  void say(const std::string& words) override;
  void hear_with(Listener listener) override { listener_ = std::move(listener); }
  Shrunk shrink(Deadline deadline, std::span<const Seat> without) override;
  NewPart part(std::uint64_t which, std::span<const Seat> members) override;
  [[nodiscard]] std::string describe() const override { return "a world"; }

 private:
  friend class MeetingPoint;
  Gathered gather(const std::string& blob, Deadline deadline, const Meanwhile& meanwhile) override;
  /// Takes what has come.
  void receive();
  void answer_at_barrier();

  std::shared_ptr<MeetingPoint> meeting_;
  Seat self_;
  std::uint32_t size_;
  std::deque<std::function<void(WorldBootstrap&)>> come_;
  std::optional<Gathered> gathered_;
  std::optional<std::string> stuck_;
  bool asked_where_ = false;
  std::string failure_;
  bool own_ = false;
  std::optional<Seat> lost_;
  std::optional<DeadLink> link_;
  Listener listener_;
};

}  // namespace multitree::runtime::world
