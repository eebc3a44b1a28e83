// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Order and waiting of a collective through shared memory.
#include "runtime/host/operation_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Outputs of all ranks that together exceed this go past the caches.
constexpr std::uint64_t kCachedBytes = std::uint64_t{48} << 20;

/// Of all ranks together, where they only copy and each has a processor: what stays in the second
/// cache of one while the others copy it out. Where they take turns on processors, or wait for each
/// other to sum, larger pieces need fewer waits.
constexpr std::uint64_t kPiecesOfAll = 512 * 1024;
/// Where one rank copies in what others copy out, a vector goes in so many pieces, so that they do
/// so at the same time; but in none smaller than this. Measured with 2 ranks: a broadcast of 1 MiB
/// takes two thirds of the time that it takes in one piece.
constexpr std::uint64_t kPiecesFromRoot = 4, kLeastFromRoot = 64 * 1024;

/// Elements of a piece, in whole cache lines where so many fit.
std::uint64_t piece_elements(const Group& group, const Call& call, std::uint64_t shards) {
  const std::uint64_t width = size_of(call.type), line = 64 / width;
  std::uint64_t bytes = piece_bytes(group.size());
  const bool from_root = facts(call.collective).start == Holder::Root;
  if (group.size() <= group.processors() && !reduces(call.collective)) {
    if (from_root || shards == 1) {
      bytes = std::min(bytes, std::max(kPiecesOfAll / group.size(), kLeastFromRoot));
    }
    if (from_root) {
      bytes = std::min(bytes, std::max(call.count * width / kPiecesFromRoot, kLeastFromRoot));
    }
  }
  const std::uint64_t room = bytes / shards / width;
  return room >= line ? room / line * line : std::max<std::uint64_t>(room, 1);
}

}  // namespace

Range Pieces::piece(std::uint64_t i) const {
  return {i * each, std::min((i + 1) * each, elements)};
}

HostOperation::HostOperation(Group& group, const Call& call, const CommonCall& common, Rank root,
                             Recorder* recorder)
    : group_(group),
      call_(call),
      common_(common),
      send_(bytes_of(call.send)),
      recv_(bytes_of(call.recv)),
      root_(root),
      shards_sent_(shards_put_in(common, group.size())),
      shards_received_(shards_received(call.collective, group.size())),
      ticket_(group.take_ticket()),
      width_(size_of(call.type)),
      attention_(group, root),
      recorder_(recorder) {
  const std::uint64_t bytes = elements_of(call, group.size()) * width_;
  past_caches_ = bytes * group.size() > kCachedBytes;
  pieces_.elements = call.count;
  pieces_.each = piece_elements(group, call, shards_sent_);
  // Parts have a publication between each two: of pieces that are copied in, reduced and copied
  // out.
  reserved_ = pieces_.count() + 2;
  lends_ = group.lends(bytes);
  if (sends(me())) my_send_ = group.find(send_, sent_bytes(), lends_);
  if (receives(me())) my_recv_ = group.find(recv_, received_bytes(), lends_);
}

std::uint64_t HostOperation::sent_bytes() const { return call_.count * width_ * shards_sent_; }

std::uint64_t HostOperation::received_bytes() const {
  return call_.count * width_ * shards_received_;
}

bool HostOperation::advance() {
  if (state_ == State::Done || !group_.is_next(ticket_)) return false;
  if (const auto seat = attention_.missing(awaited_number())) return attention_.sees_work(*seat);
  if (state_ == State::Queued) {
    begin();
  } else if (state_ == State::Running) {
    proceed();
  } else {
    finish();
  }
  return true;
}

/// Whose data this rank takes.
Whom HostOperation::sources() const {
  return reduces_slices() ? Whom::Everyone : sources_of(call_.collective, rank_at(me()), root_);
}

/// Who takes this rank's data.
Whom HostOperation::readers() const {
  return reduces_slices() ? Whom::Everyone : readers_of(call_.collective, rank_at(me()), root_);
}

/// Who reads or writes this rank's buffers themselves.
Whom HostOperation::users() const {
  if (reduces_slices() && my_recv_.is_lent()) return Whom::Everyone;
  return my_send_.is_lent() ? readers() : Whom::Nobody;
}

std::uint64_t HostOperation::awaited_number() const {
  if (state_ == State::Running) return group_.published();
  if (state_ == State::Closing) return end_;
  // Before it begins: what is on the card that it is going to write, and in the areas, has been
  // read by everybody.
  return std::max(group_.needed_before_next(0), group_.areas_used_until());
}

void HostOperation::publish() {
  group_.publish();
  if (recorder_ != nullptr) published_at_ = Recorder::now();
}

/// Everybody has published what this rank waited for.
void HostOperation::note_wait() {
  if (!recorder_->keeps_events()) return;
  recorder_->add({Event::Kind::Wait, 0, static_cast<std::uint32_t>(part_), Event::kNoPeer, 0,
                  published_at_, Recorder::now()});
}

void HostOperation::begin() {
  state_ = State::Running;
  attention_.turn_to(fills_areas() ? std::max(sources(), readers()) : sources());
  end_ = group_.published() + reserved_;
  write_offer();
  if (!lends_) group_.use_areas_until(end_);
  if (fills_areas()) copy_in(0);
  publish();
}

void HostOperation::proceed() {
  if (recorder_ != nullptr) note_wait();
  if (part_ == 0) read_offers();
  ++part_;
  try {
    work();
  } catch (...) {  // a peer's memory is gone; whoever asks again is told again
    --part_;
    throw;
  }
  if (part_ + 1 == parts_) return end_work();
  publish();
}

void HostOperation::end_work() {
  group_.publish_until(end_);
  state_ = State::Closing;
  attention_.turn_to(users());
  if (attention_.whom() == Whom::Nobody) finish();
}

void HostOperation::write_offer() {
  Card& card = group_.card(me(), group_.published() + 1);
  card.call.show(common_);
  card.put({my_send_, my_recv_});
}

/// What this rank knows of those that it has waited for, and what follows for its own work. Where
/// slices are reduced all ranks know the same, and decide alike.
void HostOperation::read_offers() {
  attention_.check_offers(group_.published(), common_);
  parts_ = 2;
  sends_.assign(group_.size(), {});
  recvs_.assign(group_.size(), {});
  for (const Seat r : all()) {
    if (!attention_.is_on(r)) continue;
    const Offer offer = group_.card(r, group_.published()).offer();
    sends_[index(r)] = group_.at(r, offer.send, sent_bytes());
    if (!reduces_slices()) continue;
    recvs_[index(r)] = group_.at(r, offer.recv, received_bytes());
  }
  if (reads_all_where_it_is()) {
    mode_ = Mode::Whole;
    pieces_.each = pieces_.elements;
  } else {
    parts_ = pieces_.count() + (reduces_slices() ? 2 : 1);
  }
}

/// Whether nothing that this rank reads or writes, or others read or write of it, is in areas.
bool HostOperation::reads_all_where_it_is() const {
  if (fills_areas()) return false;
  for (const Seat r : all()) {
    const bool taken = reduces_slices() || (receives(me()) && r != me());
    if (taken && sends(r) && !sends_[index(r)].is_lent()) return false;
    if (reduces_slices() && receives(r) && !recvs_[index(r)].is_lent()) return false;
  }
  return true;
}

void HostOperation::work() {
  if (mode_ == Mode::Whole) return take(0);
  const std::uint64_t pieces = pieces_.count();
  if (part_ >= 2 && part_ - 2 < pieces) copy_out(part_ - 2);
  if (part_ - 1 < pieces) take(part_ - 1);
  if (part_ < pieces && fills_areas()) copy_in(part_);
}

void HostOperation::finish() {
  state_ = State::Done;
  group_.finish_ticket();
}

std::string HostOperation::waiting_for() const {
  if (!group_.is_next(ticket_)) return "waiting for an earlier collective";
  const std::vector<Seat> ranks = awaited_ranks();
  const std::string part = fmt::format("part {} of {}", part_, reserved_);
  if (ranks.empty()) return "working in shared memory on " + part;
  return fmt::format("waiting in shared memory for rank {} at {}", fmt::join(ranks, ", "), part);
}

std::vector<Seat> HostOperation::awaited_ranks() const {
  if (!group_.is_next(ticket_)) return {};
  return attention_.missing_ranks(awaited_number());
}

}  // namespace multitree::runtime::host
