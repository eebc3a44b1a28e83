// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small shares of exchanges on cards.
#include "runtime/host/packed_exchange_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/exchange/exchanges_internal.hpp"
#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Shares begin at multiples of this, so that reductions find them aligned.
constexpr std::uint64_t kAlignment = 16;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Whom sources(const Moves& moves, std::uint32_t ranks) {
  if (moves.in.empty()) return Whom::Nobody;
  return moves.in.size() + 1 == ranks ? Whom::Everyone : Whom::Root;
}

}  // namespace

PackedExchange::PackedExchange(Group& group, Engine& engine, const ExchangeCall& call, Moves moves,
                               std::uint32_t number, Recorder* recorder)
    : group_(group),
      engine_(engine),
      header_(header_of(call, 0)),
      common_(common_call(call)),
      moves_(std::move(moves)),
      number_(number),
      recorder_(recorder),
      attention_(group, call.peer),
      sums_(reduces(call.exchange)),
      pieces_(has_share_for_each(call.exchange) ? group.size() : 1),
      ticket_(group.take_ticket()) {
  std::uint64_t bytes = aligned(pieces_ * sizeof(Piece));
  const std::size_t shares = std::min<std::size_t>(moves_.out.size(), pieces_);
  for (std::size_t i = 0; i < shares; ++i) bytes += aligned(moves_.out[i].bytes);
  if (sums_) bytes += aligned(moves_.own.bytes);  // then all ranks find the same
  if (shares == 0 || bytes <= sizeof(Label::shares)) {
    form_ = Form::Card;
  } else if (bytes <= group.card_room()) {
    form_ = Form::Slip;
    room_ = std::max(bytes, sizeof(Margin) + 1);  // less would lie where there is no slip
  }
  plan_messages();
}

/// All ranks name the same counts where they sum, so they all do as this one.
bool PackedExchange::comes_for_sure(const Move<std::byte>& in) const {
  if (sums_) return form_ == Form::Messages;
  return aligned(pieces_ * sizeof(Piece)) + aligned(in.bytes) > group_.card_room();
}

void PackedExchange::plan_messages() {
  const auto needed = [&] {
    if (early_ == nullptr) early_ = traffic();
    return early_.get();
  };
  if (form_ == Form::Messages) {
    for (const auto& out : moves_.out) needed()->add(out, header(out.bytes), number_);
  }
  for (const auto& in : moves_.in) {
    if (comes_for_sure(in)) needed()->add(in, header(in.bytes), number_);
  }
}

std::unique_ptr<Traffic> PackedExchange::traffic() const {
  const bool summed = sums_ && moves_.own.bytes != 0;
  return std::make_unique<Traffic>(
      engine_.transport(), engine_.work(), me(),
      Traffic::Sum{summed ? moves_.own_to : nullptr, header_.type, header_.op});
}

void PackedExchange::begin() {
  begun_ = true;
  const auto& own = moves_.own;
  if (own.bytes != 0 && moves_.own_to != own.data) std::memcpy(moves_.own_to, own.data, own.bytes);
  if (early_ != nullptr) early_->start();
}

bool PackedExchange::advance() {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  try {
    const bool first = !begun_;
    if (first) begin();
    const bool cards = !has_read() && advance_cards();
    const bool messages = advance_messages();
    return first || cards || messages;
  } catch (const Error&) {
    failure_ = std::current_exception();
    throw;
  }
}

bool PackedExchange::advance_cards() {
  if (!group_.is_next(ticket_)) return false;
  if (const auto seat = attention_.missing(awaited())) return attention_.sees_work(*seat);
  state_ == State::Queued ? write() : read();
  return true;
}

/// Looks at what has come as well: a rank that waits for this alone asks no engine at first.
bool PackedExchange::advance_messages() {
  bool moved = (early_ != nullptr || late_ != nullptr) && engine_.transport().progress();
  bool over = true;
  for (Traffic* const part : {early_.get(), late_.get()}) {
    if (part == nullptr) continue;
    moved = part->advance() || moved;
    over = over && part->done();
  }
  if (!over || state_ != State::Messages) return moved;
  if (sums_) {
    finish_reduction(moves_.own_to, moves_.own.bytes / size_of(header_.type), header_.type,
                     header_.op, group_.size());
  }
  state_ = State::Done;
  return true;
}

void PackedExchange::write() {
  Card& card = group_.card(me(), group_.published() + 1);
  card.call.show(common_);
  Label& label = *reinterpret_cast<Label*>(card.near);
  label.form = form_;
  if (form_ == Form::Slip) {
    pack(group_.next_vector(room_));
  } else if (form_ == Form::Card && !moves_.out.empty()) {
    pack(label.shares);
  }
  group_.publish();
  state_ = State::Published;
  attention_.turn_to(sources(moves_, group_.size()));
}

void PackedExchange::pack(std::byte* table) const {
  const PhaseRecording phase(recorder_, Event::Kind::CopyIn, 0, room_);
  auto* const pieces = reinterpret_cast<Piece*>(table);
  std::uint64_t at = aligned(pieces_ * sizeof(Piece));
  const std::size_t shares = std::min<std::size_t>(moves_.out.size(), pieces_);
  for (std::size_t i = 0; i < shares; ++i) {
    const auto& out = moves_.out[i];
    pieces[pieces_ == 1 ? 0 : index(out.peer)] = {static_cast<std::uint32_t>(at),
                                                  static_cast<std::uint32_t>(out.bytes)};
    if (out.bytes != 0) std::memcpy(table + at, out.data, out.bytes);
    at += aligned(out.bytes);
  }
}

const std::byte* PackedExchange::find(Seat seat, std::uint64_t& bytes) const {
  const Card& card = group_.card(seat, group_.published());
  const Label& label = *reinterpret_cast<const Label*>(card.near);
  if (label.form == Form::Messages) return nullptr;
  const std::byte* const table = label.form == Form::Card
                                     ? label.shares
                                     : group_.vector(seat, group_.published(), sizeof(Margin) + 1);
  const Piece piece = reinterpret_cast<const Piece*>(table)[pieces_ == 1 ? 0 : index(me())];
  bytes = piece.bytes;
  return table + piece.at;
}

void PackedExchange::read() {
  attention_.check_offers(group_.published(), common_);
  std::unique_ptr<Traffic> messages;
  const PhaseRecording phase(recorder_, Event::Kind::CopyOut, 0, moves_.in.size());
  for (const auto& in : moves_.in) {
    std::uint64_t bytes = 0;
    const std::byte* const share = find(in.peer, bytes);
    if (share == nullptr) {
      if (comes_for_sure(in)) continue;
      if (messages == nullptr) messages = traffic();
      messages->add(in, header(in.bytes), number_);
      continue;
    }
    check_header(header(in.bytes), header(bytes), true, me(), in.peer);
    if (bytes == 0) continue;
    if (sums_) {
      reduce(moves_.own_to, share, bytes / size_of(header_.type), header_.type, header_.op);
    } else {
      std::memcpy(in.data, share, bytes);
    }
  }
  state_ = State::Messages;
  group_.finish_ticket();
  late_ = std::move(messages);
  if (late_ != nullptr) late_->start();
}

std::string PackedExchange::waiting_for() const {
  if (has_read()) {
    return (late_ != nullptr && !late_->done() ? late_ : early_)->waiting_for();
  }
  if (!group_.is_next(ticket_)) return "waiting for an earlier collective";
  const std::vector<Seat> ranks = awaited_ranks();
  if (ranks.empty()) return "working in shared memory on part 0 of 1";
  return fmt::format("waiting in shared memory for rank {} at part 0 of 1", fmt::join(ranks, ", "));
}

std::vector<Seat> PackedExchange::awaited_ranks() const {
  if (!has_read()) {
    if (!group_.is_next(ticket_)) return {};
    return attention_.missing_ranks(awaited());
  }
  std::vector<Seat> ranks;
  for (const Traffic* const part : {early_.get(), late_.get()}) {
    if (part == nullptr || part->done()) continue;
    const std::vector<Seat> its = part->awaited_ranks();
    ranks.insert(ranks.end(), its.begin(), its.end());
  }
  return ranks;
}

}  // namespace multitree::runtime::host
