// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going on without those who are lost.
#include "tools/run/crew.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "algorithms/replan.hpp"
#include "topologies/remains.hpp"

namespace multitree::tools {
namespace {

std::string text_of(const std::vector<runtime::DeadLink>& links, std::string_view between) {
  std::string text;
  for (const runtime::DeadLink& link : links) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : between, link.a, link.b);
  }
  return text;
}

std::vector<SilentPair> pairs_of(const std::vector<runtime::DeadLink>& links) {
  std::vector<SilentPair> silent;
  for (const runtime::DeadLink& link : links) silent.emplace_back(link.a, link.b);
  return silent;
}

}  // namespace

Crew::Crew(std::shared_ptr<runtime::Bootstrap> job, const Topology& network, OnFailure on_failure)
    : job_(std::move(job)),
      whole_(network),
      network_(network),
      on_failure_(on_failure),
      members_(network.num_ranks()) {
  std::iota(members_.begin(), members_.end(), 0U);
}

std::vector<std::uint32_t> Crew::lost() const {
  std::vector<std::uint32_t> lost;
  for (std::uint32_t rank = 0; rank < whole_.num_ranks(); ++rank) {
    if (!std::ranges::binary_search(members_, rank)) lost.push_back(rank);
  }
  return lost;
}

SizedSchedules Crew::fit(const SizedSchedules& schedules) const {
  if (members_.size() == whole_.num_ranks() && dead_links_.empty()) return schedules;
  SizedSchedules fitting;
  if (members_.size() == 1) return fitting;
  for (const SizedSchedule& sized : schedules) {
    fitting.push_back({replan(sized.schedule, whole_, network_).schedule, sized.max_bytes});
  }
  return fitting;
}

Rank Crew::now(Rank rank) const {
  const auto it = std::ranges::lower_bound(members_, index(rank));
  if (it == members_.end() || *it != index(rank)) {
    throw Error(ErrorCode::Transport,
                fmt::format("rank {}, the root of the collective, is lost", index(rank)));
  }
  return Rank{static_cast<std::uint32_t>(it - members_.begin())};
}

void Crew::go_on_after(const Error& error, runtime::Deadline deadline) {
  const bool lost_contact =
      error.code() == ErrorCode::Transport || error.code() == ErrorCode::Timeout;
  if ((!on_failure_.shrink && !on_failure_.replan) || !lost_contact) throw error;
  cause_ = job_->failure().value_or(error.what());
  std::vector<std::uint32_t> members = members_;
  std::vector<runtime::DeadLink> links;
  shrink(members, links, {}, deadline);
  if (on_failure_.shrink && on_failure_.replan) leave_other_parts(members, links, deadline);
  const bool ranks_lost = members.size() < members_.size();
  const bool links_lost =
      std::ranges::any_of(links, [&](const auto& link) { return !knows(link); });
  // All are there, and yet something does not work: going on would be going round in circles.
  if (!ranks_lost && !links_lost) throw error;
  if ((ranks_lost && !on_failure_.shrink) || (links_lost && !on_failure_.replan)) throw error;
  members_ = std::move(members);
  dead_links_ = std::move(links);
  if (members_.size() > 1) network_ = remaining_network(whole_, members_, pairs_of(dead_links_));
}

void Crew::shrink(std::vector<std::uint32_t>& members, std::vector<runtime::DeadLink>& links,
                  const std::vector<std::uint32_t>& without, runtime::Deadline deadline) {
  runtime::Shrunk shrunk = job_->shrink(deadline, without);
  job_ = std::move(shrunk.job);
  std::vector<std::uint32_t> left;
  for (const std::uint32_t rank : shrunk.survivors) left.push_back(members[rank]);
  members = std::move(left);
  links.clear();
  for (const auto& [a, b] : shrunk.dead_links) links.push_back({members[a], members[b]});
}

/// Those who stay can all reach each other; who is behind dead links stops.
void Crew::leave_other_parts(std::vector<std::uint32_t>& members,
                             std::vector<runtime::DeadLink>& links, runtime::Deadline deadline) {
  const std::vector<std::uint32_t> part = part_that_goes_on(whole_, members, pairs_of(links));
  if (part.size() == members.size()) return;
  const std::uint32_t self = members[job_->rank()];
  if (!std::ranges::binary_search(part, self)) {
    throw Error(ErrorCode::Transport,
                fmt::format("rank {}: cut off by dead links ({}): the job goes on with rank {}",
                            self, text_of(links, ", "), fmt::join(part, ", ")));
  }
  std::vector<std::uint32_t> without;
  for (std::uint32_t now = 0; now < members.size(); ++now) {
    if (!std::ranges::binary_search(part, members[now])) without.push_back(now);
  }
  shrink(members, links, without, deadline);
}

bool Crew::knows(const runtime::DeadLink& link) const {
  return std::ranges::binary_search(dead_links_, link);
}

std::string Crew::words() const {
  const std::vector<std::uint32_t> gone = lost();
  const auto plural = [](const auto& list) { return list.size() == 1 ? "" : "s"; };
  std::string what;
  if (!gone.empty()) what = fmt::format("rank{} {}", plural(gone), fmt::join(gone, ", "));
  if (!dead_links_.empty()) {
    what += fmt::format("{}link{} {}", what.empty() ? "" : " and ", plural(dead_links_),
                        text_of(dead_links_, ", "));
  }
  return fmt::format("# {} lost ({}): going on with {} of {} ranks{}\n", what, cause_,
                     members_.size(), whole_.num_ranks(),
                     members_.size() > 1 ? fmt::format(" on {}", network_.name()) : "");
}

}  // namespace multitree::tools
