// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Merges runs of chunks that do the same at every rank.
#include "runtime/execution/merge_internal.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "runtime/execution/program_internal.hpp"

namespace multitree::runtime {
namespace {

/// Messages that a tree's data should be cut into at the least, to keep its links busy together.
constexpr std::uint64_t kPipelineMessages = 16;

/// One rank's part in a transfer, in the order of make_plan().
struct Move {
  Rank rank{};
  std::uint32_t step = 0;
  Action action = Action::Send;
  std::uint32_t index = 0;
  Rank peer{};
  /// The order alone matters to the sum, not the steps.
  bool operator==(const Move& other) const {
    return std::tie(rank, action, peer) == std::tie(other.rank, other.action, other.peer);
  }
};
using Course = std::vector<Move>;

/// Sends that follow on one another read the same value, so their order does not matter: by peer.
void order_sends(Course& course) {
  const auto is_other = [](const Move& a, const Move& b) {
    return a.rank != b.rank || a.action != Action::Send || b.action != Action::Send;
  };
  for (auto begin = course.begin(); begin != course.end();) {
    const auto last = std::adjacent_find(begin, course.end(), is_other);
    const auto end = last == course.end() ? last : last + 1;
    std::sort(begin, end, [](const Move& a, const Move& b) { return a.peer < b.peer; });
    begin = end;
  }
}

std::vector<Course> courses_of(const Schedule& schedule) {
  std::vector<Course> courses(schedule.chunks.size());
  for (std::uint32_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& t = schedule.transfers[i];
    const Action action = t.op == Op::Reduce ? Action::Reduce : Action::Copy;
    courses[t.chunk].push_back({t.src, t.step, Action::Send, i, t.dst});
    courses[t.chunk].push_back({t.dst, t.step, action, i, t.src});
  }
  for (Course& course : courses) {
    std::sort(course.begin(), course.end(), [](const Move& a, const Move& b) {
      return std::tie(a.rank, a.step, a.action, a.index) <
             std::tie(b.rank, b.step, b.action, b.index);
    });
    order_sends(course);
  }
  return courses;
}

bool are_neighbours(const Schedule& schedule, std::span<const ElementRange> ranges,
                    std::uint32_t a) {
  const Chunk &one = schedule.chunks[a], &next = schedule.chunks[a + 1];
  return one.tree == next.tree && one.source == next.source && one.target == next.target &&
         ranges[a].begin + ranges[a].count == ranges[a + 1].begin;
}

/// By chunk: bytes of all the chunks that it travels with.
std::vector<std::uint64_t> tree_bytes(const Schedule& schedule,
                                      std::span<const ElementRange> ranges,
                                      std::size_t element_bytes) {
  std::vector<std::uint64_t> bytes(ranges.size());
  for (std::uint32_t begin = 0, c = 0; c < ranges.size(); ++c) {
    bytes[begin] += ranges[c].count * element_bytes;
    if (c + 1 < ranges.size() && are_neighbours(schedule, ranges, c)) continue;
    std::fill(bytes.begin() + begin + 1, bytes.begin() + c + 1, bytes[begin]);
    begin = c + 1;
  }
  return bytes;
}

/// Chunks `begin` to `end` are alike: appends the first of each group of them.
void divide_run(std::uint32_t begin, std::uint32_t end, std::uint64_t bytes, std::uint64_t wanted,
                std::vector<std::uint32_t>& firsts) {
  const std::uint64_t chunks = end - begin;
  const std::uint64_t groups = std::clamp<std::uint64_t>((bytes + wanted / 2) / wanted, 1, chunks);
  for (std::uint64_t g = 0; g < groups; ++g) {
    firsts.push_back(begin + static_cast<std::uint32_t>(g * chunks / groups));
  }
}

Schedule keep(const Schedule& schedule, std::span<const std::uint32_t> firsts) {
  constexpr std::uint32_t kDropped = ~std::uint32_t{0};
  Schedule merged;
  merged.collective = schedule.collective;
  merged.algorithm = schedule.algorithm;
  merged.root = schedule.root;
  merged.ranks = schedule.ranks;
  merged.coalesces = schedule.coalesces;
  std::vector<std::uint32_t> number(schedule.chunks.size(), kDropped);
  for (std::uint32_t g = 0; g < firsts.size(); ++g) {
    const std::size_t end = g + 1 < firsts.size() ? firsts[g + 1] : schedule.chunks.size();
    number[firsts[g]] = g;
    merged.chunks.push_back(schedule.chunks[firsts[g]]);
    for (std::size_t c = firsts[g] + 1; c < end; ++c) {
      merged.chunks.back().weight += schedule.chunks[c].weight;
    }
  }
  for (const Transfer& t : schedule.transfers) {
    if (number[t.chunk] == kDropped) continue;
    merged.add(t.step, t.op, number[t.chunk], t.src, t.dst, schedule.route(t));
  }
  return merged;
}

}  // namespace

std::optional<Schedule> merge_chunks(const Schedule& schedule, std::span<const ElementRange> ranges,
                                     std::size_t element_bytes, std::size_t most) {
  const auto chunks = static_cast<std::uint32_t>(schedule.chunks.size());
  bool any = false;
  for (std::uint32_t c = 0; c + 1 < chunks && !any; ++c) {
    any = are_neighbours(schedule, ranges, c);
  }
  if (!any) return std::nullopt;
  const std::vector<Course> courses = courses_of(schedule);
  const std::vector<std::uint64_t> of_tree = tree_bytes(schedule, ranges, element_bytes);
  std::vector<std::uint32_t> firsts;
  std::uint64_t elements = 0;
  for (std::uint32_t begin = 0, c = 0; c < chunks; ++c) {
    elements += ranges[c].count;
    if (c + 1 < chunks && are_neighbours(schedule, ranges, c) && courses[c] == courses[c + 1]) {
      continue;
    }
    const std::uint64_t wanted = std::clamp<std::uint64_t>(
        of_tree[c] / kPipelineMessages, std::max<std::uint64_t>(most / 4, 1), most);
    divide_run(begin, c + 1, elements * element_bytes, wanted, firsts);
    begin = c + 1;
    elements = 0;
  }
  if (firsts.size() == chunks) return std::nullopt;
  return keep(schedule, firsts);
}

}  // namespace multitree::runtime
