// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What stands behind mtComm_t: a bootstrap, communicators on it, and what is outstanding.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/c/household_internal.hpp"
#include "runtime/c/registrations_internal.hpp"
#include "runtime/c/result_internal.hpp"
#include "runtime/c/settings_internal.hpp"
#include "runtime/communicator.hpp"
#include "runtime/execution/progress_internal.hpp"
#include "runtime/job/growth.hpp"

namespace multitree::runtime::c {

class Comm;
class Together;

/// A call, with a root if its collective has one, or an exchange, and where it is to run.
struct CallSpec {
  Call call;
  std::optional<ExchangeCall> exchange = std::nullopt;
  mtStream_t stream = nullptr;  ///< null: host semantics
};

/// A collective of a communicator, from its preparation to its last start. All but `state` is
/// guarded by the communicator.
struct Job {
  enum class State : std::uint8_t { Idle, Queued, Running, Done, Failed };
  Job(std::shared_ptr<Comm> owner, const CallSpec& call, bool starts_again)
      : comm(std::move(owner)), spec(call), persistent(starts_again) {}

  const std::shared_ptr<Comm> comm;
  const CallSpec spec;
  const bool persistent;
  [[nodiscard]] bool streamed() const { return spec.stream != nullptr; }
  /// Whether other ranks may have to start it before start() returns here.
  [[nodiscard]] bool waits_to_start() const {
    return streamed() || spec.call.summing != Summing::Floats;
  }
  std::atomic<State> state{State::Idle};
  bool attended = false;          ///< its caller stays until it is done
  bool alone = false;             ///< and starts nothing else before
  Communicator* where = nullptr;  ///< where it was prepared; null before
  Prepared prepared;
  std::shared_ptr<Request> request;  ///< while it runs; a stream's may be waited for by many
  std::shared_ptr<Together> together = nullptr;  ///< what it does for several others

  /// It runs, and so do those that it runs for.
  void begin();
  /// It is over, and so are those that it ran for.
  void end(State as);
  /// Whether nothing of it is left to be done, also where its communicator has failed. \pre its
  /// turn
  [[nodiscard]] bool is_over() const;
};

/// The job that a communicator is to be made of.
struct Joined {
  std::shared_ptr<Bootstrap> job;
  /// What its ranks know it by; empty where this process has no other of them.
  std::string name = {};
  std::optional<RemainingNetwork> network = {};  ///< of the one that it shrank from
  std::vector<DeadLink> dead_links = {};         ///< between its ranks
  std::function<void()> arrived = {};            ///< called once the communicator stands
};

/// What a communicator failed of, as far as it is known, in its ranks.
struct Cause {
  std::optional<Rank> rank = {};
  std::optional<DeadLink> link = {};
};

/// How to shrink.
struct ShrinkWish {
  std::vector<Rank> without;  ///< to be left out
  bool give_up = false;       ///< what is outstanding, and the other ranks are told so
  bool around_links = false;  ///< the network loses dead links as well
};

/// How this rank gets to a part of a communicator, and what the part's ranks know it by.
struct Part {
  NewPart job;
  std::vector<Rank> members;  ///< in the whole, by their ranks in the part
  std::string name;           ///< empty where this process has no other of them
};

/// One of a part that does not come to it.
struct LostMember {
  std::size_t place = 0;  ///< in the part
  std::string how;
};

/// One rank's communicator. Thread-safe: a mutex is held for a round of progress at a time, so that
/// calls of several threads take turns.
class Comm {
 public:
  using Join = std::function<Joined(const BootstrapOptions&)>;

  /// `cancellation`: that of the job that it will get, where there is one already.
  explicit Comm(Settings settings, Cancellation cancellation = {})
      : settings_(std::move(settings)), cancellation_(std::move(cancellation)) {}
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  /// Joins and connects. \throws Error, Failure; then the communicator is failed.
  void set_up(const Join& join);
  /// The same in the background; result() is mtInProgress until it ends.
  void set_up_in_background(Join join);
  /// Waits for the background.
  void settle();

  /// mtSuccess, mtInProgress, or why it cannot be used any more.
  [[nodiscard]] mtResult_t result() const {
    const mtResult_t result = result_;
    return result == mtSuccess && finalizing_ ? mtInProgress : result;
  }
  /// It is neither failed nor finalized.
  [[nodiscard]] bool stands() const { return result_ == mtSuccess && !finalized_; }
  /// The words of the failure.
  [[nodiscard]] std::string words() const;
  [[nodiscard]] Cause cause() const;
  /// Dead already when it was made. \throws Failure(mtInProgress) while not known.
  [[nodiscard]] std::vector<DeadLink> dead_links() const;
  /// result(), after a look at what is known of other ranks; never waits.
  mtResult_t look();
  /// \throws Failure unless result() is mtSuccess and it is not finalized.
  void check_usable() const;
  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// \throws Failure(mtInvalidUsage) where there is none, and so there are no streams.
  void check_has_device() const;
  /// How calls with the stream are ordered. \throws Failure, Error(Cuda)
  StreamOrder order_on(Stream stream);
  /// \throws Failure(mtInProgress) while not known.
  [[nodiscard]] Rank rank() const;
  [[nodiscard]] std::uint32_t size() const;

  /// Checks and plans; collective if it is the first with its root. \throws Error, Failure.
  void prepare(Job& job);
  /// Whether prepare() would wait for others.
  bool must_choose(const CallSpec& spec);
  void start(const std::shared_ptr<Job>& job);
  /// Whether the ranks share the memory of a host.
  [[nodiscard]] bool on_one_host() const { return on_one_host_; }
  /// prepare(), start() and wait() of a call without a stream, where ranks go without messages: it
  /// becomes a job only if it takes long. `self`: this. \throws Error, Failure.
  void call(const std::shared_ptr<Comm>& self, const CallSpec& spec);
  /// Whose message could be received now; a look, and no wait. \throws Error, Failure.
  std::optional<Rank> probe(const ExchangeCall& call);
  /// A round of progress of all that is outstanding. \throws Error, Failure.
  void progress();
  /// The same, and if nothing moved, sleeps until something may. \throws Error, Failure.
  void sleep(std::chrono::microseconds limit);
  /// Until the job is done. \throws Error, Failure.
  void wait(const Job& job);
  void barrier();

  /// Collective over those who are still there: takes what it had outstanding to an end, and
  /// returns the job of the survivors. From here on this communicator is of no use. \throws Error,
  /// Failure; shrinking may be tried again.
  Joined shrink(const ShrinkWish& wish, Deadline deadline);
  /// \throws Failure unless shrink() may be called, with these ranks to be left out.
  void check_shrinkable(const std::vector<Rank>& without);
  [[nodiscard]] Cancellation cancellation() const;

  /// Collective: where the ranks meet those that a larger communicator has besides. \throws Error,
  /// Failure; those of a wrong argument change nothing.
  UniqueId agree_to_grow(const Growth& growth, Deadline deadline);
  /// Collective: the ranks of the same color find each other. None with MT_SPLIT_NOCOLOR. \throws
  /// Error, Failure
  std::optional<Part> split(int color, int key, Deadline deadline);
  /// Collective over `members`, in their order, all of which name the same `tag`. \throws Failure
  Part part(std::uint64_t tag, const std::vector<Rank>& members);
  /// Which of these was lost, as far as is known. Waits a moment at most.
  std::optional<LostMember> find_lost(const std::vector<Rank>& members);

  /// Collective where ranks go without messages. \throws Error, Failure.
  void* allocate(std::size_t bytes);
  /// \throws Failure(mtInvalidArgument) if it is none of these.
  void free(void* memory);
  /// Registers a buffer of this rank. \throws Failure
  void* enroll(const void* buffer, std::size_t bytes);
  /// Forgets it. \throws Failure(mtInvalidArgument) if it is none of these.
  void strike(const void* handle);
  /// Waits for all that is outstanding. \throws Error, Failure
  void finish();
  /// Collective: waits for all ranks and lets go of the job. \throws Error, Failure
  void finalize();
  /// The same where it is neither failed nor finalized; while this process has others of the job,
  /// these wait in its place. \throws Error, Failure; it is gone all the same.
  void leave(const std::shared_ptr<Comm>& self);
  /// finalize(), whatever becomes of others of this process.
  void close();
  /// finalize(), in the background; result() is mtInProgress until it ends.
  void finalize_in_background();
  /// From any thread: tells the other ranks and drops everything. Never waits for them.
  void abort(const std::string& reason);

 private:
  class Turn;

  void check_root(const CallSpec& spec) const;
  void run_in_background(std::function<void()> work);
  void check_alive() const;
  /// Whether this process was forked from the one that made it.
  [[nodiscard]] bool is_forked() const { return process_ != process_number(); }
  /// \throws Failure(mtInvalidArgument) if it was: connections are not to be used in another's
  /// name.
  void check_own_process() const;
  /// What it holds stays as it is to the end of this process, to which it does not belong.
  void leave_behind();
  void choose_rooted();
  /// Waits for what needs calls to get on, or for all.
  enum class Which : std::uint8_t { WithoutStream, All };
  void wait_for_all(Which which);
  std::shared_ptr<Job> first_outstanding(Which which);
  Part make_part(std::uint64_t which, const std::vector<Seat>& members);
  void start_on_stream(Job& job);
  void check_streamed(const Call& call) const;
  /// Looks at what stands at this place of `outstanding_`, and lets go of it if it is over: what is
  /// outstanding has a request, also where a look at another one throws. \throws Error what it
  /// failed with
  bool take_out_if_over(std::size_t place);
  void take_out_those_over();
  /// Lets go of collectives on streams that are over. \throws Error what one failed with
  void reap_streams();
  /// What streams have failed with is the cause of what others fail with.
  void note_streams();
  void wait_for_stream(const Job& job);
  [[nodiscard]] std::unique_ptr<Communicator> make_communicator(
      const std::shared_ptr<Bootstrap>& job, CommPlans& plans) const;
  void adopt(const Joined& joined, std::unique_ptr<Communicator> communicator, CommPlans plans);
  void hand_over();
  [[nodiscard]] std::optional<RemainingNetwork> remaining_network(const Survivors& left) const;
  /// Under the mutex, after a failure: what the job knows of it.
  void note_cause();
  void give_others_a_turn() const;
  /// Under the mutex: the first failure is kept, everything outstanding fails with it.
  void fail(mtResult_t result, const std::string& words);
  void drop_jobs();
  /// That of its job, once: this rank is no longer to be counted there.
  std::shared_ptr<Household> part_from_household();
  /// Runs what may fail for good, as that. \throws what it throws.
  template <typename Body>
  void run(const Body& body);

  const Settings settings_;
  const std::uint32_t process_ = process_number();
  std::atomic<mtResult_t> result_{mtInProgress};
  std::atomic<bool> finalizing_{false};  ///< in the background
  std::atomic<bool> finalized_{false};
  std::atomic<Rank> rank_{};            ///< that of its job when it was made
  std::atomic<std::uint32_t> size_{0};  ///< 0: not known yet
  std::atomic<bool> on_one_host_{false};

  mutable std::mutex words_mutex_;  ///< guards the next four
  std::string words_;
  Cause cause_;
  std::vector<DeadLink> dead_links_;
  Cancellation cancellation_;

  Registrations registrations_;

  std::mutex background_mutex_;
  std::thread background_;

  std::mutex mutex_;                     ///< guards what follows
  std::atomic<int> threads_waiting_{0};  ///< for the mutex
  std::shared_ptr<Bootstrap> bootstrap_;
  std::shared_ptr<Household> household_;  ///< null: none, or it has been left
  std::optional<CommPlans> plans_;
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::shared_ptr<Job>> outstanding_;
  /// Of mtMemAlloc(), which stays until this is gone, however little is left of the communicators.
  std::map<void*, std::shared_ptr<const void>> memory_;
  bool shrunk_ = false;
  /// Once shrunk: who is left, in the ranks that they have here.
  std::optional<Survivors> survivors_;
};

/// Handles are numbers that are never used twice, so a stale one is told from a good one.
mtComm_t enlist(const std::shared_ptr<Comm>& comm);
/// \throws Failure: mtInvalidArgument, mtAborted.
std::shared_ptr<Comm> find(mtComm_t handle);
/// Takes it out of the list; `aborted` handles are remembered as such. \throws as find().
std::shared_ptr<Comm> delist(mtComm_t handle, bool aborted);

/// Collective over the part's ranks: their job. What `whole` knows of a lost member ends the wait
/// for it. \throws as make_bootstrap()
Joined join_part(const std::shared_ptr<Comm>& whole, const Part& part, BootstrapOptions options);

}  // namespace multitree::runtime::c
