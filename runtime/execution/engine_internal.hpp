// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Progress, deadlines and failures of everything that one communicator has outstanding.
#pragma once

#include <atomic>
#include <chrono>
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
#include "runtime/job/bootstrap.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// A started collective and its name.
struct Running {
  Activity* execution = nullptr;
  std::string_view collective;
  /// Of the collective; of a message between two ranks, of the next one.
  std::uint64_t sequence = 0;
  bool numbered = true;
  [[nodiscard]] std::string name() const;  ///< "allreduce #5", "send"
};

/// Waits a moment for the bootstrap to know of a failure. A transport's complaint may be the echo
/// of a death: another rank gave up and closed its connections, or shared memory was faster than
/// the control connection.
std::optional<std::string> await_failure(Bootstrap& bootstrap);

/// Drives executions until they are done, and turns every way of not getting there into an Error:
/// nothing moved for the timeout, the bootstrap knows of a death, the transport failed. Then the
/// transport is aborted, the other ranks are told, and every later call fails.
class Engine {
 public:
  /// `peers`: the ranks that the transport has messages for.
  Engine(std::shared_ptr<Bootstrap> bootstrap, std::unique_ptr<Transport> transport,
         const std::vector<Seat>& peers, Deadline timeout);

  [[nodiscard]] Bootstrap& bootstrap() { return *bootstrap_; }
  [[nodiscard]] std::shared_ptr<Bootstrap> job() const { return bootstrap_; }
  [[nodiscard]] Transport& transport() { return *transport_; }
  Outbox& outbox() { return outbox_; }
  ScratchPool& scratch() { return scratch_; }
  ScratchPool& work() { return work_; }
  /// Lets long waits sleep a little: where no network needs progress, and a peer that is away for
  /// so long will not notice some microseconds.
  void allow_naps() { naps_ = true; }

  void add(const Running& running) { running_.push_back(running); }
  /// The same by messages, which are to be posted after this. `waits`: for messages of others.
  void add(const Running& running, const SharedCall& call, bool waits);
  void remove(const Activity& execution);

  /// From here on other threads progress it as well: all calls are made under guard().
  void share() { shared_ = true; }
  /// Holds the others off, if there are any.
  [[nodiscard]] std::unique_lock<std::mutex> guard();
  /// Whether somebody waits in guard(). Who polls in a loop lets them in.
  [[nodiscard]] bool contended() const { return contenders_.load(std::memory_order_relaxed) != 0; }

  /// One round of progress for all; true if anything moved. \throws Error as described above.
  bool poll();
  /// \throws Error as described above.
  void wait(const Activity& execution);
  /// Waits for all that is running.
  void wait_all();
  /// wait_all(), then the bootstrap's barrier.
  void barrier();
  /// \throws Error(Transport) if an earlier call failed.
  void check_usable() const;
  /// Tells the others and aborts the transport; the first reason stays.
  void give_up(const std::string& reason);
  [[nodiscard]] bool usable() const { return broken_.empty(); }
  /// Why it is not; empty while it is.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  /// The first collective that had not ended when it broke; empty if all had that were started.
  [[nodiscard]] std::optional<std::uint64_t> first_unfinished() const { return first_unfinished_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool advance_all();
  void on_idle(bool network);
  /// Tells the peers what this rank waits in.
  void announce();
  /// \throws Error(InvalidArgument) if a peer makes another call than this rank, after telling the
  /// others.
  void check_calls();
  /// Takes what peers have told before a barrier.
  void await_told(const std::vector<std::string>& told);
  void check_failure();
  /// \throws LinkError once links of this rank have fallen silent, after telling the others.
  void check_links();
  [[noreturn]] void fail(const std::string& what);
  [[noreturn]] void time_out();
  /// The first unfinished collective that does not wait for its caller.
  [[nodiscard]] const Running* oldest() const;

  std::shared_ptr<Bootstrap> bootstrap_;
  ScratchPool scratch_, work_;
  std::unique_ptr<Announcements> announcements_;  ///< the transport has addresses in it
  std::unique_ptr<Transport> transport_;
  Outbox outbox_;
  Deadline timeout_;
  std::vector<Running> running_;
  std::string broken_;
  std::optional<std::uint64_t> first_unfinished_;
  bool shared_ = false;
  std::mutex mutex_;
  std::atomic<std::uint32_t> contenders_{0};
  std::uint32_t idle_polls_ = 0;
  std::uint32_t busy_polls_ = 0;  ///< since something moved: those in which the network had work
  std::uint32_t spins_;           ///< idle polls before a yield, as crowded as it is
  bool naps_ = false;
  Deadline patience_;                ///< longest wait before the peers are told what for
  bool looked_ = false;              ///< whether last_look_ is of this wait
  Clock::time_point last_look_;      ///< when on_idle() last read the clock
  Clock::duration idle_{};           ///< time spent polling since something last moved
  Clock::duration since_failure_{};  ///< of that, since the bootstrap was last asked
};

}  // namespace multitree::runtime
