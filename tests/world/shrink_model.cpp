// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What may happen next, and whether it is as it should be.
#include "tests/world/shrink_model.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "runtime/job/shrink_vote_internal.hpp"
#include "tests/world/shrink_steps.hpp"

namespace multitree::runtime::world {
namespace {

std::uint64_t hash_of(const ShrinkState& state) {
  const std::size_t used = sizeof state - (state.lines.size() - state.lines_count) * sizeof(Line);
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(&state), used});
}

/// Depth first, by hashes of what was seen. A collision would hide a state: with 10^8 of them the
/// chance is one in a thousand.
class Search {
 public:
  explicit Search(const ShrinkBounds& bounds) : steps_(bounds) {}

  ShrinkResult run() {
    visit(steps_.first());
    while (!stack_.empty() && result_.wrong.empty()) {
      Frame& top = stack_.back();
      if (top.next == top.events.size()) {
        stack_.pop_back();
        continue;
      }
      const Event event = top.events[top.next++];
      ShrinkState state = top.state;
      const std::string wrong = steps_.take(state, event);
      if (!wrong.empty()) {
        report(wrong);
        break;
      }
      visit(state);
    }
    return std::move(result_);
  }

 private:
  struct Frame {
    ShrinkState state;
    std::vector<Event> events;
    std::size_t next = 0;
  };

  void visit(const ShrinkState& state) {
    if (!seen_.insert(hash_of(state)).second) return;
    ++result_.states;
    result_.split_after_death += steps_.is_split(state) ? 1 : 0;
    std::vector<Event> events = steps_.possible(state);
    if (events.empty()) return finish(state);
    stack_.push_back({state, std::move(events), 0});
  }

  void finish(const ShrinkState& state) {
    const std::string wrong = steps_.check_end(state);
    if (!wrong.empty()) {
      stack_.push_back({state, {}, 0});
      return report(wrong);
    }
    const auto& ranks = state.ranks;
    const auto all = [&](auto is) {
      return std::all_of(ranks.begin(), ranks.begin() + steps_.bounds().ranks,
                         [&](const auto& rank) { return rank.phase == Phase::Dead || is(rank); });
    };
    result_.went_on += all([](const auto& rank) { return rank.phase == Phase::Working; }) ? 1 : 0;
    result_.stopped += all([](const auto& rank) { return rank.phase != Phase::Working; }) ? 1 : 0;
  }

  void report(const std::string& wrong) {
    result_.wrong = wrong;
    for (const Frame& frame : stack_) {
      if (frame.next == 0) continue;
      result_.trace.push_back(words_of(frame.events[frame.next - 1], frame.state));
    }
  }

  Steps steps_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Frame> stack_;
  ShrinkResult result_;
};

}  // namespace

ShrinkResult explore_shrink(const ShrinkBounds& bounds) { return Search(bounds).run(); }

}  // namespace multitree::runtime::world
