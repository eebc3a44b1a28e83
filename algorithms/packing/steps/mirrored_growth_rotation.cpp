// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Distances, and automorphisms found by them.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "algorithms/packing/steps/mirrored_growth_internal.hpp"

namespace multitree::mirrored {
namespace {

/// Images of the base tried at most.
constexpr std::uint32_t kMaxTries = 4096;
/// Ranks in a base at most, and weighed for each place in it.
constexpr std::size_t kMaxBase = 4, kMaxWeighed = 32;

using Permutation = std::vector<std::uint32_t>;

std::uint32_t rank_of(const Topology& topology, NodeId node) {
  return index(*topology.node(node).rank);
}

/// A few ranks; if it is complete, distances to them tell all ranks apart.
class Base {
 public:
  explicit Base(const Distances& distances) : distances_(distances), class_(distances.ranks) {
    for (std::uint32_t v = 0; v < distances.ranks; ++v) {
      for (std::uint32_t w = 0; w < distances.ranks; ++w) class_[v] += distances(v, w);
    }
    std::map<std::uint32_t, std::uint32_t> members;
    for (const std::uint32_t c : class_) ++members[c];
    Permutation rarest(distances.ranks);
    std::iota(rarest.begin(), rarest.end(), 0U);
    std::ranges::stable_sort(rarest, {}, [&](std::uint32_t v) { return members[class_[v]]; });
    ranks_ = {rarest[0]};
    rarest.resize(std::min(rarest.size(), kMaxWeighed));
    while (!is_complete() && ranks_.size() < kMaxBase) {
      ranks_.push_back(*std::ranges::max_element(rarest, {}, [&](std::uint32_t v) {
        std::vector<std::uint32_t> more = ranks_;
        more.push_back(v);
        return places(more).size();
      }));
    }
  }

  [[nodiscard]] bool is_complete() const { return places(ranks_).size() == distances_.ranks; }

  /// Calls `use` with each map of ranks that keeps distances to the base.
  template <typename Use>
  void for_each_map(Use use) {
    std::vector<std::uint32_t> images;
    std::uint32_t tries = 0;
    extend(images, tries, use);
  }

 private:
  /// Ranks by their distances to some.
  [[nodiscard]] std::map<std::vector<std::uint32_t>, std::uint32_t> places(
      const std::vector<std::uint32_t>& to) const {
    std::map<std::vector<std::uint32_t>, std::uint32_t> found;
    for (std::uint32_t v = 0; v < distances_.ranks; ++v) {
      std::vector<std::uint32_t> place;
      for (const std::uint32_t w : to) place.push_back(distances_(v, w));
      found.emplace(std::move(place), v);
    }
    return found;
  }

  template <typename Use>
  void extend(std::vector<std::uint32_t>& images, std::uint32_t& tries, Use& use) {
    const std::size_t i = images.size();
    if (i == ranks_.size()) {
      if (++tries <= kMaxTries) map_ranks(images, use);
      return;
    }
    for (std::uint32_t v = 0; v < distances_.ranks && tries < kMaxTries; ++v) {
      bool fits = class_[v] == class_[ranks_[i]];
      for (std::size_t j = 0; j < i && fits; ++j) {
        fits = distances_(v, images[j]) == distances_(ranks_[i], ranks_[j]);
      }
      if (!fits) continue;
      images.push_back(v);
      extend(images, tries, use);
      images.pop_back();
    }
  }

  template <typename Use>
  void map_ranks(const std::vector<std::uint32_t>& images, Use& use) const {
    const auto from = places(ranks_), to = places(images);
    if (to.size() != from.size()) return;
    Permutation map(distances_.ranks);
    for (auto a = from.begin(), b = to.begin(); a != from.end(); ++a, ++b) {
      if (a->first != b->first) return;
      map[a->second] = b->second;
    }
    use(map);
  }

  const Distances& distances_;
  std::vector<std::uint32_t> class_;  // sums of distances
  std::vector<std::uint32_t> ranks_;
};

/// The length that all cycles of a permutation have.
std::optional<std::uint32_t> common_cycle(const Permutation& map) {
  std::optional<std::uint32_t> common;
  for (std::uint32_t v = 0; v < map.size(); ++v) {
    std::uint32_t length = 1;
    for (std::uint32_t w = map[v]; w != v; w = map[w]) ++length;
    if (common && *common != length) return std::nullopt;
    common = length;
  }
  return common;
}

/// The i-th of parallel links goes to the i-th between the images of its ends.
std::optional<Permutation> map_links(const Topology& topology, const Permutation& map) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> between;
  const auto ends = [&](std::uint32_t l) {
    const Link& link = topology.link(LinkId{l});
    return std::pair(rank_of(topology, link.src), rank_of(topology, link.dst));
  };
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) between[ends(l)].push_back(l);
  Permutation links(topology.num_links());
  for (const auto& [from, members] : between) {
    const auto to = between.find({map[from.first], map[from.second]});
    if (to == between.end() || to->second.size() != members.size()) return std::nullopt;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const LinkId image{to->second[i]};
      if (topology.slots(image) != topology.slots(LinkId{members[i]})) return std::nullopt;
      links[members[i]] = index(image);
    }
  }
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const LinkId mate = *topology.mate(LinkId{l});
    if (links[index(mate)] != index(*topology.mate(LinkId{links[l]}))) return std::nullopt;
  }
  return links;
}

Permutation after(const Permutation& second, const Permutation& first) {
  Permutation both;
  for (const std::uint32_t v : first) both.push_back(second[v]);
  return both;
}

}  // namespace

Distances::Distances(const Topology& topology) : ranks(topology.num_ranks()) {
  hops.assign(std::size_t{ranks} * ranks, ranks);
  for (std::uint32_t root = 0; root < ranks; ++root) {
    std::uint32_t* to = &hops[std::size_t{root} * ranks];
    std::vector<std::uint32_t> queue{root};
    to[root] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const LinkId link : topology.out_links(topology.node_of(Rank{queue[head]}))) {
        const std::uint32_t next = rank_of(topology, topology.link(link).dst);
        if (to[next] < ranks) continue;
        to[next] = to[queue[head]] + 1;
        queue.push_back(next);
      }
    }
    eccentricity.push_back(to[queue.back()]);
  }
  central.resize(ranks);
  std::iota(central.begin(), central.end(), 0U);
  std::ranges::stable_sort(central, {}, [&](std::uint32_t v) { return eccentricity[v]; });
}

Rotation no_rotation(const Topology& topology) {
  Rotation identity;
  identity.ranks.emplace_back(topology.num_ranks());
  identity.links.emplace_back(topology.num_links());
  std::iota(identity.ranks[0].begin(), identity.ranks[0].end(), 0U);
  std::iota(identity.links[0].begin(), identity.links[0].end(), 0U);
  return identity;
}

Rotation find_rotation(const Topology& topology, const Distances& distances, std::uint32_t number) {
  Rotation best = no_rotation(topology);
  Base base(distances);
  if (!base.is_complete()) return best;
  base.for_each_map([&](const Permutation& ranks) {
    const std::optional<std::uint32_t> order = common_cycle(ranks);
    if (!order || *order <= best.order() || number % *order != 0) return;
    const std::optional<Permutation> links = map_links(topology, ranks);
    if (!links) return;
    best = no_rotation(topology);
    for (std::uint32_t power = 1; power < *order; ++power) {
      best.ranks.push_back(after(ranks, best.ranks.back()));
      best.links.push_back(after(*links, best.links.back()));
    }
  });
  return best;
}

}  // namespace multitree::mirrored
