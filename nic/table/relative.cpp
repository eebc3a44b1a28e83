// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables relative to the rank, and back.
#include "nic/table/relative.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "nic/table/entries_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

/// A chunk of rank 0's numbering in that of another rank.
std::uint32_t seen_from(const CayleyGraph& graph, Rank rank, std::uint32_t chunk,
                        std::uint32_t chunks) {
  const FiniteGroup& group = graph.group();
  return group.multiply(group.inverse(index(rank)), chunk / chunks) * chunks + chunk % chunks;
}

/// A route is a generator.
void number_routes(std::vector<Entry>& entries, std::vector<TableRoute>& routes) {
  for (Entry& entry : entries) {
    const auto at = std::ranges::find(routes, entry.port, &TableRoute::port);
    entry.route = static_cast<std::uint32_t>(at - routes.begin());
    if (at == routes.end()) {
      routes.push_back({.peer = entry.peer, .port = entry.port, .hops = {}});
    }
  }
}

}  // namespace

Tables compile_relative_tables(const SymmetricSchedule& schedule, const TableOptions& options) {
  const CayleyGraph& graph = schedule.graph();
  const std::uint64_t chunks = std::uint64_t{graph.size()} * schedule.chunks();
  if (options.elements % chunks != 0) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a multiple of {} elements, as many for each chunk, got {}",
                            chunks, options.elements));
  }
  Tables tables{.collective = schedule.collective(),
                .ranks = graph.size(),
                .steps = schedule.num_steps(),
                .elements = options.elements,
                .relative = true,
                .of_rank = std::vector<std::vector<Entry>>(1),
                .routes = std::vector<std::vector<TableRoute>>(1)};
  std::vector<Entry>& entries = tables.of_rank.front();
  std::vector<std::uint32_t> sent(chunks, 0), received(chunks, 0);
  for (std::uint32_t step = 0; step < tables.steps; ++step) {
    const std::vector<SymmetricTransfer> transfers = schedule.transfers_of_rank(Rank{0}, step);
    const std::size_t first = entries.size();
    // What arrives in a step is passed on in later ones.
    for (const SymmetricTransfer& t : transfers) {
      if (index(t.src) != 0) continue;
      entries.push_back({.op = t.op == Op::Reduce ? Opcode::Reduce : Opcode::Gather,
                         .step = step,
                         .flow = t.chunk,
                         .peer = t.dst,
                         .port = t.generator,
                         .wait = received[t.chunk],
                         .size = options.elements / chunks});
      ++sent[t.chunk];
    }
    // What rank 0 receives from a neighbour, its own neighbour receives from it.
    for (const SymmetricTransfer& t : transfers) {
      if (index(t.dst) != 0) continue;
      const std::uint32_t flow = seen_from(graph, t.src, t.chunk, schedule.chunks());
      const auto entry =
          std::find_if(entries.begin() + static_cast<std::ptrdiff_t>(first), entries.end(),
                       [&](const Entry& e) { return e.flow == flow && e.port == t.generator; });
      entry->turn = received[t.chunk]++;
      entry->after = sent[t.chunk];
    }
  }
  sort_entries(entries);
  number_routes(entries, tables.routes.front());
  if (options.nops) entries = with_nops(entries, tables.steps);
  return tables;
}

std::vector<Entry> entries_of(const Tables& relative, const CayleyGraph& graph, Rank rank) {
  std::vector<Entry> entries = relative.of_rank.front();
  if (entries.empty()) return entries;
  const std::uint64_t size = std::ranges::max_element(entries, {}, &Entry::size)->size;
  const auto chunks =
      static_cast<std::uint32_t>(size == 0 ? 1 : relative.elements / size / graph.size());
  for (Entry& entry : entries) {
    if (entry.op == Opcode::Nop) continue;
    const std::uint32_t owner = graph.group().multiply(index(rank), entry.flow / chunks);
    entry.flow = owner * chunks + entry.flow % chunks;
    entry.peer = Rank{graph.group().multiply(index(rank), index(entry.peer))};
    entry.start = entry.flow * entry.size;
  }
  sort_entries(entries);
  return entries;
}

}  // namespace multitree::nic
