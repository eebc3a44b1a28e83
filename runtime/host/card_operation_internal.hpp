// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective of vectors so small that they fit on cards or slips.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/execution/activity_internal.hpp"
#include "runtime/execution/recording_internal.hpp"
#include "runtime/host/attention_internal.hpp"

namespace multitree::runtime::host {

/// Whether the vectors of a call do.
[[nodiscard]] bool fits_cards(const Group& group, const Call& call);

/// Whoever puts something in writes it on its card, whoever gets something out reads the others'
/// cards: one publication of every rank. Who only puts in is done as soon as it has published.
class CardOperation final : public Activity {
 public:
  /// `common`: what the ranks compare. `recorder`: told what happens; or null.
  CardOperation(Group& group, const Call& call, const CommonCall& common, Rank root,
                Recorder* recorder);

  bool advance() override;
  [[nodiscard]] bool done() const override { return state_ == State::Done; }
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override;

 private:
  enum class State : std::uint8_t { Queued, Published, Done };

  [[nodiscard]] std::uint64_t awaited() const {
    return state_ == State::Published ? group_.published() : group_.needed_before_next(sent_);
  }
  [[nodiscard]] Rank me() const { return rank_at(group_.self()); }
  void write();
  void read();
  void fetch_next() const;
  void read_from(Seat seat, std::byte* to, std::uint64_t bytes) const;
  void reduce_all(std::uint64_t bytes);

  Group& group_;
  Call call_;
  CommonCall common_;
  Rank root_;
  Attention attention_;
  Recorder* recorder_;
  std::uint64_t shard_, sent_;  ///< bytes: of a vector or shard, and what this rank puts in
  std::uint64_t ticket_;
  std::int64_t published_at_ = 0;  ///< ns; for the recorder
  State state_ = State::Queued;
  bool waited_ = false;
};

}  // namespace multitree::runtime::host
