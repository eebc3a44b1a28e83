// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From operations to thread blocks: one for each peer, direction and channel.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "algorithms/interchange/msccl_program_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::interchange {
namespace {

constexpr std::uint32_t kMaxNcclChannels = 32;  // NCCL's MAXCHANNELS

void check_options(const MscclOptions& options) {
  const auto& protocol = options.protocol;
  if (protocol != "Simple" && protocol != "LL" && protocol != "LL128") {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("protocol: expected Simple, LL or LL128, got '{}'", protocol));
  }
  if (options.channels == 0 || options.channels > kMaxNcclChannels) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("channels: expected a number from 1 to {}, got {}", kMaxNcclChannels,
                            options.channels));
  }
  if (options.min_bytes > options.max_bytes || options.max_bytes > INT64_MAX) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("message sizes: expected least <= most < 2^63, got {} and {}",
                            options.min_bytes, options.max_bytes));
  }
}

/// Both ends of a message agree on its channel. The chunks of a pair of ranks are dealt in turn,
/// and so are the peers of a rank for one chunk.
std::uint32_t channel_of(const Operation& o, std::uint32_t channels) {
  if (o.action == Action::CopyLocal) return 0;
  return static_cast<std::uint32_t>((std::uint64_t{o.chunk} + index(o.rank) + index(o.peer)) %
                                    channels);
}

/// Turns operations to steps of thread blocks.
class Lowering {
 public:
  Lowering(const RankOperations& operations, const UnitLayout& layout, std::uint32_t channels,
           MscclProgram& program)
      : operations_(operations), layout_(layout), channels_(channels), program_(program) {}

  void run() {
    make_blocks();
    at_.resize(operations_.operations.size());
    for (std::uint32_t id = 0; id < at_.size(); ++id) place(id);
  }

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, std::uint32_t>;  // send, receive, channel

  [[nodiscard]] Key key(const Operation& o) const {
    const auto peer = static_cast<std::int32_t>(index(o.peer));
    const bool send = o.action == Action::Send;
    const bool local = o.action == Action::CopyLocal;
    return {send ? peer : -1, send || local ? -1 : peer, channel_of(o, channels_)};
  }

  /// Thread blocks are sorted by peers and channel, as msccl-tools does.
  void make_blocks() {
    blocks_.resize(program_.gpus.size());
    for (const Operation& o : operations_.operations) blocks_[index(o.rank)].emplace(key(o), 0);
    waited_.resize(blocks_.size());
    for (std::size_t r = 0; r < blocks_.size(); ++r) {
      for (auto& [key, number] : blocks_[r]) {
        number = static_cast<std::uint32_t>(program_.gpus[r].blocks.size());
        program_.gpus[r].blocks.push_back(
            {std::get<0>(key), std::get<1>(key), std::get<2>(key), {}});
      }
      waited_[r].assign(blocks_[r].size(), std::vector<std::int32_t>(blocks_[r].size(), -1));
    }
  }

  void place(std::uint32_t id) {
    const Operation& o = operations_.operations[id];
    const std::uint32_t number = blocks_[index(o.rank)].at(key(o));
    MscclGpu& gpu = program_.gpus[index(o.rank)];
    MscclBlock& block = gpu.blocks[number];
    MscclStep step = instruction(o);
    collect_waits(o, number);
    // A step waits for one other at most; the rest is left to nops before it.
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      const auto [wait_block, wait_step] = waits_[i];
      MscclStep nop;
      MscclStep& waiting = i + 1 < waits_.size() ? nop : step;
      waiting.wait_block = wait_block;
      waiting.wait_step = wait_step;
      gpu.blocks[static_cast<std::size_t>(wait_block)]
          .steps[static_cast<std::size_t>(wait_step)]
          .waited_for = true;
      if (i + 1 < waits_.size()) block.steps.push_back(nop);
    }
    at_[id] = {static_cast<std::int32_t>(number), static_cast<std::int32_t>(block.steps.size())};
    block.steps.push_back(step);
  }

  /// What the operation waits for and its thread block has not waited for yet, at most one step of
  /// each other block, by block.
  void collect_waits(const Operation& o, std::uint32_t number) {
    waits_.clear();
    std::vector<std::int32_t>& waited = waited_[index(o.rank)][number];
    for (const std::uint32_t need : operations_.needs_of(o)) {
      const auto [block, step] = at_[need];
      if (static_cast<std::uint32_t>(block) == number) continue;
      std::int32_t& last = waited[static_cast<std::size_t>(block)];
      if (last >= step) continue;
      last = step;
      std::erase_if(waits_, [block = block](const auto& wait) { return wait.first == block; });
      waits_.emplace_back(block, step);
    }
    std::ranges::sort(waits_);
  }

  [[nodiscard]] MscclStep instruction(const Operation& o) const {
    MscclStep step;
    step.count = layout_.count[o.chunk];
    step.src = o.src;
    step.dst = o.dst;
    switch (o.action) {
      case Action::Send:
        step.type = MscclType::Send;
        step.dst = operations_.operations[o.other].dst;  // for the reader: runtimes do not look
        break;
      case Action::Receive:
        step.type = MscclType::Receive;
        step.src = operations_.operations[o.other].src;
        break;
      case Action::ReceiveReduce:
        step.type = MscclType::ReceiveReduceCopy;
        break;
      case Action::CopyLocal:
        step.type = MscclType::Copy;
        break;
    }
    return step;
  }

  const RankOperations& operations_;
  const UnitLayout& layout_;
  std::uint32_t channels_;
  MscclProgram& program_;
  std::vector<std::map<Key, std::uint32_t>> blocks_;            // of each rank
  std::vector<std::vector<std::vector<std::int32_t>>> waited_;  // rank, waiting block, block
  std::vector<std::pair<std::int32_t, std::int32_t>> at_;       // block and step of operations
  std::vector<std::pair<std::int32_t, std::int32_t>> waits_;
};

/// Buffer sizes: those that the collective says, 0 for one that only is the other by another name.
void set_buffers(const RankOperations& operations, const UnitLayout& layout,
                 MscclProgram& program) {
  const bool in_place_only = program.in_place && !program.out_of_place;
  const Collective collective = program.collective;
  for (std::size_t r = 0; r < program.gpus.size(); ++r) {
    MscclGpu& gpu = program.gpus[r];
    gpu.input = sends_shard(collective) ? layout.shard : layout.total;
    gpu.output = receives_shard(collective) ? layout.shard : layout.total;
    gpu.scratch = operations.scratch[r];
    if (!in_place_only || has_root(collective)) continue;
    (sends_shard(collective) ? gpu.input : gpu.output) = 0;
  }
}

}  // namespace

MscclProgram msccl_program(const Schedule& schedule, const MscclOptions& options) {
  check_options(options);
  const UnitLayout layout = unit_layout(schedule);
  const RankOperations operations = rank_operations(schedule, layout, options.buffers);
  MscclProgram program;
  program.name = schedule.algorithm;
  program.protocol = options.protocol;
  program.collective = schedule.collective;
  program.channels = options.channels;
  program.units = layout.total;
  program.in_place = options.buffers != BufferMode::OutOfPlace;
  program.out_of_place = options.buffers != BufferMode::InPlace;
  program.min_bytes = options.min_bytes;
  program.max_bytes = options.max_bytes;
  program.gpus.resize(schedule.ranks);
  set_buffers(operations, layout, program);
  Lowering(operations, layout, options.channels, program).run();
  return program;
}

}  // namespace multitree::interchange
