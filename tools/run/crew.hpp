// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks of a run: those that are still there, and what is left of the network that they are
/// on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "runtime/job/bootstrap.hpp"
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
  /// "# rank 3 lost (rank 3 died): going on with 7 of 8 ranks on torus:4x2,dead=3"
  [[nodiscard]] std::string words() const;

 private:
  /// Collective: shrinks the job, `without` these of it. \returns `survivors` after that
  [[nodiscard]] Survivors shrink(const Survivors& survivors,
                                 const std::vector<runtime::Seat>& without,
                                 runtime::Deadline deadline);
  [[nodiscard]] Survivors leave_other_parts(const Survivors& survivors, runtime::Deadline deadline);

  std::shared_ptr<runtime::Bootstrap> job_;
  OnFailure on_failure_;
  RemainingNetwork network_;
  Survivors survivors_;
  std::string cause_;
};

}  // namespace multitree::tools
