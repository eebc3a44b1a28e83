// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the ranks of a job find each other and learn that one has died.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/links.hpp"
#include "runtime/job/whereabouts.hpp"

namespace multitree::runtime {

using Deadline = std::chrono::milliseconds;

/// A wish to give up, shared by all copies of it; may be made and seen by any thread.
class Cancellation {
 public:
  void request() const { *requested_ = true; }
  [[nodiscard]] bool requested() const { return *requested_; }

 private:
  std::shared_ptr<std::atomic<bool>> requested_ = std::make_shared<std::atomic<bool>>(false);
};

/// What every rank has said, by seat. Copies share it: threads of a process hold it once.
class Gathered {
 public:
  using value_type = std::string;
  using const_iterator = std::vector<std::string>::const_iterator;

  Gathered() = default;
  explicit Gathered(std::vector<std::string> blobs)
      : blobs_(std::make_shared<const std::vector<std::string>>(std::move(blobs))) {}
  [[nodiscard]] std::size_t size() const { return blobs_->size(); }
  [[nodiscard]] const std::string& operator[](std::size_t seat) const { return (*blobs_)[seat]; }
  [[nodiscard]] const std::string* data() const { return blobs_->data(); }
  [[nodiscard]] const_iterator begin() const { return blobs_->begin(); }
  [[nodiscard]] const_iterator end() const { return blobs_->end(); }

 private:
  std::shared_ptr<const std::vector<std::string>> blobs_ =
      std::make_shared<const std::vector<std::string>>();
};

/// What every rank has written about itself, for those that need it: an entry is fetched when it is
/// first asked for, so that nobody holds what all have written. Of one thread, which may be another
/// than that of the bootstrap.
class AddressBook {
 public:
  AddressBook() = default;
  virtual ~AddressBook() = default;
  AddressBook(const AddressBook&) = delete;
  AddressBook& operator=(const AddressBook&) = delete;

  /// Not collective: what the rank at this seat has written. \throws Error(Transport) if it cannot
  /// be had any more, as after a death, Error(Timeout).
  virtual const std::string& of(Seat seat) = 0;
};

/// Which ranks of the job that all began with those of a part are; also of that job itself.
struct Lineage {
  std::uint64_t root = 0;   ///< its name
  std::vector<Seat> seats;  ///< by seat: the one there
};

class Bootstrap;
struct BootstrapOptions;

/// Some ranks of a job, as one of them gets to their own.
struct NewPart {
  std::uint64_t name = 0;  ///< the same at all of them, and of no other part of the job
  /// Collective over its ranks. \throws as make_bootstrap()
  std::function<std::shared_ptr<Bootstrap>(const BootstrapOptions&)> join;
};

/// A job made of what is left of another.
struct Shrunk {
  std::shared_ptr<Bootstrap> job;
  std::vector<Seat> survivors;  ///< by new seat: the seat in the old job; ascending
  /// All that have died so far between ranks that are still there, in the numbers of the new job;
  /// ascending.
  std::vector<DeadLink> dead_links = {};
};

/// Out-of-band exchange between the ranks of one job. Calls are collective unless said otherwise.
class Bootstrap {
 public:
  Bootstrap() = default;
  virtual ~Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  [[nodiscard]] virtual Seat seat() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  /// Not collective: tells it from other jobs; the same at all of its ranks.
  [[nodiscard]] virtual std::uint64_t name() const { return 0; }
  /// Not collective: the job has no secret that strangers do not know or guess, so they may take
  /// part; known at every rank.
  [[nodiscard]] virtual bool is_open() const { return false; }
  /// What a rank does now and then, while it waits for others. Calls nothing of the bootstrap. What
  /// it throws ends the wait: then this rank can only report_failure().
  using Meanwhile = std::function<void()>;
  /// Everybody's blob, by seat. \throws Error(Timeout) naming the ranks that are missing, or
  /// Error(Transport) naming a rank that died.
  Gathered all_gather(const std::string& blob, Deadline deadline, const Meanwhile& meanwhile = {}) {
    return gather(blob, deadline, meanwhile);
  }
  void barrier(Deadline deadline) { all_gather({}, deadline); }
  /// Collective, and waits for all: everybody writes `entry`. Those of `wanted` are there at once,
  /// others when asked for. \throws as all_gather()
  virtual std::unique_ptr<AddressBook> open_book(const std::string& entry,
                                                 std::span<const Seat> wanted, Deadline deadline);
  /// Not collective, never blocks: what is known of a failure elsewhere in the job, in words that
  /// name the rank ("rank 3 died"); empty while all is well.
  virtual std::optional<std::string> failure() = 0;
  /// Not collective: tells the other ranks why this one gives up (best effort).
  virtual void report_failure(const std::string& reason) = 0;
  /// Not collective: tells the other ranks that nothing comes from `peers` any more over the links
  /// to them, which is the failure of links and not of ranks. `left`: where other links of this
  /// rank lead. One that has lost all links counts as dead when the job shrinks (unless everybody
  /// has: then the lowest rank stays).
  virtual void report_dead_links(std::span<const Seat> peers, std::span<const Seat> left,
                                 const std::string& reason) = 0;
  /// Not collective, never blocks: the link that failure(), or the failure that this rank reported,
  /// is about; empty if it is about something else.
  [[nodiscard]] virtual std::optional<DeadLink> dead_link() = 0;
  /// Not collective, never blocks: the process that failure() is about, which died or was the first
  /// to give up; empty if it is about something else.
  [[nodiscard]] virtual std::optional<Seat> lost_seat() = 0;
  /// Not collective, waits a moment at most: one of these whose process is known to have died, once
  /// the job has failed; also of those that died after the one that failure() is about. Looked for
  /// now and then while this is called. `seats`: those of a part, in its order.
  [[nodiscard]] virtual std::optional<Seat> find_dead(std::span<const Seat> seats);
  /// Not collective: who keeps this rank waiting, in a sentence for people; empty if nobody knows.
  /// All are asked where they are, and those that have not said so within a moment
  /// do not answer. `self`: where this rank is; none: at a barrier.
  virtual std::string culprit(const std::optional<Whereabouts>& self);
  /// Not collective, never blocks: whether somebody has asked where this rank is, as failure() has
  /// heard; until it tells.
  [[nodiscard]] virtual bool asked_where() { return false; }
  virtual void tell_where(const Whereabouts& self);
  /// Not collective, never blocks, from any thread: this rank is in no call of this job; if
  /// somebody has asked where it is, it is where `where` says, in another. Returns what was found
  /// out by that, if ranks wait for each other in this job and that other one.
  virtual std::optional<std::string> answer_elsewhere(const std::function<Whereabouts()>& where);
  /// Not collective, from any thread.
  [[nodiscard]] virtual Lineage lineage() const;
  /// Not collective, never blocks: tells all ranks, this one among them. All hear all that is said
  /// in one order. Not after a failure.
  virtual void say(const std::string& words) = 0;
  /// Who hears what is said, from within other calls of this bootstrap, and what it answers, which
  /// is said in turn; empty: nothing. It makes no call of this bootstrap by itself. Of what nobody
  /// has heard yet the latest is kept for it. Null: nobody hears any more.
  using Listener = std::function<std::string(Seat from, const std::string& words)>;
  virtual void hear_with(Listener listener) = 0;
  /// Collective over the ranks that are still there, after a failure or without one: a job of just
  /// them. Ranks that do not ask for it within `deadline` of the first that does are left out, and
  /// told so; nobody waits for `without`, though one of them that asks stays. This bootstrap is of
  /// no use afterwards. \throws Error(Transport) if this rank was left out or the coordinator is
  /// gone, Error(Timeout).
  virtual Shrunk shrink(Deadline deadline, std::span<const Seat> without) = 0;
  Shrunk shrink(Deadline deadline) { return shrink(deadline, {}); }
  /// Not collective, never waits: how `members`, this rank among them, become a job of their own,
  /// with seats in this order. It shares connections with this one and may outlive it; each fails
  /// and shrinks for itself. All of them name the same `which`, and make parts of the same members
  /// in the same order.
  [[nodiscard]] virtual NewPart part(std::uint64_t which, std::span<const Seat> members) = 0;
  /// "local launcher", "Open MPI (PMIx)", "MPICH (PMI-1)", "torchrun", "Slurm", "Slurm
  /// (PMIx)", "Slurm (PMI-1)", "in-process".
  [[nodiscard]] virtual std::string describe() const = 0;

 private:
  virtual Gathered gather(const std::string& blob, Deadline deadline,
                          const Meanwhile& meanwhile) = 0;
};

struct BootstrapOptions {
  Deadline deadline{60'000};  ///< for all ranks to arrive
  /// Once requested, joining and every later wait of the bootstrap end in Error(Transport)
  /// "aborted" within moments (not while a process manager is asked for addresses: that ends in
  /// time).
  Cancellation cancellation{};
  /// Of a part, until all of its ranks have come to it: what is known of a failure of theirs before
  /// that, for which the part has no connection to notice it by. Looked at while it waits for them;
  /// never blocks.
  std::function<std::optional<std::string>()> failed_before = {};
};

/// Collective: joins the job that this process was started in, and waits until all ranks have. How
/// it was started is read from the environment, the first of:
///
/// 1. MULTITREE_RANK, MULTITREE_SIZE, MULTITREE_RENDEZVOUS=host:port, MULTITREE_TOKEN: set by
///    launch_local(), or by hand; then rank 0 listens at the port, on that host's address alone.
///    The token is a secret that keeps strangers out; it may be left out on loopback only.
/// 2. PMIx: mpirun of Open MPI, srun --mpi=pmix, prterun.
/// 3. PMI-1: mpiexec of MPICH and its relatives, srun --mpi=pmi2.
/// 4. torchrun: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. Rank 0 listens at MASTER_PORT + 1, as
/// the
///    launcher's own store holds MASTER_PORT.
/// 5. Slurm without PMIx: rank 0 listens at a port derived from the job's id. What torchrun and
///    Slurm call a job can be guessed; MULTITREE_TOKEN, where it is set, has to be known as well.
/// 6. Nothing of all that: one rank.
///
/// \throws Error(InvalidArgument) if the environment is incomplete or contradicts itself,
/// Error(Timeout) naming the ranks that have not come, Error(Transport).
std::shared_ptr<Bootstrap> make_bootstrap(const BootstrapOptions& options = {});

/// Whether the environment names a job to join, so that make_bootstrap() would not be a job of one.
/// \throws Error(InvalidArgument) as make_bootstrap().
bool started_by_launcher();

/// Collective: the same processes as `job`, in which this one has `seat`; everybody names another.
/// `job` is kept as long as the new one and is of no use otherwise. Its rank 0 hosts the new one.
/// \throws Error(InvalidArgument) if a seat is not below the size or named twice, Error(Timeout),
/// Error(Transport).
std::shared_ptr<Bootstrap> renumbered(std::shared_ptr<Bootstrap> job, Seat seat, Deadline deadline);

/// For threads of this process: by seat, each to be handed to its thread. \pre ranks > 0
std::vector<std::shared_ptr<Bootstrap>> make_in_process_bootstraps(std::uint32_t ranks);

}  // namespace multitree::runtime
