// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From an MSCCL program to a schedule.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "algorithms/interchange/msccl_messages_internal.hpp"
#include "algorithms/verify.hpp"
#include "topologies/io/text_internal.hpp"

namespace multitree {
namespace {

using namespace interchange;

/// Units that always travel together make one chunk. `chunk_of` has the chunk of each unit,
/// `first` says whether it is the chunk's first.
struct Chunking {
  std::vector<std::uint32_t> chunk_of;
  std::vector<bool> first;
  std::vector<std::uint32_t> sizes;
};

Chunking join_units(const MscclProgram& program, const MscclMessages& all) {
  std::vector<std::vector<std::uint32_t>> history(program.units);
  for (std::size_t m = 0; m < all.messages.size(); ++m) {
    history[all.messages[m].chunk].push_back(all.group[m]);
  }
  const auto shard = program.units / static_cast<std::uint32_t>(program.gpus.size());
  const bool shards = is_sharded(program.collective);
  Chunking result;
  for (std::uint32_t u = 0; u < program.units; ++u) {
    const bool joined =
        u > 0 && !history[u].empty() && history[u] == history[u - 1] && !(shards && u % shard == 0);
    result.first.push_back(!joined);
    if (joined) {
      ++result.sizes.back();
    } else {
      result.sizes.push_back(1);
    }
    result.chunk_of.push_back(static_cast<std::uint32_t>(result.sizes.size()) - 1);
  }
  return result;
}

/// Drops the messages of other units than the first: the rest stand for whole chunks.
void keep_first_units(const Chunking& chunking, MscclMessages& all) {
  std::vector<std::uint32_t> number(all.messages.size(), AtomicMessage::kNothing);
  std::uint32_t kept = 0;
  for (std::size_t m = 0; m < all.messages.size(); ++m) {
    AtomicMessage message = all.messages[m];
    if (!chunking.first[message.chunk]) continue;
    message.chunk = chunking.chunk_of[message.chunk];
    // Both are messages of the same unit, and earlier ones.
    for (std::uint32_t* other : {&message.reads, &message.overwrites}) {
      if (*other < AtomicMessage::kNothing) *other = number[*other];
    }
    number[m] = kept;
    all.messages[kept] = message;
    all.at[kept] = all.at[m];
    all.sent[kept] = all.sent[m];
    ++kept;
  }
  all.messages.resize(kept);
  all.at.resize(kept);
  all.sent.resize(kept);
}

/// Tells each message which one is before it on its connection, by the order of their sends.
void link_connections(const MscclProgram& program, MscclMessages& all) {
  using Ends = std::tuple<Rank, Rank, std::uint32_t>;
  std::vector<std::uint32_t> order(all.messages.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t m) { return all.sent[m]; });
  std::map<Ends, std::uint32_t> last;
  for (const std::uint32_t m : order) {
    AtomicMessage& message = all.messages[m];
    const StepId& at = all.at[m];
    const Ends ends{message.src, message.dst, program.gpus[at.gpu].blocks[at.block].channel};
    const auto [before, first] = last.try_emplace(ends, m);
    if (!first) message.after = std::exchange(before->second, m);
  }
}

/// Owners: of the shard, the root, or the rank that first copies the chunk to another.
void set_chunks(const Chunking& chunking, const MscclMessages& all, const MscclProgram& program,
                Schedule& schedule) {
  for (std::uint32_t c = 0; c < chunking.sizes.size(); ++c) {
    schedule.chunks.push_back(Chunk::rooted(schedule.root, c, chunking.sizes[c]));
  }
  if (is_sharded(program.collective)) {
    const auto shard = program.units / schedule.ranks;
    for (std::uint32_t u = 0; u < program.units; ++u) {
      schedule.chunks[chunking.chunk_of[u]].set_root(Rank{u / shard});
    }
  } else if (program.collective == Collective::AllReduce) {
    for (std::size_t m = all.messages.size(); m-- > 0;) {
      const AtomicMessage& message = all.messages[m];
      if (message.op == Op::Copy) schedule.chunks[message.chunk].set_root(message.src);
    }
  }
}

void require_verified(const Schedule& schedule, const Topology& topology, const std::string& file) {
  const VerifyReport report = verify(schedule, topology);
  if (report.ok()) return;
  fail_at(file, 1,
          fmt::format("expected a program that does its {}, got: {}",
                      to_string(schedule.collective), report.violations.front().message));
}

}  // namespace

Schedule parse_msccl_xml(std::string_view text, const std::string& file, const Topology& topology) {
  const MscclFile source = read_msccl(text, file, topology.num_ranks());
  Schedule schedule;
  schedule.collective = source.program.collective;
  schedule.algorithm = source.program.name;
  schedule.ranks = topology.num_ranks();
  schedule.root = msccl_root(source);
  MscclMessages all = msccl_messages(source, schedule.root);
  const Chunking chunking = join_units(source.program, all);
  keep_first_units(chunking, all);
  link_connections(source.program, all);
  set_chunks(chunking, all, source.program, schedule);
  schedule = schedule_messages(
      std::move(schedule), all.messages, topology,
      [&](std::uint32_t m, const std::string& what) { source.fail(all.at[m], what); });
  require_verified(schedule, topology, file);
  return schedule;
}

}  // namespace multitree
