// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Time reversal, sequence and pipelining of schedules.
#include "algorithms/compose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "algorithms/generators/dependences_internal.hpp"
#include "algorithms/generators/link_calendar_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

Schedule header_of(const Schedule& schedule) {
  Schedule header;
  header.collective = schedule.collective;
  header.algorithm = schedule.algorithm;
  header.root = schedule.root;
  header.ranks = schedule.ranks;
  header.in_network = schedule.in_network;
  header.coalesces = schedule.coalesces;
  header.chunks = schedule.chunks;
  return header;
}

template <class LinkMap>
Schedule reversed(const Schedule& schedule, LinkMap&& link_map) {
  if (reduces(schedule.collective)) {
    throw std::logic_error(fmt::format("expected a collective that only copies to reverse, got {}",
                                       to_string(schedule.collective)));
  }
  Schedule result = header_of(schedule);
  result.collective = time_reversed(schedule.collective);
  for (Chunk& chunk : result.chunks) std::swap(chunk.source, chunk.target);
  const Op op = reduces(result.collective) ? Op::Reduce : Op::Copy;
  result.transfers.reserve(schedule.transfers.size());
  result.routes.reserve(schedule.routes.size());
  const std::uint32_t steps = schedule.num_steps();
  std::vector<LinkId> route;
  // Backwards, so that the new steps ascend.
  for (auto t = schedule.transfers.rbegin(); t != schedule.transfers.rend(); ++t) {
    const auto forward = schedule.route(*t);
    route.clear();
    for (auto link = forward.rbegin(); link != forward.rend(); ++link) {
      route.push_back(link_map(*link));
    }
    result.add(steps - 1 - t->step, op, t->chunk, t->dst, t->src, route);
  }
  result.canonicalize();
  return result;
}

}  // namespace

Schedule reversed_on_transposed(const Schedule& schedule) {
  return reversed(schedule, [](LinkId link) { return link; });
}

Schedule reversed_by_mates(const Schedule& schedule, const Topology& topology) {
  return reversed(schedule, [&](LinkId link) {
    const auto mate = topology.mate(link);
    if (!mate) {
      throw std::logic_error(fmt::format("link {} has no mate to reverse onto", index(link)));
    }
    return *mate;
  });
}

Mirror::Mirror(const Topology& topology) : topology_(topology) {
  if (!topology.is_symmetric()) transposed_ = topology.transposed();
}

Schedule Mirror::reduction(const Schedule& gathering) const {
  return transposed_ ? reversed_on_transposed(gathering) : reversed_by_mates(gathering, topology_);
}

Schedule all_reduce_of(const Schedule& first, const Schedule& second) {
  if (first.chunks != second.chunks || first.ranks != second.ranks) {
    throw std::logic_error("expected two schedules with the same ranks and chunks");
  }
  Schedule result = header_of(second);
  result.collective = Collective::AllReduce;
  result.transfers.reserve(first.transfers.size() + second.transfers.size());
  result.routes.reserve(first.routes.size() + second.routes.size());
  for (const Transfer& t : first.transfers) {
    result.add(t.step, t.op, t.chunk, t.src, t.dst, first.route(t));
  }
  const std::uint32_t offset = first.num_steps();
  for (const Transfer& t : second.transfers) {
    result.add(offset + t.step, t.op, t.chunk, t.src, t.dst, second.route(t));
  }
  result.canonicalize();
  return result;
}

namespace {

/// The transfers that bring each chunk to the root, in the order of the steps: the last that writes
/// it there, the last before that which writes it where that came from, and so on.
std::vector<const Transfer*> ways_to(const Schedule& all_gather, Rank root) {
  struct Wanted {
    Rank at{};
    std::uint32_t before = std::numeric_limits<std::uint32_t>::max();  // a step
  };
  std::vector<Wanted> wanted(all_gather.chunks.size(), Wanted{root});
  std::vector<const Transfer*> kept;
  for (auto t = all_gather.transfers.rbegin(); t != all_gather.transfers.rend(); ++t) {
    Wanted& here = wanted[t->chunk];
    if (here.at == all_gather.chunks[t->chunk].source) continue;  // it starts there
    if (t->dst != here.at || t->step >= here.before) continue;
    here = {t->src, t->step};
    kept.push_back(&*t);
  }
  std::ranges::reverse(kept);
  return kept;
}

}  // namespace

Schedule gather_to(const Schedule& all_gather, Rank root, const Topology& topology) {
  Schedule result = header_of(all_gather);
  result.in_network = false;  // what goes to one rank has nothing to be copied
  result.collective = Collective::Gather;
  result.root = root;
  for (Chunk& chunk : result.chunks) chunk.target = root;
  // Links that the rest of the all-gather took are free now.
  LinkCalendar calendar(topology);
  Dependences dependences(result.ranks, result.chunks.size(), false);
  for (const Transfer* const t : ways_to(all_gather, root)) {
    const auto route = all_gather.route(*t);
    const std::uint32_t step =
        calendar.next_free(route, dependences.earliest(t->op, t->chunk, t->src, t->dst));
    calendar.take(route, step);
    dependences.record(t->op, t->chunk, t->src, t->dst, step);
    result.add(step, t->op, t->chunk, t->src, t->dst, route);
  }
  result.canonicalize();
  return result;
}

Schedule pipelined(const Schedule& schedule, std::uint32_t segments, const Topology& topology) {
  Schedule result = header_of(schedule);
  result.chunks.clear();
  for (const Chunk& chunk : schedule.chunks) {
    result.chunks.insert(result.chunks.end(), segments, chunk);
  }
  result.transfers.reserve(schedule.transfers.size() * segments);
  result.routes.reserve(schedule.routes.size() * segments);
  LinkCalendar calendar(topology);
  Dependences dependences(schedule.ranks, result.chunks.size(), false);
  for (std::uint32_t segment = 0; segment < segments; ++segment) {
    for (const Transfer& t : schedule.transfers) {
      const std::uint32_t chunk = t.chunk * segments + segment;
      const auto route = schedule.route(t);
      const std::uint32_t step = calendar.next_free(
          route, std::max(t.step, dependences.earliest(t.op, chunk, t.src, t.dst)));
      calendar.take(route, step);
      dependences.record(t.op, chunk, t.src, t.dst, step);
      result.add(step, t.op, chunk, t.src, t.dst, route);
    }
  }
  result.canonicalize();
  return result;
}

Schedule in_pieces(const Schedule& schedule, std::uint32_t pieces) {
  std::uint64_t weights = 0;
  for (const Chunk& chunk : schedule.chunks) weights += chunk.weight;
  const std::uint64_t most = std::max({schedule.chunks.size(), schedule.transfers.size(),
                                       schedule.routes.size(), std::size_t{schedule.num_steps()}});
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (most > kMost / pieces || weights > kMaxWeights / pieces) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("cut: expected a schedule that may have {} times as many chunks, "
                            "transfers and steps, got {}, {} and {}",
                            pieces, schedule.chunks.size(), schedule.transfers.size(),
                            schedule.num_steps()));
  }
  Schedule result = header_of(schedule);
  result.chunks.clear();
  for (const Chunk& chunk : schedule.chunks) {
    result.chunks.insert(result.chunks.end(), pieces, chunk);
  }
  result.transfers.reserve(schedule.transfers.size() * pieces);
  result.routes.reserve(schedule.routes.size() * pieces);
  for (const Transfer& t : schedule.transfers) {
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
      result.add(t.step * pieces + piece, t.op, t.chunk * pieces + piece, t.src, t.dst,
                 schedule.route(t));
    }
  }
  result.canonicalize();
  return result;
}

}  // namespace multitree
