// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Steps for a forest that is partly an old schedule's: only what changed is timed anew.
///
/// In a phased schedule each op is timed by itself, reductions backwards from the end of their
/// phase: then both grow from the root, and what follows a changed arc lies above it. In the other
/// schedules reductions run towards the root and copies follow, in one piece.
///
/// A schedule without idle links has no room for what comes late, and a subtree that waits for its
/// parent until the end makes for a long tail. But most arcs of a link lead to leaves: on the links
/// that changed subtrees pass they are timed anew as well, after all that others wait for.
#include <algorithm>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/generators/link_calendar_internal.hpp"
#include "algorithms/replan/forest_internal.hpp"

namespace multitree {
namespace {

/// An arc to be timed. Items are placed in the order of `order`; equal ones as they were added.
struct Item {
  std::uint32_t order = 0;
  std::uint32_t arc = 0;
  std::uint32_t from = 0, to = 0;  // states: data is there before; data is there after
};

class Retiming {
 public:
  explicit Retiming(const Forest& forest)
      : forest_(forest),
        ranks_(forest.ranks()),
        timing_{std::vector<std::uint32_t>(forest.arcs.size(), 0),
                std::vector<bool>(forest.inherited, false),
                {}} {}

  Schedule run() {
    if (forest_.phased) {
      std::uint32_t end = 0;
      for (const Op op : {Op::Reduce, Op::Copy}) end += time_phase(op, end);
    } else {
      time_whole();
    }
    return assemble(forest_, timing_);
  }

 private:
  [[nodiscard]] std::uint32_t arc_of(Op op, std::uint32_t chunk, std::uint32_t rank) const {
    return forest_.up_of(op, chunk, rank).arc;
  }
  [[nodiscard]] std::uint32_t state(Op op, std::uint32_t chunk, std::uint32_t rank) const {
    const bool root = index(forest_.header.chunks[chunk].root()) == rank;
    const std::size_t half = forest_.phased || op == Op::Reduce || root ? 0 : forest_.num_chunks();
    return static_cast<std::uint32_t>((half + chunk) * ranks_ + rank);
  }
  [[nodiscard]] std::uint32_t parent(Op op, std::uint32_t chunk, std::uint32_t rank) const {
    return forest_.parent(op, chunk, rank);
  }
  /// Ranks of a tree, parents before children.
  std::vector<std::uint32_t> top_down(Op op, std::uint32_t chunk);
  std::uint32_t time_phase(Op op, std::uint32_t begin);
  void add_phase_items(Op op, std::uint32_t chunk, std::vector<Item>& items);
  /// Whether ranks, chunk by chunk, are the parent of another.
  [[nodiscard]] std::vector<bool> inner_ranks(Op op) const;
  /// Takes the steps of the fixed arcs of an op, and makes items of those to leaves that are in the
  /// way of other items. Returns how many steps the fixed ones take.
  std::uint32_t take_fixed(Op op, LinkCalendar& calendar, std::vector<Item>& items);
  /// A step of the old schedule, counted from the root's end of its phase.
  [[nodiscard]] std::uint32_t from_root(Op op, std::uint32_t step) const {
    const auto [first, last] = forest_.span[static_cast<std::size_t>(op)];
    return op == Op::Copy ? step - first : last - 1 - step;
  }
  void time_whole();
  void add_whole_items(std::uint32_t chunk, std::vector<Item>& items);
  std::uint32_t place(std::vector<Item>& items, LinkCalendar& calendar);
  const Forest& forest_;
  std::uint32_t ranks_;
  Timing timing_;
  std::vector<std::uint32_t> ready_;  // of each state: the first step that may use it
};

std::vector<std::uint32_t> Retiming::top_down(Op op, std::uint32_t chunk) {
  std::vector<std::uint32_t> begin(ranks_ + 1, 0), children(ranks_), order;
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (arc_of(op, chunk, r) < Forest::kCut) ++begin[parent(op, chunk, r) + 1];
  }
  for (std::uint32_t r = 0; r < ranks_; ++r) begin[r + 1] += begin[r];
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (arc_of(op, chunk, r) < Forest::kCut) children[next[parent(op, chunk, r)]++] = r;
  }
  order.reserve(ranks_);
  order.push_back(index(forest_.header.chunks[chunk].root()));
  walk_breadth_first(order, [&](std::uint32_t rank) {
    order.insert(order.end(), children.begin() + begin[rank], children.begin() + begin[rank + 1]);
  });
  return order;
}

/// Items of what changed in a touched tree; steps, counted from the root, of what did not.
void Retiming::add_phase_items(Op op, std::uint32_t chunk, std::vector<Item>& items) {
  const std::vector<std::uint32_t> order = top_down(op, chunk);
  std::vector<std::uint32_t> height(ranks_, 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::uint32_t& above = height[parent(op, chunk, order[i])];
    above = std::max(above, height[order[i]] + 1);
  }
  std::vector<bool> changed(ranks_, false);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::uint32_t rank = order[i], above = parent(op, chunk, rank);
    const std::uint32_t id = arc_of(op, chunk, rank);
    changed[rank] = changed[above] || id >= forest_.inherited || !forest_.same_slots;
    if (!changed[rank]) {
      timing_.fixed[id] = true;
      continue;
    }
    // The longest way to a leaf first.
    items.push_back({ranks_ - height[rank], id, state(op, chunk, above), state(op, chunk, rank)});
  }
}

std::vector<bool> Retiming::inner_ranks(Op op) const {
  std::vector<bool> inner(forest_.num_chunks() * ranks_, false);
  for (std::uint32_t c = 0; c < forest_.num_chunks(); ++c) {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      if (arc_of(op, c, r) < Forest::kCut) inner[std::size_t{c} * ranks_ + parent(op, c, r)] = true;
    }
  }
  return inner;
}

std::uint32_t Retiming::take_fixed(Op op, LinkCalendar& calendar, std::vector<Item>& items) {
  const auto& touched = forest_.touched[static_cast<std::size_t>(op)];
  std::vector<bool> crowded(forest_.topology.num_links(), false);
  for (const Item& item : items) {
    for (const LinkId link : forest_.route(forest_.arcs[item.arc])) crowded[index(link)] = true;
  }
  const std::vector<bool> inner = inner_ranks(op);
  std::uint32_t steps = 0;
  for (std::uint32_t id = 0; id < forest_.inherited; ++id) {
    const Transfer& arc = forest_.arcs[id];
    if (arc.op != op) continue;
    const bool is_kept = !touched[arc.chunk] && forest_.same_slots;
    if (!is_kept && !timing_.fixed[id]) continue;
    const std::uint32_t rank = index(child_of(arc)), to = state(op, arc.chunk, rank);
    const auto route = forest_.route(arc);
    const bool is_leaf = !inner[std::size_t{arc.chunk} * ranks_ + rank];
    timing_.fixed[id] =
        !is_leaf || std::ranges::none_of(route, [&](LinkId l) { return crowded[index(l)]; });
    if (!timing_.fixed[id]) {
      items.push_back({ranks_, id, state(op, arc.chunk, index(parent_of(arc))), to});
      continue;
    }
    timing_.step[id] = from_root(op, arc.step);
    if (!is_leaf) ready_[to] = timing_.step[id] + 1;
    steps = std::max(steps, timing_.step[id] + 1);
    calendar.take(route, timing_.step[id]);
  }
  return steps;
}

/// Gives the arcs of one op their steps, from `begin` on. Returns how many steps they take.
std::uint32_t Retiming::time_phase(Op op, std::uint32_t begin) {
  const auto o = static_cast<std::size_t>(op);
  if (forest_.up[o].empty()) return 0;
  ready_.assign(forest_.num_chunks() * ranks_, 0);
  std::vector<Item> items;
  for (std::uint32_t c = 0; c < forest_.num_chunks(); ++c) {
    if (forest_.touched[o][c] || !forest_.same_slots) add_phase_items(op, c, items);
  }
  LinkCalendar calendar(forest_.topology);
  const std::uint32_t fixed = take_fixed(op, calendar, items);
  const std::uint32_t steps = std::max(fixed, place(items, calendar));
  const auto finish = [&](std::uint32_t id) {
    std::uint32_t& step = timing_.step[id];
    step = begin + (op == Op::Copy ? step : steps - 1 - step);
  };
  for (std::uint32_t id = 0; id < forest_.inherited; ++id) {
    if (timing_.fixed[id] && forest_.arcs[id].op == op) finish(id);
  }
  for (const Item& item : items) finish(item.arc);
  return steps;
}

/// Items of a chunk that is reduced and spread in one piece, in the order of the old steps.
void Retiming::add_whole_items(std::uint32_t chunk, std::vector<Item>& items) {
  const auto old_step = [&](std::uint32_t id) -> std::uint32_t {
    return id < forest_.inherited ? forest_.arcs[id].step : 0;
  };
  std::vector<std::uint32_t> after(ranks_, 0);  // of the data's way so far
  const std::vector<std::uint32_t> up = top_down(Op::Reduce, chunk);
  for (std::size_t i = up.size() - 1; i > 0; --i) {
    const std::uint32_t id = arc_of(Op::Reduce, chunk, up[i]);
    const std::uint32_t above = parent(Op::Reduce, chunk, up[i]);
    const std::uint32_t order = std::max(old_step(id), after[up[i]]);
    after[above] = std::max(after[above], order + 1);
    items.push_back({order, id, state(Op::Reduce, chunk, up[i]), state(Op::Reduce, chunk, above)});
  }
  const std::vector<std::uint32_t> down = top_down(Op::Copy, chunk);
  for (std::size_t i = 1; i < down.size(); ++i) {
    const std::uint32_t id = arc_of(Op::Copy, chunk, down[i]);
    const std::uint32_t above = parent(Op::Copy, chunk, down[i]);
    const std::uint32_t order = std::max(old_step(id), after[above]);
    after[down[i]] = order + 1;
    items.push_back({order, id, state(Op::Copy, chunk, above), state(Op::Copy, chunk, down[i])});
  }
}

void Retiming::time_whole() {
  ready_.assign(2 * forest_.num_chunks() * ranks_, 0);
  LinkCalendar calendar(forest_.topology);
  std::vector<Item> items;
  const auto is_changed = [&](std::uint32_t c) {
    return forest_.touched[0][c] || forest_.touched[1][c] || !forest_.same_slots;
  };
  for (std::uint32_t c = 0; c < forest_.num_chunks(); ++c) {
    if (is_changed(c)) add_whole_items(c, items);
  }
  for (std::uint32_t id = 0; id < forest_.inherited; ++id) {
    const Transfer& arc = forest_.arcs[id];
    if (is_changed(arc.chunk)) continue;
    timing_.fixed[id] = true;
    timing_.step[id] = arc.step;
    calendar.take(forest_.route(arc), arc.step);
  }
  place(items, calendar);
}

/// Stable, by counting.
void sort_by_order(std::vector<Item>& items) {
  std::uint32_t most = 0;
  for (const Item& item : items) most = std::max(most, item.order);
  std::vector<std::uint32_t> next(std::size_t{most} + 2, 0);
  for (const Item& item : items) ++next[item.order + 1];
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  std::vector<Item> sorted(items.size());
  for (const Item& item : items) sorted[next[item.order]++] = item;
  items = std::move(sorted);
}

/// The earliest step with room for each item after what it depends on. Returns one past the last.
std::uint32_t Retiming::place(std::vector<Item>& items, LinkCalendar& calendar) {
  sort_by_order(items);
  std::uint32_t end = 0;
  for (const Item& item : items) {
    const auto route = forest_.route(forest_.arcs[item.arc]);
    const std::uint32_t step = calendar.next_free(route, ready_[item.from]);
    calendar.take(route, step);
    timing_.step[item.arc] = step;
    ready_[item.to] = std::max(ready_[item.to], step + 1);
    end = std::max(end, step + 1);
    timing_.retimed.push_back(item.arc);
  }
  return end;
}

}  // namespace

Schedule retime(const Forest& forest) { return Retiming(forest).run(); }

}  // namespace multitree
