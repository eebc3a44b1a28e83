// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From transfers to entries.
#include "nic/table/table.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "nic/table/entries_internal.hpp"
#include "nic/table/routes_of_ports_internal.hpp"

namespace multitree::nic {
namespace {

/// Where a transfer stands among those of its chunk at its sender and at its receiver.
struct Place {
  std::uint32_t wait = 0, turn = 0, after = 0;  // as in Entry
};

/// By transfer. A step reads before it writes, so each step is gone through twice.
std::vector<Place> places_of(const Schedule& schedule) {
  const std::size_t chunks = schedule.chunks.size();
  std::vector<std::uint32_t> sent(schedule.ranks * chunks, 0), received(sent);  // [rank][chunk]
  std::vector<Place> places(schedule.transfers.size());
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    const std::uint32_t step = schedule.transfers[begin].step;
    for (; end < places.size() && schedule.transfers[end].step == step; ++end) {
      const Transfer& t = schedule.transfers[end];
      places[end].wait = received[index(t.src) * chunks + t.chunk];
      ++sent[index(t.src) * chunks + t.chunk];
    }
    for (std::size_t i = begin; i < end; ++i) {
      const Transfer& t = schedule.transfers[i];
      places[i].turn = received[index(t.dst) * chunks + t.chunk]++;
      places[i].after = sent[index(t.dst) * chunks + t.chunk];
    }
  }
  return places;
}

/// Which chunk of its tree each chunk is.
std::vector<std::uint32_t> pieces_of(const Schedule& schedule) {
  std::map<std::uint32_t, std::uint32_t> next;
  std::vector<std::uint32_t> pieces;
  for (const Chunk& chunk : schedule.chunks) pieces.push_back(next[chunk.tree]++);
  return pieces;
}

auto order_of(const Entry& e) { return std::tuple(e.step, e.op, e.flow, e.piece, e.peer, e.port); }

}  // namespace

void sort_entries(std::vector<Entry>& entries) { std::ranges::sort(entries, {}, order_of); }

std::vector<Entry> with_nops(const std::vector<Entry>& entries, std::uint32_t steps) {
  std::vector<Entry> all;
  std::size_t next = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    if (next == entries.size() || entries[next].step != step) {
      all.push_back({.op = Opcode::Nop, .step = step});
    }
    while (next < entries.size() && entries[next].step == step) all.push_back(entries[next++]);
  }
  return all;
}

std::vector<std::vector<PlacedEntry>> place_entries(const Schedule& schedule,
                                                    const Topology& topology,
                                                    std::uint64_t elements) {
  expect_no_switches_at_work(schedule, "tables of network interfaces");
  const std::vector<Place> places = places_of(schedule);
  const auto ranges = chunk_ranges(schedule, elements);
  const auto pieces = pieces_of(schedule), ports = places_of_links(topology, true);
  std::vector<std::size_t> counts(schedule.ranks, 0);
  for (const Transfer& t : schedule.transfers) ++counts[index(t.src)];
  std::vector<std::vector<PlacedEntry>> of_rank(schedule.ranks);
  for (std::uint32_t r = 0; r < schedule.ranks; ++r) of_rank[r].reserve(counts[r]);
  for (std::uint32_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& t = schedule.transfers[i];
    of_rank[index(t.src)].push_back({{
                                         .op = t.op == Op::Reduce ? Opcode::Reduce : Opcode::Gather,
                                         .step = t.step,
                                         .flow = schedule.chunks[t.chunk].tree,
                                         .piece = pieces[t.chunk],
                                         .peer = t.dst,
                                         .port = ports[index(schedule.route(t).front())],
                                         .wait = places[i].wait,
                                         .turn = places[i].turn,
                                         .after = places[i].after,
                                         .start = ranges[t.chunk].begin,
                                         .size = ranges[t.chunk].count,
                                     },
                                     i});
  }
  const auto key = [](const PlacedEntry& e) { return order_of(e.entry); };
  for (auto& entries : of_rank) {
    // Transfers come sorted by chunk, and chunks are mostly in the order of their trees.
    if (!std::ranges::is_sorted(entries, {}, key)) std::ranges::sort(entries, {}, key);
  }
  return of_rank;
}

Tables compile_tables(const Schedule& schedule, const Topology& topology,
                      const TableOptions& options) {
  const GroupSource alone{.schedule = &schedule, .elements = options.elements};
  Tables tables = compile_groups({&alone, 1}, topology);
  tables.groups.clear();
  if (options.nops) {
    for (auto& entries : tables.of_rank) entries = with_nops(entries, tables.steps);
  }
  return tables;
}

}  // namespace multitree::nic
