// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules of networks that look the same from every rank, kept as what one rank's chunks do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/bounds.hpp"
#include "algorithms/schedule.hpp"
#include "algorithms/symmetric/translation_tree.hpp"
#include "topologies/cayley.hpp"
#include "topologies/spec.hpp"

namespace multitree {

/// One message, as in Transfer; its route is the arc of `generator` at src.
struct SymmetricTransfer {
  std::uint32_t step = 0;
  Op op = Op::Copy;
  std::uint32_t chunk = 0;  ///< owner * chunks a rank + which of them
  Rank src{};
  Rank dst{};
  std::uint32_t generator = 0;
  auto operator<=>(const SymmetricTransfer&) const = default;
};

/// An all-gather, a reduce-scatter (the same, backwards in time and on reversed arcs) or an
/// all-reduce (both in turn) in O(ranks * chunks + steps) memory instead of O(ranks^2 * chunks).
class SymmetricSchedule {
 public:
  /// \throws Error(InvalidArgument) as make_translation_tree(); Unsupported for collectives with a
  /// root.
  explicit SymmetricSchedule(AlikeRanks ranks, std::uint32_t chunks = 1,
                             Collective collective = Collective::AllReduce);
  /// Over equal links.
  explicit SymmetricSchedule(CayleyGraph graph, std::uint32_t chunks = 1,
                             Collective collective = Collective::AllReduce)
      : SymmetricSchedule(linked_ranks(std::move(graph)), chunks, collective) {}

  [[nodiscard]] const AlikeRanks& ranks() const { return ranks_; }
  [[nodiscard]] const CayleyGraph& graph() const { return ranks_.graph; }
  [[nodiscard]] const TranslationTree& tree() const { return tree_; }
  [[nodiscard]] Collective collective() const { return collective_; }
  /// Chunks that each rank owns.
  [[nodiscard]] std::uint32_t chunks() const { return tree_.chunks; }
  [[nodiscard]] std::uint32_t num_steps() const;
  /// No schedule of this kind has fewer: that of the gathering (least_steps()), twice for both.
  [[nodiscard]] std::uint32_t bound_steps() const;
  /// Time of the busiest link without latency, in shard times, and what it cannot be less than:
  /// what must enter a rank, or enter a box of ranks once, over the links that it has for that,
  /// once for each phase.
  [[nodiscard]] Rational load() const;
  [[nodiscard]] Rational load_bound() const;
  /// Bytes that it keeps.
  [[nodiscard]] std::size_t memory() const;

  /// What happens to the chunks of a rank in a step, in canonical order. A step is this of all
  /// ranks in turn. O(degree).
  [[nodiscard]] std::vector<SymmetricTransfer> transfers_of_owner(Rank owner,
                                                                  std::uint32_t step) const;
  /// What a rank sends and receives in a step, in canonical order. O(degree).
  [[nodiscard]] std::vector<SymmetricTransfer> transfers_of_rank(Rank rank,
                                                                 std::uint32_t step) const;

  /// An arc of the trees that is used in a step of the gathering: from `parent` to `element`, both
  /// without the copy that they are in, which is the tree.
  struct Arc {
    std::uint32_t tree, generator, parent, element;
  };
  /// The arcs of a step of the gathering, ascending by tree. O(those).
  [[nodiscard]] std::vector<Arc> arcs_of_step(std::uint32_t gather_step) const;

 private:
  [[nodiscard]] SymmetricTransfer transfer(std::uint32_t step, Op op, const Arc& arc,
                                           std::uint32_t owner) const;
  /// The phase that a step belongs to, and the step of the gathering that it mirrors or is.
  [[nodiscard]] std::pair<Op, std::uint32_t> phase_of(std::uint32_t step) const;

  AlikeRanks ranks_;
  Collective collective_;
  TranslationTree tree_;
  // The elements that join in step t: by_step_ from first_[t] to first_[t + 1].
  std::vector<std::uint32_t> by_step_, first_;
};

/// The option "chunks" of algorithm `symmetric`: pieces of a rank's share, 1 to 1024 or "degree".
std::uint32_t chunks_option(const Spec& options, const CayleyGraph& graph);

/// What is wrong with the trees of a schedule; empty if they make it right and free of contention.
/// Takes nothing on trust but that left multiplication keeps arcs: looks every arc up in the graph,
/// parents before children, links as often a step as they have slots at most. O(ranks * chunks).
std::optional<std::string> find_fault(const AlikeRanks& ranks, const TranslationTree& tree);
inline std::optional<std::string> find_fault(const CayleyGraph& graph,
                                             const TranslationTree& tree) {
  return find_fault(linked_ranks(graph), tree);
}

}  // namespace multitree
