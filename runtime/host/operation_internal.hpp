// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective through shared memory: parts of work with a publication between each two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/execution/layout_internal.hpp"
#include "runtime/execution/recording_internal.hpp"
#include "runtime/host/attention_internal.hpp"

namespace multitree::runtime::host {

/// Elements of something.
struct Range {
  std::uint64_t begin = 0, end = 0;
  [[nodiscard]] std::uint64_t count() const { return end - begin; }
};

/// How a vector goes through areas. A piece is what goes at a time: of the whole vector, or where
/// it has shards of each shard as much.
///
///     part        0         1         2        3        4
///     copy in     piece 0   piece 1   piece 2
///     reduce                piece 0   piece 1  piece 2
///     copy out                        piece 0  piece 1  piece 2
struct Pieces {
  std::uint64_t elements = 0;  ///< in a vector or shard
  std::uint64_t each = 0;      ///< in a piece, but for the last
  [[nodiscard]] std::uint64_t count() const { return (elements + each - 1) / each; }
  [[nodiscard]] Range piece(std::uint64_t i) const;
};

/// One started collective of one rank, of vectors too large for cards. Where vectors are reduced,
/// each rank reduces its slice of all inputs in the order of the ranks and stores it for everybody;
/// else each pulls what it wants. Inputs and outputs that others reach, in shared allocations or as
/// peers' memory, are read and written where they are, all at once; others go through areas in
/// pieces.
///
/// A rank waits for those only whose data it takes, or whose reading of its areas it has to await.
/// All ranks number their publications alike: an operation has as many as its arguments say, and
/// who needs fewer skips the rest.
class HostOperation final : public Activity {
 public:
  /// `common`: what the ranks compare. `recorder`: told what happens; or null.
  HostOperation(Group& group, const Call& call, const CommonCall& common, Rank root,
                Recorder* recorder);

  bool advance() override;
  [[nodiscard]] bool done() const override { return state_ == State::Done; }
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::vector<Seat> awaited_ranks() const override;

 private:
  /// Closing: all of this rank's work is done, but others still read or write its buffers.
  enum class State : std::uint8_t { Queued, Running, Closing, Done };
  enum class Mode : std::uint8_t { Areas, Whole };

  [[nodiscard]] bool fills_areas() const { return sends(me()) && !my_send_.is_lent(); }
  [[nodiscard]] std::uint64_t awaited_number() const;
  [[nodiscard]] Whom sources() const;
  [[nodiscard]] Whom readers() const;
  [[nodiscard]] Whom users() const;
  void begin();
  void proceed();
  void write_offer();
  void read_offers();
  [[nodiscard]] bool reads_all_where_it_is() const;
  void work();
  void end_work();
  void finish();
  void publish();
  void note_wait();

  // The parts' work, by collective (work.cpp).
  void copy_in(std::uint64_t piece);
  void take(std::uint64_t piece);
  void copy_out(std::uint64_t piece);
  void reduce_slice(Range slice, std::uint64_t from);
  void write_to_peers(std::uint64_t at, const std::byte* from, std::uint64_t bytes);
  void reduce_shard(std::uint64_t piece);
  void pull(std::uint64_t piece);
  void pull_from(Seat seat, std::byte* to, Range piece);
  [[nodiscard]] const std::byte* input_of(Seat seat, std::uint64_t at, std::uint64_t at_area,
                                          std::uint64_t bytes);
  [[nodiscard]] std::byte* block(std::uint32_t number);
  [[nodiscard]] bool copies_to_areas() const;
  [[nodiscard]] std::uint64_t block_elements() const;

  [[nodiscard]] Seat me() const { return group_.self(); }
  [[nodiscard]] Seats all() const { return Seats(group_.size()); }
  [[nodiscard]] bool is_root(Seat seat) const { return rank_at(seat) == root_; }
  [[nodiscard]] bool receives(Seat seat) const {
    return multitree::receives(call_.collective, rank_at(seat), root_);
  }
  [[nodiscard]] bool sends(Seat seat) const {
    return multitree::sends(call_.collective, rank_at(seat), root_);
  }
  /// Whether each rank reduces a slice of the vector for everybody who wants it.
  [[nodiscard]] bool reduces_slices() const {
    return reduces(call_.collective) && !is_sharded(call_.collective);
  }
  /// Which shard of another rank's input is for this rank.
  [[nodiscard]] std::uint64_t shard_read() const { return shards_sent_ > 1 ? index(me()) : 0; }
  [[nodiscard]] std::uint64_t sent_bytes() const;
  [[nodiscard]] std::uint64_t received_bytes() const;
  /// A rank's slice of a piece, whole cache lines of it.
  [[nodiscard]] Range slice_of(Range piece, Seat seat) const;
  [[nodiscard]] std::uint64_t taken_bytes(Range piece) const;
  void store(std::byte* to, const std::byte* from, std::uint64_t bytes) const;

  Group& group_;
  Call call_;
  CommonCall common_;  ///< what the ranks compare
  const std::byte* send_;
  std::byte* recv_;
  Rank root_;
  std::uint64_t shards_sent_, shards_received_;  ///< in an input, in a result
  std::uint64_t ticket_;
  std::size_t width_;
  State state_ = State::Queued;
  Attention attention_;
  Mode mode_ = Mode::Areas;
  Place my_send_, my_recv_;  ///< lent to the others, or not
  bool lends_ = false;       ///< this rank and all others: buffers that are in no shared allocation
  bool past_caches_ = false;
  Pieces pieces_;
  std::uint64_t reserved_ = 0;  ///< publications of every rank
  std::uint64_t end_ = 0;       ///< the last of them
  std::uint64_t part_ = 0, parts_ = 0;
  Recorder* recorder_;
  std::int64_t published_at_ = 0;    ///< ns; for the recorder
  std::vector<Lent> sends_, recvs_;  ///< by seat, of those that were awaited
};

}  // namespace multitree::runtime::host
