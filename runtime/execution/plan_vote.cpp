// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From what ranks say to the call that is the first with other schedules.
#include "runtime/execution/plan_vote_internal.hpp"

#include <algorithm>
#include <utility>

#include "runtime/job/wire_internal.hpp"

namespace multitree::runtime {
namespace {

/// What words begin with.
enum class Word : std::uint32_t { Links = 1, Made, Promise, Objection };

Writer begin_words(Word word) {
  return std::move(Writer().number(static_cast<std::uint32_t>(word)));
}

/// Whether what serves the one serves the other: both ends of a slow link measure it.
bool much_alike(const PlanVote::Links& one, const PlanVote::Links& other) {
  return std::ranges::equal(one, other, [](const PlanVote::Link& a, const PlanVote::Link& b) {
    const auto [less, more] = std::minmax(a.percent, b.percent);
    return a.ends == b.ends && 4 * more <= 5 * less;
  });
}

}  // namespace

std::string PlanVote::link_words(std::span<const ImpairedLink> links) {
  Writer words = begin_words(Word::Links);
  for (const auto& [peer, percent] : links) words.number(index(peer)).number(percent);
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
  if (word == Word::Links) {
    std::vector<ImpairedLink>& links = impaired_[from];
    links.clear();
    while (const auto peer = words.number()) {
      const auto percent = words.number();
      if (*peer < ranks_ && Seat{*peer} != from && percent && *percent < 100) {
        links.push_back({Seat{*peer}, *percent});
      }
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

/// A link is as bad as the worse of its ends says.
PlanVote::Links PlanVote::impaired() const {
  std::map<DeadLink, std::uint32_t> all;
  for (const auto& [seat, links] : impaired_) {
    for (const auto& [peer, percent] : links) {
      const auto at = all.emplace(link_between(seat, peer), percent).first;
      at->second = std::min(at->second, percent);
    }
  }
  Links links;
  for (const auto& [ends, percent] : all) links.push_back({ends, percent});
  return links;
}

void PlanVote::consider() {
  if (stage_ != Stage::Still) return;
  Links links = impaired();
  if (unserved_ && much_alike(links, *unserved_)) return;
  unserved_.reset();
  if (much_alike(links, in_force_)) return;
  ++change_;
  around_ = std::move(links);
  enter(Stage::Making);
}

std::optional<PlanVote::Decision> PlanVote::take_decision() {
  return std::exchange(decision_, std::nullopt);
}

std::string PlanGate::hear(Seat from, const std::string& words, std::uint64_t lately) {
  vote_.hear(from, words);
  if (vote_.stage() != PlanVote::Stage::Promising || promised_ == vote_.change()) return {};
  promised_ = vote_.change();
  limit_ = next_ + std::max(kFewCalls, lately);
  return PlanVote::promise_words(promised_, limit_);
}

bool PlanGate::may_begin(std::uint64_t sequence) const {
  const bool bound = vote_.stage() == PlanVote::Stage::Promising && promised_ == vote_.change();
  return !bound || sequence < limit_;
}

std::uint32_t PlanGate::object() {
  if (objected_ == promised_) return 0;
  return objected_ = promised_;
}

}  // namespace multitree::runtime
