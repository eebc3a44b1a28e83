// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cyclic orders of ranks whose neighbours are close.
///
/// In a grid, with n the ranks of one row (a cycle through the sub-grid without the last dimension)
/// and m rows: row 0 from left to right, the other rows to and fro without column 0, and column 0
/// back. With m odd, the last row ends at the far side and closes along the row:
///
///   m even (4x4)                     m odd (3x3)
///     0 --> 1 --> 2 --> 3              0 --> 1 --> 2
///     ^                 |              ^           |
///     4     5 <-- 6 <-- 7              3     4 <-- 5
///     ^     |                          ^     |
///     8     9 --> a --> b              6     7 --> 8
///     ^                 |              ^           |
///     c <-- d <-- e <-- f              +-----------+   torus: wrap link; mesh: links 8>7>6, unused
///                                                      as the row runs the other way
///
/// An even size is put last where there is one, so only grids of odd sizes close along a row. There
/// the row itself closes: as a torus by its wrap link, as a mesh of one dimension by a straight
/// run, and otherwise, being such a cycle, by the last link of its column 0.
#include "algorithms/generators/embedding_internal.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "algorithms/pack.hpp"
#include "algorithms/routing.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

/// The cycle through dims[0..count) as rank numbers.
std::vector<std::uint32_t> cycle(const std::vector<std::uint32_t>& dims,
                                 const std::vector<std::uint32_t>& strides, std::size_t count) {
  if (count == 0) return {0};
  const std::uint32_t rows = dims[count - 1], stride = strides[count - 1];
  const std::vector<std::uint32_t> row = cycle(dims, strides, count - 1);
  std::vector<std::uint32_t> order;
  if (count == 1) {
    for (std::uint32_t y = 0; y < rows; ++y) order.push_back(y * stride);
    return order;
  }
  order = row;
  for (std::uint32_t y = 1; y < rows; ++y) {
    for (std::size_t i = 1; i < row.size(); ++i) {
      const std::size_t column = y % 2 == 1 ? row.size() - i : i;
      order.push_back(row[column] + y * stride);
    }
  }
  for (std::uint32_t y = rows - 1; y > 0; --y) order.push_back(row[0] + y * stride);
  return order;
}

/// From rank 0 always on to the nearest rank not yet visited, the lowest of equally near ones.
std::vector<Rank> nearest_neighbour_order(const Topology& topology) {
  Router router(topology);
  std::vector<std::uint32_t> left(topology.num_ranks() - 1);
  std::iota(left.begin(), left.end(), 1U);
  std::vector<Rank> order = {Rank{0}};
  while (!left.empty()) {
    const NodeId here = topology.node_of(order.back());
    const auto next = std::ranges::min_element(left, {}, [&](std::uint32_t rank) {
      return router.distance(here, topology.node_of(Rank{rank}));
    });
    order.push_back(Rank{*next});
    left.erase(next);
  }
  return order;
}

/// Steps that all ranks together need to send one chunk each to the next rank.
std::uint32_t contention(const std::vector<Rank>& order, const Topology& topology) {
  Schedule header;
  header.ranks = topology.num_ranks();
  header.chunks = one_chunk_per_rank(header.ranks);
  std::vector<Message> messages;
  for (std::size_t i = 0; i < order.size(); ++i) {
    messages.push_back({Op::Copy, index(order[i]), order[i], order[(i + 1) % order.size()]});
  }
  return pack(std::move(header), messages, topology).num_steps();
}

/// A path that grows at its end, and turns where it is stuck.
class RotationExtension {
 public:
  explicit RotationExtension(const Topology& topology) : neighbours_(topology.num_ranks()) {
    std::vector<std::vector<std::uint32_t>> out(topology.num_ranks());
    for (const Link& link : topology.links()) {
      const auto from = topology.node(link.src).rank, to = topology.node(link.dst).rank;
      if (from && to) out[index(*from)].push_back(index(*to));
    }
    for (auto& list : out) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    for (std::uint32_t rank = 0; rank < out.size(); ++rank) {
      for (const std::uint32_t to : out[rank]) {
        if (std::ranges::binary_search(out[to], rank)) neighbours_[rank].push_back(to);
      }
    }
  }

  /// The cycle, or nothing after `most_rotations`.
  std::vector<Rank> run(std::size_t most_rotations) {
    const std::size_t ranks = neighbours_.size();
    if (ranks < 3 || std::ranges::any_of(neighbours_, [](auto& n) { return n.size() < 2; })) {
      return {};
    }
    position_.assign(ranks, kNone);
    append(0);
    for (std::size_t rotations = 0;;) {
      if (extend()) continue;
      if (path_.size() == ranks &&
          std::ranges::binary_search(neighbours_[path_.back()], path_[0])) {
        std::vector<Rank> order;
        for (const std::uint32_t rank : path_) order.push_back(Rank{rank});
        return order;
      }
      if (rotations++ == most_rotations) return {};
      rotate();
    }
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  void append(std::uint32_t rank) {
    position_[rank] = static_cast<std::uint32_t>(path_.size());
    path_.push_back(rank);
  }

  /// Goes on to the free neighbour with the fewest free neighbours itself (Warnsdorff's rule).
  bool extend() {
    std::uint32_t best = kNone;
    std::size_t best_free = 0;
    for (const std::uint32_t rank : neighbours_[path_.back()]) {
      if (position_[rank] != kNone) continue;
      const auto free = static_cast<std::size_t>(std::ranges::count_if(
          neighbours_[rank], [&](std::uint32_t n) { return position_[n] == kNone; }));
      if (best != kNone && free >= best_free) continue;
      best = rank;
      best_free = free;
    }
    if (best == kNone) return false;
    append(best);
    return true;
  }

  /// p0 .. pi pi+1 .. pk with a link pk-pi becomes p0 .. pi pk .. pi+1: a new end.
  void rotate() {
    const auto& candidates = neighbours_[path_.back()];
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint32_t pivot = candidates[(random_ >> 33) % candidates.size()];
    std::reverse(path_.begin() + position_[pivot] + 1, path_.end());
    for (std::size_t i = position_[pivot] + 1; i < path_.size(); ++i) {
      position_[path_[i]] = static_cast<std::uint32_t>(i);
    }
  }

  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::vector<std::uint32_t> path_, position_;
  std::uint64_t random_ = 1;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> grid_dims(const Topology& topology) {
  const std::optional<Grid> grid = structure_of(topology).grid;
  if (!grid) return std::nullopt;
  std::vector<std::uint32_t> dims = grid->sizes;
  std::erase(dims, 1U);
  return dims;
}

std::vector<std::uint32_t> grid_link_preference(const Topology& topology) {
  std::vector<std::uint32_t> preference(topology.num_links(), 0);
  const auto dims = grid_dims(topology);
  if (!dims || structure_of(topology).grid->line == Line::Complete) return preference;
  std::vector<std::uint32_t> place(dims->size());  // of each dimension
  for (std::uint32_t d = 0; d < dims->size(); ++d) {
    for (std::uint32_t other = 0; other < dims->size(); ++other) {
      place[d] += std::pair((*dims)[other], other) > std::pair((*dims)[d], d) ? 1 : 0;
    }
  }
  for (std::uint32_t id = 0; id < preference.size(); ++id) {
    const Link& link = topology.link(LinkId{id});
    std::uint32_t from = index(*topology.node(link.src).rank);
    std::uint32_t to = index(*topology.node(link.dst).rank);
    for (std::uint32_t d = 0; d < dims->size(); ++d) {
      const std::uint32_t size = (*dims)[d];
      if (from % size != to % size) {
        const bool upwards = (from + 1) % size == to % size;
        preference[id] = 2 * place[d] + (upwards ? 1 : 0);
        break;
      }
      from /= size;
      to /= size;
    }
  }
  return preference;
}

std::vector<Rank> grid_cycle(std::vector<std::uint32_t> dims) {
  std::erase(dims, 1U);
  std::vector<std::uint32_t> strides;
  std::uint32_t stride = 1;
  for (const std::uint32_t size : dims) {
    strides.push_back(stride);
    stride *= size;
  }
  const auto even = std::ranges::find_if(dims, [](std::uint32_t size) { return size % 2 == 0; });
  if (even != dims.end() && dims.back() % 2 == 1) {
    const auto at = even - dims.begin();
    std::swap(*even, dims.back());
    std::swap(strides[static_cast<std::size_t>(at)], strides.back());
  }
  std::vector<Rank> order;
  for (const std::uint32_t rank : cycle(dims, strides, dims.size())) order.push_back(Rank{rank});
  return order;
}

std::vector<Rank> find_hamiltonian_cycle(const Topology& topology) {
  return RotationExtension(topology).run(std::size_t{256} * topology.num_ranks());
}

std::vector<Rank> ring_order(const Topology& topology) {
  using Candidate = std::vector<Rank> (*)(const Topology&);
  constexpr Candidate kCandidates[] = {[](const Topology& t) {
                                         const auto dims = grid_dims(t);
                                         return dims ? grid_cycle(*dims) : std::vector<Rank>{};
                                       },
                                       [](const Topology& t) {
                                         std::vector<Rank> order;
                                         for (std::uint32_t rank = 0; rank < t.num_ranks(); ++rank)
                                           order.push_back(Rank{rank});
                                         return order;
                                       },
                                       nearest_neighbour_order, find_hamiltonian_cycle};

  if (topology.num_ranks() == 1) return {Rank{0}};
  std::vector<Rank> best;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const Candidate candidate : kCandidates) {
    std::vector<Rank> order = candidate(topology);
    if (order.empty()) continue;
    const std::uint32_t steps = contention(order, topology);
    if (steps >= least) continue;
    least = steps;
    best = std::move(order);
    if (least == 1) break;
  }
  return best;
}

}  // namespace multitree
