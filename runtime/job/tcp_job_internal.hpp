// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A job whose ranks keep a TCP connection to its coordinator each.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/hearing_internal.hpp"
#include "runtime/job/tcp_internal.hpp"

namespace multitree::runtime {

/// Where a rank stands in a job, and where to meet again.
struct Place {
  Standing standing;
  std::vector<Door> doors;  ///< by origin; none: at the launcher only
  Origin host{};            ///< whose coordinator is in charge
};

class Tcp final : public Bootstrap {
 public:
  explicit Tcp(TcpOptions options);
  /// A part of another, whose members know all of `place`.
  Tcp(TcpOptions options, Place place);
  ~Tcp() override;

  [[nodiscard]] Seat seat() const override { return options_.seat; }
  [[nodiscard]] std::uint32_t size() const override { return options_.size; }
  [[nodiscard]] std::uint64_t name() const override;
  [[nodiscard]] std::string describe() const override { return options_.description; }
  [[nodiscard]] bool is_open() const override { return options_.open; }

  std::unique_ptr<AddressBook> open_book(const std::string& entry, std::span<const Seat> wanted,
                                         Deadline deadline) override;
  std::optional<std::string> failure() override;
  void report_failure(const std::string& reason) override;
  void report_dead_links(std::span<const Seat> peers, std::span<const Seat> left,
                         const std::string& reason) override;
  std::optional<DeadLink> dead_link() override {
    receive();
    return dead_link_;
  }
  std::optional<Seat> lost_seat() override {
    receive();
    return lost_seat_;
  }
  [[nodiscard]] std::optional<Seat> find_dead(std::span<const Seat> seats) override;
  std::string culprit(const std::optional<Whereabouts>& self) override;
  bool asked_where() override { return asked_where_; }
  void tell_where(const Whereabouts& self) override;
  std::optional<std::string> answer_elsewhere(const std::function<Whereabouts()>& where) override;
  [[nodiscard]] Lineage lineage() const override {
    return options_.lineage == nullptr ? Bootstrap::lineage() : *options_.lineage;
  }
  void say(const std::string& words) override;
  void hear_with(Listener listener) override;
  Shrunk shrink(Deadline deadline, std::span<const Seat> without) override;
  NewPart part(std::uint64_t which, std::span<const Seat> members) override;
  /// Where the others of the job can come to this rank: the address to listen at.
  [[nodiscard]] std::string reached_at() const;
  /// Whether all of the job is on this host, as its rendezvous says.
  [[nodiscard]] bool on_this_host() const { return options_.on_this_host; }

 private:
  Gathered gather(const std::string& blob, Deadline deadline, const Meanwhile& meanwhile) override;
  using Clock = std::chrono::steady_clock;
  /// How often a wait looks whether it was cancelled.
  static constexpr std::chrono::milliseconds kLook{20};

  /// What else a rank is told of a job that was shrunk.
  struct Renewal {
    Seat seat{};
    std::uint32_t epoch = 0;
    std::vector<Members> unsettled;  ///< as in Standing
  };
  /// The same job with fewer ranks. `from` keeps its words.
  Tcp(Tcp& from, const Shrunk& shrunk, const Renewal& renewal);

  static std::chrono::milliseconds until(Clock::time_point end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    return std::max(left, std::chrono::milliseconds(0));
  }
  /// Questions come by this line from here on.
  void listen();
  void join(Clock::time_point end);
  bool say_hello(Clock::time_point end);
  /// The same over a connection that another job has.
  bool join_by_known_connection(Clock::time_point end);
  /// What jobs that meet at the same coordinator have in common.
  [[nodiscard]] std::string meeting_place() const;
  /// Sends what it starts with and awaits the answer. False if there is none, or not Welcome.
  bool introduce(FrameType type, const std::string& words, Clock::time_point end);
  void exchange_doors(Clock::time_point end);
  void name_host();
  [[nodiscard]] Whereabouts at_barrier() const;
  void answer_at_barrier();
  /// What is done while others are waited for; what it throws ends the wait.
  void go_on_with(const Meanwhile& meanwhile);
  bool withdraw();
  [[nodiscard]] bool host_is_left_out() const {
    return !place_.doors.empty() && !has(place_.standing.members, place_.host);
  }
  void receive();
  void take(const Frame& frame);
  void hear(const std::string& payload);
  void begin_anew(const std::string& payload);
  void be_given(const std::string& payload);
  void be_let_go();
  void coordinator_leaves();
  void end_with(Channel::Status status);
  void link_died(const std::string& payload);
  void rank_failed(const std::string& payload);
  void hear_who_died(const std::string& payload);
  void look_for_dead(std::span<const Seat> seats);
  void lose_coordinator();
  void check_failure();
  [[nodiscard]] std::optional<std::string> lost_before() const;
  void give_up_if_lost_before();
  void check_cancelled() const;
  [[noreturn]] void refuse(const std::string& why) const;
  void time_out(Deadline deadline);
  [[noreturn]] void fail_in_time(Deadline deadline,
                                 const std::optional<std::string>& missing) const;
  /// For what shares connections with this job; of a job that has been shrunk, another.
  [[nodiscard]] JobNumber number_of(std::vector<std::uint64_t> name) const;
  void fail_with(std::string what) {
    if (failure_.empty()) failure_ = std::move(what);
  }

  /// Finds a coordinator again once the one in charge is lost. \throws Error
  void meet_again(Clock::time_point end);
  bool rejoin(Origin host, Clock::time_point end);
  /// Whom to ask, first choice first.
  [[nodiscard]] Members meeting_places() const;
  /// This job, of the ranks `left` of an older one, moved to the coordinator of one of them.
  Shrunk under_a_member(const Shrunk& left, Deadline deadline);
  /// Until it answers a wish to shrink or is lost. False: lost.
  bool await_survivors(Clock::time_point end, Deadline deadline);

  TcpOptions options_;
  JobLine channel_;
  Place place_;
  std::map<JobNumber, std::uint64_t> parts_;  ///< how often a part was made
  std::uint64_t books_ = 0;                   ///< that were opened
  std::optional<std::string> gathered_, missing_, stuck_, refused_, shrunk_;
  bool withdrawn_ = false;      ///< of the gathering under way, as the coordinator has said
  std::uint32_t given_up_ = 0;  ///< gatherings of which it has said neither that nor the end
  bool asked_where_ = false;
  Hearing hearing_;
  /// Where questions come, for any thread.
  struct Ear {
    std::mutex mutex;
    std::weak_ptr<Trunk> trunk;
    JobNumber job{};
  };
  Ear ear_;
  bool stranger_ = false;  ///< refused_ is of another job's rendezvous
  bool welcome_ = false;
  bool elsewhere_ = false;
  bool coordinator_left_ = false;
  std::string failure_;
  bool own_failure_ = false;
  std::optional<DeadLink> dead_link_;       ///< that failure_ is about
  std::optional<Seat> lost_seat_;           ///< that failure_ is about
  std::set<Seat> dead_;                     ///< as far as this rank has looked for them
  Clock::time_point next_look_;             ///< for those
  std::vector<std::string> links_reports_;  ///< what this rank has told of dead links
};

}  // namespace multitree::runtime
