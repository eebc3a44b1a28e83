// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finding out which of a few candidates is the fastest while they are used, for little of the time
/// that they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace multitree {

/// What a rank has seen in a round; whole nanoseconds, so that all ranks compute the same of them.
struct RoundTimes {
  std::uint64_t all = 0;        ///< of all calls together
  std::uint64_t usual = 0;      ///< of a call with the candidate in use: median
  std::uint64_t trial = 0;      ///< of a call with the one that is tried: median; 0: none is
  std::uint64_t trial_all = 0;  ///< of its calls together, with the first, which makes things ready
  std::uint64_t exchange = 0;   ///< what the exchange of the round before took
  bool operator==(const RoundTimes&) const = default;
};

/// The mean, given the sum of what all ranks have seen.
RoundTimes mean_of(const RoundTimes& sum, std::uint64_t ranks);

/// Calls of one kind (collective, root and size), in rounds: some with the candidate in use, then a
/// few with another. After a round the ranks exchange what they have seen, and all decide alike
/// from its mean: who is used, who is tried, and how long the next round is. So what is run depends
/// on the number of calls and on what was exchanged alone, never on a rank's own clock.
///
/// Trials and exchanges are paid out of a share of the time of the calls so far: what they lose
/// stays below kShare of it, unless a candidate is slower than kDoubt times the one in use when it
/// is first looked at. Who gets in use has been faster several times. If the one in use gets slower
/// for a while all are looked at again.
class Refinement {
 public:
  /// Of the time of all calls.
  static constexpr double kShare = 0.03;
  /// How much slower one is thought to be, at most, before it was looked at.
  static constexpr double kDoubt = 3.0;

  /// `predicted`: seconds of a call, the one to begin with first; `exchange`: seconds. The same at
  /// all ranks.
  Refinement(const std::vector<double>& predicted, double exchange);

  /// The candidate of the next call.
  [[nodiscard]] std::size_t next() const { return in_trial() ? trial_ : used_; }
  /// What that call took here, in nanoseconds.
  void took(std::uint64_t nanoseconds);
  /// Whether times() are to be exchanged, before the next call.
  [[nodiscard]] bool is_over() const { return calls_ == usual_calls_ + trial_calls_; }
  [[nodiscard]] RoundTimes times() const;
  /// Begins the next round. `mean`: of all ranks; `exchange`: nanoseconds that exchanging took
  /// here.
  void agree(const RoundTimes& mean, std::uint64_t exchange);

  [[nodiscard]] std::size_t used() const { return used_; }
  /// Of the time of all calls, what trials and exchanges have taken beyond calls with the candidate
  /// in use.
  [[nodiscard]] double lost_share() const { return all_ > 0 ? lost_ / all_ : 0; }
  struct Seen {
    std::size_t looks = 0;  ///< rounds in which it was tried
    double ratio = 0;       ///< its time over that of the one in use; 0 before it was tried
  };
  [[nodiscard]] Seen seen(std::size_t candidate) const;
  /// A call with the one in use, in the last round; 0 before the first is over.
  [[nodiscard]] double seconds() const { return usual_ * 1e-9; }

 private:
  struct Candidate {
    double doubt = kDoubt;      ///< ratio to be afraid of
    std::deque<double> ratios;  ///< time over that of the one in use, the latest last
    std::size_t looks = 0;
    std::size_t last_round = 0;
    std::size_t not_before = 0;  ///< round
    [[nodiscard]] double ratio() const;
    [[nodiscard]] bool is_faster() const;
  };

  [[nodiscard]] bool in_trial() const { return calls_ >= usual_calls_; }
  void note_trial(const RoundTimes& mean);
  void use(std::size_t candidate);
  void notice_drift(double usual);
  void forget();
  [[nodiscard]] std::size_t next_to_try() const;
  [[nodiscard]] std::size_t measured_calls(const Candidate& candidate) const;
  void plan_round();

  std::vector<Candidate> candidates_;
  double exchange_;  // all times in nanoseconds
  std::size_t used_ = 0, trial_ = 0;
  std::size_t round_ = 0, calls_ = 0, usual_calls_ = 0, trial_calls_ = 0;
  double all_ = 0, lost_ = 0, usual_ = 0;
  std::deque<double> usuals_;  ///< of the last rounds, as long as nothing has changed
  std::size_t slow_rounds_ = 0;
  // Of this rank alone.
  std::deque<std::uint64_t> usual_times_;
  std::vector<std::uint64_t> trial_times_;
  std::uint64_t round_all_ = 0, trial_all_ = 0, own_exchange_ = 0;
};

}  // namespace multitree
