// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Places of a model go round all trees, in stretches that are as long as the trees' shares.
#include "tools/train/run/arrangement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topologies/error.hpp"

namespace multitree::tools {
namespace {

/// So many places, and the trees come again; more where there are many trees.
constexpr std::size_t kTurn = 1024, kPlacesOfTree = 16;

SumTree tree_of(const Schedule& schedule, std::uint32_t chunk,
                const std::vector<const Transfer*>& sums) {
  SumTree tree(schedule.ranks);
  std::vector<bool> sent(schedule.ranks);
  for (const Transfer* sum : sums) {
    if (sent[index(sum->src)] || sent[index(sum->dst)]) break;
    sent[index(sum->src)] = true;
    tree[index(sum->dst)].push_back(index(sum->src));
  }
  if (std::ranges::count(sent, true) + 1 != schedule.ranks || sums.size() + 1 != schedule.ranks) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected sums on trees, found that chunk {} is added otherwise",
                            schedule.algorithm, chunk));
  }
  return tree;
}

std::vector<SumTree> trees_by_chunk(const Schedule& schedule) {
  std::vector<std::vector<const Transfer*>> sums(schedule.chunks.size());
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.op == Op::Reduce) sums[transfer.chunk].push_back(&transfer);
  }
  std::vector<SumTree> trees;
  for (std::uint32_t c = 0; c < sums.size(); ++c) trees.push_back(tree_of(schedule, c, sums[c]));
  return trees;
}

/// Where a turn of all places goes over to the next tree.
std::vector<std::size_t> ends_in_turn(const SumTrees& trees) {
  const std::size_t turn = std::max(kTurn, kPlacesOfTree * trees.size());
  std::uint64_t all = 0, before = 0;
  for (const auto& [tree, share] : trees) all += share;
  std::vector<std::size_t> ends;
  for (const auto& [tree, share] : trees) {
    before += share;
    ends.push_back(static_cast<std::size_t>(
        static_cast<double>(turn) * static_cast<double>(before) / static_cast<double>(all)));
  }
  ends.back() = turn;
  return ends;
}

/// Where numbers of each tree lie in a vector of so many.
class Rooms {
 public:
  Rooms(const Schedule& schedule, const SumTrees& trees) : schedule_(schedule) {
    for (const SumTree& tree : trees_by_chunk(schedule)) {
      tree_.push_back(static_cast<std::size_t>(std::distance(trees.begin(), trees.find(tree))));
    }
  }

  [[nodiscard]] std::vector<std::vector<ElementRange>> in(std::size_t size,
                                                          std::size_t trees) const {
    std::vector<std::vector<ElementRange>> rooms(trees);
    const std::vector<ElementRange> ranges = chunk_ranges(schedule_, size);
    for (std::size_t c = 0; c < ranges.size(); ++c) rooms[tree_[c]].push_back(ranges[c]);
    return rooms;
  }

 private:
  const Schedule& schedule_;
  std::vector<std::size_t> tree_;  // by chunk
};

bool fit(const std::vector<std::vector<ElementRange>>& rooms,
         const std::vector<std::size_t>& wanted) {
  for (std::size_t t = 0; t < wanted.size(); ++t) {
    std::size_t room = 0;
    for (const ElementRange& range : rooms[t]) room += range.count;
    if (room < wanted[t]) return false;
  }
  return true;
}

}  // namespace

SumTrees sum_trees(const Schedule& schedule) {
  SumTrees shares;
  const std::vector<SumTree> trees = trees_by_chunk(schedule);
  for (std::size_t c = 0; c < trees.size(); ++c) shares[trees[c]] += schedule.chunks[c].weight;
  std::uint64_t common = 0;
  for (const auto& [tree, share] : shares) common = std::gcd(common, share);
  for (auto& [tree, share] : shares) share /= common;
  return shares;
}

Arrangement::Arrangement(const Schedule& schedule, std::size_t begin, std::size_t count) {
  const SumTrees trees = sum_trees(schedule);
  const std::vector<std::size_t> ends = ends_in_turn(trees);
  const std::size_t turn = ends.back();
  // The stretch in runs of one tree; where each lies in the vector is still to be found.
  std::vector<std::size_t> wanted(ends.size()), tree_of_run;
  for (std::size_t place = begin; place < begin + count;) {
    const std::size_t in_turn = place % turn;
    const auto end = std::ranges::upper_bound(ends, in_turn);
    const std::size_t length = std::min(*end - in_turn, begin + count - place);
    tree_of_run.push_back(static_cast<std::size_t>(end - ends.begin()));
    wanted[tree_of_run.back()] += length;
    runs_.push_back({place - begin, 0, length});
    place += length;
  }
  const std::size_t multiple = is_sharded(schedule.collective) ? schedule.ranks : 1;
  size_ = (count + multiple - 1) / multiple * multiple;
  const Rooms all_rooms(schedule, trees);
  auto rooms = all_rooms.in(size_, ends.size());
  while (!fit(rooms, wanted)) {
    size_ += multiple * std::max<std::size_t>(1, size_ / (64 * multiple));
    rooms = all_rooms.in(size_, ends.size());
  }
  std::vector<Run> placed;
  std::vector<std::size_t> room(ends.size()), used(ends.size());
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const std::size_t tree = tree_of_run[r];
    for (Run left = runs_[r]; left.count > 0;) {
      const ElementRange& here = rooms[tree][room[tree]];
      const std::size_t taken = std::min<std::size_t>(left.count, here.count - used[tree]);
      if (taken > 0) placed.push_back({left.in_stretch, here.begin + used[tree], taken});
      left = {left.in_stretch + taken, 0, left.count - taken};
      used[tree] += taken;
      if (used[tree] == here.count) {
        ++room[tree];
        used[tree] = 0;
      }
    }
  }
  runs_ = std::move(placed);
}

void Arrangement::pack(std::span<const float> stretch, std::span<float> vector) const {
  std::ranges::fill(vector, 0.0F);
  for (const Run& run : runs_) {
    std::ranges::copy(stretch.subspan(run.in_stretch, run.count),
                      vector.subspan(run.in_vector, run.count).begin());
  }
}

void Arrangement::unpack(std::span<const float> vector, std::span<float> stretch) const {
  for (const Run& run : runs_) {
    std::ranges::copy(vector.subspan(run.in_vector, run.count),
                      stretch.subspan(run.in_stretch, run.count).begin());
  }
}

}  // namespace multitree::tools
