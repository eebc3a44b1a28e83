// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Spares that take the places of ranks.
#include "tools/run/reserve.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/job/survivors.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

/// Milliseconds travel as 32 bits.
constexpr std::chrono::hours kForEver{24 * 30};

}  // namespace

Places::Places(std::uint32_t ranks, std::uint32_t processes) {
  for (std::uint32_t process = 0; process < processes; ++process) {
    if (process < ranks) {
      at_.emplace_back(process);
    } else {
      waiting_.push_back(process);
    }
  }
}

std::vector<Taken> Places::go_on_with(const std::vector<std::uint32_t>& left) {
  const auto is_lost = [&](std::uint32_t process) {
    return !std::ranges::binary_search(left, process);
  };
  std::erase_if(waiting_, is_lost);
  std::vector<Taken> taken;
  const auto ranks = static_cast<std::uint32_t>(at_.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::optional<std::uint32_t>& place = at_[rank];
    if (!place || !is_lost(*place)) continue;
    place.reset();
    if (waiting_.empty()) continue;
    place = waiting_.front();
    waiting_.erase(waiting_.begin());
    taken.push_back({*place - ranks, rank});
  }
  return taken;
}

std::vector<std::uint32_t> Places::ranks() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < at_.size(); ++rank) {
    if (at_[rank]) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<std::uint32_t> Places::members() const {
  std::vector<std::uint32_t> members;
  for (const std::uint32_t rank : ranks()) members.push_back(*at_[rank]);
  return members;
}

bool Places::has(std::uint32_t process) const {
  return std::ranges::find(at_, std::optional(process)) != at_.end();
}

Reserve::Reserve(std::shared_ptr<runtime::Bootstrap> all, std::uint32_t ranks)
    : all_(std::move(all)), left_(all_->size()), places_(ranks, all_->size()) {}

std::uint32_t Reserve::self() const { return index(runtime::rank_at_first(left_, all_->seat())); }

bool Reserve::waits() const { return !places_.has(self()); }

std::shared_ptr<runtime::Bootstrap> Reserve::join(runtime::Deadline deadline) const {
  std::vector<runtime::Seat> seats;
  for (const std::uint32_t process : places_.members()) {
    seats.push_back(runtime::Seat{*left_.today(process)});
  }
  return all_->part(0, seats).join(
      {.deadline = deadline, .failed_before = [all = all_] { return all->failure(); }});
}

void Reserve::await_end(runtime::Deadline deadline) { all_->barrier(deadline); }

void Reserve::await_end() { await_end(kForEver); }

bool Reserve::regroup(runtime::Deadline deadline) {
  const runtime::Shrunk shrunk = all_->shrink(deadline);
  all_ = shrunk.job;
  left_ = runtime::after(left_, shrunk);
  const std::vector<std::uint32_t> before = places_.members();
  const auto stay =
      std::ranges::count_if(before, [&](std::uint32_t process) { return left_.has(process); });
  if (stay == 0) {
    throw Error(ErrorCode::Transport,
                "all ranks are lost, so no spare can go on with what they have done");
  }
  taken_ = places_.go_on_with(left_.ranks());
  return static_cast<std::size_t>(stay) < before.size();
}

bool Reserve::regroup() { return regroup(kForEver); }

}  // namespace multitree::tools
