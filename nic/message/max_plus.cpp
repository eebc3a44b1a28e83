// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The recurrence over the entries of all ranks, step by step.
#include "nic/message/max_plus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

/// Of each rank's table: how far it is.
class Cursors {
 public:
  explicit Cursors(const Tables& tables) : tables_(tables), next_(tables.ranks, 0) {}

  /// Calls `visit(rank, entry)` for all messages of a step. \pre steps ascend from call to call.
  template <typename Visit>
  void visit_step(std::uint32_t step, const Visit& visit) {
    for (std::uint32_t r = 0; r < tables_.ranks; ++r) {
      const std::vector<Entry>& entries = tables_.of_rank[r];
      std::size_t& at = next_[r];
      for (; at < entries.size() && entries[at].step == step; ++at) {
        if (entries[at].op != Opcode::Nop) visit(r, entries[at]);
      }
    }
  }

 private:
  const Tables& tables_;
  std::vector<std::size_t> next_;
};

/// Numbers (flow, piece) from 0 on.
class Pieces {
 public:
  explicit Pieces(const Tables& tables) {
    for (const auto& entries : tables.of_rank) {
      for (const Entry& entry : entries) {
        flows_ = std::max(flows_, entry.flow + 1);
        pieces_ = std::max(pieces_, entry.piece + 1);
      }
    }
  }
  [[nodiscard]] std::size_t size() const { return std::size_t{flows_} * pieces_; }
  [[nodiscard]] std::size_t operator()(const Entry& entry) const {
    return std::size_t{entry.flow} * pieces_ + entry.piece;
  }

 private:
  std::uint32_t flows_ = 0, pieces_ = 0;
};

}  // namespace

std::uint64_t flits_of(std::uint64_t elements, const MessageTiming& timing) {
  const std::uint64_t bytes = elements * timing.element_bytes;
  if (bytes == 0) return 0;
  const std::uint64_t headers =
      timing.packet_bytes == 0 ? 1 : divide_up(bytes, timing.packet_bytes);
  return divide_up(bytes, timing.flit_bytes) + headers * timing.header_flits;
}

MessageTimes evaluate(const Tables& tables, const Topology& topology, const MessageTiming& timing) {
  if (topology.has_switches()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected a network without switches", topology.name()));
  }
  const Pieces pieces(tables);
  std::vector<std::vector<std::uint64_t>> free_at(tables.ranks);  // by port
  std::vector<std::vector<std::uint64_t>> busy(tables.ranks);
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    const std::size_t ports = topology.out_links(topology.node_of(Rank{r})).size();
    free_at[r].assign(ports, 0);
    busy[r].assign(ports, 0);
  }
  std::vector<std::uint64_t> arrived(tables.ranks * pieces.size(), 0);  // [rank][piece]
  MessageTimes times;
  Cursors cursors(tables);
  std::vector<std::pair<std::size_t, std::uint64_t>> arrivals;
  for (std::uint32_t step = 0; step < tables.steps; ++step) {
    arrivals.clear();  // of this step: nothing sent in it waits for them
    cursors.visit_step(step, [&](std::uint32_t rank, const Entry& entry) {
      const std::uint64_t flits = flits_of(entry.size, timing);
      std::uint64_t& free = free_at[rank][entry.port];
      const std::uint64_t start = std::max(free, arrived[rank * pieces.size() + pieces(entry)]);
      free = start + flits;
      busy[rank][entry.port] += flits;
      times.busiest_port = std::max(times.busiest_port, busy[rank][entry.port]);
      ++times.messages;
      // An empty message takes no time: both sides know that there is nothing to wait for.
      const std::uint64_t end = flits == 0 ? start : free + timing.latency;
      arrivals.emplace_back(index(entry.peer) * pieces.size() + pieces(entry), end);
      times.cycles = std::max(times.cycles, end);
    });
    for (const auto& [piece, end] : arrivals) arrived[piece] = std::max(arrived[piece], end);
  }
  return times;
}

}  // namespace multitree::nic
