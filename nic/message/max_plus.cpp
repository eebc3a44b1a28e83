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

/// Times and states are numbers of 32 bits. `longest`: the message of each step; one step after the
/// other is an upper bound.
void check_size(std::uint64_t states, const std::vector<std::uint64_t>& longest,
                std::uint64_t latency) {
  constexpr std::uint64_t kMost = ~std::uint32_t{0};
  std::uint64_t cycles = 0;
  for (const std::uint64_t flits : longest) cycles += flits + latency;
  if (states > kMost || cycles > kMost) {
    throw Error(ErrorCode::Unsupported,
                "recurrence: expected less than 2^32 cycles and pieces of all ranks");
  }
}

void check(const Tables& tables, const Topology& topology) {
  if (topology.has_switches()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected a network without switches", topology.name()));
  }
  if (!tables.groups.empty()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("cycles without simulation: expected tables of one collective, got {} "
                            "groups, whose doorbells ring when they will",
                            tables.groups.size()));
  }
}

}  // namespace

std::uint64_t flits_of(std::uint64_t elements, const MessageTiming& timing) {
  const std::uint64_t bytes = elements * timing.element_bytes;
  if (bytes == 0) return 0;
  const std::uint64_t headers =
      timing.packet_bytes == 0 ? 1 : divide_up(bytes, timing.packet_bytes);
  return divide_up(bytes, timing.flit_bytes) + headers * timing.header_flits;
}

MaxPlus::MaxPlus(const Tables& tables, const Topology& topology, const MessageTiming& timing)
    : latency_(timing.latency) {
  check(tables, topology);
  const Pieces pieces(tables);
  const std::uint64_t states = pieces.size() * tables.ranks;
  std::vector<std::uint64_t> longest(tables.steps, 0);  // message of each step
  // Rank by rank and entry by entry, then sorted by step: a stable counting sort.
  std::vector<std::size_t> begin(tables.steps + std::size_t{1}, 0);
  std::vector<std::uint32_t> first_port;
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    first_port.push_back(ports_);
    ports_ += static_cast<std::uint32_t>(topology.out_links(topology.node_of(Rank{r})).size());
    for (const Entry& entry : tables.of_rank[r]) {
      if (entry.op == Opcode::Nop) continue;
      ++begin[entry.step + std::size_t{1}];
      longest[entry.step] = std::max(longest[entry.step], flits_of(entry.size, timing));
    }
  }
  check_size(states, longest, timing.latency);
  states_ = static_cast<std::uint32_t>(states);
  for (std::size_t s = 1; s < begin.size(); ++s) begin[s] += begin[s - 1];
  terms_.resize(begin.back());
  steps_ = begin;
  std::vector<std::uint64_t> busy(ports_, 0);
  // A piece's states lie together: those of a tree in a step are near each other.
  const auto state = [&](std::uint32_t rank, const Entry& entry) {
    return static_cast<std::uint32_t>(pieces(entry) * tables.ranks + rank);
  };
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (const Entry& entry : tables.of_rank[r]) {
      if (entry.op == Opcode::Nop) continue;
      const std::uint64_t flits = flits_of(entry.size, timing);
      const std::uint32_t port = first_port[r] + entry.port;
      busy[port] += flits;
      busiest_port_ = std::max(busiest_port_, busy[port]);
      terms_[begin[entry.step]++] = {.port = port,
                                     .from = state(r, entry),
                                     .to = state(index(entry.peer), entry),
                                     .flits = static_cast<std::uint32_t>(flits)};
    }
  }
  // Does anything sent in a step wait for what arrives in it?
  std::vector<std::uint32_t> arrives_in(states_, 0);
  bool any = false;
  for (std::size_t s = 0; s + 1 < steps_.size() && !any; ++s) {
    const auto step = static_cast<std::uint32_t>(s + 1);
    for (std::size_t i = steps_[s]; i < steps_[s + 1]; ++i) arrives_in[terms_[i].to] = step;
    for (std::size_t i = steps_[s]; i < steps_[s + 1]; ++i) {
      any = any || arrives_in[terms_[i].from] == step;
    }
  }
  if (!any) steps_.clear();
}

MessageTimes MaxPlus::evaluate() const {
  std::vector<std::uint32_t> free_at(ports_, 0), arrived(states_, 0);
  const auto latency = static_cast<std::uint32_t>(latency_);
  std::uint32_t last = 0;
  // \returns when it arrives. An empty message takes no time: both sides know of it.
  const auto send = [&](const Term& term) {
    std::uint32_t& free = free_at[term.port];
    const std::uint32_t start = std::max(free, arrived[term.from]);
    free = start + term.flits;
    const std::uint32_t end = term.flits == 0 ? start : free + latency;
    last = std::max(last, end);
    return end;
  };
  if (steps_.empty()) {
    for (const Term& term : terms_) {
      const std::uint32_t end = send(term);
      arrived[term.to] = std::max(arrived[term.to], end);
    }
  } else {
    std::vector<std::uint32_t> ends;
    for (std::size_t s = 0; s + 1 < steps_.size(); ++s) {
      ends.clear();
      for (std::size_t i = steps_[s]; i < steps_[s + 1]; ++i) ends.push_back(send(terms_[i]));
      for (std::size_t i = steps_[s]; i < steps_[s + 1]; ++i) {
        std::uint32_t& at = arrived[terms_[i].to];
        at = std::max(at, ends[i - steps_[s]]);
      }
    }
  }
  return {.cycles = last, .busiest_port = busiest_port_, .messages = terms_.size()};
}

MessageTimes evaluate(const Tables& tables, const Topology& topology, const MessageTiming& timing) {
  return MaxPlus(tables, topology, timing).evaluate();
}

}  // namespace multitree::nic
