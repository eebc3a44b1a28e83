// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going on without ranks that are lost, or not wanted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/c/comm_turn_internal.hpp"
#include "topologies/remains.hpp"

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

Joined Comm::shrink(const ShrinkWish& wish, Deadline deadline) {
  const std::vector<std::uint32_t>& without = wish.without;
  if (!wish.give_up && result_ == mtSuccess) {
    try {
      wait_for_all(Which::All);
    } catch (const std::exception&) {  // what could not be finished is given up
    }
  }
  const Turn turn(*this);
  if (result_ == mtAborted) throw Failure(mtAborted, words());
  if (bootstrap_ == nullptr) throw Failure(mtInvalidUsage, "the communicator is gone");
  if (wish.give_up) {
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
  const std::vector<DeadLink> none;
  return {.job = bootstrap_,
          .network = remaining_network(wish.around_links ? shrunk.dead_links : none),
          .dead_links = shrunk.dead_links,
          .arrived = [this] { hand_over(); }};
}

/// `dead`: by the numbers in members_; those that were dead when this communicator was made are
/// known to its network.
std::optional<Remainder> Comm::remaining_network(const std::vector<DeadLink>& dead) const {
  std::vector<SilentPair> silent;
  const std::vector<DeadLink> before = dead_links();
  for (const auto& [a, b] : dead) {
    const DeadLink link = link_between(members_.at(a), members_.at(b));
    if (std::ranges::find(before, link) == before.end()) silent.emplace_back(link.a, link.b);
  }
  if (!planner_ || members_.size() == 1) return std::nullopt;
  if (silent.empty() && planner_->named_network() == nullptr) return std::nullopt;
  const auto part = part_that_goes_on(*planner_->network(), members_, silent);
  if (part.size() < members_.size()) {
    throw Failure(mtRemoteError,
                  fmt::format("rank {}: dead links have split the network: rank {} can go on, "
                              "without the others",
                              rank_.load(), fmt::join(part, ", ")));
  }
  return Remainder{*planner_->original(),
                   multitree::remaining_network(*planner_->network(), members_, silent)};
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
