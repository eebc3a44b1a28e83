// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going on without ranks that are lost, or not wanted.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/c/comm_turn_internal.hpp"
#include "runtime/job/survivors.hpp"

namespace multitree::runtime::c {

void Comm::check_shrinkable(const std::vector<Rank>& without) {
  check_own_process();
  if (finalized_ || finalizing_) throw Failure(mtInvalidUsage, "the communicator is finalized");
  for (const Rank rank : without) {
    if (index(rank) < size() && rank != this->rank()) continue;
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
  const std::vector<Rank>& without = wish.without;
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
  if (communicator_ != nullptr) communicator_->settle();
  if (!survivors_) survivors_.emplace(size_);
  // Whoever is not among the survivors was lost before.
  std::vector<Seat> seats;
  for (const Rank rank : without) {
    if (const auto seat = seat_today(*survivors_, rank)) seats.push_back(*seat);
  }
  Shrunk shrunk;
  run([&] { shrunk = bootstrap_->shrink(deadline, seats); });
  shrunk_ = true;
  fail(mtInvalidUsage, "the communicator was shrunk to another");
  drop_jobs();
  survivors_ = after(*survivors_, shrunk);
  // Until the other one stands this one has the job, to be shrunk again if need be.
  bootstrap_ = shrunk.job;
  for (const Rank rank : without) {
    if (!seat_today(*survivors_, rank)) continue;
    throw Failure(
        mtInvalidUsage,
        fmt::format("rank {} was to be left out, but calls mtCommShrink() as well", rank));
  }
  // Those that were dead when this communicator was made are known to its network.
  const auto known = wish.around_links ? numbered(dead_links()) : survivors_->dead_links();
  return {.job = bootstrap_,
          // Of one job only one other is made; this process may have several of its ranks.
          .name = household_ == nullptr ? std::string() : household_->job() + '/',
          .network = remaining_network(survivors_->without_links(known)),
          .dead_links = shrunk.dead_links,
          .arrived = [this] { hand_over(); }};
}

std::optional<RemainingNetwork> Comm::remaining_network(const Survivors& left) const {
  if (!plans_ || !plans_->network() || left.ranks().size() == 1) return std::nullopt;
  if (left.dead_links().empty() && !plans_->is_named()) return std::nullopt;
  const auto part = part_that_goes_on(plans_->network()->network(), left);
  if (part.size() < left.ranks().size()) {
    throw Failure(mtRemoteError,
                  fmt::format("rank {}: dead links have split the network: rank {} can go on, "
                              "without the others",
                              rank_.load(), fmt::join(part, ", ")));
  }
  return plans_->network()->after(left);
}

void Comm::hand_over() {
  const Turn turn(*this);
  {
    // What ends this one from here on leaves the other alone.
    const std::scoped_lock lock(words_mutex_);
    cancellation_ = {};
  }
  communicator_.reset();
  bootstrap_.reset();
}

}  // namespace multitree::runtime::c
