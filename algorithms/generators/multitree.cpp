// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MULTITREE: as many spanning trees as ranks, grown from their roots at the same time, one link
/// use per step. J. Huang, P. Majumder, S. Kim, A. Muzahid, K. H. Yum, E. J. Kim: "Communication
/// Algorithm-Architecture Co-Design for Distributed Deep Learning", ISCA 2021, Algorithm 1
/// (DOI 10.1109/ISCA52012.2021.00023).
///
/// Each step starts with every link free. The trees take turns; in a turn a tree adds one rank: the
/// first of its members (in the order they joined, those of earlier steps only) that has a free
/// link to a rank outside the tree becomes the parent. The step ends when no tree can grow, and the
/// next step starts until all trees span all ranks. Through switches, the parent reaches the
/// nearest rank outside the tree by a breadth-first search over free links, and takes all links on
/// the way.
///
/// Two choices that the paper leaves open:
///  - Which of several free links? The lowest LinkId, except in grids: there the order of
///    directions is the same at every rank, as LinkIds are not, and longer dimensions come first.
///    This saves 1 step of 65 on a 16x16 torus and 4 of 15 on a 2x16 torus.
///  - A near rank by a late parent, or a far one by an early parent? The near one: a tree looks for
///    a parent with a route of one link, then of two, and so on. This saves 3 of 34 steps on a
///    BiGraph of 32 ranks, which is then at its lower bound.
/// Both, and which of equal trees takes its turn first, can also be tried in many ways (tries=N),
/// of which the one is kept whose busiest link has least to carry: 8 shards of an all-reduce
/// instead of 9 on a 4x4 torus.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "algorithms/breadth_first_internal.hpp"
#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

enum class Order : std::uint8_t { Ascending, SmallestFirst };

/// Grows one tree per chunk of a schedule.
class Growth {
 public:
  /// `trial`: 0, or the number of another way to decide where the paper leaves it open.
  Growth(Schedule header, const Topology& topology, Order order, std::uint32_t trial = 0);
  Schedule run() &&;

 private:
  /// A link as the search sees it. `rank` is kSwitch if it ends at a switch.
  struct Arc {
    std::uint32_t link, node, rank;
  };
  /// Members of earlier steps are parents[0 .. limit), in the order they joined; those before
  /// `cursor` cannot become a parent in this step any more, by a route of at most `reach` links.
  struct Tree {
    std::vector<std::uint32_t> parents;
    std::size_t cursor = 0, kept = 0, limit = 0;
    std::uint32_t reach = 1;
    bool cut_short = false;  // a search stopped at `reach`
    std::uint32_t joined = 1;
  };
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kSwitch = kNone;

  void shuffle(std::uint32_t trial);
  void begin_step();
  void end_step();
  void grow_step();
  bool take_turn(std::uint32_t tree);
  static void close_gap(Tree& t);
  static bool widen(Tree& t);
  bool find_route(std::uint32_t tree, std::uint32_t parent);
  bool search_switches(std::uint32_t tree, std::uint32_t parent);
  void trace_back(std::uint32_t start, LinkId last);
  void join(std::uint32_t tree, std::uint32_t parent);
  [[nodiscard]] bool is_exhausted(std::uint32_t tree, std::uint32_t parent) const;
  [[noreturn]] void fail() const;

  [[nodiscard]] std::span<const Arc> arcs(std::uint32_t node) const {
    return std::span(arcs_).subspan(arc_begin_[node], arc_begin_[node + 1] - arc_begin_[node]);
  }
  [[nodiscard]] std::span<const Arc> arcs_of_rank(std::uint32_t rank) const {
    return arcs(index(topology_.node_of(Rank{rank})));
  }
  [[nodiscard]] bool is_member(std::uint32_t tree, std::uint32_t rank) const {
    return ((members_[tree * words_ + rank / 64] >> (rank % 64)) & 1U) != 0;
  }
  void set_member(std::uint32_t tree, std::uint32_t rank) {
    members_[tree * words_ + rank / 64] |= std::uint64_t{1} << (rank % 64);
  }

  const Topology& topology_;
  Order order_;
  std::vector<std::uint32_t> turns_;  // trees, in the order in which equal ones take their turns
  Schedule schedule_;
  std::uint32_t ranks_;
  std::vector<std::uint32_t> arc_begin_;
  std::vector<Arc> arcs_;
  std::vector<Tree> trees_;
  std::vector<std::uint64_t> members_;  // a bit for each tree and rank
  std::size_t words_;
  std::vector<std::uint32_t> waiting_;  // trees that may still grow in this step, in turn order
  std::uint32_t step_ = 0;
  // The link budget of the step: slots left on each link, on all links out of each rank, and on all
  // links out of and into ranks. Without one of the last two no tree can grow.
  std::vector<std::uint32_t> budget_, full_budget_, rank_budget_, full_rank_budget_;
  std::uint64_t leaving_ = 0, entering_ = 0, full_leaving_ = 0, full_entering_ = 0;
  std::vector<LinkId> route_;  // found by find_route(), ending at rank found_
  std::uint32_t found_ = 0;
  BreadthFirst search_;                    // through switches
  std::vector<std::uint32_t> reached_by_;  // by node: the link by which it was met
};

Growth::Growth(Schedule header, const Topology& topology, Order order, std::uint32_t trial)
    : topology_(topology),
      order_(order),
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
  if (trial != 0) shuffle(trial);
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

Schedule Growth::run() && {
  for (begin_step(); !waiting_.empty(); begin_step()) {
    const std::size_t before = schedule_.transfers.size();
    grow_step();
    end_step();
    if (schedule_.transfers.size() == before) fail();
    ++step_;
  }
  return std::move(schedule_);
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
    t.reach = 1;
    t.cut_short = false;
    waiting_.push_back(tree);
  }
  if (order_ == Order::SmallestFirst) {
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

/// Starts over with longer routes, if there are any.
bool Growth::widen(Tree& t) {
  if (!t.cut_short) return false;
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
        if (is_member(tree, arc.rank) || ahead >= least_ahead) continue;
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

struct Options {
  Order order;
  std::uint32_t segments, tries;
};

constexpr std::uint32_t kMaxTries = 1U << 16;

Options parse(const Spec& spec) {
  const std::string order = spec.get("order", "smallest-first");
  if (order != "ascending" && order != "smallest-first") {
    spec.fail(fmt::format("order: expected ascending or smallest-first, got '{}'", order));
  }
  return {order == "ascending" ? Order::Ascending : Order::SmallestFirst, segments_option(spec),
          spec.get_number("tries", 1, 1, kMaxTries)};
}

/// Uses of the busiest link, where each one's mate is used as often for the reduction; in units
/// that count slow links more.
double busiest_load(const Schedule& schedule, const Topology& topology) {
  std::vector<std::uint32_t> uses(topology.num_links(), 0);
  for (const Transfer& transfer : schedule.transfers) {
    for (const LinkId link : schedule.route(transfer)) ++uses[index(link)];
  }
  double busiest = 0;
  for (std::uint32_t l = 0; l < uses.size(); ++l) {
    const auto mate = topology.mate(LinkId{l});
    const std::uint32_t both = uses[l] + (mate ? uses[index(*mate)] : 0);
    const auto bandwidth = static_cast<double>(topology.link(LinkId{l}).bandwidth.bytes_per_second);
    busiest = std::max(busiest, both / bandwidth);
  }
  return busiest;
}

/// The trees with the least load of so many tries; of equal ones the fewest steps, then the first.
Schedule grow(const Schedule& header, const Topology& topology, const Options& options) {
  Schedule best = Growth(header, topology, options.order).run();
  double load = busiest_load(best, topology);
  for (std::uint32_t trial = 1; trial < options.tries; ++trial) {
    Schedule next = Growth(header, topology, options.order, trial).run();
    const double next_load = busiest_load(next, topology);
    if (std::pair(next_load, next.num_steps()) < std::pair(load, best.num_steps())) {
      best = std::move(next);
      load = next_load;
    }
  }
  return best;
}

Schedule all_gather(const Topology& topology, const Spec& spec) {
  const Options options = parse(spec);
  return grow(all_gather_header(topology), topology, options);
}

Schedule broadcast(const Topology& topology, Rank root, const Spec& spec) {
  const Options options = parse(spec);
  const Schedule tree = Growth(broadcast_header(topology, root, 1), topology, options.order).run();
  return faster_broadcast(tree, options.segments, topology,
                          [&] { return all_gather(topology, spec); });
}

}  // namespace

Algorithm multitree_algorithm() {
  return {
      .name = "multitree",
      .summary = "one spanning tree per rank, grown together from the roots, a link use a step",
      .source = "Huang et al., ISCA 2021, Algorithm 1",
      .parameters =
          "order=ascending|smallest-first: which trees take their turn first in a step "
          "(default smallest-first); tries=N: orders of equal choices to try for the least load "
          "of a link in allgather and allreduce (default 1); segments=N: broadcast and reduce over "
          "one "
          "tree in N pieces (default: that or scatter and all trees, whichever is faster)",
      .unsupported = supports_all,
      .all_gather = all_gather,
      .broadcast = broadcast,
      .all_reduce = nullptr};
}

}  // namespace multitree
