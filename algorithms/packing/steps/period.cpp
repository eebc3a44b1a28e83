// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Places of a period by putting out what is in the way.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <tuple>

#include "algorithms/packing/steps/period_internal.hpp"

namespace multitree {
namespace {

/// Transfers of a period: more take too long to place.
constexpr std::uint64_t kMostArcs = 4096;
/// Slots of a period, for the same reason.
constexpr std::uint64_t kMostSlots = 4096;
/// A period that is longer by a slot should not be longer by much.
constexpr std::uint64_t kManySlots = 48;
/// Looks at a slot of a link before a period of another length is tried: a measure of effort.
constexpr std::uint64_t kMostLooks = 16'000'000;
constexpr std::uint32_t kNobody = ~std::uint32_t{0};

/// A link of a route, and for how many slots it is busy.
struct Use {
  std::uint32_t link = 0, slots = 1;
};

/// What has to be placed.
struct Item {
  std::uint32_t tree = 0, copy = 0, arc = 0;
  std::uint32_t src = 0, dst = 0;
  bool reduces = false;
  std::vector<Use> uses;
  std::uint64_t slots = 0;  ///< of its slowest link
};

/// Chunks of each tree in a period: in proportion to weights, exactly if that is not too many.
std::vector<std::uint32_t> chunks_of(const TreePacking& packing) {
  std::uint64_t unit = 0, all = 0, arcs = 0;
  for (const PackedTree& tree : packing.trees) {
    unit = std::gcd(unit, tree.weight);
    all += tree.weight;
    arcs = std::max<std::uint64_t>(arcs, tree.gather.size() + tree.reduce.size());
  }
  const std::uint64_t most = kMostArcs / std::max<std::uint64_t>(arcs, 1);
  std::vector<std::uint32_t> chunks;
  for (const PackedTree& tree : packing.trees) {
    const bool is_exact = all / unit <= most;
    const double share = static_cast<double>(tree.weight) / static_cast<double>(all);
    const double rounded = std::max(1.0, share * static_cast<double>(most) + 0.5);
    chunks.push_back(static_cast<std::uint32_t>(is_exact ? tree.weight / unit
                                                         : static_cast<std::uint64_t>(rounded)));
  }
  return chunks;
}

std::vector<Item> items_of(const TreePacking& packing, const Topology& topology,
                           const std::vector<std::uint32_t>& chunks) {
  std::uint64_t fastest = 1;
  for (const Link& link : topology.links()) {
    fastest = std::max(fastest, link.bandwidth.bytes_per_second);
  }
  std::vector<Item> items;
  for (std::uint32_t t = 0; t < packing.trees.size(); ++t) {
    const PackedTree& tree = packing.trees[t];
    for (std::uint32_t copy = 0; copy < chunks[t]; ++copy) {
      std::uint32_t arc = 0;
      for (const auto* arcs : {&tree.reduce, &tree.gather}) {
        for (const TreeArc& one : *arcs) {
          Item item{t, copy, arc++, index(one.src), index(one.dst), arcs == &tree.reduce, {}, 0};
          for (const LinkId link : packing.route(one)) {
            const std::uint64_t bandwidth = topology.link(link).bandwidth.bytes_per_second;
            const std::uint64_t slots = (fastest + bandwidth / 2) / bandwidth;
            item.uses.push_back({index(link), static_cast<std::uint32_t>(slots)});
            item.slots = std::max(item.slots, slots);
          }
          items.push_back(std::move(item));
        }
      }
    }
  }
  return items;
}

/// Slots that the busiest link is busy.
std::uint64_t busiest(const std::vector<Item>& items, const Topology& topology) {
  std::vector<std::uint64_t> busy(topology.num_links(), 0);
  for (const Item& item : items) {
    for (const Use& use : item.uses) busy[use.link] += use.slots;
  }
  return busy.empty() ? 0 : *std::ranges::max_element(busy);
}

/// Who has which slot of which link.
class Board {
 public:
  Board(const std::vector<Item>& items, std::uint32_t links, std::uint64_t slots,
        std::uint32_t ranks)
      : items_(items),
        slots_(slots),
        ranks_(ranks),
        owner_(links * slots, kNobody),
        place_(items.size(), kNowhere),
        evicted_(items.size(), 0),
        avoid_(items.size(), {kNowhere, 0}) {}

  /// Whether all found a place within the effort.
  bool fill() {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < items_.size(); ++i) place(i, out);
    while (!out.empty() && looks_ < kMostLooks) {
      std::swap(out[random_() % out.size()], out.back());
      const std::uint32_t next = out.back();
      out.pop_back();
      place(next, out);
    }
    return out.empty();
  }

  /// When each starts if a chunk's transfers follow on one another at their places.
  [[nodiscard]] std::vector<std::uint64_t> starts() const {
    std::vector<std::uint64_t> starts(items_.size(), 0), ready(ranks_, 0);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.arc == 0) std::ranges::fill(ready, 0);
      const std::uint64_t at = ready[item.src];
      const std::uint64_t place = place_[i] == kNowhere ? at % slots_ : place_[i];
      starts[i] = at + (place + slots_ - at % slots_) % slots_;
      ready[item.dst] = std::max(ready[item.dst], starts[i] + 2 * item.slots);
    }
    return starts;
  }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

  std::uint32_t& owner(std::uint32_t link, std::uint64_t slot) {
    return owner_[link * slots_ + (slot < slots_ ? slot : slot - slots_)];
  }

  /// Those that have what the item would need at a slot; stops where they cost more than `most`.
  double conflicts(const Item& item, std::uint64_t slot, double most,
                   std::vector<std::uint32_t>& found) {
    found.clear();
    double cost = 0;
    for (const Use& use : item.uses) {
      for (std::uint32_t s = 0; s < use.slots; ++s) {
        const std::uint32_t other = owner(use.link, slot + s);
        ++looks_;
        if (other == kNobody || std::ranges::find(found, other) != found.end()) continue;
        found.push_back(other);
        cost += 1 + 0.02 * evicted_[other];
        if (cost >= most) return cost;
      }
    }
    return cost;
  }

  /// The earliest time at which the item has its data, by what is placed.
  std::uint64_t ready(std::uint32_t i) const {
    std::uint64_t ready = 0;
    for (std::uint32_t before = i; before-- > i - items_[i].arc;) {
      if (items_[before].dst != items_[i].src || place_[before] == kNowhere) continue;
      ready = std::max(ready, place_[before] + 2 * items_[before].slots);
    }
    return ready % slots_;
  }

  void place(std::uint32_t i, std::vector<std::uint32_t>& out) {
    const Item& item = items_[i];
    const std::uint64_t from = ready(i);
    double best = std::numeric_limits<double>::infinity();
    std::uint64_t slot = 0;
    std::vector<std::uint32_t> found, put_out;
    for (std::uint64_t k = 0; k < slots_ && best > 0; ++k) {
      const std::uint64_t at = from + k < slots_ ? from + k : from + k - slots_;
      double cost = conflicts(item, at, best, found);
      // It does not go back at once to where it was put out.
      if (avoid_[i].slot == at && avoid_[i].until > turn_) cost += 5;
      cost += cost > 0 ? 0.001 * static_cast<double>(random_() % 256) : 0;
      if (cost >= best) continue;
      best = cost;
      slot = at;
      put_out = found;
    }
    ++turn_;
    for (const std::uint32_t other : put_out) {
      take(other, place_[other], kNobody);
      avoid_[other] = {place_[other], turn_ + 20 + random_() % 20};
      place_[other] = kNowhere;
      ++evicted_[other];
      out.push_back(other);
    }
    take(i, slot, i);
    place_[i] = slot;
  }

  void take(std::uint32_t i, std::uint64_t slot, std::uint32_t who) {
    for (const Use& use : items_[i].uses) {
      for (std::uint32_t s = 0; s < use.slots; ++s) owner(use.link, slot + s) = who;
    }
  }

  struct Avoided {
    std::uint64_t slot = 0, until = 0;
  };

  const std::vector<Item>& items_;
  std::uint64_t slots_;
  std::uint32_t ranks_;
  std::vector<std::uint32_t> owner_;  // by link and slot
  std::vector<std::uint64_t> place_;  // by item
  std::vector<std::uint32_t> evicted_;
  std::vector<Avoided> avoid_;
  std::uint64_t turn_ = 0, looks_ = 0;
  std::mt19937_64 random_{1};
};

/// Tries a length. \returns whether all have found a place
bool try_length(std::uint64_t slots, const std::vector<Item>& items, const TreePacking& packing,
                const Topology& topology, Period& period) {
  Board board(items, topology.num_links(), slots, packing.ranks);
  const bool is_full = board.fill();
  const std::vector<std::uint64_t> starts = board.starts();
  period.slots = slots;
  period.arcs.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    period.arcs.push_back({items[i].tree, items[i].copy, items[i].arc, starts[i]});
  }
  std::ranges::stable_sort(period.arcs, {}, &PeriodicArc::start);
  return is_full;
}

}  // namespace

std::uint64_t arcs_of_period(const TreePacking& packing) {
  const std::vector<std::uint32_t> chunks = chunks_of(packing);
  std::uint64_t arcs = 0;
  for (std::size_t t = 0; t < chunks.size(); ++t) {
    arcs += chunks[t] * (packing.trees[t].gather.size() + packing.trees[t].reduce.size());
  }
  return arcs > 2 * kMostArcs ? 0 : arcs;
}

Period find_period(const TreePacking& packing, const Topology& topology) {
  Period period;
  period.chunks = chunks_of(packing);
  std::vector<Item> items = items_of(packing, topology, period.chunks);
  std::uint64_t least = busiest(items, topology);
  if (items.empty() || items.size() > 2 * kMostArcs || least > kMostSlots) return {};
  if (try_length(least, items, packing, topology, period)) return period;
  if (least < kManySlots) {
    const std::uint64_t times = std::min((kManySlots + least - 1) / least,
                                         std::max<std::uint64_t>(1, kMostArcs / items.size()));
    for (std::uint32_t& chunks : period.chunks) chunks *= static_cast<std::uint32_t>(times);
    items = items_of(packing, topology, period.chunks);
    least *= times;
  }
  for (const std::uint64_t part : {64U, 32U, 16U}) {
    if (try_length(least + (least + part - 1) / part, items, packing, topology, period)) break;
  }
  return period;
}

}  // namespace multitree
