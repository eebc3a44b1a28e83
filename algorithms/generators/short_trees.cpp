// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which ranks exchange, and which links each piece takes.
#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "algorithms/generators/short_trees_internal.hpp"

namespace multitree {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;
/// Every piece looks for its tree so many times, beside those of all others.
constexpr int kPasses = 3;
/// Links are balanced at each of so many distances from the middle.
constexpr std::size_t kLevels = 16;
/// Dense networks have more squares than are worth comparing.
constexpr std::size_t kMostMiddles = 4096;
/// Prices double with each piece that a link carries more, and with each piece at the same distance
/// from the middle: up to the most that one carries, so often above the least price, or from the
/// least that one carries on.
constexpr std::int64_t kDoubled = 36, kDoubledAtLevel = 8;
/// For sums in 64 bits.
constexpr std::int64_t kMostDoubled = 48;

class Grower {
 public:
  Grower(const Topology& topology, const PieceTimes& times, std::uint64_t bytes,
         std::uint32_t pieces, const ShortTreesOptions& options)
      : topology_(topology),
        times_(times),
        options_(options),
        ranks_(topology.num_ranks()),
        load_(topology.num_links(), 0),
        levels_{std::vector<std::int64_t>(topology.num_links() * kLevels, 0),
                std::vector<std::int64_t>(topology.num_links() * kLevels, 0)} {
    shortest_busy_ = std::max<std::int64_t>(1, std::ranges::min(times.busy));
    shortest_hop_ = std::max<std::int64_t>(1, std::ranges::min(times.hop));
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      std::uint64_t rate = 0;
      for (const LinkId id : topology.out_links(node(r))) {
        rate += topology.link(id).bandwidth.bytes_per_second;
      }
      rates_.push_back(rate);
      drain_.push_back(
          static_cast<std::int64_t>(1e12 * static_cast<double>(bytes) / static_cast<double>(rate)));
    }
    all_.trees.resize(pieces);
  }

  ShortTrees grow() && {
    find_middles(options_.exchange);
    if (all_.middles.empty()) return {};
    uses_.resize(all_.middles.size(), 0);
    for (int pass = 0; pass < kPasses; ++pass) {
      for (ShortTree& tree : all_.trees) {
        if (pass == 0) {
          tree.middle = least_used();
          ++uses_[tree.middle];
        } else {
          count(tree, -1);
        }
        grow_tree(tree);
        count(tree, 1);
      }
    }
    return std::move(all_);
  }

 private:
  [[nodiscard]] NodeId node(std::uint32_t rank) const { return topology_.node_of(Rank{rank}); }
  [[nodiscard]] std::uint32_t rank_at(NodeId id) const { return index(*topology_.node(id).rank); }
  [[nodiscard]] std::uint32_t end_of(LinkId id) const { return rank_at(topology_.link(id).dst); }
  [[nodiscard]] LinkId back(LinkId id) const { return *topology_.mate(id); }

  /// Who passes on for others has no fewer links than most.
  [[nodiscard]] bool serves(std::uint32_t rank) const {
    return 4 * rates_[rank] > 3 * std::ranges::max(rates_);
  }

  /// All neighbours that could be one, and of these those with the least time for the last piece of
  /// the slowest rank, or nearly.
  void find_middles(std::uint32_t exchange) {
    std::vector<Middle> found;
    for (std::uint32_t a = 0; a < ranks_ && found.size() < kMostMiddles; ++a) {
      if (!serves(a)) continue;
      if (exchange == 1) found.push_back({{a}, {}, {}});
      if (exchange == 2) add_pairs(a, found);
      if (exchange == 4) add_squares(a, found);
    }
    std::vector<std::int64_t> takes;
    for (Middle& middle : found) {
      middle.distance = distances(middle.ranks);
      std::int64_t last = 0, swaps = 0;
      for (std::uint32_t r = 0; r < ranks_; ++r) {
        last = std::max(last, drain_[r] + middle.distance[r]);
      }
      for (const auto& round : middle.rounds) swaps += hop_of(round);
      takes.push_back(last + swaps + std::ranges::max(middle.distance));
    }
    if (found.empty()) return;
    const std::int64_t least = std::ranges::min(takes);
    for (std::size_t m = 0; m < found.size(); ++m) {
      if (takes[m] <= least + least / kNearly) all_.middles.push_back(std::move(found[m]));
    }
  }

  void add_pairs(std::uint32_t a, std::vector<Middle>& found) const {
    for (const LinkId there : topology_.out_links(node(a))) {
      const std::uint32_t b = end_of(there);
      if (a < b && serves(b)) found.push_back({{a, b}, {{there}}, {}});
    }
  }

  /// a - b and c - d swap, then a - c and b - d.
  void add_squares(std::uint32_t a, std::vector<Middle>& found) const {
    for (const LinkId ab : topology_.out_links(node(a))) {
      for (const LinkId ac : topology_.out_links(node(a))) {
        const std::uint32_t b = end_of(ab), c = end_of(ac);
        if (b <= a || c <= a || b == c || !serves(b) || !serves(c)) continue;
        for (const LinkId cd : topology_.out_links(node(c))) {
          const std::uint32_t d = end_of(cd);
          if (d <= a || d == b || !serves(d)) continue;
          for (const LinkId bd : topology_.out_links(node(b))) {
            if (end_of(bd) == d) found.push_back({{a, b, c, d}, {{ab, cd}, {ac, bd}}, {}});
          }
        }
      }
    }
  }

  [[nodiscard]] std::int64_t hop_of(const std::vector<LinkId>& round) const {
    std::int64_t longest = 0;
    for (const LinkId id : round) longest = std::max(longest, times_.hop[index(id)]);
    return longest;
  }

  [[nodiscard]] std::vector<std::int64_t> distances(const std::vector<std::uint32_t>& from) const {
    std::vector<std::int64_t> distance(ranks_, kFar);
    std::set<std::pair<std::int64_t, std::uint32_t>> next;
    for (const std::uint32_t r : from) next.insert({distance[r] = 0, r});
    while (!next.empty()) {
      const auto [so_far, at] = *next.begin();
      next.erase(next.begin());
      for (const LinkId id : topology_.out_links(node(at))) {
        const std::uint32_t to = end_of(id);
        if (so_far + times_.hop[index(id)] >= distance[to]) continue;
        next.erase({distance[to], to});
        next.insert({distance[to] = so_far + times_.hop[index(id)], to});
      }
    }
    return distance;
  }

  /// Of these the first, or the one whose links carry least.
  [[nodiscard]] std::uint32_t least_used() const {
    std::tuple<std::uint32_t, std::int64_t, std::uint32_t> best{~std::uint32_t{0}, kFar, 0};
    for (std::uint32_t m = 0; m < uses_.size(); ++m) {
      std::int64_t load = 0;
      for (const auto& round : all_.middles[m].rounds) {
        if (!options_.idle_middles) break;
        for (const LinkId id : round) load += load_[index(id)] + load_[index(back(id))];
      }
      best = std::min(best, {uses_[m], load, m});
    }
    return std::get<2>(best);
  }

  /// How often a piece that all links carry equally fast would be on this link.
  [[nodiscard]] std::int64_t units(LinkId id) const {
    return (times_.busy[index(id)] + shortest_busy_ / 2) / shortest_busy_;
  }
  [[nodiscard]] std::size_t level(std::int64_t depth) const {
    const auto hops = static_cast<std::size_t>((depth + shortest_hop_ / 2) / shortest_hop_);
    return std::min(hops, kLevels - 1);
  }

  void count(const ShortTree& tree, std::int64_t change) {
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      const LinkId up = tree.up[r];
      if (up == ShortTree::kNoUp) continue;
      const std::size_t at = level(tree.depth[end_of(up)]);
      for (const LinkId id : {up, back(up)}) load_[index(id)] += change * units(id);
      levels_[0][index(up) * kLevels + at] += change;
      levels_[1][index(back(up)) * kLevels + at] += change;
    }
    for (const auto& round : all_.middles[tree.middle].rounds) {
      for (const LinkId id : round) {
        load_[index(id)] += change * units(id);
        load_[index(back(id))] += change * units(back(id));
      }
    }
  }

  void find_marks() {
    const auto pick = [&](std::int64_t a, std::int64_t b) {
      return options_.from_least ? std::min(a, b) : std::max(a, b);
    };
    mark_ = load_.front();
    for (const std::int64_t load : load_) mark_ = pick(mark_, load);
    for (std::size_t way = 0; way < 2; ++way) {
      marks_[way].assign(levels_[way].begin(), levels_[way].begin() + kLevels);
      for (std::size_t i = 0; i < levels_[way].size(); ++i) {
        std::int64_t& mark = marks_[way][i % kLevels];
        mark = pick(mark, levels_[way][i]);
      }
    }
  }

  [[nodiscard]] std::uint64_t price(LinkId id, std::size_t way, std::size_t at) const {
    const std::int64_t more = load_[index(id)] + units(id) - mark_;
    const std::int64_t here = levels_[way][index(id) * kLevels + at] - marks_[way][at];
    if (options_.from_least) return std::uint64_t{1} << std::min(more + here, kMostDoubled);
    return std::uint64_t{1} << std::min(std::max<std::int64_t>(0, kDoubled + more) +
                                            std::max<std::int64_t>(0, kDoubledAtLevel + here),
                                        kMostDoubled);
  }

  /// The farthest ranks choose first, among ways that make no piece later.
  void grow_tree(ShortTree& tree) {
    find_marks();
    const Middle& middle = all_.middles[tree.middle];
    tree.up.assign(ranks_, ShortTree::kNoUp);
    tree.depth.assign(ranks_, -1);
    for (const std::uint32_t r : middle.ranks) tree.depth[r] = 0;
    std::vector<std::uint32_t> order(ranks_);
    for (std::uint32_t r = 0; r < ranks_; ++r) order[r] = r;
    std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return middle.distance[a] > middle.distance[b];
    });
    for (const std::uint32_t r : order) {
      if (tree.depth[r] >= 0 || attach(tree, middle, r, std::ranges::max(middle.distance)))
        continue;
      // What is in the tree already takes a longer way than the rank's shortest one could bear.
      attach(tree, middle, r, kFar);
    }
  }

  /// A way from a rank to the tree that is being searched for.
  struct Label {
    std::uint64_t cost = 0;
    std::int64_t length = 0;
    std::uint32_t rank = 0;
    std::size_t from = 0;  // label before, which takes `up` to this one
    LinkId up{};
  };

  /// The cheapest way to the tree of those to the middle that are no longer than `budget`; whether
  /// there is one.
  bool attach(ShortTree& tree, const Middle& middle, std::uint32_t rank, std::int64_t budget) {
    std::vector<Label> labels{{0, 0, rank, 0, ShortTree::kNoUp}};
    using Next = std::tuple<std::uint64_t, std::int64_t, std::uint32_t, std::size_t>;
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    next.push({0, 0, rank, 0});
    std::vector<std::int64_t> shortest(ranks_, kFar);
    while (!next.empty()) {
      const std::size_t number = std::get<3>(next.top());
      next.pop();
      const Label label = labels[number];
      if (tree.depth[label.rank] >= 0) {
        add_way(tree, labels, number);
        return true;
      }
      if (shortest[label.rank] <= label.length) continue;
      shortest[label.rank] = label.length;
      for (const LinkId up : topology_.out_links(node(label.rank))) {
        const std::uint32_t to = end_of(up);
        const std::int64_t length = label.length + times_.hop[index(back(up))];
        const std::int64_t rest = tree.depth[to] >= 0 ? tree.depth[to] : middle.distance[to];
        if (rest + length > budget) continue;
        const std::size_t at = level(rest);
        const std::uint64_t cost = label.cost + price(up, 0, at) + price(back(up), 1, at);
        next.push({cost, length, to, labels.size()});
        labels.push_back({cost, length, to, number, up});
      }
    }
    return false;
  }

  void add_way(ShortTree& tree, const std::vector<Label>& labels, std::size_t number) const {
    for (; number != 0; number = labels[number].from) {
      const Label& end = labels[number];
      const std::uint32_t rank = labels[end.from].rank;
      tree.up[rank] = end.up;
      tree.depth[rank] = tree.depth[end.rank] + times_.hop[index(back(end.up))];
    }
  }

  static constexpr std::int64_t kNearly = 64;

  const Topology& topology_;
  const PieceTimes& times_;
  ShortTreesOptions options_;
  std::uint32_t ranks_;
  std::vector<std::uint64_t> rates_;  // by rank, of all its links
  std::vector<std::int64_t> drain_;   // by rank: to send all that it has
  std::int64_t shortest_busy_ = 1, shortest_hop_ = 1;
  ShortTrees all_;
  std::vector<std::uint32_t> uses_;                  // by middle
  std::vector<std::int64_t> load_;                   // by link, in units()
  std::int64_t mark_ = 0;                            // the most or least of load_
  std::array<std::vector<std::int64_t>, 2> levels_;  // up, down: by link and level
  std::array<std::vector<std::int64_t>, 2> marks_;   // by level
};

}  // namespace

ShortTrees grow_short_trees(const Topology& topology, const PieceTimes& times, std::uint64_t bytes,
                            std::uint32_t pieces, const ShortTreesOptions& options) {
  return Grower(topology, times, bytes, pieces, options).grow();
}

}  // namespace multitree
