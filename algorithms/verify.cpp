// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The proof: structural checks on every transfer, then a symbolic replay of every chunk.
#include "algorithms/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "algorithms/verify_counting_internal.hpp"
#include "algorithms/verify_links_internal.hpp"

namespace multitree {
namespace {

constexpr std::array<std::string_view, 12> kKindNames = {
    "bad-header",    "bad-transfer",   "bad-route",    "link-conflict",
    "missing-data",  "write-conflict", "double-count", "missing-contribution",
    "missing-chunk", "cannot-add",     "cannot-copy",  "switch-overload"};

/// out += in, saturating at 255: any count above 1 is wrong, so which one does not matter.
void accumulate(std::uint8_t* __restrict out, const std::uint8_t* __restrict in, std::uint32_t n) {
  for (std::uint32_t c = 0; c < n; ++c) {
    const auto sum = static_cast<std::uint8_t>(out[c] + in[c]);
    out[c] = static_cast<std::uint8_t>(sum | (sum < in[c] ? 255 : 0));
  }
}

/// One verification in progress: the inputs and the report being written.
class Checker {
 public:
  Checker(const Schedule& schedule, const Topology& topology, const VerifyOptions& options)
      : schedule_(schedule), topology_(topology), options_(options) {}

  VerifyReport run() {
    if (check_header()) {
      check_transfers();
      check_links(schedule_, topology_, usable_,
                  [&](ViolationKind kind, const Transfer& t, const std::string& what,
                      std::optional<LinkId> link) { report(kind, t, what, link); });
      // The replay is the judge; what is proven by less need not go there.
      if (!options_.replay_always && report_.ok() && proven_by_counting(schedule_))
        return std::move(report_);
      replay();
    }
    return std::move(report_);
  }

 private:
  void bad(const std::string& what, std::optional<std::uint32_t> chunk = {});
  void check_ends(const Chunk& chunk, std::uint32_t c);
  bool check_header();
  void check_transfers();
  bool check_ids(const Transfer& t);
  void check_route(const Transfer& t);
  void replay();
  void replay_chunk(std::uint32_t chunk, std::span<const std::uint32_t> list);
  void replay_step(std::span<const std::uint32_t> group);
  void check_writes(std::uint32_t chunk, std::span<const std::uint32_t> group);
  void check_result(std::uint32_t chunk);
  void report_contributions(std::uint32_t chunk, Rank rank, std::span<const std::uint8_t> expected);

  void report(Violation violation) {
    ++report_.total_violations;
    if (report_.violations.size() < options_.max_violations) {
      violation.message = fmt::format("{}: {}", to_string(violation.kind), violation.message);
      report_.violations.push_back(std::move(violation));
    }
  }
  /// A violation at a transfer.
  void report(ViolationKind kind, const Transfer& t, const std::string& what,
              std::optional<LinkId> link = {}) {
    report({kind, t.step, t.chunk, t.src, t.dst, link,
            fmt::format("step {}: {} of chunk {} from rank {} to rank {}: {}", t.step,
                        t.op == Op::Reduce ? "reduce" : "copy", t.chunk, index(t.src), index(t.dst),
                        what)});
  }
  std::uint8_t* value(Rank rank) { return counts_.data() + std::size_t{index(rank)} * ranks_; }

  const Schedule& schedule_;
  const Topology& topology_;
  const VerifyOptions& options_;
  VerifyReport report_;
  std::uint32_t ranks_ = 0, owners_ = 0;  // owners: ranks that are no helpers
  std::vector<bool> usable_;              // transfers whose ids are in range
  // The replay's state for one chunk: how often rank r's value contains contributor c's input, at
  // counts_[r * ranks + c], and whether r has a value at all.
  std::vector<std::uint8_t> counts_;
  std::vector<bool> held_;
  std::vector<std::uint8_t> snapshots_;  // values of senders as they were before the step
};

void Checker::bad(const std::string& what, std::optional<std::uint32_t> chunk) {
  report({ViolationKind::BadHeader, {}, chunk, {}, {}, {}, what});
}

/// Source and target of a chunk: ranks, the root where the collective says so, and one and the same
/// where every rank is at one of the two ends.
void Checker::check_ends(const Chunk& chunk, std::uint32_t c) {
  const auto [collective, name, start, end] = facts(schedule_.collective);
  const auto check = [&](Rank rank, Holder holder) {
    if (index(rank) >= owners_) {
      bad(fmt::format("chunk {}: owner {} is not one of the {} ranks", c, index(rank), owners_), c);
    }
    if (holder == Holder::Root && rank != schedule_.root) {
      bad(fmt::format("chunk {}: owner {} is not the root {}", c, index(rank),
                      index(schedule_.root)),
          c);
    }
  };
  if (start != Holder::Everyone) check(chunk.source, start);
  if (end != Holder::Everyone || start == Holder::Everyone) check(chunk.target, end);
  const bool one = start == Holder::Everyone || end == Holder::Everyone;
  if (one && chunk.source != chunk.target) {
    bad(fmt::format("chunk {}: source {} and target {} differ in {}", c, index(chunk.source),
                    index(chunk.target), name),
        c);
  }
}

bool Checker::check_header() {
  const std::uint64_t before = report_.total_violations;
  ranks_ = schedule_.ranks;
  if (ranks_ != topology_.num_ranks()) {
    bad(fmt::format("schedule for {} ranks, topology has {}", ranks_, topology_.num_ranks()));
  }
  if (schedule_.helpers >= std::max(ranks_, 1U)) {
    bad(fmt::format("all of the {} ranks only help", ranks_));
    return false;
  }
  owners_ = ranks_ - schedule_.helpers;
  if (index(schedule_.root) >= owners_) {
    bad(fmt::format("root {} is not one of the {} ranks", index(schedule_.root), owners_));
  }
  if (schedule_.chunks.empty()) bad("no chunks");
  std::vector<bool> owns(owners_, false);
  std::uint64_t weights = 0;
  for (std::uint32_t c = 0; c < schedule_.chunks.size(); ++c) {
    const Chunk& chunk = schedule_.chunks[c];
    check_ends(chunk, c);
    if (is_sharded(schedule_.collective) &&
        index(shard_of(schedule_.collective, chunk)) < owners_) {
      owns[index(shard_of(schedule_.collective, chunk))] = true;
    }
    if (chunk.weight == 0) bad(fmt::format("chunk {}: weight 0", c), c);
    if (chunk.weight > kMaxWeights - weights) {
      bad(fmt::format("chunk {}: the weights add up to more than {}", c, kMaxWeights), c);
      return false;
    }
    weights += chunk.weight;
  }
  for (std::uint32_t r = 0; is_sharded(schedule_.collective) && r < owners_; ++r) {
    if (!owns[r]) bad(fmt::format("rank {} owns no chunk", r));
  }
  return report_.total_violations == before;
}

bool Checker::check_ids(const Transfer& t) {
  if (index(t.src) >= ranks_ || index(t.dst) >= ranks_ || t.chunk >= schedule_.chunks.size()) {
    report(ViolationKind::BadTransfer, t,
           fmt::format("ranks go to {}, chunks to {}", ranks_ - 1, schedule_.chunks.size() - 1));
    return false;
  }
  if (t.src == t.dst) {
    report(ViolationKind::BadTransfer, t, "a rank sends to itself");
    return false;
  }
  if (t.route_begin > schedule_.routes.size() ||
      t.route_size > schedule_.routes.size() - t.route_begin) {
    report(ViolationKind::BadRoute, t, "its route lies outside the route pool");
    return false;
  }
  return true;
}

void Checker::check_route(const Transfer& t) {
  NodeId at = topology_.node_of(t.src);
  for (const LinkId id : schedule_.route(t)) {
    if (index(id) >= topology_.num_links()) {
      return report(ViolationKind::BadRoute, t, fmt::format("link {} does not exist", index(id)),
                    id);
    }
    const Link& link = topology_.link(id);
    if (link.src != at) {
      return report(
          ViolationKind::BadRoute, t,
          fmt::format("{} does not start at {}", link_name(id, topology_), topology_.node(at).name),
          id);
    }
    at = link.dst;
  }
  if (at != topology_.node_of(t.dst)) {
    report(
        ViolationKind::BadRoute, t,
        fmt::format("its route ends at {}, not at rank {}", topology_.node(at).name, index(t.dst)));
  }
}

void Checker::check_transfers() {
  usable_.assign(schedule_.transfers.size(), false);
  std::uint32_t last_step = 0;
  for (std::size_t i = 0; i < schedule_.transfers.size(); ++i) {
    const Transfer& t = schedule_.transfers[i];
    if (t.step < last_step) {
      report(ViolationKind::BadTransfer, t, fmt::format("listed after step {}", last_step));
    }
    last_step = std::max(last_step, t.step);
    usable_[i] = check_ids(t);
    if (usable_[i]) check_route(t);
  }
}

void Checker::replay() {
  const std::size_t chunks = schedule_.chunks.size();
  // Stable counting sort of the transfers by chunk, so that a chunk's list is in step order.
  std::vector<std::uint32_t> begin(chunks + 1, 0);
  for (std::size_t i = 0; i < usable_.size(); ++i) {
    if (usable_[i]) ++begin[schedule_.transfers[i].chunk + 1];
  }
  for (std::size_t c = 0; c < chunks; ++c) begin[c + 1] += begin[c];
  std::vector<std::uint32_t> order(begin[chunks]);
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t i = 0; i < usable_.size(); ++i) {
    if (usable_[i]) order[next[schedule_.transfers[i].chunk]++] = i;
  }
  counts_.resize(std::size_t{ranks_} * ranks_);
  for (std::uint32_t c = 0; c < chunks; ++c) {
    const auto list = std::span(order).subspan(begin[c], begin[c + 1] - begin[c]);
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return schedule_.transfers[a].step < schedule_.transfers[b].step;
    });
    replay_chunk(c, list);
  }
}

void Checker::replay_chunk(std::uint32_t chunk, std::span<const std::uint32_t> list) {
  std::fill(counts_.begin(), counts_.end(), std::uint8_t{0});
  held_.assign(ranks_, false);
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (!starts_with(schedule_, Rank{r}, chunk)) continue;
    held_[r] = true;
    value(Rank{r})[r] = 1;
  }
  for (std::size_t i = 0; i < list.size();) {
    std::size_t end = i;
    while (end < list.size() &&
           schedule_.transfers[list[end]].step == schedule_.transfers[list[i]].step) {
      ++end;
    }
    const auto group = list.subspan(i, end - i);
    check_writes(chunk, group);
    replay_step(group);
    i = end;
  }
  check_result(chunk);
}

/// In one step a value may be written by one copy, or by any number of reductions.
void Checker::check_writes(std::uint32_t chunk, std::span<const std::uint32_t> group) {
  if (group.size() < 2) return;
  std::map<Rank, std::pair<std::uint32_t, bool>> writes;  // count, any copy
  for (const std::uint32_t i : group) {
    const Transfer& t = schedule_.transfers[i];
    auto& [count, copied] = writes[t.dst];
    ++count;
    copied = copied || t.op == Op::Copy;
    if (count > 1 && copied) {
      report(ViolationKind::WriteConflict, t,
             fmt::format("another transfer writes chunk {} of rank {} in this step", chunk,
                         index(t.dst)));
    }
  }
}

/// Applies the transfers of one step to the chunk being replayed: all values are read before any is
/// written.
void Checker::replay_step(std::span<const std::uint32_t> group) {
  std::vector<bool> ready(group.size(), false);
  snapshots_.resize(group.size() * ranks_);
  for (std::size_t g = 0; g < group.size(); ++g) {
    const Transfer& t = schedule_.transfers[group[g]];
    ready[g] = held_[index(t.src)];
    if (!ready[g]) report(ViolationKind::MissingData, t, "the sender does not hold the chunk yet");
    std::memcpy(snapshots_.data() + g * ranks_, value(t.src), ranks_);
  }
  for (std::size_t g = 0; g < group.size(); ++g) {
    const Transfer& t = schedule_.transfers[group[g]];
    if (!ready[g]) continue;
    const std::uint8_t* in = snapshots_.data() + g * ranks_;
    std::uint8_t* out = value(t.dst);
    if (t.op == Op::Copy) {
      std::memcpy(out, in, ranks_);
      held_[index(t.dst)] = true;
    } else if (!held_[index(t.dst)]) {
      report(ViolationKind::MissingData, t, "the receiver has nothing to reduce into");
    } else {
      accumulate(out, in, ranks_);
    }
  }
}

void Checker::check_result(std::uint32_t chunk) {
  std::vector<std::uint8_t> expected(ranks_);
  for (std::uint32_t c = 0; c < ranks_; ++c) {
    expected[c] = starts_with(schedule_, Rank{c}, chunk) ? 1 : 0;
  }
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    const Rank rank{r};
    if (!ends_with(schedule_, rank, chunk)) continue;
    if (!held_[r]) {
      report({ViolationKind::MissingChunk,
              {},
              chunk,
              {},
              rank,
              {},
              fmt::format("rank {} ends without chunk {}", r, chunk)});
    } else if (std::memcmp(value(rank), expected.data(), ranks_) != 0) {
      report_contributions(chunk, rank, expected);
    }
  }
}

/// Every contribution that a final value lacks or has too often.
void Checker::report_contributions(std::uint32_t chunk, Rank rank,
                                   std::span<const std::uint8_t> expected) {
  const std::uint32_t last = schedule_.transfers.empty() ? 0 : schedule_.transfers.back().step;
  for (std::uint32_t c = 0; c < ranks_; ++c) {
    const std::uint8_t count = value(rank)[c];
    if (count == expected[c]) continue;
    const std::string end = fmt::format("rank {} ends with chunk {}", index(rank), chunk);
    if (count < expected[c]) {
      report({ViolationKind::MissingContribution,
              last,
              chunk,
              Rank{c},
              rank,
              {},
              fmt::format("{} lacking the contribution of rank {}", end, c)});
    } else {
      report({ViolationKind::DoubleCount,
              last,
              chunk,
              Rank{c},
              rank,
              {},
              fmt::format("{} holding the contribution of rank {} {}{} times", end, c,
                          count == 255 ? "at least " : "", count)});
    }
  }
}

}  // namespace

std::string_view to_string(ViolationKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

bool VerifyReport::has(ViolationKind kind) const {
  return std::ranges::any_of(violations, [&](const Violation& v) { return v.kind == kind; });
}

VerifyReport verify(const Schedule& schedule, const Topology& topology,
                    const VerifyOptions& options) {
  return Checker(schedule, topology, options).run();
}

}  // namespace multitree
