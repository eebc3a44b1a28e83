// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Halves that count each other.
#include "runtime/job/shrink_vote_internal.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace multitree::runtime {
namespace {

/// Whether these may go on, and those not.
bool outnumber(const Members& these, const Members& those) {
  if (these.size() != those.size()) return these.size() > those.size();
  return !these.empty() && these.front() < those.front();
}

}  // namespace

void ShrinkVote::adopt(const Standing& standing) {
  if (standing.epoch == epoch_ && standing.unsettled.empty()) settle();
  if (standing.epoch <= epoch_) return;
  unsettled_ = standing.unsettled;
  epoch_ = standing.epoch;
  members_ = standing.members;
  in_charge_ = false;
}

ShrinkVote::Entry ShrinkVote::come_again(const Standing& standing, bool well) {
  if (retired_ && !in_charge_) return Entry::Elsewhere;
  if (well && has(members_, standing.self)) return Entry::NotYet;
  if (!well) adopt(standing);
  return has(members_, standing.self) ? Entry::Welcome : Entry::LeftOut;
}

Members ShrinkVote::others(const Members& askers, const Members& gone) const {
  Members others;
  std::ranges::copy_if(members_, std::back_inserter(others),
                       [&](Origin one) { return !has(askers, one) && !has(gone, one); });
  return others;
}

bool ShrinkVote::needs_no_knock(const Members& askers, const Members& others) const {
  return others.empty() || (in_charge_ && askers.size() > others.size());
}

ShrinkVote::Judgement ShrinkVote::judge(const Members& askers, const Members& others,
                                        const std::vector<Presence>& answers, bool late) {
  Judgement result{Verdict::GoOn, {}};
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (answers[i] == Presence::There && !late) return {Verdict::Wait, {}};  // it may ask still
    if (answers[i] != Presence::Gone) result.elsewhere.push_back(others[i]);
  }
  if (!outnumber(askers, result.elsewhere)) result.verdict = Verdict::Stop;
  return result;
}

Members ShrinkVote::rivals(const Members& askers, const Members& gone) const {
  Members all;
  for (const Members& before : unsettled_) {
    Members both;
    std::ranges::set_union(all, before, std::back_inserter(both));
    all = std::move(both);
  }
  std::erase_if(all, [&](Origin one) { return has(askers, one) || has(gone, one); });
  return all;
}

bool ShrinkVote::outnumbers(const Members& askers, const Members& rivals) const {
  return std::ranges::all_of(unsettled_, [&](const Members& before) {
    Members those;
    std::ranges::set_intersection(before, rivals, std::back_inserter(those));
    return outnumber(askers, those);
  });
}

ShrinkVote::Judgement ShrinkVote::judge_rivals(const Members& askers, const Members& rivals,
                                               const std::vector<Presence>& answers,
                                               bool late) const {
  Judgement result{Verdict::GoOn, {}};
  bool there = false;
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    if (answers[i] != Presence::Gone) result.elsewhere.push_back(rivals[i]);
    there = there || answers[i] == Presence::There;
  }
  if (outnumbers(askers, result.elsewhere)) return {Verdict::GoOn, {}};
  result.verdict = there && !late ? Verdict::Wait : Verdict::Stop;
  return result;
}

void ShrinkVote::go_on_with(Members survivors, const Members& gone) {
  unsettled_.push_back(members_);
  std::erase_if(unsettled_.back(), [&](Origin one) { return has(gone, one); });
  ++epoch_;
  members_ = std::move(survivors);
  in_charge_ = true;
}

Members members_below(const Standing& standing) {
  Members lower;
  std::ranges::copy_if(standing.members, std::back_inserter(lower),
                       [&](Origin one) { return one < standing.self; });
  return lower;
}

Members places_to_meet(const Standing& standing, const std::vector<Presence>& answers) {
  const Members lower = members_below(standing);
  Members places;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (answers[i] == Presence::There) places.push_back(lower[i]);
  }
  places.push_back(standing.self);
  return places;
}

}  // namespace multitree::runtime
