// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// 2D-RING, rings along both dimensions of a torus or mesh: T. Kumar et al.: "Exploring the limits
/// of concurrency in ML training on Google TPUs", MLSys 2021, and the baseline of MULTITREE (ISCA
/// 2021, section V). An all-reduce is a ring all-reduce of the whole vector in every row and then
/// in every column. To use all links, four parts of the data go x first or y first, up or down.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "algorithms/generators/embedding_internal.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/generators/ring_internal.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

/// Rank x + width*y lies in column x of row y.
struct Grid {
  std::uint32_t width, height;

  explicit Grid(const std::vector<std::uint32_t>& dims) : width(dims[0]), height(dims[1]) {}
  [[nodiscard]] std::uint32_t size(std::uint32_t dim) const { return dim == 0 ? width : height; }
  [[nodiscard]] std::uint32_t num_lines(std::uint32_t dim) const { return size(1 - dim); }
  /// The ranks of a row (dim 0) or column (dim 1).
  [[nodiscard]] std::vector<Rank> line(std::uint32_t dim, std::uint32_t at) const {
    std::vector<Rank> ranks;
    ranks.reserve(size(dim));
    for (std::uint32_t i = 0; i < size(dim); ++i) {
      ranks.push_back(Rank{dim == 0 ? i + width * at : at + width * i});
    }
    return ranks;
  }
  /// The row or column that a rank lies in.
  [[nodiscard]] std::vector<Rank> line_of(std::uint32_t dim, Rank rank) const {
    return line(dim, dim == 0 ? index(rank) / width : index(rank) % width);
  }
};

/// A quarter of the data: which dimension comes first, and which way its rings turn.
struct Part {
  std::uint32_t number;
  [[nodiscard]] std::uint32_t dim(std::uint32_t phase) const { return (number / 2 + phase) % 2; }
  [[nodiscard]] std::vector<Rank> ring(std::vector<Rank> line) const {
    if (number % 2 == 1) std::ranges::reverse(line);
    return line;
  }
};
constexpr Part kParts[] = {{0}, {1}, {2}, {3}};

std::optional<std::string> ring2d_unsupported(const Topology& topology) {
  const auto dims = grid_dims(topology);
  if (!dims || structure_of(topology).grid->line == Line::Complete) {
    return fmt::format("ring2d needs a torus or mesh, {} is not one", topology.name());
  }
  if (dims->size() != 2) {
    return fmt::format("ring2d needs two dimensions larger than 1, {} has {}", topology.name(),
                       dims->size());
  }
  return std::nullopt;
}

Schedule ring2d_all_gather(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const Grid grid(*grid_dims(topology));
  std::vector<Message> messages;
  for (const std::uint32_t phase : {0U, 1U}) {
    for (const Part part : kParts) {
      const std::uint32_t dim = part.dim(phase);
      for (std::uint32_t at = 0; at < grid.num_lines(dim); ++at) {
        const std::vector<Rank> ring = part.ring(grid.line(dim, at));
        const auto chunks = [&](std::size_t i) {
          std::vector<std::uint32_t> list;
          const auto held = phase == 0 ? std::vector{ring[i]} : grid.line_of(1 - dim, ring[i]);
          list.reserve(held.size());
          for (const Rank owner : held) list.push_back(4 * index(owner) + part.number);
          return list;
        };
        add_ring_rotation(ring, chunks, Op::Copy, messages);
      }
    }
  }
  return pack(all_gather_header(topology, 4), messages, topology);
}

/// Each part is cut in as many chunks as both a row and a column can share out evenly.
Schedule ring2d_all_reduce(const Topology& topology, const Spec& options) {
  static_cast<void>(segments_option(options));
  const Grid grid(*grid_dims(topology));
  const std::uint32_t per_part = std::lcm(grid.width, grid.height);
  Schedule header;
  header.collective = Collective::AllReduce;
  header.ranks = topology.num_ranks();
  for (std::uint32_t c = 0; c < 4 * per_part; ++c) {
    const std::uint32_t x = c % per_part * grid.width / per_part;
    const std::uint32_t y = c % per_part * grid.height / per_part;
    header.chunks.push_back(Chunk::rooted(Rank{x + grid.width * y}, c, 1));
  }
  std::vector<Message> messages;
  for (const std::uint32_t phase : {0U, 1U}) {
    for (const Part part : kParts) {
      const std::uint32_t dim = part.dim(phase), share = per_part / grid.size(dim);
      for (std::uint32_t at = 0; at < grid.num_lines(dim); ++at) {
        const std::vector<Rank> ring = part.ring(grid.line(dim, at));
        const auto chunks = [&](std::size_t i) {
          std::vector<std::uint32_t> list(share);
          std::iota(list.begin(), list.end(),
                    part.number * per_part + static_cast<std::uint32_t>(i) * share);
          return list;
        };
        add_ring_rotation(ring, chunks, Op::Reduce, messages);
        const auto complete = [&](std::size_t i) { return chunks((i + 1) % ring.size()); };
        add_ring_rotation(ring, complete, Op::Copy, messages);
      }
    }
  }
  return pack(std::move(header), messages, topology);
}

Schedule ring2d_broadcast(const Topology& topology, Rank root, const Spec& options) {
  const Grid grid(*grid_dims(topology));
  std::vector<Message> messages;
  for (const Part part : kParts) {
    const std::vector<Rank> first = part.ring(grid.line_of(part.dim(0), root));
    add_chain(first, root, part.number, messages);
    for (const Rank rank : first) {
      add_chain(part.ring(grid.line_of(part.dim(1), rank)), rank, part.number, messages);
    }
  }
  const Schedule chains = pack(broadcast_header(topology, root, 4), messages, topology);
  return pipelined_broadcast(chains, segments_option(options), topology);
}

}  // namespace

Algorithm ring2d_algorithm() {
  return {.name = "ring2d",
          .summary = "rings in all rows, then in all columns, of a 2-D torus or mesh",
          .source = "Kumar et al., MLSys 2021; baseline of Huang et al., ISCA 2021",
          .parameters = kSegmentsDoc,
          .unsupported = ring2d_unsupported,
          .all_gather = ring2d_all_gather,
          .broadcast = ring2d_broadcast,
          .all_reduce = ring2d_all_reduce};
}

}  // namespace multitree
