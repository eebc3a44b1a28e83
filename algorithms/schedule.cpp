// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedule value: canonical order, equality, and the layout of chunks in a buffer.
#include "algorithms/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "algorithms/route_pool.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Divides `count` elements from `begin` among the chunks listed, in proportion to their weights.
void divide(std::uint64_t begin, std::uint64_t count, std::span<const std::uint32_t> members,
            const std::vector<Chunk>& chunks, std::vector<ElementRange>& ranges) {
  unsigned __int128 total = 0;
  for (const std::uint32_t c : members) total += chunks[c].weight;
  unsigned __int128 before = 0;
  std::uint64_t start = 0;
  for (const std::uint32_t c : members) {
    before += chunks[c].weight;
    const auto end = static_cast<std::uint64_t>(count * before / total);
    ranges[c] = {begin + start, end - start};
    start = end;
  }
}

}  // namespace

std::uint32_t Schedule::num_steps() const {
  std::uint32_t steps = 0;
  for (const Transfer& transfer : transfers) steps = std::max(steps, transfer.step + 1);
  return steps;
}

void Schedule::add(std::uint32_t step, Op op, std::uint32_t chunk, Rank src, Rank dst,
                   std::span<const LinkId> route) {
  transfers.push_back({step, op, chunk, src, dst, add_route(route, routes),
                       static_cast<std::uint32_t>(route.size())});
}

namespace {

/// Most generators add transfers in canonical order, or at least by step: then all but that order
/// within each step is spared.
void sort_transfers(Schedule& schedule) {
  const auto key = [](const Transfer& t) {
    return std::tuple(t.step, t.op, t.chunk, t.dst, t.src);
  };
  const auto before = [&](const Transfer& a, const Transfer& b) {
    if (key(a) != key(b)) return key(a) < key(b);
    return std::ranges::lexicographical_compare(schedule.route(a), schedule.route(b));
  };
  auto& transfers = schedule.transfers;
  if (!std::ranges::is_sorted(transfers, {}, &Transfer::step)) {
    std::ranges::sort(transfers, before);
    return;
  }
  for (auto begin = transfers.begin(); begin != transfers.end();) {
    const auto end = std::find_if(begin, transfers.end(),
                                  [&](const Transfer& t) { return t.step != begin->step; });
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
    begin = end;
  }
}

/// Whether each route begins where the one before it ends, and the last at the end of the pool.
bool routes_are_in_order(const Schedule& schedule) {
  std::size_t end = 0;
  for (const Transfer& t : schedule.transfers) {
    if (t.route_begin != end) return false;
    end += t.route_size;
  }
  return end == schedule.routes.size();
}

}  // namespace

void Schedule::canonicalize() {
  sort_transfers(*this);
  if (routes_are_in_order(*this)) return;
  RoutePool pool;
  pool.reserve(routes.size());
  for (Transfer& transfer : transfers) {
    const auto old = route(transfer);
    transfer.route_begin = add_route(old, pool);
  }
  routes = std::move(pool);
}

bool Schedule::operator==(const Schedule& other) const {
  const auto header = [](const Schedule& s) {
    return std::tie(s.collective, s.algorithm, s.root, s.ranks, s.in_network, s.coalesces,
                    s.helpers, s.chunks);
  };
  return header(*this) == header(other) &&
         std::ranges::equal(transfers, other.transfers, [&](const Transfer& a, const Transfer& b) {
           return std::tie(a.step, a.op, a.chunk, a.src, a.dst) ==
                      std::tie(b.step, b.op, b.chunk, b.src, b.dst) &&
                  std::ranges::equal(route(a), other.route(b));
         });
}

Rank shard_of(Collective collective, const Chunk& chunk) {
  return facts(collective).start == Holder::Own ? chunk.source : chunk.target;
}

std::vector<ElementRange> chunk_ranges(const Schedule& schedule, std::uint64_t count) {
  std::vector<ElementRange> ranges(schedule.chunks.size());
  if (!is_sharded(schedule.collective)) {
    std::vector<std::uint32_t> all(schedule.chunks.size());
    for (std::uint32_t c = 0; c < all.size(); ++c) all[c] = c;
    if (!all.empty()) divide(0, count, all, schedule.chunks, ranges);
    return ranges;
  }
  const std::uint32_t owners = schedule.ranks - schedule.helpers;
  if (count % owners != 0) {
    throw Error(
        ErrorCode::InvalidArgument,
        fmt::format("{}: expected an element count that is a multiple of the {} ranks, got {}",
                    to_string(schedule.collective), owners, count));
  }
  std::vector<std::vector<std::uint32_t>> chunks_of(schedule.ranks);
  for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
    chunks_of[index(shard_of(schedule.collective, schedule.chunks[c]))].push_back(c);
  }
  const std::uint64_t shard = count / owners;
  for (std::uint32_t r = 0; r < owners; ++r) {
    if (!chunks_of[r].empty()) divide(r * shard, shard, chunks_of[r], schedule.chunks, ranges);
  }
  return ranges;
}

void expect_no_switches_at_work(const Schedule& schedule, std::string_view who) {
  if (!schedule.in_network) return;
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: expected a schedule whose ranks send every message themselves, got "
                          "one of {} in which switches add and copy; take another algorithm, such "
                          "as allreduce-optimal",
                          who, schedule.algorithm));
}

std::vector<Chunk> one_chunk_per_rank(std::uint32_t ranks) {
  std::vector<Chunk> chunks(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) chunks[r] = Chunk::rooted(Rank{r}, r, 1);
  return chunks;
}

}  // namespace multitree
