// SPDX-License-Identifier: BSD-3-Clause
#include "table_runner.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace multitree::test {
namespace {

using nic::Entry;
using nic::Opcode;

/// One port of one rank: its entries in order.
struct Queue {
  std::uint32_t rank = 0;
  std::vector<Entry> entries;
  std::size_t next = 0;
  [[nodiscard]] bool is_done() const { return next == entries.size(); }
};

std::vector<Queue> queues_of(const nic::Tables& tables) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Queue> by_port;
  for (std::uint32_t r = 0; r < tables.ranks; ++r) {
    for (const Entry& entry : tables.of_rank[r]) {
      if (entry.op == Opcode::Nop) continue;
      Queue& queue = by_port[{r, entry.port}];
      queue.rank = r;
      queue.entries.push_back(entry);
    }
  }
  std::vector<Queue> queues;
  for (auto& [port, queue] : by_port) queues.push_back(std::move(queue));
  return queues;
}

/// What a rank has of one piece: messages taken in and sent, and those that came too early.
struct Piece {
  std::uint32_t taken = 0, sent = 0;
  std::vector<std::pair<Entry, std::vector<std::uint64_t>>> parked;
};

class Runner {
 public:
  Runner(std::uint32_t ranks, Buffers& buffers) : pieces_(ranks), buffers_(buffers) {}

  [[nodiscard]] bool may_send(std::uint32_t rank, const Entry& entry) {
    return piece(rank, entry).taken >= entry.wait;
  }
  void send(std::uint32_t rank, const Entry& entry) {
    const auto from = buffers_[rank].begin() + static_cast<std::ptrdiff_t>(entry.start);
    const std::uint32_t peer = index(entry.peer);
    piece(peer, entry)
        .parked.emplace_back(entry,
                             std::vector(from, from + static_cast<std::ptrdiff_t>(entry.size)));
    ++piece(rank, entry).sent;
    take_in(rank, piece(rank, entry));
    take_in(peer, piece(peer, entry));
  }

 private:
  Piece& piece(std::uint32_t rank, const Entry& entry) {
    return pieces_[rank][{entry.flow, entry.piece}];
  }
  /// All whose turn it is.
  void take_in(std::uint32_t rank, Piece& piece) {
    for (bool any = true; any;) {
      any = false;
      for (std::size_t i = 0; i < piece.parked.size() && !any; ++i) {
        const auto& [entry, values] = piece.parked[i];
        if (entry.turn != piece.taken || entry.after > piece.sent) continue;
        for (std::uint64_t e = 0; e < entry.size; ++e) {
          std::uint64_t& mine = buffers_[rank][entry.start + e];
          mine = entry.op == Opcode::Reduce ? mine + values[e] : values[e];
        }
        ++piece.taken;
        piece.parked.erase(piece.parked.begin() + static_cast<std::ptrdiff_t>(i));
        any = true;
      }
    }
  }

  std::vector<std::map<std::pair<std::uint32_t, std::uint32_t>, Piece>> pieces_;
  Buffers& buffers_;
};

}  // namespace

bool run_tables(const nic::Tables& tables, Issue issue, std::uint64_t seed, Buffers& buffers) {
  std::mt19937_64 random(seed);
  std::vector<Queue> queues = queues_of(tables);
  Runner runner(tables.ranks, buffers);
  const std::uint32_t rounds = issue == Issue::Lockstep ? tables.steps : 1;
  for (std::uint32_t step = 0; step < rounds; ++step) {
    for (bool any = true; any;) {
      any = false;
      std::shuffle(queues.begin(), queues.end(), random);
      for (Queue& queue : queues) {
        if (queue.is_done()) continue;
        const Entry& entry = queue.entries[queue.next];
        if (issue == Issue::Lockstep && entry.step > step) continue;
        if (!runner.may_send(queue.rank, entry)) continue;
        runner.send(queue.rank, entry);
        ++queue.next;
        any = true;
      }
    }
  }
  return std::all_of(queues.begin(), queues.end(), [](const Queue& q) { return q.is_done(); });
}

}  // namespace multitree::test
