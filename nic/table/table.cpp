// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From transfers to entries.
#include "nic/table/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "nic/table/entries_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::uint32_t kNever = ~std::uint32_t{0};

/// What one rank does with one chunk, in steps.
struct Part {
  std::uint32_t sums = 0;         ///< partial sums that arrive
  std::uint32_t last_sum = 0;     ///< step of the last of them
  std::uint32_t sends = 0;        ///< partial sums sent
  std::uint32_t sent = kNever;    ///< step of that
  std::uint32_t results = 0;      ///< results that arrive
  std::uint32_t result = kNever;  ///< step of that
  std::uint32_t first_gather = kNever;
};

/// Why counting arrivals does not tell when to send; nullptr if it does.
const char* fault_of(const Part& part) {
  if (part.sends > 1) return "sends its partial sum more than once";
  if (part.results > 1) return "receives the result more than once";
  if (part.sums > 0 && part.sends == 1 && part.last_sum >= part.sent) {
    return "receives a partial sum after it has sent its own";
  }
  if (part.results == 1 && part.sends == 1 && part.result <= part.sent) {
    return "receives the result before it has sent its partial sum";
  }
  if (part.first_gather == kNever) return nullptr;
  if (part.results == 1 && part.first_gather <= part.result) return "passes on what it lacks";
  if (part.results == 0 && part.sums > 0 && part.first_gather <= part.last_sum) {
    return "passes on an incomplete sum";
  }
  return nullptr;
}

class Parts {
 public:
  explicit Parts(const Schedule& schedule)
      : chunks_(schedule.chunks.size()), parts_(schedule.ranks * chunks_) {
    for (const Transfer& t : schedule.transfers) note(t);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const char* fault = fault_of(parts_[i]);
      if (fault == nullptr) continue;
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: expected trees for the tables, but rank {} {} (chunk {})",
                              schedule.algorithm, i / chunks_, fault, i % chunks_));
    }
  }

  [[nodiscard]] std::uint32_t wait(const Transfer& t) const {
    const Part& part = parts_[index(t.src) * chunks_ + t.chunk];
    return part.sums + (t.op == Op::Copy ? part.results : 0);
  }

 private:
  void note(const Transfer& t) {
    Part& src = parts_[index(t.src) * chunks_ + t.chunk];
    Part& dst = parts_[index(t.dst) * chunks_ + t.chunk];
    if (t.op == Op::Reduce) {
      ++src.sends;
      src.sent = t.step;
      ++dst.sums;
      dst.last_sum = std::max(dst.last_sum, t.step);
    } else {
      src.first_gather = std::min(src.first_gather, t.step);
      ++dst.results;
      dst.result = t.step;
    }
  }

  std::size_t chunks_;
  std::vector<Part> parts_;  // [rank][chunk]
};

/// Which chunk of its tree each chunk is.
std::vector<std::uint32_t> pieces_of(const Schedule& schedule) {
  std::map<std::uint32_t, std::uint32_t> next;
  std::vector<std::uint32_t> pieces;
  for (const Chunk& chunk : schedule.chunks) pieces.push_back(next[chunk.tree]++);
  return pieces;
}

/// Of each link: its place among those out of its node.
std::vector<std::uint32_t> ports_of(const Topology& topology) {
  std::vector<std::uint32_t> ports(topology.num_links(), 0);
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    std::uint32_t port = 0;
    for (const LinkId link : topology.out_links(NodeId{n})) ports[index(link)] = port++;
  }
  return ports;
}

}  // namespace

void sort_entries(std::vector<Entry>& entries) {
  std::ranges::sort(entries, {}, [](const Entry& e) {
    return std::tuple(e.step, e.op, e.flow, e.piece, e.peer, e.port);
  });
}

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

Tables compile_tables(const Schedule& schedule, const Topology& topology,
                      const TableOptions& options) {
  Tables tables{.collective = schedule.collective,
                .root = schedule.root,
                .ranks = schedule.ranks,
                .steps = schedule.num_steps(),
                .elements = options.elements,
                .of_rank = std::vector<std::vector<Entry>>(schedule.ranks)};
  const Parts parts(schedule);
  const auto ranges = chunk_ranges(schedule, options.elements);
  const auto pieces = pieces_of(schedule), ports = ports_of(topology);
  for (const Transfer& t : schedule.transfers) {
    tables.of_rank[index(t.src)].push_back({
        .op = t.op == Op::Reduce ? Opcode::Reduce : Opcode::Gather,
        .step = t.step,
        .flow = schedule.chunks[t.chunk].tree,
        .piece = pieces[t.chunk],
        .peer = t.dst,
        .port = ports[index(schedule.route(t).front())],
        .wait = parts.wait(t),
        .start = ranges[t.chunk].begin,
        .size = ranges[t.chunk].count,
    });
  }
  for (std::vector<Entry>& entries : tables.of_rank) {
    sort_entries(entries);
    if (options.nops) entries = with_nops(entries, tables.steps);
  }
  return tables;
}

}  // namespace multitree::nic
