// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Hill climbing over regular graphs, distances by sets of bits.
#include "algorithms/design/regular_graph.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <set>

namespace multitree {
namespace {

/// Word operations that a search may take: about a second.
constexpr std::uint64_t kSearchWork = 1'000'000'000;
constexpr std::uint64_t kMostExchanges = 200'000;

/// Who has been reached from each rank, by bits.
class Reach {
 public:
  explicit Reach(std::uint32_t ranks) : ranks_(ranks), words_((ranks + 63) / 64) {}

  Spread measure(const Cables& cables) {
    neighbours_.assign(ranks_, {});
    for (const auto& [a, b] : cables) {
      neighbours_[a].push_back(b);
      neighbours_[b].push_back(a);
    }
    now_.assign(std::size_t{ranks_} * words_, 0);
    for (std::uint32_t r = 0; r < ranks_; ++r)
      now_[r * words_ + r / 64] |= std::uint64_t{1} << r % 64;
    const std::uint64_t all = std::uint64_t{ranks_} * ranks_;
    Spread spread;
    for (std::uint64_t reached = ranks_; reached < all;) {
      // Each pair that is not reached yet is at least one hop farther apart.
      spread.distances += all - reached;
      ++spread.hops;
      const std::uint64_t before = reached;
      reached = step();
      if (reached == before) return {std::numeric_limits<std::uint32_t>::max(), all * ranks_};
    }
    return spread;
  }

 private:
  std::uint64_t step() {
    next_ = now_;
    std::uint64_t reached = 0;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      std::uint64_t* mine = next_.data() + r * words_;
      for (const std::uint32_t other : neighbours_[r]) {
        const std::uint64_t* theirs = now_.data() + other * words_;
        for (std::size_t w = 0; w < words_; ++w) mine[w] |= theirs[w];
      }
      for (std::size_t w = 0; w < words_; ++w) {
        reached += static_cast<std::uint64_t>(std::popcount(mine[w]));
      }
    }
    now_.swap(next_);
    return reached;
  }

  std::uint32_t ranks_;
  std::size_t words_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<std::uint64_t> now_, next_;
};

std::pair<std::uint32_t, std::uint32_t> cable(std::uint32_t a, std::uint32_t b) {
  return {std::min(a, b), std::max(a, b)};
}

/// A circulant: a regular graph to begin with.
Cables first_cables(std::uint32_t ranks, std::uint32_t ports) {
  Cables cables;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t offset = 1; offset <= ports / 2; ++offset) {
      cables.push_back(cable(r, (r + offset) % ranks));
    }
    if (ports % 2 == 1 && r < ranks / 2) cables.push_back(cable(r, r + ranks / 2));
  }
  return cables;
}

/// The cables, and which there are.
class Exchanges {
 public:
  Exchanges(Cables cables, std::uint64_t seed)
      : cables_(std::move(cables)), there_(cables_.begin(), cables_.end()), random_(seed) {}

  [[nodiscard]] const Cables& cables() const { return cables_; }

  /// Takes two cables away and joins their ends the other way; false if that is no network.
  bool exchange() {
    first_ = random_() % cables_.size();
    second_ = random_() % cables_.size();
    auto [a, b] = cables_[first_];
    auto [c, d] = cables_[second_];
    if (random_() % 2 == 0) std::swap(c, d);
    if (a == c || a == d || b == c || b == d) return false;
    const auto one = cable(a, c), two = cable(b, d);
    if (there_.contains(one) || there_.contains(two)) return false;
    old_ = {cables_[first_], cables_[second_]};
    replace({one, two});
    return true;
  }

  void undo() { replace(old_); }

 private:
  void replace(const std::pair<Cables::value_type, Cables::value_type>& by) {
    there_.erase(cables_[first_]);
    there_.erase(cables_[second_]);
    cables_[first_] = by.first;
    cables_[second_] = by.second;
    there_.insert(by.first);
    there_.insert(by.second);
  }

  Cables cables_;
  std::set<Cables::value_type> there_;
  std::mt19937_64 random_;
  std::size_t first_ = 0, second_ = 0;
  std::pair<Cables::value_type, Cables::value_type> old_;
};

}  // namespace

Spread spread_of(const Cables& cables, std::uint32_t ranks) { return Reach(ranks).measure(cables); }

Cables search_regular(std::uint32_t ranks, std::uint32_t ports, std::uint64_t seed) {
  Exchanges search(first_cables(ranks, ports), seed);
  const std::size_t cables = search.cables().size();
  for (std::size_t i = 0; i < 20 * cables; ++i) search.exchange();  // far from where it began
  Reach reach(ranks);
  Spread best = reach.measure(search.cables());
  const std::uint64_t work = 4 * std::uint64_t{ranks} * (ports + 1) * ((ranks + 63) / 64);
  const std::uint64_t rounds = std::min(kMostExchanges, kSearchWork / work);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (!search.exchange()) continue;
    const Spread now = reach.measure(search.cables());
    if (now <= best) {
      best = now;
    } else {
      search.undo();
    }
  }
  return search.cables();
}

}  // namespace multitree
