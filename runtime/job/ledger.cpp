// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Writing down entries and telling them.
#include "runtime/job/ledger_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace multitree::runtime {

void Ledger::serve(const Trunk& trunk) {
  const auto at = subscribers_.find(&trunk);
  if (at == subscribers_.end()) return;
  Subscriber& subscriber = at->second;
  const Channel::Status status = subscriber.line.fill();
  bool sense = status != Channel::Status::Garbage;
  while (sense) {
    const auto frame = subscriber.line.next();
    if (!frame) break;
    sense = handle(subscriber, *frame);
  }
  if (status != Channel::Status::Open || !sense) subscribers_.erase(at);
}

bool Ledger::handle(Subscriber& subscriber, const Frame& frame) {
  if (frame.type == FrameType::OpenBook) return enter(subscriber, frame);
  if (!subscriber.has_written) return false;
  if (frame.type == FrameType::WhoIsMissing) {
    std::vector<Seat> ranks;
    for (const Seat seat : Seats(static_cast<std::uint32_t>(entries_.size()))) {
      if (!entries_[index(seat)]) ranks.push_back(seat);
    }
    subscriber.line.send(FrameType::Missing, fmt::format("{}", fmt::join(ranks, ", ")));
    return true;
  }
  const auto seat = Reader(frame.payload).number();
  if (frame.type != FrameType::LookUp || !is_full() || !seat || *seat >= entries_.size()) {
    return false;
  }
  subscriber.line.send(FrameType::Entry, Writer().number(*seat).text(*entries_[*seat]).bytes());
  return true;
}

bool Ledger::enter(Subscriber& subscriber, const Frame& frame) {
  Reader words(frame.payload);
  const auto size = words.number(), seat = words.number();
  auto entry = words.text();
  if (!size || *size > kMostRanks || !seat || !entry || subscriber.has_written) return false;
  if (entries_.empty()) entries_.resize(*size);
  if (*size != entries_.size() || *seat >= *size || entries_[*seat]) return false;
  while (const auto wanted = words.number()) {
    // No more than there are: else a frame could ask for any number of copies of an entry.
    if (*wanted >= *size || subscriber.wanted.size() == *size) return false;
    subscriber.wanted.push_back(Seat{*wanted});
  }
  subscriber.has_written = true;
  entries_[*seat] = std::move(*entry);
  ++written_;
  if (is_full()) tell_all();
  return true;
}

void Ledger::tell_all() {
  for (auto& [trunk, subscriber] : subscribers_) {
    if (!subscriber.has_written) continue;
    Writer entries;
    for (const Seat seat : std::exchange(subscriber.wanted, {}))
      entries.text(*entries_[index(seat)]);
    subscriber.line.send(FrameType::Book, entries.bytes());
  }
}

}  // namespace multitree::runtime
