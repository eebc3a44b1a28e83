// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From what ranks say to the call that is the first with other schedules.
#include "runtime/execution/plan_vote_internal.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {
namespace {

/// What words begin with.
enum class Word : std::uint32_t { Silent = 1, Made, Promise, Objection };

Writer begin_words(Word word) {
  return std::move(Writer().number(static_cast<std::uint32_t>(word)));
}

}  // namespace

std::string PlanVote::silent_words(std::span<const Seat> peers) {
  Writer words = begin_words(Word::Silent);
  for (const Seat peer : peers) words.number(index(peer));
  return words.bytes();
}

std::string PlanVote::made_words(std::uint32_t change, bool served) {
  return begin_words(Word::Made).number(change).number(served ? 1 : 0).bytes();
}

std::string PlanVote::promise_words(std::uint32_t change, std::uint64_t call) {
  return begin_words(Word::Promise)
      .number(change)
      .number(static_cast<std::uint32_t>(call >> 32))
      .number(static_cast<std::uint32_t>(call))
      .bytes();
}

std::string PlanVote::objection_words(std::uint32_t change) {
  return begin_words(Word::Objection).number(change).bytes();
}

void PlanVote::hear(Seat from, const std::string& text) {
  Reader words(text);
  const auto word = static_cast<Word>(words.number().value_or(0));
  if (word == Word::Silent) {
    std::vector<Seat>& peers = silent_[from];
    peers.clear();
    while (const auto peer = words.number()) {
      if (*peer < ranks_ && Seat{*peer} != from) peers.push_back(Seat{*peer});
    }
    return consider();
  }
  if (words.number() != change_) return;  // it is over
  if (word == Word::Made && stage_ == Stage::Making) {
    hear_made(from, words.number() == 1U);
  } else if (word == Word::Promise && stage_ == Stage::Promising) {
    const std::uint64_t high = words.number().value_or(0), low = words.number().value_or(0);
    hear_promise(from, high << 32 | low);
  } else if (word == Word::Objection) {
    // Who objects begins it again by telling of its links.
    enter(Stage::Still);
  }
}

void PlanVote::hear_made(Seat from, bool served) {
  if (!served) {
    unserved_ = around_;
    enter(Stage::Still);
    return consider();
  }
  if (note(from, 0)) enter(Stage::Promising);
}

void PlanVote::hear_promise(Seat from, std::uint64_t call) {
  if (!note(from, call)) return;
  const auto farthest =
      std::ranges::max_element(said_, {}, [](const auto& entry) { return entry.second; });
  decision_ = Decision{change_, farthest->second, around_};
  in_force_ = around_;
  enter(Stage::Still);
  consider();
}

bool PlanVote::note(Seat from, std::uint64_t value) {
  said_.emplace(from, value);
  return said_.size() == ranks_;
}

void PlanVote::enter(Stage stage) {
  stage_ = stage;
  said_.clear();
}

/// A link is silent when one of its ends says so.
PlanVote::Links PlanVote::silent() const {
  std::set<DeadLink> links;
  for (const auto& [seat, peers] : silent_) {
    for (const Seat peer : peers) links.insert(link_between(seat, peer));
  }
  return {links.begin(), links.end()};
}

void PlanVote::consider() {
  if (stage_ != Stage::Still) return;
  Links links = silent();
  if (links == unserved_) return;
  unserved_.reset();
  if (links == in_force_) return;
  ++change_;
  around_ = std::move(links);
  enter(Stage::Making);
}

std::optional<PlanVote::Decision> PlanVote::take_decision() {
  return std::exchange(decision_, std::nullopt);
}

}  // namespace multitree::runtime
