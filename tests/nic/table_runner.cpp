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

class Runner {
 public:
  Runner(std::uint32_t ranks, Buffers& buffers) : arrived_(ranks), buffers_(buffers) {}

  [[nodiscard]] bool may_send(std::uint32_t rank, const Entry& entry) const {
    const auto found = arrived_[rank].find({entry.flow, entry.piece});
    return (found == arrived_[rank].end() ? 0 : found->second) >= entry.wait;
  }
  void send(std::uint32_t rank, const Entry& entry) {
    const std::uint32_t peer = index(entry.peer);
    for (std::uint64_t i = entry.start; i < entry.start + entry.size; ++i) {
      if (entry.op == Opcode::Reduce) {
        buffers_[peer][i] += buffers_[rank][i];
      } else {
        buffers_[peer][i] = buffers_[rank][i];
      }
    }
    ++arrived_[peer][{entry.flow, entry.piece}];
  }

 private:
  std::vector<std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>> arrived_;
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
