// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random moves that keep, for every chunk, each contribution in exactly one live partial sum.
#include "random_schedule.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace multitree::runtime::test {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;

/// One chunk. The contributions are divided into groups; `group[r]` is the group whose sum rank r
/// holds, kNobody if its value is stale. Every group is held by someone.
struct ChunkState {
  std::vector<std::uint32_t> group;
  std::vector<bool> held;  // has any value, stale ones included
  std::uint32_t groups = 0;
};

class Moves {
 public:
  Moves(Collective collective, const Topology& topology, Rank root, std::uint32_t seed)
      : topology_(topology), random_(seed) {
    schedule_.collective = collective;
    schedule_.root = has_root(collective) ? root : Rank{0};
    schedule_.ranks = topology.num_ranks();
    schedule_.algorithm = "random";
    make_chunks();
  }

  Schedule run() && {
    while (!all_done() || below(4) != 0) {
      used_links_.clear();
      const bool is_empty = below(8) == 0;
      for (std::uint32_t c = 0; c < states_.size() && !is_empty; ++c) move_chunk(c);
      ++step_;
    }
    schedule_.canonicalize();
    return std::move(schedule_);
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  void make_chunks() {
    const std::uint32_t ranks = schedule_.ranks;
    const std::uint32_t count = ranks + below(ranks + 1);
    constexpr std::uint32_t kWeights[] = {1, 1, 2, 7, 1000};
    for (std::uint32_t c = 0; c < count; ++c) {
      const Rank owner = !is_sharded(schedule_.collective) && has_root(schedule_.collective)
                             ? schedule_.root
                             : (c < ranks ? Rank{c} : Rank{below(ranks)});
      const std::uint32_t tree = below(3);
      Chunk chunk = Chunk::rooted(owner, tree, kWeights[below(5)]);
      if (is_sharded(schedule_.collective) && has_root(schedule_.collective)) {
        const bool away = facts(schedule_.collective).start == Holder::Root;
        (away ? chunk.source : chunk.target) = schedule_.root;
      }
      schedule_.chunks.push_back(chunk);
    }
    std::shuffle(schedule_.chunks.begin(), schedule_.chunks.end(), random_);
    for (const Chunk& chunk : schedule_.chunks) {
      ChunkState state{std::vector(ranks, kNobody), std::vector<bool>(ranks), 0};
      for (std::uint32_t r = 0; r < ranks; ++r) {
        if (!starts_with(schedule_.collective, Rank{r}, chunk.source)) continue;
        state.held[r] = true;
        state.group[r] = r;
        ++state.groups;
      }
      states_.push_back(std::move(state));
    }
  }

  bool all_done() const {
    for (std::uint32_t c = 0; c < states_.size(); ++c) {
      if (states_[c].groups > 1) return false;
      for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
        if (ends_with(schedule_, Rank{r}, c) && states_[c].group[r] == kNobody) return false;
      }
    }
    return true;
  }

  bool send(Op op, std::uint32_t chunk, std::uint32_t src, std::uint32_t dst) {
    if (src == dst || !used_links_.emplace(src, dst).second) return false;
    for (const LinkId id : topology_.out_links(topology_.node_of(Rank{src}))) {
      if (topology_.link(id).dst != topology_.node_of(Rank{dst})) continue;
      schedule_.add(step_, op, chunk, Rank{src}, Rank{dst}, {&id, 1});
      return true;
    }
    return false;
  }

  void move_chunk(std::uint32_t chunk) {
    before_ = states_[chunk];
    written_.assign(schedule_.ranks, std::nullopt);
    busy_.assign(schedule_.ranks, false);
    for (std::uint32_t tries = below(6); tries > 0; --tries) {
      const std::uint32_t src = below(schedule_.ranks), dst = below(schedule_.ranks);
      if (src == dst || !before_.held[src]) continue;
      if (before_.group[src] == kNobody) {
        send_garbage(chunk, src, dst);
      } else if (states_[chunk].group[dst] == kNobody) {
        spread(chunk, src, dst);
      } else {
        merge(chunk, src, dst);
      }
    }
  }

  /// A stale value over, or into, another one.
  void send_garbage(std::uint32_t chunk, std::uint32_t src, std::uint32_t dst) {
    ChunkState& state = states_[chunk];
    if (state.group[dst] != kNobody) return;
    const Op op = below(2) == 0 && before_.held[dst] ? Op::Reduce : Op::Copy;
    if (written_[dst] && (op == Op::Copy || *written_[dst] == Op::Copy)) return;
    if (!send(op, chunk, src, dst)) return;
    written_[dst] = op;
    state.held[dst] = true;
  }

  /// A partial or complete sum to a rank that holds none (any more).
  void spread(std::uint32_t chunk, std::uint32_t src, std::uint32_t dst) {
    const std::uint32_t group = before_.group[src];
    if (written_[dst] || merged(group) || !send(Op::Copy, chunk, src, dst)) return;
    written_[dst] = Op::Copy;
    busy_[group] = true;
    states_[chunk].group[dst] = group;
    states_[chunk].held[dst] = true;
  }

  /// The sum of one group into that of another, sometimes in both directions, sometimes together
  /// with a third.
  void merge(std::uint32_t chunk, std::uint32_t src, std::uint32_t dst) {
    ChunkState& state = states_[chunk];
    const std::uint32_t from = before_.group[src], into = before_.group[dst];
    if (into == kNobody || from == into || busy_[from] || busy_[into]) return;
    if (written_[src] || written_[dst] || !send(Op::Reduce, chunk, src, dst)) return;
    const bool swap = below(3) == 0 && send(Op::Reduce, chunk, dst, src);
    absorb(state, from, into, dst);
    if (swap) {
      state.group[src] = into;
      written_[src] = Op::Reduce;
    }
    written_[dst] = Op::Reduce;
    const std::uint32_t third = below(schedule_.ranks), other = before_.group[third];
    if (swap || other == kNobody || busy_[other]) return;
    if (send(Op::Reduce, chunk, third, dst)) absorb(state, other, into, dst);
  }

  /// Group `into`, at rank `holder` only, now has all of `from`.
  void absorb(ChunkState& state, std::uint32_t from, std::uint32_t into, std::uint32_t holder) {
    for (std::uint32_t& group : state.group) {
      if (group == from || group == into) group = kNobody;
    }
    state.group[holder] = into;
    --state.groups;
    busy_[from] = busy_[into] = true;
  }

  /// Whether a group changed in this step, so that its value from before is stale.
  bool merged(std::uint32_t group) const { return busy_[group]; }

  const Topology& topology_;
  std::mt19937 random_;
  Schedule schedule_;
  std::vector<ChunkState> states_;
  std::uint32_t step_ = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> used_links_;
  ChunkState before_;                       // the chunk as it was before the step
  std::vector<std::optional<Op>> written_;  // by rank, in this step
  std::vector<bool> busy_;                  // groups that were merged or copied in this step
};

}  // namespace

Schedule random_schedule(Collective collective, const Topology& topology, Rank root,
                         std::uint32_t seed) {
  return Moves(collective, topology, root, seed).run();
}

}  // namespace multitree::runtime::test
