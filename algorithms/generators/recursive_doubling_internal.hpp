// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Recursive halving and doubling among a power-of-two number of ranks ("core").
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/pack.hpp"

namespace multitree {

/// The ranks as labels, for algorithms of 2^k ranks: label l < 2^k is rank (first + l) mod n, the
/// rank with label 2^k + l is folded onto label l, which does its work.
struct FoldedLabels {
  std::vector<Rank> core, folded;

  FoldedLabels(std::uint32_t ranks, Rank first);
};

/// The chunks of a label; labels are 0 .. core.size()-1, core[label] is the rank that has the
/// label.
using LabelChunks = std::function<std::vector<std::uint32_t>(std::uint32_t label)>;

/// Round k: labels that differ in bit k send each other all they have gathered.
void add_doubling(std::span<const Rank> core, const LabelChunks& chunks,
                  std::vector<Message>& messages);

/// The mirror of add_doubling(): label l ends with the sum of chunk l.
void add_halving(std::span<const Rank> core, std::vector<Message>& messages);

/// Chunks 0 .. core.size()-1 from label 0 to all: a binomial scatter, then doubling in which nobody
/// is sent what he has.
void add_scatter_doubling(std::span<const Rank> core, std::vector<Message>& messages);

}  // namespace multitree
