// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going on without those who are lost.
#include "tools/run/crew.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
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

bool has_lost_contact(const Error& error) {
  return error.code() == ErrorCode::Transport || error.code() == ErrorCode::Timeout;
}

}  // namespace

Crew::Crew(std::shared_ptr<runtime::Bootstrap> job, const Topology& network, OnFailure on_failure)
    : job_(std::move(job)),
      on_failure_(on_failure),
      network_(network),
      survivors_(network.num_ranks()) {}

Crew::Crew(const std::shared_ptr<runtime::Bootstrap>& all, const Topology& network,
           runtime::Deadline deadline)
    : on_failure_{.shrink = true, .replan = false},
      network_(network),
      survivors_(network.num_ranks()),
      reserve_(std::in_place, all, network.num_ranks()) {
  if (!reserve_->waits()) job_ = reserve_->join(deadline);
}

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
  if ((!on_failure_.shrink && !on_failure_.replan) || !has_lost_contact(error)) throw error;
  if (reserve_) return regroup(error, deadline);
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

void Crew::note_loss(const std::string& cause) {
  if (is_over_) told_ = taken_.size();
  is_over_ = false;
  cause_ = cause;
  noticed_ = std::chrono::steady_clock::now();
}

/// All are told, as a call may fail for another reason than a lost process, or before the spares
/// know. The next process may be lost before all have come together again.
void Crew::regroup(Error error, runtime::Deadline deadline) {
  note_loss(job_->failure().value_or(error.what()));
  while (true) {
    reserve_->report_failure(cause_);
    if (!reserve_->regroup(deadline)) throw error;
    try {
      return take_place(deadline);
    } catch (const Error& next) {
      if (!has_lost_contact(next)) throw;
      error = next;
    }
  }
}

bool Crew::await_place() {
  while (true) {
    try {
      reserve_->await_end();
      return false;
    } catch (const Error& error) {
      note_loss(error.what());
    }
    reserve_->regroup();
    if (!reserve_->waits()) return true;
    note_taken();
    is_over_ = true;
  }
}

bool Crew::end(runtime::Deadline deadline) {
  while (reserve_) {
    try {
      reserve_->await_end(deadline);
      return true;
    } catch (const Error& error) {
      note_loss(error.what());
    }
    if (reserve_->regroup(deadline)) return false;
    is_over_ = true;
  }
  return true;
}

/// Spares do not know why, nor for how long others have.
void Crew::take_place(runtime::Deadline deadline) {
  const bool comes = is_spare();
  std::vector<std::uint32_t> left;
  for (const std::uint32_t rank : reserve_->ranks()) {
    if (const auto today = survivors_.today(rank)) left.push_back(*today);
  }
  survivors_ = survivors_.after(left, {});
  if (!survivors_.is_all() && left.size() > 1) {
    network_ = RemainingNetwork(network_.whole()).after(survivors_);
  }
  note_taken();
  job_ = reserve_->join(deadline);
  const auto own = std::chrono::steady_clock::now() - noticed_;
  took_ = std::chrono::duration_cast<std::chrono::milliseconds>(own);
  const std::string words = comes ? "" : fmt::format("{} {}", took_.count(), cause_);
  for (const std::string& other : job_->all_gather(words, deadline)) {
    const std::size_t end = other.find(' ');
    if (end == std::string::npos) continue;
    took_ = std::max(took_, std::chrono::milliseconds(std::stoll(other.substr(0, end))));
    if (comes) cause_ = other.substr(end + 1);
  }
  is_over_ = true;
}

void Crew::note_taken() {
  taken_.insert(taken_.end(), reserve_->taken().begin(), reserve_->taken().end());
}

void Crew::report_failure(const std::string& why) {
  if (job_) job_->report_failure(why);
  if (reserve_) reserve_->report_failure(why);
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

/// "spare 0 takes the place of rank 2, spare 1 of rank 5, in 12 ms: ", where some do.
std::string Crew::words_of_places() const {
  std::string words;
  for (const auto& [spare, rank] : std::span(taken_).subspan(told_)) {
    words += fmt::format("spare {} {} rank {}, ", spare,
                         words.empty() ? "takes the place of" : "of", rank);
  }
  return words.empty() ? words : fmt::format("{}in {} ms: ", words, took_.count());
}

std::string Crew::words() const {
  std::vector<std::uint32_t> gone = survivors_.lost();
  for (const Taken& taken : std::span(taken_).subspan(told_)) gone.push_back(taken.rank);
  std::ranges::sort(gone);
  const std::vector<DeadLink>& dead = survivors_.dead_links();
  const auto plural = [](const auto& list) { return list.size() == 1 ? "" : "s"; };
  std::string what;
  if (!gone.empty()) what = fmt::format("rank{} {}", plural(gone), fmt::join(gone, ", "));
  if (!dead.empty()) {
    what +=
        fmt::format("{}link{} {}", what.empty() ? "" : " and ", plural(dead), text_of(dead, ", "));
  }
  return fmt::format(
      "# {} lost ({}): {}going on with {} of {} ranks{}\n", what, cause_, words_of_places(),
      survivors_.ranks().size(), network_.whole().num_ranks(),
      survivors_.ranks().size() > 1 ? fmt::format(" on {}", network_.network().name()) : "");
}

}  // namespace multitree::tools
