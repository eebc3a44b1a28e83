// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Broadcasts that share a network with their mirror images: state, growth, and variation.
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "algorithms/packing/steps/mirrored_growth_internal.hpp"

namespace multitree::mirrored {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

Trees::Trees(const Topology& topology, const Distances& distances, const Rotation& rotation,
             Plan plan, std::uint64_t seed)
    : distances_(distances),
      rotation_(rotation),
      ranks_(distances.ranks),
      trees_(static_cast<std::uint32_t>(2 * plan.root.size())),
      random_(seed) {
  number_orbits(topology);
  state_.receptions.resize(std::size_t{trees_} * ranks_);
  state_.owner.assign(num_slots_ * plan.steps, kNone);
  state_.lacks.assign(trees_, ranks_ - 1);
  state_.missing = trees_ * (ranks_ - 1);
  state_.plan = std::move(plan);
  visited_.assign(state_.receptions.size(), 0);
  in_slots_.assign(ranks_, 0);
  for (const Arc& arc : arcs_) in_slots_[arc.dst] += arc.slots;
  set_needs();
}

/// When ranks must have what: the latest times at which a rank can take everything, in the order of
/// the first possible times, and as much earlier as others are on from there.
void Trees::set_needs() {
  const std::uint32_t steps = state_.plan.steps, order = rotation_.order();
  needs_.assign(std::size_t{trees_} * ranks_, steps);
  busy_from_.assign(ranks_, steps + 1);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> first;  // times, images
  for (const std::uint32_t head : heads_) {
    first.clear();
    for (std::uint32_t tree = 0; tree < trees_; ++tree) {
      for (std::uint32_t power = 0; power < order; ++power) {
        const std::uint32_t v = rotation_.ranks[power][head];
        first.emplace_back(start(tree) + distances_(state_.plan.root[tree / 2], v),
                           tree * ranks_ + v);
      }
    }
    std::ranges::sort(first, std::greater<>());
    for (std::uint32_t i = 0; i < first.size(); ++i) {
      needs_[first[i].second] = steps - std::min(steps, i / in_slots_[head]);
    }
    const std::uint32_t from = first.back().first;
    if (in_slots_[head] * (steps + 1 - std::min(steps, from)) < first.size() + first.size() / 6) {
      for (std::uint32_t power = 0; power < order && state_.plan.reserve; ++power) {
        busy_from_[rotation_.ranks[power][head]] = from;
      }
    }
  }
  std::vector<std::uint32_t> far(ranks_);
  for (std::uint32_t tree = 0; tree < trees_; ++tree) {
    const std::uint32_t root = state_.plan.root[tree / 2];
    std::iota(far.begin(), far.end(), 0U);
    std::ranges::sort(far, std::greater<>(), [&](std::uint32_t v) { return distances_(root, v); });
    for (const std::uint32_t v : far) {
      for (const std::uint32_t link : in_[v]) {
        const std::uint32_t u = arcs_[link].src;
        if (distances_(root, u) >= distances_(root, v)) continue;
        std::uint32_t& need = needs_[tree * ranks_ + u];
        need = std::min(need, std::max(1U, needs_[tree * ranks_ + v]) - 1);
      }
    }
  }
}

void Trees::number_orbits(const Topology& topology) {
  const auto rank_of = [&](NodeId node) { return index(*topology.node(node).rank); };
  in_.resize(ranks_);
  arcs_.resize(topology.num_links(), {.orbit = kNone});
  for (std::uint32_t l = 0; l < topology.num_links(); ++l) {
    const Link& link = topology.link(LinkId{l});
    Arc& arc = arcs_[l];
    arc.src = rank_of(link.src);
    arc.dst = rank_of(link.dst);
    arc.mate = index(*topology.mate(LinkId{l}));
    arc.slots = std::min(topology.slots(LinkId{l}), 255U);
    in_[arc.dst].push_back(l);
    if (arc.orbit != kNone) continue;
    for (const auto& image : rotation_.links) {
      arcs_[image[l]].orbit = static_cast<std::uint32_t>(first_slot_.size());
    }
    first_slot_.push_back(num_slots_);
    num_slots_ += arc.slots;
  }
  std::vector<bool> known(ranks_, false);
  for (std::uint32_t v = 0; v < ranks_; ++v) {
    if (known[v]) continue;
    heads_.push_back(v);
    for (const auto& image : rotation_.ranks) known[image[v]] = true;
  }
}

std::uint32_t Trees::start(std::uint32_t tree) const {
  const std::uint32_t start = state_.plan.start[tree / 2];
  return tree % 2 == 0 ? start : state_.plan.steps - start;
}

/// The first unit and how many: slots of the link's images in this step, and of the mates' in the
/// mirror image of the step, which are taken together.
std::pair<std::size_t, std::size_t> Trees::units(std::uint32_t link, std::uint32_t step) const {
  const Arc* arc = &arcs_[link];
  const std::uint32_t mirror = state_.plan.steps - 1 - step;
  const std::uint32_t mate_orbit = arcs_[arc->mate].orbit;
  std::size_t slots = arc->slots;
  if (mate_orbit == arc->orbit) {
    if (step == mirror) slots /= 2;
    step = std::min(step, mirror);
  } else if (mate_orbit < arc->orbit) {
    arc = &arcs_[arc->mate];
    step = mirror;
  }
  return {first_slot_[arc->orbit] * state_.plan.steps + std::size_t{step} * arc->slots, slots};
}

/// The first step in which a rank can send.
std::uint32_t Trees::arrival(std::uint32_t tree, std::uint32_t rank) const {
  if (rank == state_.plan.root[tree / 2]) return start(tree);
  const Reception& r = reception(tree, rank);
  return r.is_missing() ? kNone : r.step + 1;
}

/// The first step in which a rank does send.
std::uint32_t Trees::departure(std::uint32_t tree, std::uint32_t rank) const {
  std::uint32_t first = state_.plan.steps;
  for (const std::uint32_t link : in_[rank]) {
    const Reception& r = reception(tree, arcs_[link].src);
    if (!r.is_missing() && arcs_[r.link].src == rank) first = std::min(first, r.step);
  }
  return first;
}

void Trees::assign(std::uint32_t reception, std::uint32_t link, std::uint32_t step,
                   std::size_t unit) {
  clear(reception);
  state_.receptions[reception] = {link, step, unit};
  state_.owner[unit] = reception;
  --state_.lacks[reception / ranks_];
  --state_.missing;
}

void Trees::clear(std::uint32_t reception) {
  Reception& r = state_.receptions[reception];
  if (r.is_missing()) return;
  state_.owner[r.unit] = kNone;
  r = {};
  ++state_.lacks[reception / ranks_];
  ++state_.missing;
}

void Trees::grow() {
  std::vector<std::uint32_t> all(trees_);
  std::iota(all.begin(), all.end(), 0U);
  regrow(std::move(all));
  repair();
}

/// Image i of the k-th growing tree has bit k * order + i.
void Trees::give(std::uint32_t rank, std::uint32_t image) {
  const std::uint32_t order = rotation_.order(), first = image / order * order;
  for (std::uint32_t power = 0; power < order; ++power) {
    const std::uint32_t bit = first + (image + power) % order;
    has_[rotation_.ranks[power][rank] * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  ++holders_[image / order];
}

/// Grows trees step by step through slots that no others use.
void Trees::regrow(std::vector<std::uint32_t> trees) {
  const std::uint32_t order = rotation_.order();
  growing_ = std::move(trees);
  ties_ = random_();
  words_ = (growing_.size() * order + 63) / 64;
  has_.assign(ranks_ * words_, 0);
  holders_.assign(growing_.size(), 0);
  for (const std::uint32_t tree : growing_) {
    for (std::uint32_t v = 0; v < ranks_; ++v) clear(tree * ranks_ + v);
  }
  for (std::uint32_t step = 0; step < state_.plan.steps; ++step) {
    for (std::uint32_t k = 0; k < growing_.size(); ++k) {
      if (start(growing_[k]) == step) give(state_.plan.root[growing_[k] / 2], k * order);
    }
    given_.clear();
    for (const std::uint32_t rank : heads_) receive(rank, step);
    for (const auto& [rank, image] : given_) give(rank, image);
  }
}

/// Time left, then holders, then chance.
std::uint64_t Trees::key(std::uint32_t image, std::uint32_t rank, std::uint32_t step,
                         std::uint32_t link) const {
  const std::uint32_t order = rotation_.order(), k = image / order;
  const std::uint32_t back = rotation_.ranks[(order - image % order) % order][rank];
  const std::uint32_t need = needs_[growing_[k] * ranks_ + back];
  const std::uint64_t slack = need <= step + 1 ? 0 : need - step - 1;
  const std::uint64_t chance =
      mix(ties_ + (std::uint64_t{image} << 40) + (std::uint64_t{link} << 16) + step);
  return slack << 48 | std::uint64_t{holders_[k]} << 32 | chance >> 32;
}

/// The free units of the links into a rank, and for each the best candidates, as many as units.
void Trees::find_candidates(std::uint32_t rank, std::uint32_t step) {
  slots_.clear();
  candidates_.clear();
  for (const std::uint32_t link : in_[rank]) {
    if (is_reserved(link, step)) continue;
    const auto [first, number] = units(link, step);
    for (std::size_t unit = first; unit < first + number; ++unit) {
      const auto is_same = [&](const auto& slot) { return slot.second == unit; };
      if (state_.owner[unit] == kNone && std::ranges::none_of(slots_, is_same)) {
        slots_.emplace_back(link, unit);
      }
    }
  }
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    const std::uint32_t link = slots_[slot].first, from = arcs_[link].src;
    const std::size_t first = candidates_.size();
    for (std::uint32_t w = 0; w < words_; ++w) {
      std::uint64_t news = has_[from * words_ + w] & ~has_[rank * words_ + w];
      for (; news != 0; news &= news - 1) {
        const std::uint32_t image = w * 64 + static_cast<std::uint32_t>(std::countr_zero(news));
        candidates_.push_back({key(image, rank, step, link), image, slot});
      }
    }
    effort_ += 1 + candidates_.size() - first;
    if (candidates_.size() - first <= slots_.size()) continue;
    const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto keep = begin + static_cast<std::ptrdiff_t>(slots_.size());
    std::ranges::partial_sort(begin, keep, candidates_.end(), {}, &Candidate::key);
    candidates_.erase(keep, candidates_.end());
  }
  std::ranges::sort(candidates_, {}, [](const Candidate& c) { return std::pair(c.key, c.slot); });
}

/// Kuhn's matching of images to slots, in the order of the candidates.
void Trees::receive(std::uint32_t rank, std::uint32_t step) {
  find_candidates(rank, step);
  taken_.assign(slots_.size(), kNone);
  for (const Candidate& candidate : candidates_) {
    if (std::ranges::find(taken_, candidate.image) != taken_.end()) continue;
    seen_.assign(slots_.size(), false);
    match(candidate.image);
  }
  const std::uint32_t order = rotation_.order();
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (taken_[slot] == kNone) continue;
    const std::uint32_t image = taken_[slot], back = (order - image % order) % order;
    const std::uint32_t tree = growing_[image / order];
    assign(tree * ranks_ + rotation_.ranks[back][rank], rotation_.links[back][slots_[slot].first],
           step, slots_[slot].second);
    given_.emplace_back(rank, image);
  }
}

bool Trees::match(std::uint32_t image) {
  for (const Candidate& candidate : candidates_) {
    if (candidate.image != image || seen_[candidate.slot]) continue;
    seen_[candidate.slot] = true;
    if (taken_[candidate.slot] == kNone || match(taken_[candidate.slot])) {
      taken_[candidate.slot] = image;
      return true;
    }
  }
  return false;
}

}  // namespace multitree::mirrored
