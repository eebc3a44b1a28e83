// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which message has its turn.
#include "runtime/exchange/traffic_internal.hpp"

#include <algorithm>
#include <utility>

#include "runtime/kernels/reduce.hpp"

namespace multitree::runtime {
namespace {

/// Messages that are sent before the first of them is over.
constexpr std::size_t kSentAhead = 64;
/// Large messages that are taken at a time: one while the next is being asked for.
constexpr std::size_t kTakenAtATime = 2;

}  // namespace

Traffic::Traffic(Transport& transport, ScratchPool& pool, Seat self, const Sum& sum)
    : transport_(transport), pool_(pool), sum_(sum), line_(line_of(transport, self, finished_)) {}

Traffic::~Traffic() {
  for (ScratchPool::Block& block : blocks_) {
    if (block.data != nullptr) pool_.give(std::move(block));
  }
}

/// Ids are even for what is sent, and odd for what is received.
void Traffic::add(const Move<const std::byte>& out, const Header& header, std::uint32_t number) {
  out_.push_back(std::make_unique<Outgoing>(line_, out, header, number,
                                            2 * static_cast<std::uint32_t>(out_.size())));
  sent_to_.push_back(out.peer);
}

void Traffic::add(const Move<std::byte>& in, const Header& expected, std::uint32_t number) {
  in_.push_back(std::make_unique<Incoming>(line_, in, expected, number,
                                           2 * static_cast<std::uint32_t>(in_.size()) + 1));
  if (sum_.into != nullptr) blocks_.emplace_back();
}

void Traffic::start() {
  for (std::uint32_t i = 0; i < in_.size(); ++i) {
    in_[i]->start();
    if (in_[i]->offered()) offered_.push_back(i);
  }
  move_on();
}

bool Traffic::advance() {
  if (finished_.empty()) return false;
  batch_.swap(finished_);
  for (const Completion* completion : batch_) {
    const std::uint32_t i = completion->id / 2;
    if (completion->id % 2 == 0) {
      if (out_[i]->step(*completion)) ++sent_;
      continue;
    }
    const bool before = in_[i]->offered();
    in_[i]->step(*completion);
    if (!before && in_[i]->offered()) offered_.push_back(i);
  }
  batch_.clear();
  move_on();
  return true;
}

void Traffic::move_on() {
  sum_.into != nullptr ? sum_up() : take_in_turn();
  while (started_ < out_.size() && started_ < sent_ + kSentAhead) out_[started_++]->start();
  if (sent_ == out_.size() && arrived_ == in_.size() && !departure_.begun()) {
    departure_.begin(transport_, sent_to_);
  }
}

/// In the order in which they have come.
void Traffic::take_in_turn() {
  const auto settle = [&] {
    arrived_ += std::erase_if(taken_, [&](std::uint32_t i) { return in_[i]->arrived(); });
  };
  settle();
  // Who takes a message before it has come does not know which is the next.
  const std::size_t most = line_.noted != 0 ? in_.size() : kTakenAtATime;
  while (looked_at_ < offered_.size() && taken_.size() < most) {
    const std::uint32_t i = offered_[looked_at_++];
    in_[i]->take(in_[i]->move().data);
    taken_.push_back(i);
    settle();
  }
}

void Traffic::sum_up() {
  for (;;) {
    for (std::size_t i = arrived_; i < std::min(arrived_ + kTakenAtATime, in_.size()); ++i) {
      if (!in_[i]->offered()) continue;
      blocks_[i] = pool_.take(in_[i]->move().bytes);
      in_[i]->take(blocks_[i].data.get());
    }
    if (arrived_ == in_.size() || !in_[arrived_]->arrived()) return;
    ScratchPool::Block block = std::exchange(blocks_[arrived_], {});
    const std::size_t count = in_[arrived_]->move().bytes / size_of(sum_.type);
    reduce(sum_.into, block.data.get(), count, sum_.type, sum_.op);
    pool_.give(std::move(block));
    ++arrived_;
  }
}

std::string Traffic::waiting_for() const {
  for (const auto& in : in_) {
    if (!in->arrived()) return in->words();
  }
  for (const auto& out : out_) {
    if (!out->done()) return out->words();
  }
  return "waiting for the last messages to leave";
}

std::vector<Seat> Traffic::awaited_ranks() const {
  std::vector<Seat> ranks;
  for (const auto& in : in_) {
    if (!in->arrived()) ranks.push_back(in->move().peer);
  }
  for (const auto& out : out_) {
    if (!out->done()) ranks.push_back(out->peer());
  }
  return ranks;
}

}  // namespace multitree::runtime
