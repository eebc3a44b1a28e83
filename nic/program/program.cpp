// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tables with routes.
#include "nic/program/program.hpp"

#include <algorithm>
#include <utility>

#include "nic/table/entries_internal.hpp"
#include "nic/table/route_numbers_internal.hpp"
#include "nic/table/with_interfaces.hpp"

namespace multitree::nic {
namespace {

std::vector<std::uint32_t> first_pieces(const Schedule& schedule) {
  std::uint32_t flows = 0;
  for (const Chunk& chunk : schedule.chunks) flows = std::max(flows, chunk.tree + 1);
  std::vector<std::uint32_t> first(flows + 1, 0);
  for (const Chunk& chunk : schedule.chunks) ++first[chunk.tree + 1];
  for (std::uint32_t f = 0; f < flows; ++f) first[f + 1] += first[f];
  first.pop_back();
  return first;
}

}  // namespace

Program compile_program(const Schedule& schedule, const Topology& topology,
                        std::uint64_t elements) {
  Program program;
  program.tables.collective = schedule.collective;
  program.tables.root = schedule.root;
  program.tables.ranks = schedule.ranks;
  program.tables.steps = schedule.num_steps();
  program.tables.elements = elements;
  program.tables.switches = names_of_last(topology, schedule.helpers);
  program.pieces = static_cast<std::uint32_t>(schedule.chunks.size());
  program.first_piece = first_pieces(schedule);
  RouteNumbers number(program.routes, topology.num_links());
  for (auto& placed : place_entries(schedule, topology, elements)) {
    std::vector<Entry>& entries = program.tables.of_rank.emplace_back();
    std::vector<std::uint32_t>& routes = program.route_of.emplace_back();
    entries.reserve(placed.size());
    routes.reserve(placed.size());
    for (const PlacedEntry& e : placed) {
      entries.push_back(e.entry);
      routes.push_back(number(schedule.route(schedule.transfers[e.transfer])));
    }
    std::exchange(placed, {});  // freed at once: it is as large as what was made of it
  }
  return program;
}

std::uint64_t padded_elements(std::uint64_t bytes, std::uint32_t element_bytes,
                              std::uint32_t ranks) {
  const std::uint64_t unit = std::uint64_t{element_bytes} * ranks;
  return (bytes + unit - 1) / unit * ranks;
}

}  // namespace multitree::nic
