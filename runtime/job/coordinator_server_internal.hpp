// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The thread of a coordinator, and what it knows of the ranks.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/job/coordinator_internal.hpp"
#include "runtime/job/dead_links_internal.hpp"

namespace multitree::runtime {

inline constexpr const char* kWrongToken = "wrong token: this is the rendezvous of another job";

/// A connection; a stranger until it is known who it is.
struct Guest {
  Channel channel;
  std::optional<Origin> origin;
  std::optional<std::string> blob;               ///< of the gathering under way
  bool shrinks = false;                          ///< wants to go on without those who do not
  bool leaving = false;                          ///< has said goodbye or was refused
  std::optional<std::vector<Origin>> left = {};  ///< whom it has links to, once some have died
  Members members = {};  ///< of one that came by Rejoin: those that it knows of
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

/// Two states. In charge, as the one that all ranks met at or the one that has shrunk the job last:
/// gathers and tells of failures. Otherwise it stands by: ranks that have lost the one in charge
/// come by Rejoin, and the first thing that it does is to shrink the job to them.
class Coordinator::Server {
 public:
  Server(Socket listener, std::uint32_t ranks, std::string token, bool in_charge);
  ~Server();

  /// From any thread.
  void died(Origin rank, const std::string& how);
  void stand_by(Standing standing, std::vector<Door> doors);
  void retire();

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { Empty, Present, Left, Dead };
  /// What is to become of the wish to shrink.
  enum class Verdict : std::uint8_t { Wait, GoOn, Stop };

  void wake() const;
  void order(std::function<void()> work);
  void run();
  bool wait();
  bool take_orders();
  [[nodiscard]] int patience() const;
  void accept_all();
  void serve(Guest& guest);
  void handle(Guest& guest, const Frame& frame);
  void admit(Guest& guest, const Frame& frame);
  void readmit(Guest& guest, const Frame& frame);
  static void refuse(Guest& guest, const std::string& why, FrameType how = FrameType::Refused);
  void try_gather();
  void ask_to_shrink(Guest& guest, const Frame& frame);
  void try_shrink();
  [[nodiscard]] Members askers() const;
  Verdict judge(const Members& askers, bool late, std::string& why);
  void go_on_with(Members survivors);
  void stop(const std::string& why);
  void end_shrinking();
  [[nodiscard]] State& state_of(Origin origin) { return states_[index(origin)]; }
  /// The seat that it has now.
  [[nodiscard]] Seat seat_of(Origin origin) const { return seat_in(members_, origin); }
  [[nodiscard]] const Members& members_for(const Guest& guest) const;
  [[nodiscard]] bool is_member(Origin origin) const { return has(members_, origin); }
  [[nodiscard]] bool is_well() const;
  void adopt(const Standing& standing);
  void broadcast_failure(const std::string& what, const Guest* except, Seat lost);
  void broadcast_failure(const std::string& what, const Guest* except, const DeadLink& link);
  void broadcast_failure(const std::string& what, const Guest* except, FrameType type,
                         const Writer& words);
  void links_died(Guest& guest, const Frame& frame);
  void lost(Guest& guest, const std::string& how);
  void say_goodbye();
  [[nodiscard]] std::string missing() const;

  Socket listener_, wake_;
  std::string token_;
  bool in_charge_;
  bool retired_ = false;
  std::vector<State> states_;  ///< by origin
  Members members_;
  std::uint32_t epoch_ = 0;  ///< how often the job was shrunk
  std::vector<Door> doors_;  ///< by origin; none where there is one place to meet only
  std::list<Guest> guests_;
  std::optional<Clock::time_point> shrink_by_;  ///< when those who have not asked are left out
  Clock::time_point next_knock_;
  std::chrono::milliseconds knock_interval_{};
  std::set<Origin> dropped_;  ///< that a shrink does not wait for
  std::string failure_;
  DeadLinks dead_links_;
  std::mutex mutex_;  ///< of the two below
  bool stops_ = false;
  std::vector<std::function<void()>> orders_;
  std::thread thread_;
};

}  // namespace multitree::runtime
