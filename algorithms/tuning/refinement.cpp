// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rounds of calls, and what is decided after each.
#include "algorithms/tuning/refinement.hpp"

#include <algorithm>
#include <cmath>

namespace multitree {
namespace {

/// Calls of a round with the candidate in use: at least, and at most once all is known, so that a
/// change is noticed. More where exchanges would take more than kExchangeShare of the time.
constexpr double kLeastCalls = 16, kMostCalls = 128;
constexpr double kExchangeShare = 0.01;
/// Before anything was measured: predictions may be as much too large as exchanges are dear.
constexpr double kFirstCalls = 32, kMostFirstCalls = 1 << 20;
/// Calls that are measured of a candidate that was never seen, of one that is close to the one in
/// use, and of another.
constexpr std::size_t kGlance = 1, kLongLook = 12, kLook = 4;
constexpr double kClose = 1.2;
/// Ratios kept of a candidate, and those that are enough to be used by, or to be known.
constexpr std::size_t kKept = 7, kEnough = 3, kKnown = 5;
/// Who is faster by so much is used.
constexpr double kGain = 0.97;
/// Two looks in a row at one that is so much faster are enough.
constexpr double kGreatGain = 0.85;
/// Who is so much slower is not looked at for some rounds.
constexpr double kHopeless = 1.5;
constexpr std::size_t kRest = 16;
/// The candidate in use has become slower if it takes so many times what it took, in two rounds or
/// in one.
constexpr double kSlower = 1.3, kMuchSlower = 1.6;
constexpr std::size_t kUsuals = 5, kTimes = 63;

template <typename Times>
typename Times::value_type median(const Times& of) {
  if (of.empty()) return {};
  std::vector<typename Times::value_type> sorted(of.begin(), of.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

}  // namespace

RoundTimes mean_of(const RoundTimes& sum, std::uint64_t ranks) {
  return {sum.all / ranks, sum.usual / ranks, sum.trial / ranks, sum.trial_all / ranks,
          sum.exchange / ranks};
}

double Refinement::Candidate::ratio() const { return median(ratios); }

bool Refinement::Candidate::is_faster() const {
  if (ratios.size() >= 2 && ratios.back() < kGreatGain && *(ratios.end() - 2) < kGreatGain) {
    return true;
  }
  return ratios.size() >= kEnough && ratio() < kGain;
}

Refinement::Refinement(const std::vector<double>& predicted, double exchange)
    : candidates_(predicted.size()), exchange_(exchange * 1e9) {
  const double call = std::max(predicted.front() * 1e9, 1.0);
  const double calls =
      std::clamp(std::ceil(exchange_ / (kExchangeShare * call)), kFirstCalls, kMostFirstCalls);
  usual_calls_ = static_cast<std::size_t>(calls);
}

void Refinement::took(std::uint64_t nanoseconds) {
  round_all_ += nanoseconds;
  if (in_trial()) {
    // The first makes things ready.
    if (calls_ > usual_calls_) trial_times_.push_back(nanoseconds);
    trial_all_ += nanoseconds;
  } else {
    usual_times_.push_back(nanoseconds);
    if (usual_times_.size() > kTimes) usual_times_.pop_front();
  }
  ++calls_;
}

RoundTimes Refinement::times() const {
  return {round_all_, median(usual_times_), median(trial_times_), trial_all_, own_exchange_};
}

void Refinement::agree(const RoundTimes& mean, std::uint64_t exchange) {
  own_exchange_ = exchange;
  if (mean.exchange != 0) exchange_ = (exchange_ + static_cast<double>(mean.exchange)) / 2;
  usual_ = std::max(static_cast<double>(mean.usual), 1.0);
  all_ += static_cast<double>(mean.all) + exchange_;
  lost_ += exchange_;
  if (trial_calls_ != 0) note_trial(mean);
  notice_drift(usual_);
  ++round_;
  plan_round();
  calls_ = 0;
  round_all_ = trial_all_ = 0;
  usual_times_.clear();
  trial_times_.clear();
}

void Refinement::note_trial(const RoundTimes& mean) {
  Candidate& tried = candidates_[trial_];
  const double beyond =
      static_cast<double>(mean.trial_all) - static_cast<double>(trial_calls_) * usual_;
  lost_ += std::max(beyond, 0.0);
  const double ratio = static_cast<double>(mean.trial) / usual_;
  tried.last_round = round_ + 1;
  tried.doubt = std::max(ratio, 1.0);
  // One call says whether it can be looked at for longer, and no more.
  if (trial_calls_ > 1 + kGlance || ratio > kHopeless) tried.ratios.push_back(ratio);
  ++tried.looks;
  if (tried.ratios.size() > kKept) tried.ratios.pop_front();
  if (!tried.ratios.empty() && tried.ratio() > kHopeless) tried.not_before = round_ + kRest;
  if (tried.is_faster()) use(trial_);
}

void Refinement::use(std::size_t candidate) {
  const double gain = candidates_[candidate].ratios.back();
  for (Candidate& one : candidates_) {
    for (double& ratio : one.ratios) ratio /= gain;
    one.not_before = 0;
  }
  Candidate& before = candidates_[used_];
  before.ratios = {1 / gain};
  before.doubt = std::max(1 / gain, 1.0);
  candidates_[candidate].ratios.clear();
  used_ = candidate;
  usuals_.clear();
  slow_rounds_ = 0;
}

void Refinement::notice_drift(double usual) {
  const double before = usuals_.empty() ? usual : median(usuals_);
  slow_rounds_ = usual > kSlower * before ? slow_rounds_ + 1 : 0;
  if (slow_rounds_ >= 2 || usual > kMuchSlower * before) return forget();
  if (slow_rounds_ == 0) usuals_.push_back(usual);
  if (usuals_.size() > kUsuals) usuals_.pop_front();
}

void Refinement::forget() {
  for (Candidate& one : candidates_) {
    one.ratios.clear();
    one.not_before = 0;
  }
  usuals_.clear();
  slow_rounds_ = 0;
}

/// The one that is known least, of those the one that was not tried for longest. \returns used_ if
/// there is none
std::size_t Refinement::next_to_try() const {
  std::size_t best = used_;
  const auto known = [&](std::size_t c) { return std::min(candidates_[c].ratios.size(), kKnown); };
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    if (c == used_ || candidates_[c].not_before > round_) continue;
    if (best == used_ || known(c) < known(best) ||
        (known(c) == known(best) && candidates_[c].last_round < candidates_[best].last_round)) {
      best = c;
    }
  }
  return best;
}

std::size_t Refinement::measured_calls(const Candidate& candidate) const {
  if (candidate.looks == 0) return kGlance;
  return candidate.doubt < kClose ? kLongLook : kLook;
}

void Refinement::plan_round() {
  trial_ = next_to_try();
  const Candidate& candidate = candidates_[trial_];
  trial_calls_ = trial_ == used_ ? 0 : 1 + measured_calls(candidate);
  double cost = exchange_;
  if (trial_calls_ != 0) {
    // The first call counts twice: it may make things ready.
    cost += (static_cast<double>(trial_calls_) * (candidate.doubt - 1) + 1) * usual_;
  }
  double calls = std::ceil(((lost_ + cost) / kShare - all_) / usual_);
  const bool all_known = std::ranges::all_of(candidates_, [&](const Candidate& one) {
    return &one == &candidates_[used_] || one.ratios.size() >= kKnown || one.not_before > round_;
  });
  if (all_known) {
    const double most = std::max(kMostCalls, std::ceil(exchange_ / (kExchangeShare * usual_)));
    calls = std::max(calls, std::min(2.0 * static_cast<double>(usual_calls_), most));
  }
  usual_calls_ = static_cast<std::size_t>(std::clamp(calls, kLeastCalls, 1e9));
}

Refinement::Seen Refinement::seen(std::size_t candidate) const {
  const Candidate& one = candidates_[candidate];
  if (candidate == used_) return {one.looks, 1.0};
  return {one.looks, one.ratios.empty() ? (one.looks == 0 ? 0.0 : one.doubt) : one.ratio()};
}

}  // namespace multitree
