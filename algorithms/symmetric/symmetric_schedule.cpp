// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Transfers of a step or a rank from trees of one rank.
#include "algorithms/symmetric/symmetric_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "topologies/error.hpp"

namespace multitree {
namespace {

Rational ratio(std::uint64_t numerator, std::uint64_t denominator) {
  return {static_cast<std::int64_t>(numerator), static_cast<std::int64_t>(denominator)};
}

}  // namespace

SymmetricSchedule::SymmetricSchedule(AlikeRanks ranks, std::uint32_t chunks, Collective collective)
    : ranks_(std::move(ranks)), collective_(collective) {
  if (has_root(collective) || collective == Collective::AllToAll) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("symmetric: expected allreduce, reduce-scatter or allgather, got {}",
                            to_string(collective)));
  }
  tree_ = make_translation_tree(ranks_, chunks);
  first_.assign(tree_.steps + 1, 0);
  for (const std::uint32_t step : tree_.step) {
    if (step != TranslationTree::kNone) ++first_[step + 1];
  }
  for (std::uint32_t t = 0; t < tree_.steps; ++t) first_[t + 1] += first_[t];
  by_step_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end());
  for (std::uint32_t e = 0; e < tree_.step.size(); ++e) {
    if (tree_.step[e] != TranslationTree::kNone) by_step_[next[tree_.step[e]]++] = e;
  }
}

std::uint32_t SymmetricSchedule::num_steps() const {
  return collective_ == Collective::AllReduce ? 2 * tree_.steps : tree_.steps;
}

std::uint32_t SymmetricSchedule::bound_steps() const {
  return collective_ == Collective::AllReduce ? 2 * tree_.least_steps : tree_.least_steps;
}

Rational SymmetricSchedule::load() const {
  const LinkOrbits& links = ranks_.links;
  std::vector<std::int64_t> uses(links.orbits.size(), 0);
  for (const std::uint32_t e : by_step_) {
    for (const std::uint32_t orbit : links.way(tree_.generator[e])) ++uses[orbit];
  }
  const std::uint64_t unit = links.unit_bandwidth().bytes_per_second;
  Rational most(0);
  for (std::size_t o = 0; o < uses.size(); ++o) {
    most = std::max(most, ratio(unit, links.orbits[o].bandwidth.bytes_per_second) * uses[o]);
  }
  return most * Rational(collective_ == Collective::AllReduce ? 2 : 1, chunks());
}

Rational SymmetricSchedule::load_bound() const {
  const LinkOrbits& links = ranks_.links;
  const std::uint64_t unit = links.unit_bandwidth().bytes_per_second;
  const std::size_t levels = std::max<std::size_t>(ranks_.levels.size(), 1);
  Rational most(0);
  std::uint32_t inside = 1;
  for (std::size_t level = 0; level < levels; ++level) {
    const std::int64_t others = graph().size() / inside - 1;
    if (others == 0) break;
    const std::uint32_t first = ranks_.levels.empty() ? 0 : ranks_.first_generator(level);
    most = std::max(most, ratio(unit, links.bandwidth_out(first)) * others);
    if (!ranks_.levels.empty()) inside *= ranks_.levels[level];
  }
  return most * (collective_ == Collective::AllReduce ? 2 : 1);
}

std::size_t SymmetricSchedule::memory() const {
  return sizeof(std::uint32_t) * (tree_.generator.capacity() + tree_.step.capacity() +
                                  by_step_.capacity() + first_.capacity());
}

std::pair<Op, std::uint32_t> SymmetricSchedule::phase_of(std::uint32_t step) const {
  const bool gathers = collective_ == Collective::AllGather || step >= tree_.steps;
  if (!gathers) return {Op::Reduce, tree_.steps - 1 - step};
  return {Op::Copy, collective_ == Collective::AllGather ? step : step - tree_.steps};
}

std::vector<SymmetricSchedule::Arc> SymmetricSchedule::arcs_of_step(
    std::uint32_t gather_step) const {
  std::vector<Arc> arcs;
  for (std::uint32_t i = first_[gather_step]; i < first_[gather_step + 1]; ++i) {
    const std::uint32_t e = by_step_[i], element = e % graph().size();
    const std::uint32_t s = tree_.generator[e];
    arcs.push_back({.tree = e / graph().size(),
                    .generator = s,
                    .parent = graph().apply(element, graph().inverse(s)),
                    .element = element});
  }
  return arcs;
}

SymmetricTransfer SymmetricSchedule::transfer(std::uint32_t step, Op op, const Arc& arc,
                                              std::uint32_t owner) const {
  const std::uint32_t near = graph().group().multiply(owner, arc.parent);
  const std::uint32_t far = graph().apply(near, arc.generator);
  const bool outwards = op == Op::Copy;
  return {.step = step,
          .op = op,
          .chunk = owner * chunks() + arc.tree,
          .src = Rank{outwards ? near : far},
          .dst = Rank{outwards ? far : near},
          .generator = outwards ? arc.generator : graph().inverse(arc.generator)};
}

namespace {

void sort_canonically(std::vector<SymmetricTransfer>& transfers) {
  std::ranges::sort(transfers, {}, [](const SymmetricTransfer& t) {
    return std::tuple(t.op, t.chunk, t.dst, t.src);
  });
}

}  // namespace

std::vector<SymmetricTransfer> SymmetricSchedule::transfers_of_owner(Rank owner,
                                                                     std::uint32_t step) const {
  const auto [op, gather_step] = phase_of(step);
  std::vector<SymmetricTransfer> transfers;
  for (const Arc& arc : arcs_of_step(gather_step)) {
    transfers.push_back(transfer(step, op, arc, index(owner)));
  }
  sort_canonically(transfers);
  return transfers;
}

std::vector<SymmetricTransfer> SymmetricSchedule::transfers_of_rank(Rank rank,
                                                                    std::uint32_t step) const {
  const auto [op, gather_step] = phase_of(step);
  const FiniteGroup& group = graph().group();
  std::vector<SymmetricTransfer> transfers;
  for (const Arc& arc : arcs_of_step(gather_step)) {
    // The owners whose translate of the arc has the rank at one of its ends.
    for (const std::uint32_t end : {arc.parent, arc.element}) {
      transfers.push_back(transfer(step, op, arc, group.multiply(index(rank), group.inverse(end))));
    }
  }
  sort_canonically(transfers);
  return transfers;
}

std::uint32_t chunks_option(const Spec& options, const CayleyGraph& graph) {
  constexpr std::uint32_t kMostChunks = 1U << 10;
  if (options.get("chunks", "1") == "degree") return std::max(graph.degree(), 1U);
  return options.get_number("chunks", 1, 1, kMostChunks);
}

std::optional<std::string> find_fault(const AlikeRanks& ranks, const TranslationTree& tree) {
  const CayleyGraph& graph = ranks.graph;
  const std::size_t elements = std::size_t{graph.size()} * tree.chunks;
  if (tree.generator.size() != elements || tree.step.size() != elements) {
    return fmt::format("expected {} elements, got {} generators and {} steps", elements,
                       tree.generator.size(), tree.step.size());
  }
  const auto& orbits = ranks.links.orbits;
  std::vector<std::uint32_t> used(std::size_t{tree.steps} * orbits.size(), 0);
  for (std::uint32_t e = 0; e < elements; ++e) {
    if (e % graph.size() == 0) continue;
    const std::uint32_t s = tree.generator[e], step = tree.step[e];
    if (s >= graph.degree() || step >= tree.steps) {
      return fmt::format(
          "element {} joins by generator {} in step {}, expected less than {} and {}", e, s, step,
          graph.degree(), tree.steps);
    }
    const std::uint32_t parent = graph.apply(e, graph.inverse(s));
    if (graph.apply(parent, s) != e) {
      return fmt::format("no arc leads from element {} to {} by generator {}", parent, e, s);
    }
    if (parent % graph.size() != 0 && tree.step[parent] >= step) {
      return fmt::format("element {} joins in step {}, its parent {} in step {}", e, step, parent,
                         tree.step[parent]);
    }
    for (const std::uint32_t orbit : ranks.links.way(s)) {
      if (++used[step * orbits.size() + orbit] <= orbits[orbit].slots) continue;
      return fmt::format("a link of generator {} is used {} times in step {}, which has {} slots",
                         s, used[step * orbits.size() + orbit], step, orbits[orbit].slots);
    }
  }
  return std::nullopt;
}

}  // namespace multitree
