// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Steps for a forest that is partly an old schedule's: only what changed is timed anew.
///
/// In a phased schedule each op is timed by itself, reductions backwards from the end of their
/// phase: then both grow from the root, and what follows a changed arc lies above it. In the other
/// schedules reductions run towards the root and copies follow, in one piece.
#include <algorithm>
#include <tuple>

#include "algorithms/generators/link_calendar_internal.hpp"
#include "algorithms/replan/forest_internal.hpp"

namespace multitree {
namespace {

/// An arc to be timed. Items are placed in the order of `order`, ties broken by chunk and rank.
struct Item {
  std::uint64_t order = 0;
  std::uint32_t arc = 0;
  std::uint32_t from = 0, to = 0;  // states: data is there before; data is there after
};

class Retiming {
 public:
  explicit Retiming(const Forest& forest)
      : forest_(forest),
        ranks_(forest.ranks()),
        fixed_(forest.inherited, false),
        step_(forest.arcs.size(), 0) {}

  Schedule run() {
    if (forest_.phased) {
      std::uint32_t end = 0;
      for (const Op op : {Op::Reduce, Op::Copy}) end += time_phase(op, end);
    } else {
      time_whole();
    }
    return assemble();
  }

 private:
  [[nodiscard]] std::uint32_t arc_of(Op op, std::uint32_t chunk, std::uint32_t rank) const {
    return forest_.up_of(op, chunk, rank).arc;
  }
  [[nodiscard]] std::uint32_t state(Op op, std::uint32_t chunk, std::uint32_t rank) const {
    const bool root = index(forest_.header.chunks[chunk].owner) == rank;
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
  void time_whole();
  void add_whole_items(std::uint32_t chunk, std::vector<Item>& items);
  std::uint32_t place(std::vector<Item>& items, LinkCalendar& calendar);
  [[nodiscard]] bool precedes(const Transfer& a, const Transfer& b) const {
    return std::tuple(a.step, a.op, a.chunk, a.dst, a.src) <
           std::tuple(b.step, b.op, b.chunk, b.dst, b.src);
  }
  Schedule assemble();

  const Forest& forest_;
  std::uint32_t ranks_;
  std::vector<bool> fixed_;          // inherited arcs that keep their steps
  std::vector<std::uint32_t> step_;  // of each arc in use
  std::vector<std::uint32_t> new_arcs_;
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
  order.push_back(index(forest_.header.chunks[chunk].owner));
  for (std::size_t i = 0; i < order.size(); ++i) {
    order.insert(order.end(), children.begin() + begin[order[i]],
                 children.begin() + begin[order[i] + 1]);
  }
  return order;
}

/// Items of what changed in a touched tree; steps, counted from the root, of what did not.
void Retiming::add_phase_items(Op op, std::uint32_t chunk, std::vector<Item>& items) {
  const auto [first, last] = forest_.span[static_cast<std::size_t>(op)];
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
      const std::uint32_t step = forest_.arcs[id].step;
      ready_[state(op, chunk, rank)] = 1 + (op == Op::Copy ? step - first : last - 1 - step);
      fixed_[id] = true;
      continue;
    }
    // The longest way to a leaf first.
    items.push_back({ranks_ - height[rank], id, state(op, chunk, above), state(op, chunk, rank)});
  }
}

/// Gives the arcs of one op their steps, from `begin` on. Returns how many steps they take.
std::uint32_t Retiming::time_phase(Op op, std::uint32_t begin) {
  const auto o = static_cast<std::size_t>(op);
  if (forest_.up[o].empty()) return 0;
  const auto [first, last] = forest_.span[o];
  ready_.assign(forest_.num_chunks() * ranks_, 0);
  std::vector<Item> items;
  for (std::uint32_t c = 0; c < forest_.num_chunks(); ++c) {
    if (forest_.touched[o][c] || !forest_.same_slots) add_phase_items(op, c, items);
  }
  LinkCalendar calendar(forest_.topology);
  std::uint32_t steps = 0;
  for (std::uint32_t id = 0; id < forest_.inherited; ++id) {
    const Transfer& arc = forest_.arcs[id];
    if (arc.op != op) continue;
    if (!forest_.touched[o][arc.chunk] && forest_.same_slots) fixed_[id] = true;
    if (!fixed_[id]) continue;
    step_[id] = op == Op::Copy ? arc.step - first : last - 1 - arc.step;
    steps = std::max(steps, step_[id] + 1);
    calendar.take(forest_.route(arc), step_[id]);
  }
  steps = std::max(steps, place(items, calendar));
  const auto finish = [&](std::uint32_t id) {
    step_[id] = begin + (op == Op::Copy ? step_[id] : steps - 1 - step_[id]);
  };
  for (std::uint32_t id = 0; id < forest_.inherited; ++id) {
    if (fixed_[id] && forest_.arcs[id].op == op) finish(id);
  }
  for (const Item& item : items) finish(item.arc);
  return steps;
}

/// Items of a chunk that is reduced and spread in one piece, in the order of the old steps.
void Retiming::add_whole_items(std::uint32_t chunk, std::vector<Item>& items) {
  const auto old_step = [&](std::uint32_t id) -> std::uint64_t {
    return id < forest_.inherited ? forest_.arcs[id].step : 0;
  };
  std::vector<std::uint64_t> after(ranks_, 0);  // of the data's way so far
  const std::vector<std::uint32_t> up = top_down(Op::Reduce, chunk);
  for (std::size_t i = up.size() - 1; i > 0; --i) {
    const std::uint32_t id = arc_of(Op::Reduce, chunk, up[i]);
    const std::uint32_t above = parent(Op::Reduce, chunk, up[i]);
    const std::uint64_t order = std::max(old_step(id), after[up[i]]);
    after[above] = std::max(after[above], order + 1);
    items.push_back({order, id, state(Op::Reduce, chunk, up[i]), state(Op::Reduce, chunk, above)});
  }
  const std::vector<std::uint32_t> down = top_down(Op::Copy, chunk);
  for (std::size_t i = 1; i < down.size(); ++i) {
    const std::uint32_t id = arc_of(Op::Copy, chunk, down[i]);
    const std::uint32_t above = parent(Op::Copy, chunk, down[i]);
    const std::uint64_t order = std::max(old_step(id), after[above]);
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
    fixed_[id] = true;
    step_[id] = arc.step;
    calendar.take(forest_.route(arc), arc.step);
  }
  place(items, calendar);
}

/// The earliest step with room for each item after what it depends on. Returns one past the last.
std::uint32_t Retiming::place(std::vector<Item>& items, LinkCalendar& calendar) {
  const auto key = [&](const Item& item) {
    const Transfer& arc = forest_.arcs[item.arc];
    return std::tuple(item.order, item.arc < forest_.inherited ? arc.step : 0, arc.chunk, arc.op,
                      child_of(arc));
  };
  std::ranges::sort(items, [&](const Item& a, const Item& b) { return key(a) < key(b); });
  std::uint32_t end = 0;
  for (const Item& item : items) {
    const auto route = forest_.route(forest_.arcs[item.arc]);
    const std::uint32_t step = calendar.next_free(route, ready_[item.from]);
    calendar.take(route, step);
    step_[item.arc] = step;
    ready_[item.to] = std::max(ready_[item.to], step + 1);
    end = std::max(end, step + 1);
    new_arcs_.push_back(item.arc);
  }
  return end;
}

Schedule Retiming::assemble() {
  const auto placed = [&](std::uint32_t id) {
    Transfer t = forest_.arcs[id];
    t.step = step_[id];
    return t;
  };
  const auto before = [&](const Transfer& a, const Transfer& b) { return precedes(a, b); };
  std::vector<Transfer> kept, timed;
  kept.reserve(forest_.inherited);
  for (std::uint32_t id = 0; id < forest_.inherited; ++id) {
    if (fixed_[id]) kept.push_back(placed(id));
  }
  for (const std::uint32_t id : new_arcs_) timed.push_back(placed(id));
  // Renumbered ranks, or chunks, may stand in another order.
  if (!std::ranges::is_sorted(kept, before)) std::ranges::sort(kept, before);
  std::ranges::sort(timed, before);
  Schedule schedule = forest_.header;
  schedule.transfers.resize(kept.size() + timed.size());
  std::ranges::merge(kept, timed, schedule.transfers.begin(), before);
  schedule.routes.reserve(forest_.routes.size());
  for (Transfer& t : schedule.transfers) {
    const auto route = forest_.route(t);
    t.route_begin = static_cast<std::uint32_t>(schedule.routes.size());
    schedule.routes.insert(schedule.routes.end(), route.begin(), route.end());
  }
  return schedule;
}

}  // namespace

Schedule retime(const Forest& forest) { return Retiming(forest).run(); }

}  // namespace multitree
