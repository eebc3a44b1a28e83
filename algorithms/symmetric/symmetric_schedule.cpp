// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Transfers of a step or a rank from trees of one rank.
#include "algorithms/symmetric/symmetric_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "topologies/error.hpp"

namespace multitree {

SymmetricSchedule::SymmetricSchedule(CayleyGraph graph, std::uint32_t chunks, Collective collective)
    : graph_(std::move(graph)), collective_(collective) {
  if (has_root(collective) || collective == Collective::AllToAll) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("symmetric: expected allreduce, reduce-scatter or allgather, got {}",
                            to_string(collective)));
  }
  tree_ = make_translation_tree(graph_, chunks);
  by_step_.assign(std::size_t{tree_.steps} * graph_.degree(), TranslationTree::kNone);
  for (std::uint32_t e = 0; e < tree_.step.size(); ++e) {
    if (tree_.step[e] == TranslationTree::kNone) continue;
    by_step_[std::size_t{tree_.step[e]} * graph_.degree() + tree_.generator[e]] = e;
  }
}

std::uint32_t SymmetricSchedule::num_steps() const {
  return collective_ == Collective::AllReduce ? 2 * tree_.steps : tree_.steps;
}

std::uint32_t SymmetricSchedule::bound_steps() const {
  return collective_ == Collective::AllReduce ? 2 * tree_.least_steps : tree_.least_steps;
}

Rational SymmetricSchedule::load() const {
  std::vector<std::int64_t> uses(graph_.degree(), 0);
  for (std::size_t i = 0; i < by_step_.size(); ++i) {
    if (by_step_[i] != TranslationTree::kNone) ++uses[i % uses.size()];
  }
  const std::int64_t most = uses.empty() ? 0 : std::ranges::max(uses);
  return {collective_ == Collective::AllReduce ? 2 * most : most, chunks()};
}

Rational SymmetricSchedule::load_bound() const {
  if (graph_.degree() == 0) return {0, 1};
  const std::int64_t others = graph_.size() - 1;
  return {collective_ == Collective::AllReduce ? 2 * others : others, graph_.degree()};
}

std::size_t SymmetricSchedule::memory() const {
  return sizeof(std::uint32_t) *
         (tree_.generator.capacity() + tree_.step.capacity() + by_step_.capacity());
}

std::pair<Op, std::uint32_t> SymmetricSchedule::phase_of(std::uint32_t step) const {
  const bool gathers = collective_ == Collective::AllGather || step >= tree_.steps;
  if (!gathers) return {Op::Reduce, tree_.steps - 1 - step};
  return {Op::Copy, collective_ == Collective::AllGather ? step : step - tree_.steps};
}

std::vector<SymmetricSchedule::Arc> SymmetricSchedule::arcs_of_step(
    std::uint32_t gather_step) const {
  std::vector<Arc> arcs;
  for (std::uint32_t s = 0; s < graph_.degree(); ++s) {
    const std::uint32_t e = by_step_[std::size_t{gather_step} * graph_.degree() + s];
    if (e == TranslationTree::kNone) continue;
    const std::uint32_t element = e % graph_.size();
    arcs.push_back({.tree = e / graph_.size(),
                    .generator = s,
                    .parent = graph_.apply(element, graph_.inverse(s)),
                    .element = element});
  }
  std::ranges::stable_sort(arcs, {}, &Arc::tree);
  return arcs;
}

SymmetricTransfer SymmetricSchedule::transfer(std::uint32_t step, Op op, const Arc& arc,
                                              std::uint32_t owner) const {
  const std::uint32_t near = graph_.group().multiply(owner, arc.parent);
  const std::uint32_t far = graph_.apply(near, arc.generator);
  const bool outwards = op == Op::Copy;
  return {.step = step,
          .op = op,
          .chunk = owner * chunks() + arc.tree,
          .src = Rank{outwards ? near : far},
          .dst = Rank{outwards ? far : near},
          .generator = outwards ? arc.generator : graph_.inverse(arc.generator)};
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
  const FiniteGroup& group = graph_.group();
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

std::optional<std::string> find_fault(const CayleyGraph& graph, const TranslationTree& tree) {
  const std::size_t elements = std::size_t{graph.size()} * tree.chunks;
  if (tree.generator.size() != elements || tree.step.size() != elements) {
    return fmt::format("expected {} elements, got {} generators and {} steps", elements,
                       tree.generator.size(), tree.step.size());
  }
  std::vector<bool> used(std::size_t{tree.steps} * graph.degree());
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
    if (used[std::size_t{step} * graph.degree() + s]) {
      return fmt::format("generator {} is used twice in step {}", s, step);
    }
    used[std::size_t{step} * graph.degree() + s] = true;
  }
  return std::nullopt;
}

}  // namespace multitree
