// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bine trees: D. De Sensi, S. Pasqualoni, L. Piarulli, T. Bonato, S. Ba, M. Turisini, J. Domke,
/// T. Hoefler: "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality",
/// SC 2025. A binomial tree whose labels are the ranks in base -2: partners differ in a run of
/// lowest digits and lie 1, 1, 3, 5, 11, ... ranks apart, a third nearer than with binary labels.
/// A broadcast starts with the farthest. Ranks that are near in number should be near in the
/// network. The butterfly of the other collectives is the one of Swing in a ring of all ranks.
#include <fmt/format.h>

#include <bit>

#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/swing_internal.hpp"
#include "algorithms/pack.hpp"

namespace multitree {
namespace {

constexpr std::uint32_t kOddDigits = 0xAAAAAAAA;  // digits that count negatively in base -2

std::uint32_t to_negabinary(std::uint32_t value) { return (value + kOddDigits) ^ kOddDigits; }
std::uint32_t from_negabinary(std::uint32_t digits) { return (digits ^ kOddDigits) - kOddDigits; }

std::optional<std::string> bine_unsupported(const Topology& topology) {
  if (std::has_single_bit(topology.num_ranks())) return std::nullopt;
  return fmt::format("bine needs a power of two of ranks, {} has {}", topology.name(),
                     topology.num_ranks());
}

SwingParts butterfly(const Topology& topology) {
  if (topology.num_ranks() == 1) return {{}};
  return {swing_steps({topology.num_ranks()}, 0)};
}

Schedule bine_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(latency_option(options));
  return swing_spread(all_gather_header(topology), butterfly(topology), topology);
}

/// Labels are counted from the root. Who has the vector sends it to the label whose last `digits`
/// digits are all different.
Schedule bine_broadcast(const Topology& topology, Rank root, const Spec& options) {
  static_cast<void>(latency_option(options));
  const std::uint32_t mask = topology.num_ranks() - 1;
  const auto rank_of = [&](std::uint32_t label) { return Rank{(index(root) + label) & mask}; };
  std::vector<std::uint32_t> holders = {0};
  std::vector<Message> messages;
  for (std::uint32_t digits = mask; digits > 0; digits /= 2) {
    const std::size_t count = holders.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t to = from_negabinary(to_negabinary(holders[i]) ^ digits) & mask;
      messages.push_back({Op::Copy, 0, rank_of(holders[i]), rank_of(to)});
      holders.push_back(to);
    }
  }
  return pack(broadcast_header(topology, root, 1), messages, topology);
}

Schedule bine_all_reduce(const Topology& topology, const Spec& options) {
  if (!latency_option(options)) return scattered_all_reduce(topology, options, bine_all_gather);
  return swing_exchange(butterfly(topology), topology);
}

}  // namespace

Algorithm bine_algorithm() {
  return {.name = "bine",
          .summary = "binomial trees and butterflies with near partners, by ranks in base -2",
          .source = "De Sensi et al., SC 2025",
          .parameters = kVariantDoc,
          .unsupported = bine_unsupported,
          .all_gather = bine_all_gather,
          .broadcast = bine_broadcast,
          .all_reduce = bine_all_reduce,
          .variants = "variant=latency"};
}

}  // namespace multitree
