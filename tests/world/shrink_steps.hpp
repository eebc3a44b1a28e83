// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Single steps of the model of shrinking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/shrink_vote_internal.hpp"
#include "tests/world/shrink_model.hpp"

namespace multitree::runtime::world {

enum class Happens : std::uint8_t {
  Asks,   ///< a rank learns that the job has failed, and begins to shrink it
  Seeks,  ///< it knocks at doors
  Tries,  ///< it goes to the next place
  Up,
  Down,      ///< the first message of a line arrives
  HostSees,  ///< that a line has ended
  RankSees,  ///< the same
  Knocks,    ///< a coordinator that waits looks again
  Late,      ///< its deadline passes
  TimesOut,  ///< a rank's deadline passes, when nothing else happens any more
  Dies,
  Cut,   ///< nothing passes from a rank to another, or between them
  Ends,  ///< a process that has stopped
};
struct Event {
  Happens what;
  std::uint8_t a = 0, b = 0;  ///< ranks; of Up, Down and Sees: a is the number of a line
};
std::string words_of(const Event& event, const ShrinkState& state);

/// What may happen, and what comes of it.
class Steps {
 public:
  explicit Steps(const ShrinkBounds& bounds) : bounds_(bounds) {}
  [[nodiscard]] const ShrinkBounds& bounds() const { return bounds_; }
  /// All of a job that has failed just now, which met at rank 0.
  [[nodiscard]] ShrinkState first() const;
  [[nodiscard]] std::vector<Event> possible(const ShrinkState& state) const;
  /// Returns what is wrong with that.
  std::string take(ShrinkState& state, const Event& event) const;
  /// Of a state in which nothing happens any more.
  [[nodiscard]] std::string check_end(const ShrinkState& state) const;
  /// Two jobs went on, neither of which came of the other.
  [[nodiscard]] static bool is_split(const ShrinkState& state);

 private:
  // Of the parties.
  void begin_to_shrink(ShrinkState& state, std::uint8_t rank) const;
  void seek(ShrinkState& state, std::uint8_t rank) const;
  void go_to_next(ShrinkState& state, std::uint8_t rank) const;
  std::string hear(ShrinkState& state, std::uint8_t line) const;
  void be_told(ShrinkState& state, Line& line, const Words& words) const;
  std::string go_on(ShrinkState& state, std::uint8_t rank) const;
  void serve(ShrinkState& state, std::uint8_t line) const;
  void readmit(ShrinkState& state, Line& line, const Words& words) const;
  void lose_host(ShrinkState& state, Line& line) const;
  void lose_guest(ShrinkState& state, std::uint8_t line) const;
  void try_shrink(ShrinkState& state, std::uint8_t host) const;
  void try_gather(ShrinkState& state, std::uint8_t host) const;
  void end_process(ShrinkState& state, std::uint8_t rank, Phase as) const;
  // Of the network.
  [[nodiscard]] bool passes(const ShrinkState& state, std::uint8_t from, std::uint8_t to) const;
  [[nodiscard]] Presence knock(const ShrinkState& state, std::uint8_t from, std::uint8_t to) const;
  [[nodiscard]] std::vector<Presence> knock(const ShrinkState& state, std::uint8_t from,
                                            const Members& doors) const;
  void add_line_events(const ShrinkState& state, std::vector<Event>& events) const;
  [[nodiscard]] std::optional<Event> eager(const ShrinkState& state) const;
  [[nodiscard]] bool has_lost_somebody(const ShrinkState& state, std::uint8_t rank) const;
  void add_rank_events(const ShrinkState& state, std::vector<Event>& events) const;
  void add_host_events(const ShrinkState& state, std::vector<Event>& events) const;
  void add_faults(const ShrinkState& state, std::vector<Event>& events) const;
  void add_time_outs(const ShrinkState& state, std::vector<Event>& events) const;

  ShrinkBounds bounds_;
};

}  // namespace multitree::runtime::world
