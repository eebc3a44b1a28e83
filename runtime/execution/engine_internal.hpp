// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Progress, deadlines and failures of everything that one communicator has outstanding.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/execution/activity_internal.hpp"
#include "runtime/execution/announcements_internal.hpp"
#include "runtime/execution/executor_internal.hpp"
#include "runtime/execution/outbox_internal.hpp"
#include "runtime/execution/progress_internal.hpp"
#include "runtime/flight/recorder_internal.hpp"
#include "runtime/job/attendance_internal.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/messages/transport.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {

/// A started collective and its name.
struct Running {
  Activity* execution = nullptr;
  std::string_view collective;
  /// Of the collective; of a message between two ranks, of the next one.
  std::uint64_t sequence = 0;
  bool numbered = true;
  CommonCall call = {};                    ///< of one that is numbered
  [[nodiscard]] std::string name() const;  ///< "allreduce #5", "send"
  /// "allreduce #5 of 1024 float, sum".
  [[nodiscard]] std::string words() const;
};

/// Waits a moment for the bootstrap to know of a failure. A transport's complaint may be the echo
/// of a death: another rank gave up and closed its connections, or shared memory was faster than
/// the control connection.
std::optional<std::string> await_failure(Bootstrap& bootstrap);

/// Why an engine of this thread has given up within the last second; empty: none has.
std::string recent_failure();

/// Drives executions until they are done, and turns every way of not getting there into an Error:
/// nothing moved for the timeout, the bootstrap knows of a death, the transport failed. Then the
/// transport is aborted, the other ranks are told, and every later call fails.
class Engine {
 public:
  /// `peers`: the ranks that the transport has messages for.
  Engine(std::shared_ptr<Bootstrap> bootstrap, std::unique_ptr<Transport> transport,
         const std::vector<Seat>& peers, Deadline timeout);

  /// Told of long waits and of the end; may be null. Before anything is started.
  void keep_record(std::shared_ptr<flight::FlightRecorder> record) { record_ = std::move(record); }
  [[nodiscard]] const std::shared_ptr<flight::FlightRecorder>& record() const { return record_; }

  [[nodiscard]] Bootstrap& bootstrap() { return *bootstrap_; }
  [[nodiscard]] std::shared_ptr<Bootstrap> job() const { return bootstrap_; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  Outbox& outbox() { return outbox_; }
  ScratchPool& scratch() { return scratch_; }
  ScratchPool& work() { return work_; }
  /// Lets long waits sleep a little: where no network needs progress, and a peer that is away for
  /// so long will not notice some microseconds. The more ranks share a processor, the sooner and
  /// the longer: all of them together must not keep it busy.
  void allow_naps(std::uint32_t ranks_per_processor);

  /// Called now and then, under the guard, while all is well; null: nobody is. Before anything is
  /// started, and after all has ended.
  void look_with(std::function<void()> look) { look_ = std::move(look); }

  /// A call is made by this thread.
  void use() { attendance_.use(); }

  void add(const Running& running) { running_.push_back(running); }
  /// The same by messages, which are to be posted after this. `waits`: for messages of others.
  void add(const Running& running, const SharedCall& call, bool waits);
  void remove(const Activity& execution);
  /// Of one that was added, and could not begin. \throws as poll()
  [[noreturn]] void fail_in(const Activity& execution, const Error& error);

  /// From here on other threads progress it as well, for a device, which moves without the network:
  /// all calls are made under guard(), and nobody sleeps until a message comes.
  void share() {
    shared_ = true;
    has_device_ = true;
  }
  /// The same by a thread of its own, while callers are away: to be called under no guard, when
  /// something was started. What it finds wrong is told by the next call. \throws Error(Io)
  void progress_while_away(const ProgressChoice& choice);
  /// That thread keeps away for good; under no guard.
  void stop_progress() {
    if (progress_ != nullptr) progress_->leave();
  }
  /// A caller looks after its collectives by itself, for now.
  void attend() {
    if (shared_) attended_.store(Clock::now().time_since_epoch().count());
  }
  /// Holds the others off, if there are any, while it lives.
  class Guard {
   public:
    /// None is held.
    Guard() = default;
    /// \pre the engine's mutex is locked
    explicit Guard(Engine& engine) : engine_(&engine) {}
    ~Guard() {
      if (engine_ != nullptr) engine_->unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Engine* engine_ = nullptr;
  };
  [[nodiscard]] Guard guard();
  /// Whether somebody waits in guard(). Who polls in a loop lets them in.
  [[nodiscard]] bool contended() const { return contenders_.load(std::memory_order_relaxed) != 0; }

  /// What the thread should do next.
  enum class Behind : std::uint8_t {
    Nothing,   ///< nothing is outstanding
    Attended,  ///< a caller looks by itself
    Held,      ///< a caller has the guard; when it lets go, the thread is woken
    Moved,     ///< there may be more
    Armed,     ///< one of the descriptors tells when there is
    Still,     ///< only polling finds out
  };
  /// A round of progress by that thread. No deadline counts meanwhile, as callers are away, but
  /// deaths are noticed.
  Behind progress_behind(std::vector<int>& descriptors);

  /// One round of progress for all; true if anything moved. \throws Error as described above.
  bool poll();
  /// One look at what is outstanding, if anything is, for a call that will hardly need another.
  /// \throws as poll()
  void look_after_others() {
    if (!running_.empty()) move();
  }
  /// The same whatever is outstanding, for a call that waits for nothing: it never sleeps. \throws
  /// as poll()
  void look();
  /// poll(), and if nothing moved, a sleep until something may, to be called under no guard.
  /// \throws as poll()
  Transport::Nap poll_or_nap();
  /// \throws Error as described above.
  void wait(const Activity& execution);
  /// Waits for all that is running.
  void wait_all();
  /// Until all that was sent has left this rank, at most for the timeout; and a moment only where
  /// the job is known to have failed, as what is for one that is gone never leaves.
  void drain();
  /// wait_all(), then the bootstrap's barrier.
  void barrier();
  /// \throws Error(Transport) if an earlier call failed; what progress_behind() has found wrong;
  /// Error(InvalidArgument) in another process than that which made it.
  void check_usable();
  /// Tells the others and aborts the transport; the first reason stays.
  void give_up(const std::string& reason);
  [[nodiscard]] bool usable() const { return broken_.empty() && !forked(); }
  /// Whether this process was forked from the one that made it.
  [[nodiscard]] bool forked() const { return process_ != process_number(); }
  /// Why it is not; empty while it is.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  /// The first collective that had not ended when it broke; empty if all had that were started.
  [[nodiscard]] std::optional<std::uint64_t> first_unfinished() const { return first_unfinished_; }

 private:
  using Clock = std::chrono::steady_clock;

  /// One look at the network and all that is running. Second: the network alone has moved.
  struct Moves {
    bool network = false, running = false;
  };
  Moves move();
  bool advance_all();
  void unlock();
  /// guard() of the thread, which must not wait where it has others to look after.
  bool try_lock_behind();
  /// A round under it.
  Behind move_behind(std::vector<int>& descriptors);
  void on_idle(bool network);
  /// Tells the peers what this rank waits in.
  void announce();
  /// \throws Error(InvalidArgument) if a peer makes another call than this rank, after telling the
  /// others.
  void check_calls();
  /// Takes what peers have told before a barrier.
  void await_told(const Gathered& told);
  /// `in`: what it shows in; null: in the oldest.
  void check_failure(const Running* in = nullptr);
  /// Once the job has failed: whether something has moved nevertheless.
  bool still_moves();
  void record_wait();
  /// Adds up for whom this rank waits: those that it awaits when a millisecond is full.
  void record_gap(Clock::duration gap);
  /// Hears what others say, for a rank that sends and waits for nobody. \throws as poll()
  void look_up();
  void tell_unawaited();
  [[nodiscard]] Whereabouts whereabouts(const Running& running) const;
  /// Of the call that this thread waits in; found out once a wait.
  [[nodiscard]] std::string place() const;
  /// Answers for other communicators of this thread. \throws Error(Timeout) if it is told that this
  /// wait and another are crosswise, after telling the others.
  void check_elsewhere();
  /// \throws Interrupted if this thread is not to wait any longer, after telling the others.
  void check_interruption();
  /// \throws LinkError once links of this rank have fallen silent, after telling the others.
  void check_links();
  [[noreturn]] void fail(const std::string& what);
  [[noreturn]] void fail_in(const Running& running, const Error& error);
  [[noreturn]] void time_out();
  /// The first unfinished collective that does not wait for its caller.
  [[nodiscard]] const Running* oldest() const;

  std::shared_ptr<Bootstrap> bootstrap_;
  Attendance attendance_;
  ScratchPool scratch_, work_;
  std::unique_ptr<Announcements> announcements_;  ///< the transport has addresses in it
  std::unique_ptr<Transport> transport_;
  Outbox outbox_;
  Deadline timeout_;
  std::vector<Running> running_;
  std::string broken_;
  std::optional<std::uint64_t> first_unfinished_;
  std::atomic<bool> shared_{false};
  std::atomic<bool> has_device_{false};
  std::uint32_t process_ = process_number();
  std::exception_ptr untold_;  ///< what progress_behind() has found wrong
  std::atomic<Clock::rep> attended_{0};
  std::mutex mutex_;
  std::atomic<std::uint32_t> contenders_{0};
  std::atomic<bool> held_off_{false};  ///< the thread wants to be woken by unlock()
  std::uint32_t idle_polls_ = 0;
  std::uint32_t busy_polls_ = 0;  ///< since something moved: those in which the network had work
  std::uint32_t spins_;           ///< idle polls before a yield, as crowded as it is
  Deadline nap_after_{0};         ///< 0: never
  std::chrono::microseconds nap_{0};
  Deadline patience_;                  ///< longest wait before the peers are told what for
  bool looked_ = false;                ///< whether last_look_ is of this wait
  Clock::time_point last_look_;        ///< when on_idle() last read the clock
  Clock::duration idle_{};             ///< time spent polling since something last moved
  Clock::duration since_failure_{};    ///< of that, since the bootstrap was last asked
  Clock::duration since_elsewhere_{};  ///< of that, since others were answered
  Clock::time_point asked_behind_;     ///< when progress_behind() last asked it
  std::function<void()> look_;
  Clock::time_point failure_asked_;             ///< when the bootstrap was, in a wait
  std::optional<Clock::time_point> failed_at_;  ///< when that was first known here
  std::shared_ptr<flight::FlightRecorder> record_;
  bool wait_recorded_ = false;
  Clock::duration unrecorded_{};              ///< of waits
  mutable std::optional<std::string> place_;  ///< of this wait
  Clock::time_point told_unawaited_ = Clock::now();
  std::uint64_t unawaited_ = 0;         ///< calls in which this rank waits for nobody
  std::unique_ptr<Progress> progress_;  ///< last: its thread may use all others until it is gone
};

}  // namespace multitree::runtime
