// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operations of each rank, chunk after chunk: chunks do not share memory.
#include "algorithms/interchange/rank_operations_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "topologies/error.hpp"

namespace multitree::interchange {
namespace {

constexpr std::uint32_t kNoOperation = UINT32_MAX;

/// Where values of chunks are kept.
class Places {
 public:
  Places(const Schedule& schedule, const UnitLayout& layout, BufferMode buffers)
      : schedule_(schedule),
        layout_(layout),
        may_alias_(buffers != BufferMode::OutOfPlace),
        always_alias_(buffers == BufferMode::InPlace),
        scratch_(schedule.ranks, 0) {}

  [[nodiscard]] Place input(Rank rank, std::uint32_t chunk) const {
    const std::uint32_t offset = layout_.offset[chunk];
    if (!sends_shard(schedule_.collective)) return {Buffer::Input, offset};
    if (always_alias_) return {Buffer::Output, offset};
    return {Buffer::Input, offset - index(rank) * layout_.shard};
  }

  /// Where a rank writes a chunk. Called once for each, as scratch is given out here.
  Place home(Rank rank, std::uint32_t chunk) {
    const std::uint32_t offset = layout_.offset[chunk];
    const Collective collective = schedule_.collective;
    const bool in_input = always_alias_ && reduces(collective) && !has_root(collective);
    if (in_input) return {Buffer::Input, offset};
    if (ends_with(schedule_, rank, chunk)) {
      return {Buffer::Output,
              receives_shard(collective) ? offset - index(rank) * layout_.shard : offset};
    }
    const std::uint32_t begin = scratch_[index(rank)];
    scratch_[index(rank)] += layout_.count[chunk];
    return {Buffer::Scratch, begin};
  }

  /// Whether two places are, or may be, the same memory.
  [[nodiscard]] bool overlap(Rank rank, const Place& a, const Place& b) const {
    return physical(rank, a) == physical(rank, b);
  }
  /// Whether two places are the same memory for certain.
  [[nodiscard]] bool same(Rank rank, const Place& a, const Place& b) const {
    return always_alias_ ? overlap(rank, a, b) : a == b;
  }
  [[nodiscard]] std::vector<std::uint32_t> scratch() && { return std::move(scratch_); }

 private:
  /// One name for memory that has two when buffers are the same.
  [[nodiscard]] Place physical(Rank rank, const Place& place) const {
    if (!may_alias_) return place;
    const Collective collective = schedule_.collective;
    const std::uint32_t shard = index(rank) * layout_.shard;
    if (sends_shard(collective)) {
      return place.buffer == Buffer::Input ? Place{Buffer::Output, shard + place.offset} : place;
    }
    const bool shared = !has_root(collective) || rank == schedule_.root;
    return place.buffer == Buffer::Output && shared ? Place{Buffer::Input, shard + place.offset}
                                                    : place;
  }

  const Schedule& schedule_;
  const UnitLayout& layout_;
  bool may_alias_, always_alias_;
  std::vector<std::uint32_t> scratch_;
};

/// Sends and receives in their order, without places and dependences.
std::vector<Operation> messages(const Schedule& schedule) {
  const auto& transfers = schedule.transfers;
  std::vector<std::uint32_t> order(transfers.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](std::uint32_t t) {
    return std::tuple(transfers[t].step, transfers[t].chunk);
  };
  std::ranges::stable_sort(order, {}, key);
  std::vector<Operation> operations;
  operations.reserve(2 * transfers.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && key(order[end]) == key(order[begin])) ++end;
    const auto group = static_cast<std::uint32_t>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const Transfer& t = transfers[order[i]];
      operations.push_back(
          {.action = Action::Send, .rank = t.src, .peer = t.dst, .chunk = t.chunk});
      operations.back().other = static_cast<std::uint32_t>(operations.size()) - 1 + group;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const Transfer& t = transfers[order[i]];
      operations.push_back({.action = t.op == Op::Reduce ? Action::ReceiveReduce : Action::Receive,
                            .rank = t.dst,
                            .peer = t.src,
                            .chunk = t.chunk});
      operations.back().other = static_cast<std::uint32_t>(operations.size()) - 1 - group;
    }
  }
  return operations;
}

/// Follows the values of one chunk after another.
class Follower {
 public:
  Follower(const Schedule& schedule, const UnitLayout& layout, BufferMode buffers)
      : schedule_(schedule), places_(schedule, layout, buffers), values_(schedule.ranks) {
    result_.operations = messages(schedule);
  }

  RankOperations run() {
    const std::size_t chunks = schedule_.chunks.size();
    // Counting sort of the operations by chunk, their order kept.
    std::vector<std::uint32_t> begin(chunks + 1, 0);
    for (const Operation& o : result_.operations) ++begin[o.chunk + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint32_t> order(result_.operations.size());
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      order[next[result_.operations[i].chunk]++] = i;
    }
    for (std::uint32_t c = 0; c < chunks; ++c) {
      start(c);
      for (std::uint32_t i = begin[c]; i < begin[c + 1]; ++i) follow(order[i]);
      finish(c);
    }
    result_.scratch = std::move(places_).scratch();
    return std::move(result_);
  }

 private:
  struct Value {
    bool held = false;
    bool written = false;  // since the start: `place` is the rank's home of the chunk
    Place place;
    std::uint32_t writer = kNoOperation;
    std::vector<std::uint32_t> readers;  // since it was written
  };

  void start(std::uint32_t chunk) {
    for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
      Value& value = values_[r];
      value.held = starts_with(schedule_, Rank{r}, chunk);
      value.written = false;
      value.place = value.held ? places_.input(Rank{r}, chunk) : Place{};
      value.writer = kNoOperation;
      value.readers.clear();
    }
  }

  void follow(std::uint32_t id) {
    Operation& o = result_.operations[id];
    Value& value = values_[index(o.rank)];
    if (!value.held && o.action != Action::Receive) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected a schedule that verifies, got one where rank {} uses chunk "
                              "{} before it has it",
                              index(o.rank), o.chunk));
    }
    o.needs_begin = static_cast<std::uint32_t>(result_.needs.size());
    if (o.action == Action::Send) {
      o.src = value.place;
      need(value.writer);
      value.readers.push_back(id);
    } else {
      write(id, o, value);
    }
    o.needs_count = static_cast<std::uint32_t>(result_.needs.size()) - o.needs_begin;
  }

  void write(std::uint32_t id, Operation& o, Value& value) {
    o.src = value.place;
    o.dst = value.written ? value.place : places_.home(o.rank, o.chunk);
    const bool overwrites = value.held && places_.overlap(o.rank, o.src, o.dst);
    // The readers waited for the writer, so waiting for them is enough.
    if (overwrites && !value.readers.empty()) {
      result_.needs.insert(result_.needs.end(), value.readers.begin(), value.readers.end());
    } else {
      need(value.writer);
    }
    value.held = value.written = true;
    value.place = o.dst;
    value.writer = id;
    value.readers.clear();
  }

  void need(std::uint32_t id) {
    if (id != kNoOperation) result_.needs.push_back(id);
  }

  /// What a rank never wrote and must end with is still where its input is.
  void finish(std::uint32_t chunk) {
    for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
      const Value& value = values_[r];
      if (!value.held || value.written || !ends_with(schedule_, Rank{r}, chunk)) {
        continue;
      }
      const Place home = places_.home(Rank{r}, chunk);
      if (places_.same(Rank{r}, value.place, home)) continue;
      result_.operations.push_back({.action = Action::CopyLocal,
                                    .rank = Rank{r},
                                    .peer = Rank{r},
                                    .chunk = chunk,
                                    .src = value.place,
                                    .dst = home});
      Operation& copy = result_.operations.back();
      copy.needs_begin = static_cast<std::uint32_t>(result_.needs.size());
      if (places_.overlap(Rank{r}, value.place, home)) {
        result_.needs.insert(result_.needs.end(), value.readers.begin(), value.readers.end());
      }
      copy.needs_count = static_cast<std::uint32_t>(result_.needs.size()) - copy.needs_begin;
    }
  }

  const Schedule& schedule_;
  Places places_;
  std::vector<Value> values_;
  RankOperations result_;
};

}  // namespace

RankOperations rank_operations(const Schedule& schedule, const UnitLayout& layout,
                               BufferMode buffers) {
  return Follower(schedule, layout, buffers).run();
}

}  // namespace multitree::interchange
