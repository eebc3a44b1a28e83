// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rounds at distances that shrink, for any number of ranks. J. Bruck et al.: "Efficient Algorithms
/// for All-to-All Communications in Multiport Message-Passing Systems", IEEE TPDS 8(11), 1997
/// (DOI 10.1109/71.642949); J. L. Traeff: "Optimal, Non-pipelined Reduce-scatter and Allreduce
/// Algorithms", 2024 (arXiv 2410.14234).
///
/// Of n ranks in a circle, an all-gather with radix R begins at s = ceil(n/R): each rank sends what
/// it has to the ranks s, 2s, ... ahead, at most R - 1 of them; then the same with n = s, until s
/// is 1. That takes ceil(log2 n) rounds with R = 2, and each rank gets every chunk once: the last
/// and largest messages go to neighbours. A grid, and ranks that meet level by level (GPUs in a
/// box, boxes on a network), have a circle for each dimension, passed from the farthest to the
/// nearest. What a rank sends another in one round is one message (Schedule::coalesces). With
/// parts=K the data is in K parts, each with links of its own: in a grid they begin in one
/// dimension after the other, and then go the other way round.
///
/// A broadcast with scatter=1 first brings every rank a chunk of its own, by halves, to the nearest
/// ranks first (R. van de Geijn, "On Global Combine Operations", 1994), and then is an all-gather
/// that leaves out who has been passed.
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <vector>

#include "algorithms/coalesced.hpp"
#include "algorithms/generators/generators_internal.hpp"
#include "algorithms/pack.hpp"
#include "topologies/error.hpp"
#include "topologies/structure.hpp"

namespace multitree {
namespace {

using Sizes = std::vector<std::uint32_t>;

/// A grid, or levels on which ranks meet, or all ranks in one circle.
struct Circles {
  std::vector<std::uint32_t> sizes;  ///< those of the nearest ranks first
  bool alike = true;                 ///< none is slower than another
};

Circles circles_of(const Topology& topology) {
  const Structure structure = structure_of(topology);
  Circles circles;
  if (structure.grid) {
    circles.sizes = structure.grid->sizes;
  } else if (structure.levels) {
    circles = {structure.levels->sizes, false};
  } else {
    circles.sizes = {topology.num_ranks()};
  }
  std::erase(circles.sizes, 1U);
  return circles;
}

/// A chunk on its way: those of rank 0 go from rank `from` to rank `to`.
struct Arc {
  std::uint32_t round, from, to;
};

/// A circle of so many ranks.
std::vector<Arc> arcs_of(std::uint32_t size, std::uint32_t radix) {
  std::vector<Arc> arcs;
  std::vector<std::uint32_t> holders = {0};
  std::vector<bool> has(size);
  has[0] = true;
  std::uint32_t round = 0, span = size;
  while (span > 1) {
    const std::uint32_t next = (span + radix - 1) / radix;
    const std::size_t before = holders.size();
    for (std::uint32_t ahead = next; ahead < span; ahead += next) {
      for (std::size_t i = 0; i < before; ++i) {
        const std::uint32_t to = holders[i] + ahead;
        if (to >= size || has[to]) continue;
        has[to] = true;
        holders.push_back(to);
        arcs.push_back({round, holders[i], to});
      }
    }
    span = next;
    ++round;
  }
  return arcs;
}

/// One part of the data.
class Part {
 public:
  Part(const Circles& circles, std::uint32_t number, std::uint32_t radix)
      : sizes_(circles.sizes),
        first_(circles.alike && !sizes_.empty() ? number % sizes_.size() : 0),
        backwards_(is_backwards(circles, number)) {
    std::vector<std::uint32_t> holders = {0};
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      add_circle((first_ + i) % sizes_.size(), radix, holders);
    }
  }

  [[nodiscard]] std::uint32_t rounds() const { return rounds_; }

  /// The messages of a round that carry the chunk of this owner; those who have it leave out what
  /// would come to them. \param wave of the first round
  void add_round(std::uint32_t round, std::uint32_t owner, std::uint32_t chunk,
                 const std::vector<std::uint32_t>& have, std::uint32_t wave,
                 std::vector<Message>& messages) const {
    for (const Arc& arc : arcs_) {
      if (arc.round != round) continue;
      const std::uint32_t to = moved(owner, arc.to);
      if (std::ranges::find(have, to) != have.end()) continue;
      messages.push_back({.chunk = chunk,
                          .src = Rank{moved(owner, arc.from)},
                          .dst = Rank{to},
                          .wave = wave + round});
    }
  }

  /// Rounds of scatter().
  [[nodiscard]] std::uint32_t halvings() const {
    std::uint32_t rounds = 0;
    for (const std::uint32_t size : sizes_) rounds += halvings_of(size);
    return rounds;
  }

  /// The messages that bring a chunk to its owner, by halves of each circle, the last one of the
  /// gathering first. \returns who has it then
  std::vector<std::uint32_t> scatter(std::uint32_t root, std::uint32_t owner, std::uint32_t chunk,
                                     std::vector<Message>& messages) const {
    std::vector<std::uint32_t> have = {root};
    std::uint32_t round = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const std::size_t circle = (first_ + i) % sizes_.size();
      const std::uint32_t stride = stride_of(circle), size = sizes_[circle];
      const std::uint32_t apart = (owner / stride % size + size - root / stride % size) % size *
                                  (backwards_ ? size - 1 : 1);
      for (const auto& [after, from, to] : halves(size, apart % size)) {
        have.push_back(moved(have.back(), (to - from) * stride));
        messages.push_back({.chunk = chunk,
                            .src = Rank{have[have.size() - 2]},
                            .dst = Rank{have.back()},
                            .wave = round + after});
      }
      round += halvings_of(size);
    }
    return have;
  }

 private:
  static std::uint32_t halvings_of(std::uint32_t size) {
    return static_cast<std::uint32_t>(std::bit_width(size - 1));
  }

  /// The way from the first of so many to one of them: who has the first of a range sends the
  /// second half of it away.
  static std::vector<Arc> halves(std::uint32_t size, std::uint32_t target) {
    std::vector<Arc> way;
    std::uint32_t begin = 0, end = size;
    for (std::uint32_t round = 0; end - begin > 1; ++round) {
      const std::uint32_t middle = begin + (end - begin + 1) / 2;
      if (target < middle) {
        end = middle;
      } else {
        way.push_back({round, begin, middle});
        begin = middle;
      }
    }
    return way;
  }

  static bool is_backwards(const Circles& circles, std::uint32_t number) {
    const std::size_t ways = circles.alike ? std::max<std::size_t>(circles.sizes.size(), 1) : 1;
    return number / ways % 2 == 1;
  }

  void add_circle(std::size_t circle, std::uint32_t radix, std::vector<std::uint32_t>& holders) {
    const std::uint32_t stride = stride_of(circle);
    const std::vector<Arc> arcs = arcs_of(sizes_[circle], radix);
    const std::vector<std::uint32_t> before = holders;
    for (const Arc& arc : arcs) {
      for (const std::uint32_t holder : before) {
        arcs_.push_back(
            {rounds_ + arc.round, holder + arc.from * stride, holder + arc.to * stride});
        holders.push_back(arcs_.back().to);
      }
    }
    rounds_ += arcs.back().round + 1;
  }

  [[nodiscard]] std::uint32_t stride_of(std::size_t circle) const {
    return std::accumulate(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(circle), 1U,
                           std::multiplies<>());
  }

  /// `rank` moved along each circle by what `by` has there.
  [[nodiscard]] std::uint32_t moved(std::uint32_t rank, std::uint32_t by) const {
    std::uint32_t result = 0, stride = 1;
    for (const std::uint32_t size : sizes_) {
      const std::uint32_t at = rank / stride % size, ahead = by / stride % size;
      result += (backwards_ ? at + size - ahead : at + ahead) % size * stride;
      stride *= size;
    }
    return result;
  }

  const std::vector<std::uint32_t>& sizes_;
  std::size_t first_;  ///< the circle that is passed last
  bool backwards_;
  std::uint32_t rounds_ = 0;
  std::vector<Arc> arcs_;
};

std::uint32_t parts_option(const Spec& options) { return options.get_number("parts", 1, 1, 16); }

bool scatter_option(const Spec& options) { return options.get_number("scatter", 0, 0, 1) == 1; }

/// By part: what chunk modulo parts goes.
std::vector<Part> parts_of(const Circles& circles, const Spec& options) {
  const std::uint32_t radix = options.get_number("radix", 2, 2, 16);
  std::vector<Part> parts;
  for (std::uint32_t part = 0; part < parts_option(options); ++part) {
    parts.emplace_back(circles, part, radix);
  }
  return parts;
}

/// All chunks of `header` from their owners to all.
Schedule spread(Schedule header, const Topology& topology, const Spec& options) {
  const Circles circles = circles_of(topology);
  const std::vector<Part> parts = parts_of(circles, options);
  std::vector<Message> messages;
  for (std::uint32_t round = 0; round < parts[0].rounds(); ++round) {
    for (std::uint32_t c = 0; c < header.chunks.size(); ++c) {
      const std::uint32_t owner = index(header.chunks[c].root());
      parts[c % parts.size()].add_round(round, owner, c, {}, 0, messages);
    }
  }
  return pack(std::move(header), messages, topology);
}

/// A chunk of each part to every rank, and from there to all.
Schedule scatter_and_spread(const Topology& topology, Rank root, const Spec& options) {
  const Circles circles = circles_of(topology);
  const std::vector<Part> parts = parts_of(circles, options);
  const auto count = static_cast<std::uint32_t>(parts.size());
  Schedule header = broadcast_header(topology, root, topology.num_ranks() * count);
  header.coalesces = most_together(topology);
  std::vector<Message> messages;
  std::vector<std::vector<std::uint32_t>> have;
  for (std::uint32_t c = 0; c < header.chunks.size(); ++c) {
    have.push_back(parts[c % count].scatter(index(root), c / count, c, messages));
  }
  for (std::uint32_t round = 0; round < parts[0].rounds(); ++round) {
    for (std::uint32_t c = 0; c < header.chunks.size(); ++c) {
      parts[c % count].add_round(round, c / count, c, have[c], parts[0].halvings(), messages);
    }
  }
  return pack(std::move(header), messages, topology);
}

Schedule circulant_all_gather(const Topology& topology, const Spec& options) {
  if (scatter_option(options)) {
    throw Error(ErrorCode::Unsupported,
                "circulant: scatter: expected none but of a broadcast or a reduce");
  }
  Schedule header = all_gather_header(topology, parts_option(options));
  header.coalesces = most_together(topology);
  return spread(std::move(header), topology, options);
}

/// The trees that the all-gather has for the root's parts, or a scatter before all of it.
Schedule circulant_broadcast(const Topology& topology, Rank root, const Spec& options) {
  if (scatter_option(options)) return scatter_and_spread(topology, root, options);
  return spread(broadcast_header(topology, root, parts_option(options)), topology, options);
}

}  // namespace

Algorithm circulant_algorithm() {
  return {
      .name = "circulant",
      .summary = "rounds at distances that shrink, in circles of any number of ranks",
      .source = "Bruck et al., IEEE TPDS 1997; Traeff, arXiv 2410.14234",
      .parameters =
          "radix=R: a rank sends to up to R - 1 others a round (default 2); parts=K: parts of "
          "the data, each of which begins in another dimension, then the other way round "
          "(default 1); scatter=0|1: 1: a broadcast brings each rank a part of its own first, a "
          "reduce the other way round (default 0)",
      .unsupported = supports_all,
      .all_gather = circulant_all_gather,
      .broadcast = circulant_broadcast,
      .variants =
          "radix=3|radix=4|radix=8|parts=2|radix=3&parts=2|scatter=1|scatter=1&radix=4|"
          "scatter=1&parts=2"};
}

}  // namespace multitree
