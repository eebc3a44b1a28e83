// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who goes on when a job is shrunk, and whether anybody may.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "runtime/job/coordinator_internal.hpp"
#include "runtime/job/doors_internal.hpp"
#include "runtime/job/origin_internal.hpp"

namespace multitree::runtime {

/// What a coordinator holds of a job that ranks want to shrink, and what follows from it. It says
/// nothing, knocks nowhere and reads no clock, so that tests/world can try it in every order.
class ShrinkVote {
 public:
  ShrinkVote(std::uint32_t ranks, bool in_charge)
      : in_charge_(in_charge), members_(all_members(ranks)) {}

  [[nodiscard]] const Members& members() const { return members_; }
  /// How often the job was shrunk.
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  [[nodiscard]] bool in_charge() const { return in_charge_; }
  /// The rank that hosts it was left out.
  void retire() { retired_ = true; }

  /// Standing::unsettled.
  [[nodiscard]] const std::vector<Members>& unsettled() const { return unsettled_; }

  /// Whoever was shrunk last knows best; and then somebody else was in charge.
  void adopt(const Standing& standing);
  /// All members have been told who they are.
  void settle() { unsettled_.clear(); }

  /// What becomes of a rank that comes again.
  enum class Entry : std::uint8_t {
    Elsewhere,  ///< this is no place to meet
    NotYet,     ///< nobody has a reason to come: it is heard once the job has failed here as well
    LeftOut,    ///< the job has gone on without it
    Welcome,
  };
  /// `well`: in charge of a job that has lost nobody and that nobody wants to shrink.
  Entry come_again(const Standing& standing, bool well);

  /// What is to become of the wish to shrink.
  enum class Verdict : std::uint8_t { Wait, GoOn, Stop };
  /// Members that do not ask, without those that are `gone`: that have left, or are to be.
  [[nodiscard]] Members others(const Members& askers, const Members& gone) const;
  /// Whether those that ask may go on whatever the doors of the others say.
  [[nodiscard]] bool needs_no_knock(const Members& askers, const Members& others) const;
  struct Judgement {
    Verdict verdict{};
    Members elsewhere;  ///< that may go on without those that ask
    bool operator==(const Judgement&) const = default;
  };
  /// Two halves that cannot see each other must not both go on. Those that ask may if they are more
  /// than the others of which nobody knows that they are gone; or as many, with the lowest rank of
  /// all among them. Each half counts the other in full, so that not both can find that. `answers`:
  /// of the doors of `others`. `late`: nobody is waited for any longer. \pre somebody asks
  [[nodiscard]] static Judgement judge(const Members& askers, const Members& others,
                                       const std::vector<Presence>& answers, bool late);
  /// Those that do not ask, and may not have been told of the last shrinks: they would count each
  /// other as it was before.
  [[nodiscard]] Members rivals(const Members& askers, const Members& gone) const;
  /// Whether those that ask may go on at any time before that is unsettled as well, if they are
  /// present and these rivals.
  [[nodiscard]] bool outnumbers(const Members& askers, const Members& rivals) const;
  /// judge() of rivals, where those that ask may go on as the job is now.
  [[nodiscard]] Judgement judge_rivals(const Members& askers, const Members& rivals,
                                       const std::vector<Presence>& answers, bool late) const;
  /// They are the job from here on, and this is where they meet. `gone`: as of others().
  void go_on_with(Members survivors, const Members& gone);

  bool operator==(const ShrinkVote&) const = default;

 private:
  bool in_charge_;
  bool retired_ = false;
  std::uint32_t epoch_ = 0;
  Members members_;
  std::vector<Members> unsettled_;
};

/// Where a rank looks for others that have lost the coordinator: the lowest ranks that seem to be
/// there, and itself in the end. `answers`: of the doors of those below it.
[[nodiscard]] Members places_to_meet(const Standing& standing,
                                     const std::vector<Presence>& answers);
/// Those whose doors it knocks at.
[[nodiscard]] Members members_below(const Standing& standing);

}  // namespace multitree::runtime
