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

#include "runtime/c/memory_internal.hpp"
#include "runtime/c/result_internal.hpp"
#include "runtime/c/settings_internal.hpp"
#include "runtime/communicator.hpp"

namespace multitree::runtime::c {

class Comm;

/// What a collective was called with.
struct CallSpec {
  Collective collective{};
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;
  DataType type{};
  ReduceOp op = ReduceOp::Sum;
  std::uint32_t root = 0;
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
  std::atomic<State> state{State::Idle};
  Communicator* where = nullptr;  ///< where it was prepared; null before
  Prepared prepared;
  Request request;
};

/// One rank's communicator. Thread-safe: a mutex is held for a round of progress at a time, so that
/// calls of several threads take turns. Broadcast and reduce have a Communicator for each root that
/// was used, as their connections differ.
class Comm {
 public:
  using Join = std::function<std::shared_ptr<Bootstrap>(const BootstrapOptions&)>;

  explicit Comm(Settings settings) : settings_(std::move(settings)) {}
  ~Comm() { abort("left by its process"); }
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
  /// The words of the failure.
  [[nodiscard]] std::string words() const;
  /// result(), after a look at what is known of other ranks; never waits.
  mtResult_t look();
  /// \throws Failure unless result() is mtSuccess and it is not finalized.
  void check_usable() const;
  [[nodiscard]] bool blocking() const { return settings_.blocking; }
  /// \throws Failure(mtInProgress) while not known.
  [[nodiscard]] std::uint32_t rank() const;
  [[nodiscard]] std::uint32_t size() const;

  /// Checks and plans; collective if it is the first with its root. \throws Error, Failure.
  void prepare(Job& job);
  /// Whether prepare() would wait for others.
  bool must_connect(const CallSpec& spec);
  void start(const std::shared_ptr<Job>& job);
  /// A round of progress of all that is outstanding. \throws Error, Failure.
  void progress();
  /// Until the job is done. \throws Error, Failure.
  void wait(const Job& job);
  void barrier();
  void finalize();
  /// finalize(), in the background; result() is mtInProgress until it ends.
  void finalize_in_background();
  /// From any thread: tells the other ranks and drops everything. Never waits for them.
  void abort(const std::string& reason);

  Memory& memory() { return memory_; }

 private:
  class Turn;

  void run_in_background(std::function<void()> work);
  void check_alive() const;
  void connect(std::uint32_t root);
  Communicator* communicator_for(const CallSpec& spec);
  void wait_for_all();
  void give_others_a_turn() const;
  /// Under the mutex: the first failure is kept, everything outstanding fails with it.
  void fail(mtResult_t result, const std::string& words);
  void drop_jobs();
  /// Runs what may fail for good, as that. \throws what it throws.
  template <typename Body>
  void run(const Body& body);

  const Settings settings_;
  Cancellation cancellation_;
  std::atomic<mtResult_t> result_{mtInProgress};
  std::atomic<bool> finalizing_{false};  ///< in the background
  std::atomic<bool> finalized_{false};
  std::atomic<std::uint32_t> rank_{0}, size_{0};  ///< size 0: not known yet

  mutable std::mutex words_mutex_;
  std::string words_;

  std::mutex background_mutex_;
  std::thread background_;

  std::mutex mutex_;                     ///< guards what follows
  std::atomic<int> threads_waiting_{0};  ///< for the mutex
  std::shared_ptr<Bootstrap> bootstrap_;
  std::optional<Planner> planner_;
  std::unique_ptr<Communicator> unrooted_;
  std::map<std::uint32_t, std::unique_ptr<Communicator>> rooted_;
  std::vector<std::shared_ptr<Job>> outstanding_;
  Memory memory_;
};

/// Handles are numbers that are never used twice, so a stale one is told from a good one.
mtComm_t enlist(const std::shared_ptr<Comm>& comm);
/// \throws Failure: mtInvalidArgument, mtAborted.
std::shared_ptr<Comm> find(mtComm_t handle);
/// Takes it out of the list; `aborted` handles are remembered as such. \throws as find().
std::shared_ptr<Comm> delist(mtComm_t handle, bool aborted);

}  // namespace multitree::runtime::c
