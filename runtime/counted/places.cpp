// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank's places in the trees of a schedule.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/counted/lane_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

[[noreturn]] void refuse(const Schedule& schedule, Rank rank, std::string_view what) {
  throw Error(ErrorCode::Unsupported,
              fmt::format("sums with a loss budget: expected an all-reduce by trees, in which each "
                          "rank {} once; with {} rank {} does otherwise",
                          what, schedule.algorithm, index(rank)));
}

/// The trees of all chunks, as every rank sees them.
struct Trees {
  std::vector<std::vector<std::uint32_t>> below, height;  // by chunk and rank
  std::vector<std::vector<bool>> sent, got;
};

Trees trees_of(const Schedule& schedule) {
  const std::size_t chunks = schedule.chunks.size();
  Trees trees{
      .below = {chunks, std::vector<std::uint32_t>(schedule.ranks, 1)},
      .height = {chunks, std::vector<std::uint32_t>(schedule.ranks)},
      .sent = {chunks, std::vector<bool>(schedule.ranks)},
      .got = {chunks, std::vector<bool>(schedule.ranks)},
  };
  for (const Transfer& transfer : schedule.transfers) {
    const std::uint32_t chunk = transfer.chunk;
    const std::uint32_t src = index(transfer.src), dst = index(transfer.dst);
    const Rank root = schedule.chunks[chunk].root();
    if (transfer.op == Op::Copy) {
      if (trees.got[chunk][dst] || transfer.dst == root)
        refuse(schedule, transfer.dst, "gets results");
      trees.got[chunk][dst] = true;
      continue;
    }
    if (trees.sent[chunk][src] || trees.sent[chunk][dst] || transfer.src == root) {
      refuse(schedule, transfer.src, "sends its partial sum of a chunk");
    }
    trees.sent[chunk][src] = true;
    trees.below[chunk][dst] += trees.below[chunk][src];
    trees.height[chunk][dst] = std::max(trees.height[chunk][dst], trees.height[chunk][src] + 1);
  }
  return trees;
}

}  // namespace

void check_trees(const Schedule& schedule) { static_cast<void>(places_of(schedule, Rank{})); }

std::vector<PlaceInTree> places_of(const Schedule& schedule, Rank rank) {
  if (schedule.collective != Collective::AllReduce) refuse(schedule, rank, "has a sum");
  const Trees trees = trees_of(schedule);
  std::vector<PlaceInTree> places(schedule.chunks.size());
  for (std::uint32_t chunk = 0; chunk < places.size(); ++chunk) {
    const std::uint32_t root = index(schedule.chunks[chunk].root());
    if (trees.below[chunk][root] != schedule.ranks) refuse(schedule, Rank{root}, "is summed up");
    places[chunk].below = trees.below[chunk][index(rank)];
    places[chunk].height = trees.height[chunk][index(rank)];
    places[chunk].root_height = trees.height[chunk][root];
  }
  for (const Transfer& transfer : schedule.transfers) {
    PlaceInTree& place = places[transfer.chunk];
    const Seat src{index(transfer.src)}, dst{index(transfer.dst)};
    const bool sums = transfer.op == Op::Reduce;
    if (transfer.src == rank) {
      if (sums) place.parent = dst;
      if (!sums) place.targets.push_back(dst);
    } else if (transfer.dst == rank) {
      if (sums) {
        place.children.push_back(src);
        place.of_child.push_back(trees.below[transfer.chunk][index(transfer.src)]);
      }
      if (!sums) place.source = src;
    }
  }
  return places;
}

}  // namespace multitree::runtime
