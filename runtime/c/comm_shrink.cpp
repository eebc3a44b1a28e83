// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going on without ranks that are lost, or not wanted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/c/comm_turn_internal.hpp"
#include "topologies/degrade.hpp"
#include "topologies/group.hpp"

namespace multitree::runtime::c {

void Comm::check_shrinkable(const std::vector<std::uint32_t>& without) {
  if (finalized_ || finalizing_) throw Failure(mtInvalidUsage, "the communicator is finalized");
  for (const std::uint32_t rank : without) {
    if (rank < size() && rank != this->rank()) continue;
    throw Failure(mtInvalidArgument,
                  fmt::format("excludeRanksList: expected other ranks than {}, below {}, found {}",
                              this->rank(), size(), rank));
  }
  if (result_ == mtInProgress) check_alive();
  const Turn turn(*this);
  if (bootstrap_ != nullptr) return;
  throw Failure(mtInvalidUsage, shrunk_ ? "the communicator was shrunk to another"
                                        : "the communicator never stood, so nothing is left of it");
}

Joined Comm::shrink(const std::vector<std::uint32_t>& without, bool give_up, Deadline deadline) {
  if (!give_up && result_ == mtSuccess) {
    try {
      wait_for_all(Which::All);
    } catch (const std::exception&) {  // what could not be finished is given up
    }
  }
  const Turn turn(*this);
  if (result_ == mtAborted) throw Failure(mtAborted, words());
  if (bootstrap_ == nullptr) throw Failure(mtInvalidUsage, "the communicator is gone");
  if (give_up) {
    fail(mtInvalidUsage, "its collectives were given up, to shrink it");
    drop_jobs();
  }
  for (Communicator* const communicator : communicators()) communicator->settle();
  if (members_.empty()) {
    members_.resize(size_);
    std::iota(members_.begin(), members_.end(), 0U);
  }
  // By today's numbers; whoever is not among the members was lost before.
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t now = 0; now < members_.size(); ++now) {
    if (std::ranges::find(without, members_[now]) != without.end()) numbers.push_back(now);
  }
  Shrunk shrunk;
  run([&] { shrunk = bootstrap_->shrink(deadline, numbers); });
  shrunk_ = true;
  fail(mtInvalidUsage, "the communicator was shrunk to another");
  drop_jobs();
  std::vector<std::uint32_t> left;
  for (const std::uint32_t now : shrunk.survivors) left.push_back(members_[now]);
  members_ = std::move(left);
  // Until the other one stands this one has the job, to be shrunk again if need be.
  bootstrap_ = shrunk.job;
  for (const std::uint32_t rank : without) {
    if (std::ranges::find(members_, rank) == members_.end()) continue;
    throw Failure(
        mtInvalidUsage,
        fmt::format("rank {} was to be left out, but calls mtCommShrink() as well", rank));
  }
  return {bootstrap_, remaining_network(), [this] { hand_over(); }};
}

/// A host whose process died may forward no longer, so its node is taken out. Where the others
/// could not reach each other any more, it is believed to forward still.
std::optional<Topology> Comm::remaining_network() const {
  const Topology* const whole = planner_ ? planner_->named_network() : nullptr;
  if (whole == nullptr || members_.size() == 1) return std::nullopt;
  std::vector<std::uint32_t> lost;
  std::vector<Rank> left;
  for (std::uint32_t rank = 0; rank < whole->num_ranks(); ++rank) {
    if (std::ranges::binary_search(members_, rank)) {
      left.push_back(Rank{rank});
    } else {
      lost.push_back(rank);
    }
  }
  if (lost.empty()) return *whole;
  try {
    return change_network(*whole, {.dead = fmt::format("{}", fmt::join(lost, ","))});
  } catch (const Error&) {
    return restrict_to(*whole, left);
  }
}

void Comm::hand_over() {
  const Turn turn(*this);
  {
    // What ends this one from here on leaves the other alone.
    const std::scoped_lock lock(words_mutex_);
    cancellation_ = {};
  }
  rooted_.clear();
  unrooted_.reset();
  bootstrap_.reset();
}

}  // namespace multitree::runtime::c
