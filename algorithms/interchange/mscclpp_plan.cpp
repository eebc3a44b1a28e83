// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MSCCL++ execution plans: how many thread blocks it takes, and their text.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "algorithms/interchange/mscclpp_limits_internal.hpp"
#include "algorithms/interchange/mscclpp_program_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using namespace interchange;
using nlohmann::ordered_json;

using Blocks = std::vector<std::vector<Block>>;  // by rank

constexpr bool kTypes[] = {false, true};  // memory, port
std::string type_name(bool port) { return port ? "port" : "memory"; }

std::string buffer_type(Buffer buffer) {
  return std::string(1, "ios"[static_cast<std::size_t>(buffer)]);
}

std::string_view name_of(BlockAction action) {
  constexpr std::string_view kNames[] = {"nop",  "rlxsignal", "rlxwait", "put", "pws",
                                         "pwsf", "signal",    "wait",    "re",  "copy"};
  return kNames[static_cast<std::size_t>(action)];
}

ordered_json local(const Place& place, std::uint32_t units) {
  return {{"type", buffer_type(place.buffer)}, {"index", place.offset}, {"size", units}};
}

ordered_json json_of(const BlockOperation& o) {
  ordered_json json = {{"name", name_of(o.action)}};
  const bool puts = o.action == BlockAction::Put || o.action == BlockAction::PutSignal ||
                    o.action == BlockAction::PutSignalFlush;
  const bool reduces = o.action == BlockAction::Reduce;
  if (puts || reduces || o.action == BlockAction::Copy) {
    json["src_buff"] = ordered_json::array({local(o.src, o.units)});
    if (reduces) json["src_buff"].push_back(local(o.other, o.units));
    json["dst_buff"] = ordered_json::array();
    json["dst_buff"].push_back(
        puts ? ordered_json{{"buffer_id", o.remote}, {"index", o.dst.offset}, {"size", o.units}}
             : local(o.dst, o.units));
  }
  if (o.channels == 0) return json;
  json["channel_ids"] = ordered_json::array();
  for (std::uint32_t c = 0; c < o.channels; ++c) json["channel_ids"].push_back(o.channel + c);
  json["channel_type"] = type_name(o.port);
  return json;
}

/// Remote buffers of a rank, each once.
std::vector<std::pair<Rank, Buffer>> remote_buffers(const std::vector<Block>& blocks) {
  std::vector<std::pair<Rank, Buffer>> buffers;
  for (const Block& block : blocks) {
    for (const bool port : kTypes) {
      for (const auto& key : block.links(port).buffers) {
        if (std::ranges::find(buffers, key) == buffers.end()) buffers.push_back(key);
      }
    }
  }
  return buffers;
}

ordered_json json_of(const Block& block, std::size_t id,
                     const std::vector<std::pair<Rank, Buffer>>& buffers) {
  ordered_json json = {{"id", id},
                       {"ops", ordered_json::array()},
                       {"channels", ordered_json::array()},
                       {"remote_buffer_refs", ordered_json::array()}};
  for (const BlockOperation& o : block.operations()) json["ops"].push_back(json_of(o));
  for (const bool port : kTypes) {
    const BlockLinks& links = block.links(port);
    ordered_json channels = ordered_json::array(), references = ordered_json::array();
    for (std::size_t i = 0; i < links.peers.size(); ++i)
      channels.push_back(links.first_channel + i);
    for (const auto& key : links.buffers) {
      references.push_back(std::ranges::find(buffers, key) - buffers.begin());
    }
    if (!channels.empty()) {
      json["channels"].push_back({{"channel_type", type_name(port)}, {"channel_ids", channels}});
    }
    if (!references.empty()) {
      json["remote_buffer_refs"].push_back(
          {{"access_channel_type", type_name(port)}, {"remote_buffer_ids", references}});
    }
  }
  return json;
}

ordered_json gpu_json(const MscclppWork& work, std::uint32_t rank,
                      const std::vector<Block>& blocks) {
  const std::vector<std::pair<Rank, Buffer>> buffers = remote_buffers(blocks);
  const Collective collective = work.schedule->collective;
  const UnitLayout& layout = work.layout;
  ordered_json json = {{"id", rank},
                       {"input_chunks", sends_shard(collective) ? layout.shard : layout.total},
                       {"output_chunks", receives_shard(collective) ? layout.shard : layout.total},
                       {"scratch_chunks", work.scratch[rank]},
                       {"threadblocks", ordered_json::array()},
                       {"channels", ordered_json::array()},
                       {"remote_buffers", ordered_json::array()},
                       {"semaphores", ordered_json::array()}};
  for (const Block& block : blocks) {
    json["threadblocks"].push_back(json_of(block, json["threadblocks"].size(), buffers));
  }
  for (const bool port : kTypes) {
    ordered_json peers = ordered_json::array();
    for (const Block& block : blocks) {
      for (const Rank peer : block.links(port).peers) peers.push_back(index(peer));
    }
    if (peers.empty()) continue;
    json["channels"].push_back({{"channel_type", type_name(port)}, {"connected_to", peers}});
  }
  for (const auto& [peer, buffer] : buffers) {
    json["remote_buffers"].push_back(
        {{"rank", index(peer)},
         {"type", buffer_type(buffer)},
         {"access_channel_types", {type_name(work.is_remote(Rank{rank}, peer))}}});
  }
  return json;
}

/// Empty if all blocks fit, else the limit that one exceeds.
std::string exceeded(const Blocks& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const Block& block : ranks[r]) {
      const auto over = [&](std::size_t found, std::size_t most, const char* what) {
        return found <= most ? std::string()
                             : fmt::format("at most {} {} in a thread block, got {} (gpu {})", most,
                                           what, found, r);
      };
      std::string problem = over(block.operations().size(), kMscclppOperations, "operations");
      for (const bool port : kTypes) {
        if (problem.empty())
          problem = over(block.links(port).peers.size(), kMscclppChannels, "channels");
        if (problem.empty()) {
          problem = over(block.links(port).buffers.size(), kMscclppChannels, "remote buffers");
        }
      }
      if (!problem.empty()) return problem;
    }
  }
  return {};
}

[[noreturn]] void refuse(const std::string& problem, std::string_view remedy) {
  throw Error(ErrorCode::Unsupported, fmt::format("mscclpp: expected {}: {}", problem, remedy));
}

/// Those of the fewest blocks that have room. More blocks have less to do each, but for chances of
/// the dealing, so the number is searched by halves.
Blocks fitting_blocks(const MscclppWork& work) {
  const auto most =
      static_cast<std::uint32_t>(std::max<std::size_t>(work.schedule->chunks.size(), 1));
  Blocks best;
  std::uint32_t too_few = 0, enough = 1;
  while (true) {
    best = mscclpp_blocks(work, enough);
    const std::string problem = exceeded(best);
    if (problem.empty()) break;
    if (enough == most) refuse(problem, "choose an algorithm with more and smaller trees");
    too_few = enough;
    enough = std::min(most, enough * 2);
  }
  while (enough - too_few > 1) {
    const std::uint32_t middle = too_few + (enough - too_few) / 2;
    Blocks tried = mscclpp_blocks(work, middle);
    if (exceeded(tried).empty()) {
      enough = middle;
      best = std::move(tried);
    } else {
      too_few = middle;
    }
  }
  return best;
}

Blocks blocks_of(const MscclppWork& work, const MscclppOptions& options) {
  Blocks blocks = options.blocks != 0 ? mscclpp_blocks(work, options.blocks) : fitting_blocks(work);
  if (const std::string problem = exceeded(blocks); !problem.empty()) {
    refuse(problem, "give more thread blocks");
  }
  for (std::size_t r = 0; r < blocks.size(); ++r) {
    if (blocks[r].size() <= options.max_blocks) continue;
    refuse(fmt::format("at most {} thread blocks, as a GPU runs at once, got {} (gpu {})",
                       options.max_blocks, blocks[r].size(), r),
           "choose an algorithm with fewer pieces, or say how many the GPU runs");
  }
  return blocks;
}

/// The largest vector whose places all have 32-bit offsets.
std::uint64_t most_bytes(const MscclppWork& work) {
  std::uint32_t units = work.layout.total;
  for (const std::uint32_t scratch : work.scratch) units = std::max(units, scratch);
  return kMscclppBytes / units * work.layout.total;
}

std::string collective_name(Collective collective) {
  return collective == Collective::ReduceScatter ? "reducescatter"
                                                 : std::string(to_string(collective));
}

void check_hosts(std::uint32_t ranks, std::uint32_t ranks_per_host) {
  if (ranks_per_host == 0 || ranks % ranks_per_host == 0) return;
  throw Error(
      ErrorCode::InvalidArgument,
      fmt::format("mscclpp: expected as many ranks on each host, got {} ranks in hosts of {}",
                  ranks, ranks_per_host));
}

}  // namespace

std::string write_mscclpp_json(const Schedule& schedule, const MscclppOptions& options) {
  expect_no_switches_at_work(schedule, "MSCCL++ plans");
  check_hosts(schedule.ranks, options.ranks_per_host);
  const MscclppWork work = mscclpp_work(schedule, options.buffers, options.ranks_per_host);
  const Blocks blocks = blocks_of(work, options);
  ordered_json gpus = ordered_json::array();
  for (std::uint32_t r = 0; r < schedule.ranks; ++r) gpus.push_back(gpu_json(work, r, blocks[r]));
  constexpr std::string_view kModes[] = {"inplace", "outofplace", "either"};
  const std::uint64_t most = std::min(options.max_bytes, most_bytes(work));
  const std::string collective = collective_name(schedule.collective);
  const ordered_json plan = {
      // Contexts of the executor go by this name: it has to differ from that of any other plan.
      {"name", fmt::format("{} {} {}-{}", schedule.algorithm, collective, options.min_bytes, most)},
      {"collective", collective},
      {"protocol", "Simple"},
      {"inplace", options.buffers != BufferMode::OutOfPlace},
      {"reuse_resources", false},
      {"gpus", gpus},
      {"num_threads_per_block", 1024},
      {"use_double_scratch_buffer", false},
      {"buffer_alignment", 16},
      {"min_message_size", options.min_bytes},
      {"max_message_size", most},
      // For load_plan.py; MSCCL++ passes over it.
      {"multitree",
       {{"buffers", kModes[static_cast<std::size_t>(options.buffers)]},
        {"ranks_per_host", work.ranks_per_host},
        {"units", work.layout.total}}}};
  return plan.dump(1) + "\n";
}

}  // namespace multitree
