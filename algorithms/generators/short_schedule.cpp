// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Short trees in time, and as steps.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/short_trees_internal.hpp"

namespace multitree {
namespace {

/// What a message is in its tree: on the way up, down, or a swap of this round.
using Kind = std::int32_t;
constexpr Kind kUp = -2, kDown = -1;

struct Turn {
  std::uint32_t tree = 0;
  LinkId link{};
  Kind kind = kUp;
  auto operator<=>(const Turn&) const = default;
};

/// A tree while it is served.
struct Progress {
  std::vector<std::uint32_t> begin;    ///< by rank, into `down`
  std::vector<LinkId> down;            ///< to children
  std::vector<std::int64_t> height;    ///< by rank: the way down to its farthest child
  std::vector<std::uint32_t> missing;  ///< by rank: sums of children that are still to come
  std::vector<std::uint32_t> round;    ///< by rank of the middle: swaps begun, 0: none
};

class ListScheduler {
 public:
  ListScheduler(const ShortTrees& trees, const Topology& topology, const PieceTimes& times,
                std::int64_t spread)
      : trees_(trees),
        topology_(topology),
        times_(times),
        free_(topology.num_links(), 0),
        queues_(topology.num_links()),
        is_touched_(topology.num_links(), false) {
    std::vector<std::int64_t> busy(topology.num_links(), 0);
    for (const ShortTree& tree : trees.trees) add_progress(tree, busy);
    const auto count = static_cast<std::int64_t>(trees.trees.size());
    const std::int64_t last = std::ranges::max(busy) * spread / 100;
    for (std::int64_t t = 0; t < count; ++t) due_.push_back(last * t / count);
  }

  /// Messages in the order in which they start.
  std::vector<Turn> run() {
    for (std::uint32_t t = 0; t < trees_.trees.size(); ++t) {
      for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) {
        if (progress_[t].missing[r] == 0) go_on(t, r);
      }
    }
    serve();
    while (!events_.empty()) {
      now_ = std::get<0>(events_.top());
      while (!events_.empty() && std::get<0>(events_.top()) == now_) {
        const auto [time, arrives, turn] = events_.top();
        events_.pop();
        if (arrives) {
          arrive(turn);
        } else {
          touch(turn.link);
        }
      }
      serve();
    }
    return std::move(turns_);
  }
  [[nodiscard]] std::int64_t end() const { return now_; }

 private:
  [[nodiscard]] std::uint32_t rank_at(NodeId id) const { return index(*topology_.node(id).rank); }
  [[nodiscard]] std::uint32_t end_of(LinkId id) const { return rank_at(topology_.link(id).dst); }
  [[nodiscard]] std::int64_t hop(LinkId id) const { return times_.hop[index(id)]; }

  void add_progress(const ShortTree& tree, std::vector<std::int64_t>& busy) {
    const std::uint32_t ranks = topology_.num_ranks();
    Progress progress;
    progress.missing.assign(ranks, 0);
    progress.round.assign(ranks, 0);
    progress.height.assign(ranks, 0);
    const auto use = [&](LinkId id) { busy[index(id)] += times_.busy[index(id)]; };
    std::vector<std::uint32_t> order;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      if (tree.up[r] == ShortTree::kNoUp) continue;
      ++progress.missing[end_of(tree.up[r])];
      order.push_back(r);
      use(tree.up[r]);
      use(*topology_.mate(tree.up[r]));
    }
    for (const auto& round : trees_.middles[tree.middle].rounds) {
      for (const LinkId id : round) {
        use(id);
        use(*topology_.mate(id));
      }
    }
    progress.begin.assign(1, 0);
    for (const std::uint32_t count : progress.missing) {
      progress.begin.push_back(progress.begin.back() + count);
    }
    progress.down.resize(order.size());
    std::vector<std::uint32_t> place(progress.begin.begin(), progress.begin.end() - 1);
    for (const std::uint32_t r : order) {
      progress.down[place[end_of(tree.up[r])]++] = *topology_.mate(tree.up[r]);
    }
    std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t r) { return tree.depth[r]; });
    for (const std::uint32_t r : order) {
      std::int64_t& height = progress.height[end_of(tree.up[r])];
      height = std::max(height, progress.height[r] + hop(*topology_.mate(tree.up[r])));
    }
    progress_.push_back(std::move(progress));
  }

  /// What swaps from this round on take, and then the way down.
  [[nodiscard]] std::int64_t after(std::uint32_t tree, std::size_t round) const {
    const Middle& middle = trees_.middles[trees_.trees[tree].middle];
    std::int64_t rest = 0;
    for (const std::uint32_t r : middle.ranks) rest = std::max(rest, progress_[tree].height[r]);
    for (; round < middle.rounds.size(); ++round) {
      std::int64_t longest = 0;
      for (const LinkId id : middle.rounds[round]) longest = std::max(longest, hop(id));
      rest += longest;
    }
    return rest;
  }

  void push(const Turn& turn, std::int64_t rest) {
    auto& queue = queues_[index(turn.link)];
    queue.emplace(due_[turn.tree] - rest, turn);
    touch(turn.link);
  }
  void touch(LinkId id) {
    if (is_touched_[index(id)]) return;
    is_touched_[index(id)] = true;
    touched_.push_back(id);
  }

  /// A rank has the sum of all below it, or of a round.
  void go_on(std::uint32_t tree, std::uint32_t rank) {
    const ShortTree& its = trees_.trees[tree];
    if (its.up[rank] != ShortTree::kNoUp) {
      return push({tree, its.up[rank], kUp}, its.depth[rank] + after(tree, 0));
    }
    const auto& rounds = trees_.middles[its.middle].rounds;
    const std::uint32_t round = progress_[tree].round[rank]++;
    if (round == rounds.size()) return spread(tree, rank);
    for (const LinkId there : rounds[round]) {
      const LinkId back = *topology_.mate(there);
      const std::uint32_t a = end_of(back), b = end_of(there);
      if (rank != a && rank != b) continue;
      // Both send once both can.
      if (progress_[tree].round[rank == a ? b : a] != round + 1) return;
      const std::int64_t rest = after(tree, round);
      push({tree, there, static_cast<Kind>(round)}, rest);
      push({tree, back, static_cast<Kind>(round)}, rest);
    }
  }

  void spread(std::uint32_t tree, std::uint32_t rank) {
    const Progress& progress = progress_[tree];
    for (std::uint32_t i = progress.begin[rank]; i < progress.begin[rank + 1]; ++i) {
      const LinkId down = progress.down[i];
      push({tree, down, kDown}, hop(down) + progress.height[end_of(down)]);
    }
  }

  void arrive(const Turn& turn) {
    const std::uint32_t rank = end_of(turn.link);
    if (turn.kind == kDown) return spread(turn.tree, rank);
    if (turn.kind != kUp || --progress_[turn.tree].missing[rank] == 0) go_on(turn.tree, rank);
  }

  void serve() {
    for (const LinkId id : touched_) {
      is_touched_[index(id)] = false;
      auto& queue = queues_[index(id)];
      if (queue.empty() || free_[index(id)] > now_) continue;
      const Turn turn = queue.top().second;
      queue.pop();
      turns_.push_back(turn);
      free_[index(id)] = now_ + times_.busy[index(id)];
      events_.emplace(free_[index(id)], false, turn);
      events_.emplace(now_ + hop(id), true, turn);
    }
    touched_.clear();
  }

  template <class T>
  using Least = std::priority_queue<T, std::vector<T>, std::greater<>>;

  const ShortTrees& trees_;
  const Topology& topology_;
  const PieceTimes& times_;
  std::vector<Progress> progress_;  // by tree
  std::vector<std::int64_t> due_;   // by tree
  std::int64_t now_ = 0;
  std::vector<Turn> turns_;
  std::vector<std::int64_t> free_;                            // by link
  std::vector<Least<std::pair<std::int64_t, Turn>>> queues_;  // by link
  Least<std::tuple<std::int64_t, bool, Turn>> events_;        // arrives, or the link is free
  std::vector<bool> is_touched_;
  std::vector<LinkId> touched_;
};

/// The least steps that keep the order of turns on every link and of every piece. Both ways of a
/// swap are one step: each sends what it had before.
Schedule number_steps(const ShortTrees& trees, const Topology& topology,
                      const std::vector<Turn>& turns) {
  const std::uint32_t ranks = topology.num_ranks();
  Schedule schedule = all_reduce_header(topology, static_cast<std::uint32_t>(trees.trees.size()));
  for (std::uint32_t t = 0; t < trees.trees.size(); ++t) {
    const std::uint32_t root = trees.middles[trees.trees[t].middle].ranks.front();
    schedule.chunks[t] = Chunk::rooted(Rank{root}, t, 1);
  }
  std::vector<std::uint32_t> free(topology.num_links(), 0);
  std::vector<std::uint32_t> known(trees.trees.size() * ranks, 0);  // by tree and rank
  std::map<Turn, bool> swapped;
  for (const Turn& turn : turns) {
    const Link& link = topology.link(turn.link);
    const Rank src = *topology.node(link.src).rank, dst = *topology.node(link.dst).rank;
    std::uint32_t& at_src = known[std::size_t{turn.tree} * ranks + index(src)];
    std::uint32_t& at_dst = known[std::size_t{turn.tree} * ranks + index(dst)];
    std::uint32_t step = std::max(at_src, free[index(turn.link)]);
    if (turn.kind < 0) {
      const Op op = turn.kind == kUp ? Op::Reduce : Op::Copy;
      schedule.add(step, op, turn.tree, src, dst, std::array{turn.link});
      free[index(turn.link)] = step + 1;
      at_dst = std::max(at_dst, step + 1);
      continue;
    }
    if (swapped.contains(turn)) continue;
    const LinkId back = *topology.mate(turn.link);
    swapped[{turn.tree, back, turn.kind}] = true;
    step = std::max({step, at_dst, free[index(back)]});
    schedule.add(step, Op::Reduce, turn.tree, src, dst, std::array{turn.link});
    schedule.add(step, Op::Reduce, turn.tree, dst, src, std::array{back});
    free[index(turn.link)] = free[index(back)] = at_src = at_dst = step + 1;
  }
  schedule.canonicalize();
  return schedule;
}

constexpr std::uint64_t kMostPieces = 1 << 12;
/// Of so many pieces all options are tried, of more the first.
constexpr std::uint32_t kFewPieces = 512;
const std::array<ShortTreesOptions, 4> kOptions{{{.from_least = false, .idle_middles = true},
                                                 {.from_least = false, .idle_middles = false},
                                                 {.from_least = true, .idle_middles = true},
                                                 {.from_least = true, .idle_middles = false}}};
/// What a message has beside its data, about: pieces are so small that it counts.
constexpr std::uint64_t kHeaderBytes = 16;

/// Where there are many, as many for each rank: middles are as many as ranks, or as links, where
/// all are alike.
std::uint64_t count_of(std::uint64_t bytes, std::uint64_t piece, std::uint64_t ranks) {
  const std::uint64_t count = std::clamp<std::uint64_t>(bytes / piece, 1, kMostPieces);
  return count < ranks ? count : (count + ranks / 2) / ranks * ranks;
}

PieceTimes times_of(const Topology& topology, std::uint64_t bytes) {
  PieceTimes times;
  for (const Link& link : topology.links()) {
    const double seconds = static_cast<double>(bytes + kHeaderBytes) /
                           static_cast<double>(link.bandwidth.bytes_per_second);
    times.busy.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds * 1e12)));
    times.hop.push_back(link.latency.picoseconds + times.busy.back());
  }
  return times;
}

}  // namespace

TimedSchedule time_short_trees(const ShortTrees& trees, const Topology& topology,
                               const PieceTimes& times, std::int64_t spread) {
  ListScheduler scheduler(trees, topology, times, spread);
  const std::vector<Turn> turns = scheduler.run();
  return {number_steps(trees, topology, turns), scheduler.end()};
}

Schedule short_all_reduce(const Topology& topology, std::uint64_t bytes, std::uint64_t piece) {
  if (topology.num_ranks() == 1) return all_reduce_header(topology, 1);
  const auto count = static_cast<std::uint32_t>(count_of(bytes, piece, topology.num_ranks()));
  const PieceTimes times = times_of(topology, (bytes + count - 1) / count);
  const std::span options(kOptions.begin(), count > kFewPieces ? 1 : kOptions.size());
  TimedSchedule best;
  for (ShortTreesOptions option : options) {
    for (const std::uint32_t exchange : {1U, 2U, 4U}) {
      option.exchange = exchange;
      const ShortTrees trees = grow_short_trees(topology, times, bytes, count, option);
      if (trees.trees.empty()) continue;
      for (const std::int64_t spread : {0, 30, 100}) {
        TimedSchedule timed = time_short_trees(trees, topology, times, spread);
        if (best.schedule.chunks.empty() || timed.end < best.end) best = std::move(timed);
      }
    }
  }
  return std::move(best.schedule);
}

}  // namespace multitree
