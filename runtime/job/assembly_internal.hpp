// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a coordinator knows of the ranks of one job.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/build_internal.hpp"
#include "runtime/job/coordinator_internal.hpp"
#include "runtime/job/dead_links_internal.hpp"
#include "runtime/job/line_internal.hpp"
#include "runtime/job/shrink_vote_internal.hpp"
#include "runtime/job/whereabouts.hpp"

namespace multitree::runtime {

/// What a rank begins with.
struct Hello {
  std::uint32_t rank = 0, size = 0;
  Build build = {};
};
/// Empty if `text` is none.
std::optional<Hello> read_hello(const std::string& text);

/// A line; a stranger until it is known who it is.
struct Guest {
  JobLine channel;
  std::optional<Origin> origin = {};
  std::optional<std::string> blob = {};  ///< of the gathering under way
  std::optional<Whereabouts> call = {};  ///< that it says it waits in
  bool asks_who_is_stuck = false;
  bool shrinks = false;                          ///< wants to go on without those who do not
  bool leaving = false;                          ///< has said goodbye or was refused
  std::optional<std::vector<Origin>> left = {};  ///< whom it has links to, once some have died
  Members members = {};  ///< of one that came by Rejoin: those that it knows of
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

/// Two states. In charge, as the one that all ranks met at or the one that has shrunk the job last:
/// gathers and tells of failures. Otherwise it stands by: ranks that have lost the one in charge
/// come by Rejoin, and the first thing that it does is to shrink the job to them. Of one thread.
class Assembly {
 public:
  Assembly(std::uint32_t ranks, bool in_charge) : vote_(ranks, in_charge), states_(ranks) {}

  void add(JobLine line) {
    const By by{line.trunk().get(), line.job()};
    guests_.push_back({.channel = std::move(line)});
    by_line_[by] = &guests_.back();
  }
  /// One whose first words have been read.
  void add(JobLine line, const Frame& first) {
    add(std::move(line));
    handle(guests_.back(), first);
  }
  void died(Origin rank, const std::string& how);
  void stand_by(const Standing& standing, const std::vector<Door>& doors);
  void retire() { vote_.retire(); }
  /// A round for what one line has brought, and one for all, which also ends those that are late.
  void serve(const Trunk& trunk, JobNumber job);
  void serve();
  /// Milliseconds until serve() is due without anybody saying anything; -1: it is not.
  [[nodiscard]] int patience() const;
  /// Whether there are lines of which it is not known who they are: then it is due now and then.
  [[nodiscard]] bool has_strangers() const;
  /// Says goodbye, after what guests have said; serve() then waits a moment for theirs, as closing
  /// at once could reset connections with replies still on the way.
  void leave();
  /// Nobody needs it any more.
  [[nodiscard]] bool over() const;

 private:
  using Clock = std::chrono::steady_clock;
  using By = std::pair<const Trunk*, JobNumber>;
  enum class State : std::uint8_t { Empty, Present, Left, Dead };

  void serve(Guest& guest);
  void hear(Guest& guest);
  void serve_goodbye();
  void handle(Guest& guest, const Frame& frame);
  void admit(Guest& guest, const Frame& frame);
  void readmit(Guest& guest, const Frame& frame);
  static void refuse(Guest& guest, const std::string& why, FrameType how = FrameType::Refused);
  void drop_closed();
  void compare_builds();
  [[nodiscard]] bool takes_part(const Guest& guest) const;
  void try_gather();
  [[nodiscard]] std::vector<Guest*> in_order_of_telling();
  void pass_on(const Guest& speaker, const Frame& frame);
  void ask_where(Guest& guest, const Frame& frame);
  void hear_where(Guest& guest, const Frame& frame) const;
  void try_blame();
  void ask_to_shrink(Guest& guest, const Frame& frame);
  void try_shrink();
  [[nodiscard]] Members askers() const;
  [[nodiscard]] Members gone() const;
  [[nodiscard]] std::vector<Presence> knock_at(const Members& members) const;
  ShrinkVote::Verdict judge(const Members& askers, bool late, std::string& why);
  void go_on_with(Members survivors);
  void stop(const std::string& why);
  void end_shrinking();
  [[nodiscard]] State& state_of(Origin origin) { return states_[index(origin)]; }
  /// The seat that it has now.
  [[nodiscard]] Seat seat_of(Origin origin) const { return seat_in(members(), origin); }
  [[nodiscard]] const Members& members() const { return vote_.members(); }
  [[nodiscard]] const Members& members_for(const Guest& guest) const;
  [[nodiscard]] bool is_member(Origin origin) const { return has(members(), origin); }
  [[nodiscard]] bool is_well() const;
  void remember(const Members& before);
  ShrinkVote::Entry come_again(const Standing& standing);
  void broadcast_failure(const std::string& what, const Guest* except, Seat lost);
  void broadcast_failure(const std::string& what, const Guest* except, const DeadLink& link);
  void broadcast_failure(const std::string& what, const Guest* except, FrameType type,
                         const Writer& words);
  void links_died(Guest& guest, const Frame& frame);
  void lost(Guest& guest, const std::string& how);
  /// Who has died of these, by their places.
  [[nodiscard]] std::string dead(const Members& known) const;
  [[nodiscard]] std::string missing() const;

  ShrinkVote vote_;
  std::vector<State> states_;  ///< by origin
  Origin host_{};              ///< of this process, unless that is the launcher
  std::vector<Door> doors_;    ///< by origin; none where there is one place to meet only
  std::list<Guest> guests_;
  std::map<By, Guest*> by_line_;
  bool somebody_closed_ = false;               ///< of the others, while one was heard
  std::map<Build, std::vector<bool>> builds_;  ///< of ranks that have joined
  std::size_t joined_ = 0;
  std::size_t gathers_ = 0;     ///< frames since the last gathering: no more can be waiting
  bool somebody_left_ = false;  ///< of the members
  std::optional<Clock::time_point> blame_by_;  ///< when those who have not said where do not answer
  std::optional<Clock::time_point> shrink_by_;  ///< when those who have not asked are left out
  Clock::time_point next_knock_;
  std::chrono::milliseconds knock_interval_{};
  std::set<Origin> dropped_;  ///< that a shrink does not wait for
  std::string failure_;
  DeadLinks dead_links_;
  std::optional<Clock::time_point> leaves_by_;  ///< it has said goodbye
};

}  // namespace multitree::runtime
