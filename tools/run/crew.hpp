// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks of a run: those that are still there, and what is left of the network that they are
/// on.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "runtime/job/bootstrap.hpp"
#include "tools/run/reserve.hpp"
#include "topologies/error.hpp"
#include "topologies/remaining_network.hpp"

namespace multitree::tools {

/// What `multitree run` does when a rank or a link dies or falls silent.
struct OnFailure {
  bool shrink = false;  ///< goes on without ranks
  bool replan = false;  ///< goes on around links
};

class Crew {
 public:
  /// `network`: what the schedules of the run are for.
  Crew(std::shared_ptr<runtime::Bootstrap> job, const Topology& network, OnFailure on_failure);
  /// Collective over all processes but the spares, those of `all` behind the ranks of the network.
  Crew(const std::shared_ptr<runtime::Bootstrap>& all, const Topology& network,
       runtime::Deadline deadline);

  [[nodiscard]] const std::shared_ptr<runtime::Bootstrap>& job() const { return job_; }
  /// Those that are still there, and the links that died between them.
  [[nodiscard]] const Survivors& survivors() const { return survivors_; }
  /// What they are on.
  [[nodiscard]] const RemainingNetwork& network() const { return network_; }
  /// Schedules of the whole network for those that are still there; none for a rank that is alone,
  /// and of none. `root` in its number of today. \throws Error as Planner
  [[nodiscard]] SizedSchedules fit(const SizedSchedules& schedules, Collective collective,
                                   Rank root) const;
  /// The number that a rank of the whole network has now. \throws Error(Transport) if it is gone.
  [[nodiscard]] Rank now(Rank rank) const;

  /// Collective over those that are still there, after `error`: goes on without the others and
  /// around links that died, or rethrows it if that is not wanted or of no use.
  void go_on_after(const Error& error, runtime::Deadline deadline);

  /// A spare has no job() before it takes a place.
  [[nodiscard]] bool is_spare() const { return job_ == nullptr; }
  /// Of a spare: waits until it is to take_place(); false: the run has ended.
  bool await_place();
  /// Collective over those that have places after a loss, spares that are to have one too.
  void take_place(runtime::Deadline deadline);
  /// Collective over all: the run has ended, and spares need not wait. False: a rank is lost, and
  /// those that are left are to take_place(). No spares: true.
  bool end(runtime::Deadline deadline);
  /// Not collective: the others are not to wait for this rank.
  void report_failure(const std::string& why);
  /// Spares that have taken places, from the beginning on.
  [[nodiscard]] const std::vector<Taken>& taken() const { return taken_; }

  /// "# rank 3 lost (rank 3 died): going on with 7 of 8 ranks on torus:4x2,dead=3"
  [[nodiscard]] std::string words() const;

 private:
  /// Collective: shrinks the job, `without` these of it. \returns `survivors` after that
  [[nodiscard]] Survivors shrink(const Survivors& survivors,
                                 const std::vector<runtime::Seat>& without,
                                 runtime::Deadline deadline);
  void regroup(Error error, runtime::Deadline deadline);
  void note_loss(const std::string& cause);
  void note_taken();
  [[nodiscard]] std::string words_of_places() const;
  [[nodiscard]] Survivors leave_other_parts(const Survivors& survivors, runtime::Deadline deadline);

  std::shared_ptr<runtime::Bootstrap> job_;
  OnFailure on_failure_;
  RemainingNetwork network_;
  Survivors survivors_;
  std::string cause_;
  std::optional<Reserve> reserve_;
  std::vector<Taken> taken_;
  std::size_t told_ = 0;  ///< of them, with losses that the job has got over
  bool is_over_ = true;   ///< the last loss
  std::chrono::steady_clock::time_point noticed_;  ///< the last loss
  std::chrono::milliseconds took_{0};              ///< to take the places
};

}  // namespace multitree::tools
