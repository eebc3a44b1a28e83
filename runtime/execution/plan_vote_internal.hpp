// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the ranks of a communicator agree to go over to other schedules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/job/links.hpp"

namespace multitree::runtime {

/// Every rank has one, and all hear the same words in the same order (Bootstrap::say()), so that
/// all decide alike. Ranks say which of their links are silent or slow. Schedules for what is left
/// are made by all. When all have them, each says how far it may come before it hears of the
/// decision; the call after the farthest is the first that runs them. Nobody waits for the others
/// but who gets that far, and may then object. Words that fit nothing are passed over.
class PlanVote {
 public:
  /// A link, both ways.
  struct Link {
    DeadLink ends;
    std::uint32_t percent = 0;  ///< of its rate, that is left; 0: it is silent
    bool operator==(const Link&) const = default;
  };
  using Links = std::vector<Link>;  ///< ascending

  explicit PlanVote(std::uint32_t ranks) : ranks_(ranks) {}

  // What a rank says.
  static std::string link_words(std::span<const ImpairedLink> links);
  /// `served`: there are schedules.
  static std::string made_words(std::uint32_t change, bool served);
  /// It begins no call with this number or a higher one.
  static std::string promise_words(std::uint32_t change, std::uint64_t call);
  static std::string objection_words(std::uint32_t change);

  void hear(Seat from, const std::string& words);

  enum class Stage : std::uint8_t { Still, Making, Promising };
  [[nodiscard]] Stage stage() const { return stage_; }
  /// What it is about: its number, and the links that schedules are to do without, or with less.
  [[nodiscard]] std::uint32_t change() const { return change_; }
  [[nodiscard]] const Links& around() const { return around_; }

  /// From call `first` on.
  struct Decision {
    std::uint32_t change = 0;
    std::uint64_t first = 0;
    Links around;
    bool operator==(const Decision&) const = default;
  };
  /// Once.
  std::optional<Decision> take_decision();

 private:
  void consider();
  void enter(Stage stage);
  void hear_made(Seat from, bool served);
  void hear_promise(Seat from, std::uint64_t call);
  /// What this rank says for the first time. Whether all have said something.
  bool note(Seat from, std::uint64_t value);
  [[nodiscard]] Links impaired() const;

  std::uint32_t ranks_;
  Stage stage_ = Stage::Still;
  std::uint32_t change_ = 0;
  Links around_, in_force_;
  std::optional<Links> unserved_;  ///< the last that there are no schedules for
  std::map<Seat, std::vector<ImpairedLink>> impaired_;
  std::map<Seat, std::uint64_t> said_;  ///< in this stage
  std::optional<Decision> decision_;
};

/// Which calls a rank may begin, so that it keeps what it has promised. Of one rank; reads no
/// clock.
class PlanGate {
 public:
  explicit PlanGate(std::uint32_t ranks) : vote_(ranks) {}

  [[nodiscard]] const PlanVote& vote() const { return vote_; }
  /// All wait for the promises of all, so these are given where they are asked for: returns what
  /// this rank says to that; empty: nothing. `lately`: how many calls were begun in a while, and so
  /// may be before a promise is heard.
  std::string hear(Seat from, const std::string& words, std::uint64_t lately);
  /// As PlanVote::take_decision(). Comes before may_begin(), as it is about calls that are next.
  std::optional<PlanVote::Decision> take_decision() { return vote_.take_decision(); }
  [[nodiscard]] bool may_begin(std::uint64_t sequence) const;
  /// \pre may_begin()
  void begin(std::uint64_t sequence) { next_ = std::max(next_, sequence + 1); }
  /// Above all calls that were begun.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  /// What was promised last: no call with this number or a higher one.
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  /// This rank waits no longer: the change that it is to object to; 0: it has done so.
  std::uint32_t object();

 private:
  /// Calls that may be begun before the decision is heard, however few there are.
  static constexpr std::uint64_t kFewCalls = 1;

  PlanVote vote_;
  std::uint64_t next_ = 0;
  std::uint32_t promised_ = 0;  ///< the last change that there is a promise for
  std::uint64_t limit_ = 0;     ///< which was this
  std::uint32_t objected_ = 0;  ///< the last change that this rank has objected to
};

}  // namespace multitree::runtime
