// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every order of words and calls.
#include "tests/world/plan_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "runtime/execution/plan_vote_internal.hpp"

namespace multitree::runtime::world {
namespace {

struct Said {
  Seat from;
  std::string words;
};
struct Turned {
  std::uint64_t first = 0;
  std::uint32_t change = 0;
};

struct RankOfPlan {
  PlanGate gate;
  std::size_t heard = 0;
  std::uint32_t made = 0;          ///< the last change that it has told of
  std::vector<std::string> waits;  ///< said, and not at the rendezvous yet
  std::vector<Turned> editions;
  std::vector<std::uint32_t> calls;  ///< by number: the edition that it ran
  std::string key;                   ///< what tells it apart, but the words that it has heard
};

/// Ranks are shared by the states that have them alike.
struct PlanState {
  std::vector<std::shared_ptr<const RankOfPlan>> ranks;
  std::vector<Said> log;  ///< in the order in which all hear it
  std::uint32_t changes = 0;
};

enum class Does : std::uint8_t { Tells, Recovers, Makes, Fails, Arrives, Hears, Begins, Objects };
struct Step {
  Does what;
  std::uint32_t rank;
};

std::string words_of(const Step& step) {
  static constexpr std::array kWords{"tells of a silent link",    "tells that its links are back",
                                     "has made schedules",        "finds no schedules",
                                     "is read at the rendezvous", "hears the next words",
                                     "begins its next call",      "objects"};
  return fmt::format("rank {} {}", step.rank, kWords[static_cast<std::size_t>(step.what)]);
}

class PlanSearch {
 public:
  explicit PlanSearch(const PlanBounds& bounds) : bounds_(bounds) {}

  PlanResult run() {
    PlanState first;
    const RankOfPlan fresh{PlanGate(bounds_.ranks), 0, 0, {}, {}, {}, {}};
    first.ranks.assign(bounds_.ranks, std::make_shared<const RankOfPlan>(fresh));
    visit(first);
    return std::move(result_);
  }

 private:
  /// What tells states apart: the gate is what its rank has heard and begun make of it.
  static std::string key_of(const PlanState& state) {
    std::string key;
    const auto number = [&key](std::uint64_t value) { key += static_cast<char>(value); };
    for (const Said& one : state.log) {
      number(index(one.from));
      key += one.words;
    }
    for (const auto& rank : state.ranks) key += rank->key;
    return key;
  }

  static std::string key_of(const RankOfPlan& rank) {
    std::string key;
    const auto number = [&key](std::uint64_t value) { key += static_cast<char>(value); };
    for (const std::uint64_t value : {std::uint64_t{255}, std::uint64_t{rank.heard},
                                      std::uint64_t{rank.made}, rank.gate.limit()}) {
      number(value);
    }
    for (const std::string& words : rank.waits) key += words;
    number(254);
    for (const Turned& turned : rank.editions) number(turned.first * 16 + turned.change);
    number(253);
    for (const std::uint32_t edition : rank.calls) number(edition);
    return key;
  }

  [[nodiscard]] static bool may_begin(const RankOfPlan& rank) {
    PlanGate gate = rank.gate;
    return gate.take_decision().has_value() || gate.may_begin(rank.calls.size());
  }

  [[nodiscard]] std::vector<Step> steps_from(const PlanState& state) const {
    std::vector<Step> steps;
    for (std::uint32_t r = 0; r < bounds_.ranks; ++r) {
      const RankOfPlan& rank = *state.ranks[r];
      const PlanVote& vote = rank.gate.vote();
      const bool making = vote.stage() == PlanVote::Stage::Making && rank.made != vote.change();
      if (!rank.waits.empty()) steps.push_back({Does::Arrives, r});
      if (rank.heard < state.log.size()) steps.push_back({Does::Hears, r});
      if (making) steps.push_back({Does::Makes, r});
      if (making && bounds_.unserved) steps.push_back({Does::Fails, r});
      const bool more = rank.calls.size() < bounds_.calls;
      if (more && may_begin(rank)) steps.push_back({Does::Begins, r});
      if (more && !may_begin(rank) && bounds_.objects) {
        PlanGate gate = rank.gate;
        if (gate.object() != 0) steps.push_back({Does::Objects, r});
      }
      if (state.changes == bounds_.changes || (bounds_.first_tells && r != 0)) continue;
      steps.push_back({Does::Tells, r});
      if (state.changes != 0) steps.push_back({Does::Recovers, r});
    }
    return steps;
  }

  void say(PlanState& state, std::uint32_t number, RankOfPlan& rank, std::string words) const {
    if (words.empty()) return;
    if (bounds_.at_once) return state.log.push_back({Seat{number}, std::move(words)});
    rank.waits.push_back(std::move(words));
  }

  std::string take(PlanState& state, const Step& step) {
    auto after = std::make_shared<RankOfPlan>(*state.ranks[step.rank]);
    std::string wrong = take(state, step, *after);
    after->key = key_of(*after);
    state.ranks[step.rank] = std::move(after);
    return wrong;
  }

  std::string take(PlanState& state, const Step& step, RankOfPlan& rank) {
    const Seat next{(step.rank + 1) % bounds_.ranks};
    switch (step.what) {
      case Does::Tells:
        ++state.changes;
        say(state, step.rank, rank, PlanVote::link_words(std::vector{ImpairedLink{next, 0}}));
        return {};
      case Does::Recovers:
        ++state.changes;
        say(state, step.rank, rank, PlanVote::link_words({}));
        return {};
      case Does::Makes:
      case Does::Fails:
        settle(rank);  // before it tells of work, as Replanner::look()
        rank.made = rank.gate.vote().change();
        say(state, step.rank, rank, PlanVote::made_words(rank.made, step.what == Does::Makes));
        return {};
      case Does::Arrives:
        state.log.push_back({Seat{step.rank}, rank.waits.front()});
        rank.waits.erase(rank.waits.begin());
        return {};
      case Does::Hears: {
        const Said said = state.log[rank.heard++];
        say(state, step.rank, rank, rank.gate.hear(said.from, said.words, bounds_.lately));
        return {};
      }
      case Does::Begins:
        return begin(state, step.rank, rank);
      case Does::Objects:
        say(state, step.rank, rank, PlanVote::objection_words(rank.gate.object()));
        return {};
    }
    return {};
  }

  static void settle(RankOfPlan& rank) {
    const auto decision = rank.gate.take_decision();
    if (decision) rank.editions.push_back({decision->first, decision->change});
  }

  /// Replanner::in_force().
  std::string begin(const PlanState& state, std::uint32_t number, RankOfPlan& rank) {
    settle(rank);
    const std::uint64_t call = rank.calls.size();
    if (!rank.gate.may_begin(call)) return {};
    rank.gate.begin(call);
    std::uint32_t edition = 0;
    for (const Turned& turned : rank.editions)
      edition = turned.first <= call ? turned.change : edition;
    rank.calls.push_back(edition);
    result_.most_editions = std::max<std::uint64_t>(result_.most_editions, edition);
    for (const auto& other : state.ranks) {
      if (other->calls.size() <= call || other->calls[call] == edition) continue;
      return fmt::format("rank {} runs call {} by schedules {}, and another by {}", number, call,
                         edition, other->calls[call]);
    }
    return {};
  }

  void visit(const PlanState& state) {
    if (!result_.wrong.empty() || !seen_.insert(std::hash<std::string>()(key_of(state))).second)
      return;
    ++result_.states;
    const std::vector<Step> steps = steps_from(state);
    if (steps.empty()) return check_end(state);
    for (const Step& step : steps) {
      PlanState after = state;
      path_.push_back(step);
      const std::string wrong = take(after, step);
      if (!wrong.empty()) report(wrong);
      visit(after);
      path_.pop_back();
    }
  }

  void check_end(const PlanState& state) {
    for (std::uint32_t r = 0; r < bounds_.ranks; ++r) {
      if (state.ranks[r]->calls.size() < bounds_.calls)
        report(fmt::format("rank {} waits for ever", r));
    }
  }

  void report(const std::string& wrong) {
    if (!result_.wrong.empty()) return;
    result_.wrong = wrong;
    for (const Step& step : path_) result_.trace.push_back(words_of(step));
  }

  PlanBounds bounds_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Step> path_;
  PlanResult result_;
};

}  // namespace

PlanResult explore_plans(const PlanBounds& bounds) { return PlanSearch(bounds).run(); }

}  // namespace multitree::runtime::world
