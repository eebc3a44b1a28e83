// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Swing: D. De Sensi, T. Bonato, D. Saam, T. Hoefler: "Swing: Short-cutting Rings for Higher
/// Bandwidth Allreduce", NSDI 2024 (arXiv 2401.09356). In step s of a ring, even ranks r exchange
/// with r + rho(s) and odd ones with r - rho(s), where rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3,
/// -5, 11, ...: halving and doubling whose partners lie nearer than 2^s. On a torus of D dimensions
/// the steps go round the dimensions that have steps left. 2D collectives, each with its part of
/// the data, use all links: they start in each of the dimensions, and D of them are mirrored.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/swing_internal.hpp"
#include "topologies/error.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

std::optional<std::string> swing_unsupported(const Topology& topology) {
  const auto dims = grid_dims(topology);
  if (!dims || structure_of(topology).grid->line != Line::Ring) {
    return fmt::format("swing needs a ring, torus or hypercube, {} is not one", topology.name());
  }
  const auto odd = std::ranges::find_if(*dims, [](std::uint32_t size) { return size % 2 == 1; });
  if (odd != dims->end()) {
    return fmt::format("swing needs dimensions of even size, {} has one of {}", topology.name(),
                       *odd);
  }
  return std::nullopt;
}

/// How many of the 2D parts there are: fewer have fewer and longer messages, and use fewer links.
std::uint32_t count_parts(std::uint32_t dimensions, const Spec& options) {
  const std::string parts = options.get("parts", "all");
  if (parts == "all") return 2 * dimensions;
  if (parts == "half") return dimensions;
  if (parts != "one")
    options.fail(fmt::format("parts: expected one, half or all, got '{}'", parts));
  return 1;
}

/// The steps of the parts; a single rank has one part without steps.
SwingParts parts_of(const Topology& topology, const Spec& options) {
  const std::vector<std::uint32_t> dims = *grid_dims(topology);
  const std::uint32_t count = count_parts(static_cast<std::uint32_t>(dims.size()), options);
  if (dims.empty()) return {{}};
  SwingParts parts;
  for (std::uint32_t part = 0; part < count; ++part) parts.push_back(swing_steps(dims, part));
  return parts;
}

constexpr std::string_view kParameters =
    "variant=bandwidth|latency: all-reduce by reduce-scatter and all-gather (default), or by "
    "exchange of whole vectors (sizes that are powers of two); parts=one|half|all: of the data, "
    "one, or one for each "
    "dimension, or two (default), each with links of its own: fewer have fewer messages";

Schedule swing_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(latency_option(options));
  const SwingParts parts = parts_of(topology, options);
  const auto count = static_cast<std::uint32_t>(parts.size());
  Schedule header = all_gather_header(topology, count);
  header.coalesces = rounds_option(options, topology);
  return swing_spread(std::move(header), parts, topology);
}

/// The trees that the all-gather has for the root's parts.
Schedule swing_broadcast(const Topology& topology, Rank root, const Spec& options) {
  static_cast<void>(latency_option(options));
  const SwingParts parts = parts_of(topology, options);
  const auto count = static_cast<std::uint32_t>(parts.size());
  return swing_spread(broadcast_header(topology, root, count), parts, topology);
}

Schedule swing_all_reduce(const Topology& topology, const Spec& options) {
  if (!latency_option(options)) return scattered_all_reduce(topology, options, swing_all_gather);
  const std::vector<std::uint32_t> dims = *grid_dims(topology);
  if (!std::ranges::all_of(dims, [](std::uint32_t size) { return std::has_single_bit(size); })) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("swing?variant=latency needs dimensions that are powers of two, {} has "
                            "{}",
                            topology.name(), fmt::join(dims, "x")));
  }
  return swing_exchange(parts_of(topology, options), topology);
}

}  // namespace

Algorithm swing_algorithm() {
  return {.name = "swing",
          .summary = "halving and doubling with near partners on a torus of even sizes",
          .source = "De Sensi et al., NSDI 2024",
          .parameters = kParameters,
          .unsupported = swing_unsupported,
          .all_gather = swing_all_gather,
          .broadcast = swing_broadcast,
          .all_reduce = swing_all_reduce,
          .variants =
              "variant=latency|variant=latency&parts=one|rounds=1&parts=one|rounds=1&parts=half|"
              "rounds=1"};
}

}  // namespace multitree
