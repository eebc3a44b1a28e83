// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whom an operation waits for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/host/group_internal.hpp"

namespace multitree::runtime::host {

enum class Whom : std::uint8_t { Nobody, Root, Everyone };

/// Whose data a rank takes, and who takes its data, where data goes from who has it to who gets it.
[[nodiscard]] Whom sources_of(Collective collective, Rank self, Rank root);
[[nodiscard]] Whom readers_of(Collective collective, Rank self, Rank root);

/// Shards in the input of a rank that puts something in. An all-to-all is an all-gather in which
/// each takes its own shard of everybody's.
[[nodiscard]] std::uint32_t shards_put_in(const CommonCall& call, std::uint32_t ranks);

/// The ranks whose publications are awaited now, and whether they work.
class Attention {
 public:
  Attention(Group& group, Rank root) : group_(group), root_(seat_of(root)) {}

  void turn_to(Whom whom) { whom_ = whom; }
  [[nodiscard]] Whom whom() const { return whom_; }
  [[nodiscard]] bool is_on(Seat seat) const {
    return whom_ == Whom::Everyone || (whom_ == Whom::Root && seat == root_);
  }
  /// One that keeps this rank waiting for publication `number`, if any does.
  std::optional<Seat> missing(std::uint64_t number) {
    if (whom_ == Whom::Everyone) return group_.missing(number);
    if (whom_ == Whom::Nobody || group_.has_published(root_, number)) return std::nullopt;
    return root_;
  }
  /// Whether the rank that keeps us waiting works: that is progress, though not ours.
  bool sees_work(Seat seat);
  /// \throws Error(InvalidArgument) if one of them has published another call than `mine`, or
  /// another than those of this rank before it that were compared with nobody's.
  void check_offers(std::uint64_t number, const CommonCall& mine) const;
  /// Those that have not published `number`.
  [[nodiscard]] std::vector<Seat> missing_ranks(std::uint64_t number) const;

 private:
  void check_earlier(Seat seat) const;

  Group& group_;
  Seat root_;
  Whom whom_ = Whom::Everyone;
  std::uint32_t polls_ = 0;
  std::uint64_t last_beat_ = 0;
};

}  // namespace multitree::runtime::host
