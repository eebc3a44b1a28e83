// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/generators/growth_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {

Growth::Growth(Schedule header, const Topology& topology, const GrowthRules& rules)
    : topology_(topology),
      rules_(rules),
      schedule_(std::move(header)),
      ranks_(topology.num_ranks()),
      arc_begin_(topology.num_nodes() + 1, 0),
      trees_(schedule_.chunks.size()),
      words_((ranks_ + 63) / 64),
      full_rank_budget_(ranks_, 0),
      search_(topology.num_nodes()),
      reached_by_(topology.num_nodes(), 0) {
  const std::vector<std::uint32_t> preference = grid_link_preference(topology);
  for (std::uint32_t node = 0; node < topology.num_nodes(); ++node) {
    for (const LinkId id : topology.out_links(NodeId{node})) {
      const NodeId to = topology.link(id).dst;
      const auto rank = topology.node(to).rank;
      arcs_.push_back({index(id), index(to), rank ? index(*rank) : kSwitch});
      if (rank) full_entering_ += topology.slots(id);
    }
    std::ranges::stable_sort(std::span(arcs_).subspan(arc_begin_[node]), {},
                             [&](const Arc& arc) { return preference[arc.link]; });
    arc_begin_[node + 1] = static_cast<std::uint32_t>(arcs_.size());
  }
  for (std::uint32_t id = 0; id < topology.num_links(); ++id) {
    full_budget_.push_back(topology.slots(LinkId{id}));
    if (const auto rank = topology.node(topology.link(LinkId{id}).src).rank) {
      full_rank_budget_[index(*rank)] += full_budget_.back();
      full_leaving_ += full_budget_.back();
    }
  }
  turns_.resize(trees_.size());
  std::iota(turns_.begin(), turns_.end(), 0U);
  if (rules.trial != 0) shuffle(rules.trial);
  members_.assign(trees_.size() * words_, 0);
  for (std::uint32_t tree = 0; tree < trees_.size(); ++tree) {
    const std::uint32_t root = index(schedule_.chunks[tree].root());
    trees_[tree].parents.push_back(root);
    set_member(tree, root);
  }
  schedule_.transfers.reserve(trees_.size() * (ranks_ - 1));
  schedule_.routes.reserve(trees_.size() * (ranks_ - 1));
}

/// Other turns, and at each rank another order of its links. Not std::shuffle(), which differs
/// between libraries.
void Growth::shuffle(std::uint32_t trial) {
  std::mt19937_64 random(trial);
  const auto mix = [&](auto values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random() % i]);
  };
  mix(std::span(turns_));
  for (std::uint32_t node = 0; node < topology_.num_nodes(); ++node) {
    mix(std::span(arcs_).subspan(arc_begin_[node], arc_begin_[node + 1] - arc_begin_[node]));
  }
}

std::optional<Schedule> Growth::run_within(std::uint32_t most_steps) && {
  if (!grow(most_steps)) return std::nullopt;
  return std::move(schedule_);
}

Schedule Growth::run() && {
  if (!grow(std::numeric_limits<std::uint32_t>::max())) fail();
  return std::move(schedule_);
}

bool Growth::grow(std::uint32_t most_steps) {
  for (begin_step(); !waiting_.empty(); begin_step()) {
    if (step_ == most_steps) return false;
    const std::size_t before = schedule_.transfers.size();
    grow_step();
    end_step();
    if (schedule_.transfers.size() == before) return false;
    ++step_;
  }
  return true;
}

void Growth::begin_step() {
  budget_ = full_budget_;
  rank_budget_ = full_rank_budget_;
  leaving_ = full_leaving_;
  entering_ = full_entering_;
  waiting_.clear();
  for (const std::uint32_t tree : turns_) {
    Tree& t = trees_[tree];
    if (t.joined == ranks_) continue;
    t.cursor = t.kept = 0;
    t.limit = t.parents.size();
    t.reach = std::max(rules_.length, 1U);
    t.cut_short = false;
    waiting_.push_back(tree);
  }
  if (rules_.order == GrowthOrder::SmallestFirst) {
    std::ranges::stable_sort(waiting_, {}, [&](std::uint32_t tree) { return trees_[tree].joined; });
  }
}

void Growth::end_step() {
  for (Tree& t : trees_) close_gap(t);
}

/// Takes the members that were found to have no neighbour outside the tree off the list.
void Growth::close_gap(Tree& t) {
  const auto at = [&](std::size_t i) { return t.parents.begin() + static_cast<std::ptrdiff_t>(i); };
  t.parents.erase(at(t.kept), at(t.cursor));
  t.limit -= t.cursor - t.kept;
  t.cursor = t.kept;
}

void Growth::grow_step() {
  while (!waiting_.empty() && leaving_ > 0 && entering_ > 0) {
    std::size_t still = 0;
    for (const std::uint32_t tree : waiting_) {
      // A tree that fails once cannot succeed later in the step: links only become fewer.
      if (take_turn(tree) && trees_[tree].joined < ranks_) waiting_[still++] = tree;
    }
    waiting_.resize(still);
  }
}

bool Growth::take_turn(std::uint32_t tree) {
  Tree& t = trees_[tree];
  do {
    for (; t.cursor < t.limit; ++t.cursor) {
      const std::uint32_t parent = t.parents[t.cursor];
      if (rank_budget_[parent] > 0) {
        if (find_route(tree, parent)) {
          join(tree, parent);
          return true;
        }
        if (is_exhausted(tree, parent)) continue;
      }
      t.parents[t.kept++] = parent;
    }
  } while (widen(t));
  return false;
}

/// Starts over with longer routes, if there are any and they may be longer.
bool Growth::widen(Tree& t) const {
  if (!t.cut_short || rules_.length != 0) return false;
  close_gap(t);
  t.cursor = t.kept = 0;
  t.cut_short = false;
  ++t.reach;
  return true;
}

/// Whether the parent will never again have a rank to add: all its links end at members.
bool Growth::is_exhausted(std::uint32_t tree, std::uint32_t parent) const {
  return std::ranges::all_of(arcs_of_rank(parent), [&](const Arc& arc) {
    return arc.rank != kSwitch && is_member(tree, arc.rank);
  });
}

bool Growth::find_route(std::uint32_t tree, std::uint32_t parent) {
  bool through_switch = false;
  for (const Arc& arc : arcs_of_rank(parent)) {
    if (budget_[arc.link] == 0) continue;
    if (arc.rank == kSwitch) {
      through_switch = true;
    } else if (!is_member(tree, arc.rank)) {
      route_.assign(1, LinkId{arc.link});
      found_ = arc.rank;
      return true;
    }
  }
  return through_switch && search_switches(tree, parent);
}

/// Breadth-first, level by level. Of several nearest ranks it takes the first one after the parent
/// in cyclic order: were it always the lowest, all trees would ask for the same ranks.
bool Growth::search_switches(std::uint32_t tree, std::uint32_t parent) {
  const std::uint32_t start = index(topology_.node_of(Rank{parent}));
  std::uint32_t last_link = kNone, least_ahead = kNone;
  std::uint32_t level = 0;  // links of a route to the node that is expanded
  search_.run(start, [&](std::uint32_t node) {
    if (search_.hops(node) > level) {
      if (last_link != kNone) return false;
      if (++level == trees_[tree].reach) {
        trees_[tree].cut_short = true;
        return false;
      }
    }
    for (const Arc& arc : arcs(node)) {
      if (budget_[arc.link] == 0) continue;
      if (arc.rank != kSwitch) {
        const std::uint32_t ahead = (arc.rank + ranks_ - parent) % ranks_;
        if (is_member(tree, arc.rank) || ahead >= least_ahead || level + 1 < rules_.length)
          continue;
        least_ahead = ahead;
        last_link = arc.link;
      } else if (search_.meet(arc.node)) {
        reached_by_[arc.node] = arc.link;
      }
    }
    return true;
  });
  if (last_link == kNone) return false;
  trace_back(start, LinkId{last_link});
  return true;
}

/// Fills in the route from node `start` that ends with `last`.
void Growth::trace_back(std::uint32_t start, LinkId last) {
  found_ = index(*topology_.node(topology_.link(last).dst).rank);
  route_.assign(1, last);
  for (NodeId node = topology_.link(last).src; index(node) != start;) {
    route_.push_back(LinkId{reached_by_[index(node)]});
    node = topology_.link(route_.back()).src;
  }
  std::ranges::reverse(route_);
}

void Growth::join(std::uint32_t tree, std::uint32_t parent) {
  for (const LinkId link : route_) --budget_[index(link)];
  --rank_budget_[parent];
  --leaving_;
  --entering_;
  set_member(tree, found_);
  ++trees_[tree].joined;
  trees_[tree].parents.push_back(found_);
  schedule_.add(step_, Op::Copy, tree, Rank{parent}, Rank{found_}, route_);
}

void Growth::fail() const {
  const auto stuck = std::ranges::find_if(trees_, [&](const Tree& t) { return t.joined < ranks_; });
  const auto tree = static_cast<std::uint32_t>(stuck - trees_.begin());
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (!is_member(tree, rank)) missing.push_back(rank);
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("multitree on {}: rank {} cannot reach rank(s) {}", topology_.name(),
                          index(schedule_.chunks[tree].root()), fmt::join(missing, ", ")));
}

}  // namespace multitree
