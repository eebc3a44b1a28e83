// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going on without those who are lost.
#include "tools/run/crew.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "algorithms/tuning/planner.hpp"
#include "runtime/job/survivors.hpp"

namespace multitree::tools {
namespace {

std::string text_of(const std::vector<DeadLink>& links, std::string_view between) {
  std::string text;
  for (const DeadLink& link : links) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : between, link.a, link.b);
  }
  return text;
}

}  // namespace

Crew::Crew(std::shared_ptr<runtime::Bootstrap> job, const Topology& network, OnFailure on_failure)
    : job_(std::move(job)),
      on_failure_(on_failure),
      network_(network),
      survivors_(network.num_ranks()) {}

SizedSchedules Crew::fit(const SizedSchedules& schedules, Collective collective, Rank root) const {
  const bool alone = survivors_.ranks().size() == 1 && !survivors_.is_all();
  if (schedules.empty() || alone) return {};
  return Planner(network_, schedules, {}).schedules(collective, root);
}

Rank Crew::now(Rank rank) const {
  if (const auto seat = runtime::seat_today(survivors_, rank)) return rank_at(*seat);
  throw Error(ErrorCode::Transport,
              fmt::format("rank {}, the root of the collective, is lost", rank));
}

void Crew::go_on_after(const Error& error, runtime::Deadline deadline) {
  const bool lost_contact =
      error.code() == ErrorCode::Transport || error.code() == ErrorCode::Timeout;
  if ((!on_failure_.shrink && !on_failure_.replan) || !lost_contact) throw error;
  cause_ = job_->failure().value_or(error.what());
  Survivors left = shrink(survivors_, {}, deadline);
  if (on_failure_.shrink && on_failure_.replan) left = leave_other_parts(left, deadline);
  const bool ranks_lost = left.ranks().size() < survivors_.ranks().size();
  const bool links_lost = !left.without_links(survivors_.dead_links()).dead_links().empty();
  // All are there, and yet something does not work: going on would be going round in circles.
  if (!ranks_lost && !links_lost) throw error;
  if ((ranks_lost && !on_failure_.shrink) || (links_lost && !on_failure_.replan)) throw error;
  survivors_ = std::move(left);
  if (survivors_.ranks().size() > 1) {
    network_ = RemainingNetwork(network_.whole()).after(survivors_);
  }
}

Survivors Crew::shrink(const Survivors& survivors, const std::vector<runtime::Seat>& without,
                       runtime::Deadline deadline) {
  const runtime::Shrunk shrunk = job_->shrink(deadline, without);
  job_ = shrunk.job;
  return runtime::after(survivors, shrunk);
}

/// Those who stay can all reach each other; who is behind dead links stops.
Survivors Crew::leave_other_parts(const Survivors& survivors, runtime::Deadline deadline) {
  const std::vector<std::uint32_t> part = part_that_goes_on(network_.whole(), survivors);
  if (part.size() == survivors.ranks().size()) return survivors;
  const Rank self = rank_at_first(survivors, job_->seat());
  if (!std::ranges::binary_search(part, index(self))) {
    throw Error(ErrorCode::Transport,
                fmt::format("rank {}: cut off by dead links ({}): the job goes on with rank {}",
                            self, text_of(survivors.dead_links(), ", "), fmt::join(part, ", ")));
  }
  return shrink(survivors, runtime::all_but(survivors, part), deadline);
}

std::string Crew::words() const {
  const std::vector<std::uint32_t> gone = survivors_.lost();
  const std::vector<DeadLink>& dead = survivors_.dead_links();
  const auto plural = [](const auto& list) { return list.size() == 1 ? "" : "s"; };
  std::string what;
  if (!gone.empty()) what = fmt::format("rank{} {}", plural(gone), fmt::join(gone, ", "));
  if (!dead.empty()) {
    what +=
        fmt::format("{}link{} {}", what.empty() ? "" : " and ", plural(dead), text_of(dead, ", "));
  }
  return fmt::format(
      "# {} lost ({}): going on with {} of {} ranks{}\n", what, cause_, survivors_.ranks().size(),
      network_.whole().num_ranks(),
      survivors_.ranks().size() > 1 ? fmt::format(" on {}", network_.network().name()) : "");
}

}  // namespace multitree::tools
