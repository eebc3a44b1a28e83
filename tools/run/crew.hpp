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
#include "topologies/topology.hpp"

namespace multitree::tools {

/// What `multitree run` does when a rank or a link dies or falls silent.
struct OnFailure {
  bool shrink = false;  ///< goes on without ranks
  bool replan = false;  ///< goes on around links
};

class Crew {
 public:
  /// `network`: what the schedules of the run are for; must outlive the crew.
  Crew(std::shared_ptr<runtime::Bootstrap> job, const Topology& network, OnFailure on_failure);

  [[nodiscard]] const std::shared_ptr<runtime::Bootstrap>& job() const { return job_; }
  /// By rank: the rank it had at the beginning.
  [[nodiscard]] const std::vector<std::uint32_t>& members() const { return members_; }
  /// Of those that are still there.
  [[nodiscard]] const Topology& network() const { return network_; }
  /// Those that are not there any more, ascending.
  [[nodiscard]] std::vector<std::uint32_t> lost() const;

  /// Schedules of the whole network, repaired for those that are still there. None for a rank that
  /// is alone. \throws Error as replan().
  [[nodiscard]] SizedSchedules fit(const SizedSchedules& schedules) const;
  /// The number that a rank of the whole network has now. \throws Error(Transport) if it is gone.
  [[nodiscard]] Rank now(Rank rank) const;

  /// Links that died between ranks that are still there, by the ranks they had at the beginning;
  /// ascending.
  [[nodiscard]] const std::vector<runtime::DeadLink>& dead_links() const { return dead_links_; }

  /// Collective over those that are still there, after `error`: goes on without the others and
  /// around links that died, or rethrows it if that is not wanted or of no use.
  void go_on_after(const Error& error, runtime::Deadline deadline);
  /// "# rank 3 lost (rank 3 died): going on with 7 of 8 ranks on torus:4x2,dead=3"
  [[nodiscard]] std::string words() const;

 private:
  /// Collective: shrinks the job; `members` and `links` are by the ranks at the beginning.
  void shrink(std::vector<std::uint32_t>& members, std::vector<runtime::DeadLink>& links,
              const std::vector<std::uint32_t>& without, runtime::Deadline deadline);
  void leave_other_parts(std::vector<std::uint32_t>& members, std::vector<runtime::DeadLink>& links,
                         runtime::Deadline deadline);
  [[nodiscard]] bool knows(const runtime::DeadLink& link) const;

  std::shared_ptr<runtime::Bootstrap> job_;
  const Topology& whole_;
  Topology network_;
  OnFailure on_failure_;
  std::vector<std::uint32_t> members_;
  std::vector<runtime::DeadLink> dead_links_;
  std::string cause_;
};

}  // namespace multitree::tools
