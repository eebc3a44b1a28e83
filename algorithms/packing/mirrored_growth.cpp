// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Growth of broadcasts and their mirror images, and the search over roots and starts.
#include "algorithms/packing/mirrored_growth.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace multitree {
namespace {

/// Candidates weighed in the search for fewer steps, about a second's worth.
constexpr std::uint64_t kEffort = 10'000'000;
/// Beyond this many ranks an attempt takes so long that the first that works has to do.
constexpr std::uint32_t kManyRanks = 100;

/// Distances, and how far a chunk still has to go.
struct Distances {
  explicit Distances(const Topology& topology);

  std::uint32_t ranks;
  std::vector<std::uint32_t> hops;          // [from * ranks + to]
  std::vector<std::uint32_t> eccentricity;  // by rank
  /// [root * ranks + v]: hops from v to the farthest rank that v is on the way to.
  std::vector<std::uint32_t> beyond;
  std::vector<std::uint32_t> central;  // ranks, the least eccentric first
};

Distances::Distances(const Topology& topology) : ranks(topology.num_ranks()) {
  hops.assign(std::size_t{ranks} * ranks, ranks);
  for (std::uint32_t root = 0; root < ranks; ++root) {
    std::uint32_t* to = &hops[std::size_t{root} * ranks];
    std::vector<std::uint32_t> queue{root};
    to[root] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const LinkId link : topology.out_links(topology.node_of(Rank{queue[head]}))) {
        const std::uint32_t next = index(*topology.node(topology.link(link).dst).rank);
        if (to[next] < ranks) continue;
        to[next] = to[queue[head]] + 1;
        queue.push_back(next);
      }
    }
    eccentricity.push_back(to[queue.back()]);
  }
  beyond.assign(hops.size(), 0);
  for (std::uint32_t root = 0; root < ranks; ++root) {
    for (std::uint32_t v = 0; v < ranks; ++v) {
      std::uint32_t& most = beyond[std::size_t{root} * ranks + v];
      for (std::uint32_t w = 0; w < ranks; ++w) {
        const std::uint32_t on = hops[std::size_t{v} * ranks + w];
        const std::uint32_t straight = hops[std::size_t{root} * ranks + w];
        if (hops[std::size_t{root} * ranks + v] + on == straight) most = std::max(most, on);
      }
    }
  }
  central.resize(ranks);
  std::iota(central.begin(), central.end(), 0U);
  std::ranges::stable_sort(central, {}, [&](std::uint32_t v) { return eccentricity[v]; });
}

/// What an attempt starts from. Chunks 2p and 2p + 1 are a pair: their broadcasts start at
/// start[p] and at the number of steps minus start[p].
struct Plan {
  std::uint32_t steps = 0;
  std::vector<std::uint32_t> root, start;  // by pair
  std::uint64_t seed = 0;                  // of ties
};

struct Sending {
  std::uint32_t step = 0, chunk = 0;
  LinkId link{};
};

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class Growth {
 public:
  Growth(const Topology& topology, const Distances& distances, const Plan& plan)
      : topology_(topology),
        distances_(distances),
        plan_(plan),
        chunks_(static_cast<std::uint32_t>(2 * plan.root.size())),
        words_((chunks_ + 63) / 64),
        has_(std::size_t{distances.ranks} * words_, 0),
        holders_(chunks_, 0),
        used_(std::size_t{plan.steps} * topology.num_links(), 0),
        missing_(std::uint64_t{chunks_} * (distances.ranks - 1)) {}

  /// Returns how many ranks lack how many chunks in the end.
  std::uint64_t run() {
    for (std::uint32_t step = 0; step < plan_.steps; ++step) {
      for (std::uint32_t c = 0; c < chunks_; ++c) {
        const std::uint32_t start = plan_.start[c / 2];
        if ((c % 2 == 0 ? start : plan_.steps - start) == step) give(plan_.root[c / 2], c);
      }
      const std::size_t before = sendings_.size();
      for (std::uint32_t rank = 0; rank < distances_.ranks; ++rank) receive(rank, step);
      for (std::size_t i = before; i < sendings_.size(); ++i) {
        give(index(*topology_.node(topology_.link(sendings_[i].link).dst).rank),
             sendings_[i].chunk);
      }
      missing_ -= sendings_.size() - before;
    }
    return missing_;
  }

  [[nodiscard]] const std::vector<Sending>& sendings() const { return sendings_; }
  [[nodiscard]] std::uint64_t effort() const { return effort_; }

 private:
  struct Candidate {
    std::uint64_t key = 0;
    std::uint32_t chunk = 0, slot = 0;
    bool operator<(const Candidate& other) const { return key < other.key; }
  };

  void give(std::uint32_t rank, std::uint32_t chunk) {
    has_[rank * words_ + chunk / 64] |= std::uint64_t{1} << (chunk % 64);
    ++holders_[chunk];
  }

  [[nodiscard]] std::uint8_t& used(std::uint32_t step, LinkId link) {
    return used_[std::size_t{step} * topology_.num_links() + index(link)];
  }

  /// Time left, then holders, then chance.
  [[nodiscard]] std::uint64_t key(std::uint32_t chunk, std::uint32_t rank, std::uint32_t step,
                                  LinkId link) {
    ++effort_;
    const std::uint32_t root = plan_.root[chunk / 2];
    const std::uint32_t after = plan_.steps - 1 - step;
    const std::uint32_t on = distances_.beyond[std::size_t{root} * distances_.ranks + rank];
    const std::uint64_t slack = after < on ? 0 : (after - on) / 2;  // steps matter in pairs
    const std::uint64_t chance =
        mix(plan_.seed + (std::uint64_t{chunk} << 40) + (std::uint64_t{index(link)} << 16) + step);
    return slack << 48 | std::uint64_t{holders_[chunk]} << 32 | chance >> 32;
  }

  /// The free slots of the links into a rank, and for each the best candidates, as many as slots.
  void find_candidates(std::uint32_t rank, std::uint32_t step) {
    slots_.clear();
    candidates_.clear();
    for (const LinkId link : topology_.in_links(topology_.node_of(Rank{rank}))) {
      const std::uint32_t slots = std::min(topology_.slots(link), 255U);
      for (std::uint32_t i = used(step, link); i < slots; ++i) slots_.push_back(link);
    }
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      const std::uint32_t from = index(*topology_.node(topology_.link(slots_[slot]).src).rank);
      const std::size_t first = candidates_.size();
      for (std::uint32_t w = 0; w < words_; ++w) {
        std::uint64_t news = has_[from * words_ + w] & ~has_[rank * words_ + w];
        for (; news != 0; news &= news - 1) {
          const std::uint32_t chunk = w * 64 + static_cast<std::uint32_t>(std::countr_zero(news));
          candidates_.push_back({key(chunk, rank, step, slots_[slot]), chunk, slot});
        }
      }
      if (candidates_.size() - first <= slots_.size()) continue;
      const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(first);
      const auto keep = begin + static_cast<std::ptrdiff_t>(slots_.size());
      std::partial_sort(begin, keep, candidates_.end());
      candidates_.erase(keep, candidates_.end());
    }
    std::ranges::sort(candidates_, {}, [](const Candidate& c) { return std::pair(c.key, c.slot); });
  }

  /// Kuhn's matching of chunks to slots, in the order of the candidates.
  void receive(std::uint32_t rank, std::uint32_t step) {
    find_candidates(rank, step);
    taken_.assign(slots_.size(), kFree);
    for (const Candidate& candidate : candidates_) {
      if (std::ranges::find(taken_, candidate.chunk) != taken_.end()) continue;
      seen_.assign(slots_.size(), false);
      augment(candidate.chunk);
    }
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      if (taken_[slot] == kFree) continue;
      sendings_.push_back({step, taken_[slot], slots_[slot]});
      ++used(step, slots_[slot]);
      ++used(plan_.steps - 1 - step, *topology_.mate(slots_[slot]));
    }
  }

  bool augment(std::uint32_t chunk) {
    for (const Candidate& candidate : candidates_) {
      if (candidate.chunk != chunk || seen_[candidate.slot]) continue;
      seen_[candidate.slot] = true;
      if (taken_[candidate.slot] == kFree || augment(taken_[candidate.slot])) {
        taken_[candidate.slot] = chunk;
        return true;
      }
    }
    return false;
  }

  static constexpr std::uint32_t kFree = ~std::uint32_t{0};
  const Topology& topology_;
  const Distances& distances_;
  const Plan& plan_;
  std::uint32_t chunks_;
  std::size_t words_;
  std::vector<std::uint64_t> has_;      // bits by rank and chunk
  std::vector<std::uint32_t> holders_;  // by chunk
  std::vector<std::uint8_t> used_;      // by step and link: slots taken, by mirror images too
  std::uint64_t missing_, effort_ = 0;
  std::vector<Sending> sendings_;
  std::vector<LinkId> slots_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> taken_;  // by slot: chunk
  std::vector<bool> seen_;
};

/// Local search for a plan that works, for fewer and fewer steps.
class Search {
 public:
  Search(const Topology& topology, std::uint32_t chunks)
      : topology_(topology), distances_(topology), pairs_(chunks / 2) {}

  std::optional<Schedule> run(std::uint32_t most_steps) {
    const bool many = distances_.ranks > kManyRanks;
    std::uint32_t steps = least_steps();
    while (steps < most_steps && !reach(steps, many ? 1 : 4)) steps += 1 + (many ? steps / 32 : 0);
    if (steps >= most_steps) return std::nullopt;
    const std::uint64_t most_effort = effort_ + kEffort;
    while (!many && steps > least_steps() && reach(steps - 1, kManyTries, most_effort)) --steps;
    return make_schedule();
  }

 private:
  static constexpr int kManyTries = 2000;

  [[nodiscard]] std::uint32_t radius() const {
    return distances_.eccentricity[distances_.central[0]];
  }

  /// There and back, and work over links.
  [[nodiscard]] std::uint32_t least_steps() const {
    std::uint64_t slots = 0;
    for (std::uint32_t l = 0; l < topology_.num_links(); ++l) slots += topology_.slots(LinkId{l});
    const std::uint64_t work = 4 * std::uint64_t{pairs_} * (distances_.ranks - 1);
    return std::max(2 * radius(), static_cast<std::uint32_t>((work + slots - 1) / slots));
  }

  /// A root among the more central ranks, from which everything is reached by then.
  std::uint32_t draw_root(std::uint32_t start) {
    const std::size_t some = std::max<std::size_t>(4, distances_.ranks / 8);
    const std::size_t choice = std::min<std::size_t>(some, distances_.ranks);
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t root = distances_.central[random_() % choice];
      if (distances_.eccentricity[root] <= start) return root;
    }
    return distances_.central[0];
  }

  /// Starts spread evenly from the first possible one to the middle.
  Plan first_plan(std::uint32_t steps) {
    Plan plan{.steps = steps, .root = {}, .start = {}, .seed = random_()};
    for (std::uint32_t p = 0; p < pairs_; ++p) {
      plan.start.push_back(radius() + p * (steps / 2 - radius() + 1) / pairs_);
      plan.root.push_back(draw_root(plan.start.back()));
    }
    return plan;
  }

  void change(Plan& plan) {
    for (std::uint64_t moves = 1 + random_() % 2; moves > 0; --moves) {
      const std::size_t p = random_() % pairs_, q = random_() % pairs_;
      if (random_() % 2 == 0) {
        plan.root[p] = draw_root(plan.start[p]);
      } else if (distances_.eccentricity[plan.root[p]] <= plan.start[q] &&
                 distances_.eccentricity[plan.root[q]] <= plan.start[p]) {
        std::swap(plan.start[p], plan.start[q]);
      }
    }
    if (random_() % 2 == 0) plan.seed = random_();
  }

  bool reach(std::uint32_t steps, int tries, std::uint64_t most_effort = ~std::uint64_t{0}) {
    constexpr int kFresh = 16;  // plans from scratch before the best of them is changed
    Plan best;
    std::uint64_t least_missing = ~std::uint64_t{0};
    for (int i = 0; i < tries && effort_ < most_effort; ++i) {
      Plan plan = i < kFresh ? first_plan(steps) : best;
      if (i >= kFresh) change(plan);
      Growth growth(topology_, distances_, plan);
      const std::uint64_t missing = growth.run();
      effort_ += growth.effort();
      if (missing <= least_missing) {
        least_missing = missing;
        best = plan;
      }
      if (missing == 0) {
        found_ = std::move(plan);
        sendings_ = growth.sendings();
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] Schedule make_schedule() const {
    Schedule schedule;
    schedule.collective = Collective::AllReduce;
    schedule.ranks = distances_.ranks;
    for (std::uint32_t c = 0; c < 2 * pairs_; ++c) {
      schedule.chunks.push_back({.owner = Rank{found_.root[c / 2]}, .tree = c, .weight = 1});
    }
    const auto rank = [&](NodeId node) { return *topology_.node(node).rank; };
    for (const Sending& s : sendings_) {
      const Link& link = topology_.link(s.link);
      const LinkId mate = *topology_.mate(s.link);
      schedule.add(s.step, Op::Copy, s.chunk, rank(link.src), rank(link.dst), {&s.link, 1});
      schedule.add(found_.steps - 1 - s.step, Op::Reduce, s.chunk ^ 1U, rank(link.dst),
                   rank(link.src), {&mate, 1});
    }
    schedule.canonicalize();
    return schedule;
  }

  const Topology& topology_;
  Distances distances_;
  std::uint32_t pairs_;
  std::mt19937_64 random_{2};
  std::uint64_t effort_ = 0;
  Plan found_;
  std::vector<Sending> sendings_;
};

}  // namespace

std::optional<Schedule> grow_mirrored(const Topology& topology, std::uint32_t chunks,
                                      std::uint32_t most_steps) {
  return Search(topology, chunks).run(most_steps);
}

}  // namespace multitree
