// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From tables to register writes.
#include "rtl/sim/loader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <optional>

#include "nic/encode/image.hpp"
#include "nic/encode/uniform.hpp"
#include "rtl/sim/network.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kMostRanks = 1U << mt_pkg::kSrcW;

/// The tables as the hardware has them: groups are numbered by their doorbells, and entries sorted
/// by them.
nic::Tables sorted_by_doorbell(const nic::Tables& tables) {
  const std::vector<std::uint32_t> doorbells = doorbells_of(tables);
  nic::Tables sorted = tables;
  for (auto& entries : sorted.of_rank) {
    for (nic::Entry& entry : entries) {
      entry.group = doorbells[entry.group];
      entry.priority = 0;
    }
    std::ranges::stable_sort(entries, {}, &nic::Entry::group);
  }
  return sorted;
}

/// Messages that each rank sends or takes in, by doorbell.
std::vector<std::vector<std::uint32_t>> messages_of_groups(const nic::Tables& tables) {
  std::vector<std::vector<std::uint32_t>> messages(
      tables.ranks, std::vector<std::uint32_t>(tables.groups.size(), 0));
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    if (tables.groups.empty()) break;
    for (const nic::Entry& entry : tables.of_rank[r]) {
      ++messages[r][entry.group];
      ++messages[index(entry.peer)][entry.group];
    }
  }
  return messages;
}

void check(const nic::Tables& tables, bool is_lockstep, std::uint32_t groups) {
  if (tables.ranks > kMostRanks) {
    throw Error(ErrorCode::Unsupported, fmt::format("hardware model: expected at most {} ranks, "
                                                    "got {}",
                                                    kMostRanks, tables.ranks));
  }
  if (!tables.groups.empty() && is_lockstep) {
    throw Error(ErrorCode::Unsupported,
                "hardware model: expected tables of groups without lockstep, got steps");
  }
  if (!tables.groups.empty() && groups == 1) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: expected tables of one collective for interfaces "
                            "without doorbells, got {} groups",
                            tables.groups.size()));
  }
  if (tables.groups.size() > groups) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: expected tables of at most {} groups, a doorbell "
                            "each, got {}",
                            groups, tables.groups.size()));
  }
}

/// Each port has a table of its own; routes and steps are those of the interface.
void check_depth(const nic::Tables& tables, std::size_t steps) {
  if (steps > mt_pkg::kStepDepth) {
    throw Error(
        ErrorCode::Unsupported,
        fmt::format("hardware model: expected at most {} steps in lockstep, got {}; cut the "
                    "buffer into fewer pieces",
                    mt_pkg::kStepDepth, steps));
  }
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    if (tables.routes[r].size() > mt_pkg::kNumRoutes) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("hardware model: expected at most {} routes, got {} at {}",
                              mt_pkg::kNumRoutes, tables.routes[r].size(), tables.name_of(r)));
    }
    std::map<std::uint32_t, std::uint32_t> entries;
    for (const nic::Entry& entry : tables.of_rank[r]) {
      if (entry.op == nic::Opcode::Nop || ++entries[entry.port] <= mt_pkg::kTableDepth) continue;
      throw Error(ErrorCode::Unsupported,
                  fmt::format("hardware model: expected at most {} messages of a port, got more at "
                              "{} port {}; cut the buffer into fewer pieces",
                              mt_pkg::kTableDepth, tables.name_of(r), entry.port));
    }
  }
}

/// A route as the hardware has it: hops from bit 0 up, the last one to the interface.
/// \param ejection the router's output to it.
std::array<std::uint32_t, 4> route_words(const nic::TableRoute& route, std::uint32_t classes,
                                         std::uint32_t channels, std::uint32_t ejection,
                                         bool is_long) {
  if (route.hops.size() + 1 > mt_pkg::kLongHops) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: expected routes of at most {} links, got {}",
                            mt_pkg::kLongHops - 1, route.hops.size()));
  }
  std::array<std::uint32_t, 4> words{};
  const auto put = [&](std::size_t hop, std::uint32_t value) {
    const std::size_t bit = hop * mt_pkg::kHopW;
    words[bit / 32] |= value << (bit % 32);
    if (bit % 32 + mt_pkg::kHopW > 32) words[bit / 32 + 1] |= value >> (32 - bit % 32);
  };
  for (std::size_t h = 0; h < route.hops.size(); ++h) {
    std::uint32_t mask = 0;
    for (std::uint32_t v = 0; v < channels; ++v) {
      if (v * classes / channels == route.hops[h].vc_class) mask |= 1U << v;
    }
    put(h, route.hops[h].port | mask << mt_pkg::kHopPortW);
  }
  put(route.hops.size(), ejection | 1U << mt_pkg::kHopPortW);
  constexpr std::uint32_t kLongBit = mt_pkg::kLongRouteW;  // the route's own flit
  if (is_long) words[kLongBit / 32] |= 1U << (kLongBit % 32);
  return words;
}

std::uint32_t mode_of(const Collective& c, bool uniform) {
  const std::uint32_t lockstep = c.step_lengths.empty() ? 0 : 1;
  const std::uint32_t packets = c.parameters.flow_control == nic::FlowControl::Packet ? 2 : 0;
  const std::uint32_t channels = (1U << c.parameters.virtual_channels) - 1;
  const std::uint32_t grouped = c.tables.groups.empty() ? 0 : 8;
  const std::uint32_t losses = c.bounds ? 64 : 0;
  return lockstep | packets | (uniform ? 4U : 0U) | grouped | losses |
         static_cast<std::uint32_t>(c.type) << 4 | channels << 8;
}

}  // namespace

std::uint32_t bytes_of(HardwareType type) {
  return type == HardwareType::Int32 || type == HardwareType::Fp32 ? 4 : 2;
}

nic::Layout verilated_layout(std::uint32_t groups) {
  // In the order of nic::Field.
  return {{2, mt_pkg::kStepW, mt_pkg::kFlowW, mt_pkg::kNetPieceOfFlowW, mt_pkg::kRouteW,
           mt_pkg::kCountW, mt_pkg::kCountW, mt_pkg::kCountW, mt_pkg::kStartW, mt_pkg::kSizeW,
           static_cast<std::uint8_t>(std::bit_width(groups - 1)), 0, 1}};
}

std::vector<std::uint32_t> doorbells_of(const nic::Tables& tables) {
  const auto groups = static_cast<std::uint32_t>(tables.groups.size());
  std::vector<std::optional<std::uint32_t>> priorities(groups);
  for (const auto& entries : tables.of_rank) {
    for (const nic::Entry& entry : entries) {
      if (groups == 0) break;
      auto& priority = priorities[entry.group];
      if (priority.value_or(entry.priority) != entry.priority) {
        throw Error(ErrorCode::Unsupported,
                    fmt::format("hardware model: group {}: expected one priority of all its "
                                "entries, got {} and {}",
                                entry.group, *priority, entry.priority));
      }
      priority = entry.priority;
    }
  }
  std::vector<std::uint32_t> order(groups), doorbells(groups);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t g) { return priorities[g].value_or(0); });
  for (std::uint32_t d = 0; d < groups; ++d) doorbells[order[d]] = d;
  return doorbells;
}

std::uint32_t pieces_per_flow(const nic::Tables& tables) {
  std::uint32_t pieces = 1, flows = 1;
  for (const auto& entries : tables.of_rank) {
    for (const nic::Entry& entry : entries) {
      pieces = std::max(pieces, entry.piece + 1);
      flows = std::max(flows, entry.flow + 1);
    }
  }
  if (std::uint64_t{pieces} * flows > kPieces) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("hardware model: expected at most {} pieces, got {} flows of {}",
                            kPieces, flows, pieces));
  }
  return pieces;
}

std::vector<std::vector<RegisterWrite>> load(const Collective& c,
                                             const std::vector<std::uint32_t>& ports,
                                             std::uint32_t groups) {
  check(c.tables, !c.step_lengths.empty(), groups);
  check_depth(c.tables, c.step_lengths.size());
  const bool is_grouped = !c.tables.groups.empty();
  const nic::Tables sorted = is_grouped ? sorted_by_doorbell(c.tables) : nic::Tables{};
  const nic::Tables& tables = is_grouped ? sorted : c.tables;
  const auto messages = messages_of_groups(tables);
  const nic::Layout layout = verilated_layout(groups);
  std::vector<std::uint32_t> arrivals(tables.ranks, 0);
  for (const auto& entries : tables.of_rank) {
    for (const nic::Entry& entry : entries) ++arrivals[index(entry.peer)];
  }
  const std::uint32_t pieces = pieces_per_flow(tables);
  const auto uniform = c.own_chunks ? std::nullopt : nic::uniform_pieces(tables);
  // If one route does not fit a header, all have a flit of their own: headers are of one size.
  bool is_long = false;
  for (const auto& routes : tables.routes) {
    for (const nic::TableRoute& route : routes) {
      is_long = is_long || route.hops.size() + 1 > mt_pkg::kShortHops;
    }
  }
  const auto packet_flits =
      (c.parameters.packet_bytes + c.parameters.flit_bytes - 1) / c.parameters.flit_bytes;
  std::vector<std::vector<RegisterWrite>> writes(tables.ranks);
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    std::vector<RegisterWrite>& of_rank = writes[r];
    of_rank = {{reg::kControl, reg::kClear},
               {reg::kMode, mode_of(c, uniform.has_value())},
               {reg::kChunkSize, uniform ? static_cast<std::uint32_t>(uniform->size) : 0},
               {reg::kRank, r},
               {reg::kPacketFlits, packet_flits},
               {reg::kPieces, pieces},
               {reg::kArrivals, arrivals[r]},
               {reg::kWatchdog, c.watchdog}};
    for (const std::uint32_t count : messages[r]) of_rank.push_back({reg::kGroup, count});
    if (c.bounds) {
      of_rank.push_back({reg::kDeadline, c.bounds->deadline});
      of_rank.push_back({reg::kLeast, c.bounds->least});
    }
    for (const nic::TableRoute& route : tables.routes[r]) {
      for (const std::uint32_t word : route_words(
               route, tables.classes, c.parameters.virtual_channels,
               (ports.empty() ? Network::kPorts : ports[index(route.peer)]) + route.ejection,
               is_long)) {
        of_rank.push_back({reg::kRoute, word});
      }
    }
    for (const std::uint32_t word : nic::entry_words(tables, Rank{r}, layout)) {
      of_rank.push_back({reg::kTable, word});
    }
    for (const std::uint64_t length : c.step_lengths) {
      of_rank.push_back({reg::kStep, static_cast<std::uint32_t>(length)});
    }
  }
  return writes;
}

RegisterWrite arm() { return {reg::kControl, reg::kArm}; }
RegisterWrite go() { return {reg::kControl, reg::kGo}; }

}  // namespace multitree::rtl
