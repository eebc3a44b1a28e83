// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Two phases that divide the shards differently, brought to the same chunks.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "algorithms/compose.hpp"
#include "algorithms/generators/dependences_internal.hpp"
#include "algorithms/generators/link_calendar_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

/// Where the chunks of one owner begin and end, as multiples of 1/whole of its shard.
struct Cuts {
  std::vector<std::uint32_t> chunks;  ///< in order
  std::vector<std::uint64_t> ends;    ///< of those chunks
  [[nodiscard]] std::uint64_t whole() const { return ends.empty() ? 1 : ends.back(); }
};

std::vector<Cuts> cuts_by_owner(const Schedule& schedule) {
  std::vector<Cuts> all(schedule.ranks);
  for (std::uint32_t c = 0; c < schedule.chunks.size(); ++c) {
    Cuts& cuts = all[index(schedule.chunks[c].root())];
    const std::uint64_t begin = cuts.ends.empty() ? 0 : cuts.ends.back();
    cuts.chunks.push_back(c);
    cuts.ends.push_back(begin + schedule.chunks[c].weight);
  }
  return all;
}

/// The common chunks, and which of them each old chunk becomes.
struct CommonChunks {
  std::vector<Chunk> chunks;
  std::vector<std::vector<std::uint32_t>> of_first, of_second;
};

/// `most`: that the weights of the rank's chunks may add up to.
void add_owner(Rank owner, const Cuts& first, const Cuts& second, std::uint64_t most,
               CommonChunks& common) {
  const std::uint64_t divisor = std::gcd(first.whole(), second.whole());
  const std::uint64_t a = second.whole() / divisor, b = first.whole() / divisor;
  if (a > most / first.whole()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("the chunks of rank {} in the two phases have no common weights that "
                            "add up to at most {}: expected fewer trees (option k)",
                            index(owner), most));
  }
  std::uint64_t begin = 0;
  for (std::size_t i = 0, j = 0; i < first.ends.size() && j < second.ends.size();) {
    const std::uint64_t end = std::min(first.ends[i] * a, second.ends[j] * b);
    const auto chunk = static_cast<std::uint32_t>(common.chunks.size());
    common.chunks.push_back(Chunk::rooted(owner, chunk, end - begin));
    common.of_first[first.chunks[i]].push_back(chunk);
    common.of_second[second.chunks[j]].push_back(chunk);
    if (first.ends[i] * a == end) ++i;
    if (second.ends[j] * b == end) ++j;
    begin = end;
  }
}

/// The schedule with every transfer once for each piece of its chunk, on the same route, as early
/// as data and links allow.
Schedule recut(const Schedule& schedule, const std::vector<Chunk>& chunks,
               const std::vector<std::vector<std::uint32_t>>& pieces, const Topology& topology) {
  Schedule result = schedule;
  result.chunks = chunks;
  result.transfers.clear();
  result.routes.clear();
  LinkCalendar calendar(topology);
  Dependences dependences(schedule.ranks, chunks.size(), false);
  for (const Transfer& t : schedule.transfers) {
    const auto route = schedule.route(t);
    for (const std::uint32_t piece : pieces[t.chunk]) {
      const std::uint32_t step =
          calendar.next_free(route, dependences.earliest(t.op, piece, t.src, t.dst));
      calendar.take(route, step);
      dependences.record(t.op, piece, t.src, t.dst, step);
      result.add(step, t.op, piece, t.src, t.dst, route);
    }
  }
  result.canonicalize();
  return result;
}

}  // namespace

std::pair<Schedule, Schedule> with_common_chunks(const Schedule& first, const Schedule& second,
                                                 const Topology& topology) {
  CommonChunks common;
  common.of_first.resize(first.chunks.size());
  common.of_second.resize(second.chunks.size());
  const std::vector<Cuts> cuts = cuts_by_owner(first), others = cuts_by_owner(second);
  const std::uint64_t most = kMaxWeights / first.ranks;
  for (std::uint32_t r = 0; r < first.ranks; ++r) {
    add_owner(Rank{r}, cuts[r], others[r], most, common);
  }
  return {recut(first, common.chunks, common.of_first, topology),
          recut(second, common.chunks, common.of_second, topology)};
}

}  // namespace multitree
