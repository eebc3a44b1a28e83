// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// MSCCL++ execution plans. A thread block does all that a rank does with its chunks, in order, so
/// that thread blocks need not wait for each other.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "algorithms/interchange/rank_operations_internal.hpp"
#include "topologies/error.hpp"

namespace multitree {
namespace {

using namespace interchange;
using nlohmann::ordered_json;

// Compile-time limits of the executor (its execution_common.hpp).
constexpr std::size_t kMaxOperations = 64;
constexpr std::size_t kMaxBlockChannels = 16;  // of a thread block; as many remote buffers
constexpr std::size_t kMaxChannelsOfOperation = 8;

std::string buffer_type(Buffer buffer) {
  return std::string(1, "ios"[static_cast<std::size_t>(buffer)]);
}

/// A thread block of one rank while it grows.
class Block {
 public:
  Block(std::vector<Rank> peers, std::uint32_t first_channel)
      : peers_(std::move(peers)), first_channel_(first_channel) {
    // Nobody writes into a peer's buffers before that peer has started: until then they may be in
    // use.
    for (const char* name : {"rlxsignal", "rlxwait"}) {
      for (std::size_t begin = 0; begin < peers_.size(); begin += kMaxChannelsOfOperation) {
        ordered_json ids = ordered_json::array();
        const std::size_t end = std::min(peers_.size(), begin + kMaxChannelsOfOperation);
        for (std::size_t i = begin; i < end; ++i) ids.push_back(i);
        operations_.push_back({{"name", name}, {"channel_ids", ids}, {"channel_type", "memory"}});
      }
    }
    after_wait_ = !peers_.empty();
  }

  void put(const Place& src, std::uint32_t units, Rank peer, const Place& dst) {
    synchronize_data();
    operations_.push_back(
        {{"name", "put"},
         {"src_buff", {local(src, units)}},
         {"dst_buff",
          {{{"buffer_id", remote(peer, dst.buffer)}, {"index", dst.offset}, {"size", units}}}},
         {"channel_ids", {channel(peer)}},
         {"channel_type", "memory"}});
    operations_.push_back({{"name", "nop"}});  // all threads have written before one tells
    operations_.push_back(
        {{"name", "signal"}, {"channel_ids", list(channel(peer))}, {"channel_type", "memory"}});
  }

  void wait(Rank peer) {
    operations_.push_back(
        {{"name", "wait"}, {"channel_ids", list(channel(peer))}, {"channel_type", "memory"}});
    after_wait_ = true;
  }

  /// dst = src + other.
  void reduce(const Place& src, const Place& other, const Place& dst, std::uint32_t units) {
    synchronize_data();
    ordered_json sources = list(local(src, units));
    sources.push_back(local(other, units));
    operations_.push_back(
        {{"name", "re"}, {"src_buff", sources}, {"dst_buff", list(local(dst, units))}});
    after_data_ = true;
  }

  void copy(const Place& src, const Place& dst, std::uint32_t units) {
    synchronize_data();
    operations_.push_back({{"name", "copy"},
                           {"src_buff", list(local(src, units))},
                           {"dst_buff", list(local(dst, units))}});
    after_data_ = true;
  }

  [[nodiscard]] std::size_t operations() const { return operations_.size(); }
  [[nodiscard]] std::size_t buffers() const { return buffers_.size(); }
  [[nodiscard]] const std::vector<Rank>& peers() const { return peers_; }

  /// `buffer_id(peer, buffer)` numbers the remote buffers of the rank.
  template <typename BufferId>
  [[nodiscard]] ordered_json json(std::size_t id, const BufferId& buffer_id) const {
    ordered_json channels = ordered_json::array(), references = ordered_json::array();
    for (std::size_t i = 0; i < peers_.size(); ++i) channels.push_back(first_channel_ + i);
    for (const auto& [peer, buffer] : buffers_) references.push_back(buffer_id(peer, buffer));
    ordered_json result = {{"id", id}, {"ops", operations_}};
    result["channels"] = ordered_json::array();
    result["remote_buffer_refs"] = ordered_json::array();
    if (!peers_.empty()) {
      result["channels"].push_back({{"channel_type", "memory"}, {"channel_ids", channels}});
    }
    if (!buffers_.empty()) {
      result["remote_buffer_refs"].push_back(
          {{"access_channel_type", "memory"}, {"remote_buffer_ids", references}});
    }
    return result;
  }
  [[nodiscard]] const std::vector<std::pair<Rank, Buffer>>& remote_buffers() const {
    return buffers_;
  }

 private:
  /// Threads move different parts of the data: all must be done before others use it.
  void synchronize_data() {
    if (after_wait_ || after_data_) operations_.push_back({{"name", "nop"}});
    after_wait_ = after_data_ = false;
  }
  static ordered_json list(ordered_json item) {
    ordered_json result = ordered_json::array();
    result.push_back(std::move(item));
    return result;
  }
  static ordered_json local(const Place& place, std::uint32_t units) {
    return {{"type", buffer_type(place.buffer)}, {"index", place.offset}, {"size", units}};
  }
  [[nodiscard]] std::size_t channel(Rank peer) const {
    return static_cast<std::size_t>(std::ranges::find(peers_, peer) - peers_.begin());
  }
  std::size_t remote(Rank peer, Buffer buffer) {
    const std::pair key(peer, buffer);
    const auto found = std::ranges::find(buffers_, key);
    const auto position = static_cast<std::size_t>(found - buffers_.begin());
    if (found == buffers_.end()) buffers_.push_back(key);
    return position;
  }

  std::vector<Rank> peers_;  // a channel each
  std::uint32_t first_channel_;
  ordered_json operations_ = ordered_json::array();
  std::vector<std::pair<Rank, Buffer>> buffers_;
  bool after_wait_ = false, after_data_ = false;
};

/// The whole plan, with the chunks dealt to a number of thread blocks.
class Planner {
 public:
  Planner(const Schedule& schedule, const UnitLayout& layout, const RankOperations& all,
          std::uint32_t blocks)
      : schedule_(schedule), layout_(layout), all_(all), blocks_(blocks), scratch_(all.scratch) {
    assign_slots();
    make_blocks();
    for (std::uint32_t id = 0; id < all_.operations.size(); ++id) emit(id);
  }

  /// Empty if it fits, else the limit that it exceeds.
  [[nodiscard]] std::string exceeded() const {
    for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
      for (const Block& block : ranks_[r]) {
        const auto over = [&](std::size_t found, std::size_t most, const char* what) {
          return found <= most ? std::string()
                               : fmt::format("at most {} {} in a thread block, got {} (gpu {})",
                                             most, what, found, r);
        };
        for (const std::string& problem :
             {over(block.operations(), kMaxOperations, "operations"),
              over(block.peers().size(), kMaxBlockChannels, "channels"),
              over(block.buffers(), kMaxBlockChannels, "remote buffers")}) {
          if (!problem.empty()) return problem;
        }
      }
    }
    return {};
  }

  [[nodiscard]] ordered_json gpus() const {
    ordered_json result = ordered_json::array();
    for (std::uint32_t r = 0; r < schedule_.ranks; ++r) result.push_back(gpu(r));
    return result;
  }

 private:
  /// Where a message is put: what the receiver has yet to reduce, and what would overwrite a value
  /// that it may still read, in a slot of its own.
  void assign_slots() {
    slots_.resize(all_.operations.size());
    for (std::size_t id = 0; id < all_.operations.size(); ++id) {
      const Operation& o = all_.operations[id];
      if (o.action == Action::Receive && o.src != o.dst) slots_[id] = o.dst;
      if (o.action == Action::ReceiveReduce || (o.action == Action::Receive && o.src == o.dst)) {
        std::uint32_t& next = scratch_[index(o.rank)];
        slots_[id] = {Buffer::Scratch, next};
        next += layout_.count[o.chunk];
      }
    }
  }

  void make_blocks() {
    std::vector<std::vector<std::set<Rank>>> peers(schedule_.ranks,
                                                   std::vector<std::set<Rank>>(blocks_));
    std::vector<std::vector<bool>> used(schedule_.ranks, std::vector<bool>(blocks_, false));
    for (const Operation& o : all_.operations) {
      const std::uint32_t block = o.chunk % blocks_;
      used[index(o.rank)][block] = true;
      if (o.action != Action::CopyLocal) peers[index(o.rank)][block].insert(o.peer);
    }
    ranks_.resize(schedule_.ranks);
    position_.assign(schedule_.ranks, std::vector<std::uint32_t>(blocks_, 0));
    for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
      std::uint32_t channels = 0;
      for (std::uint32_t b = 0; b < blocks_; ++b) {
        if (!used[r][b]) continue;
        position_[r][b] = static_cast<std::uint32_t>(ranks_[r].size());
        ranks_[r].emplace_back(std::vector<Rank>(peers[r][b].begin(), peers[r][b].end()), channels);
        channels += static_cast<std::uint32_t>(peers[r][b].size());
      }
    }
  }

  void emit(std::uint32_t id) {
    const Operation& o = all_.operations[id];
    Block& block = ranks_[index(o.rank)][position_[index(o.rank)][o.chunk % blocks_]];
    const std::uint32_t units = layout_.count[o.chunk];
    switch (o.action) {
      case Action::Send:
        block.put(o.src, units, o.peer, slots_[o.other]);
        break;
      case Action::Receive:
        block.wait(o.peer);
        if (slots_[id] != o.dst) block.copy(slots_[id], o.dst, units);
        break;
      case Action::ReceiveReduce:
        block.wait(o.peer);
        block.reduce(o.src, slots_[id], o.dst, units);
        break;
      case Action::CopyLocal:
        block.copy(o.src, o.dst, units);
        break;
    }
  }

  [[nodiscard]] ordered_json gpu(std::uint32_t rank) const {
    std::vector<std::pair<Rank, Buffer>> buffers;
    ordered_json channels = ordered_json::array(), remote = ordered_json::array();
    for (const Block& block : ranks_[rank]) {
      for (const Rank peer : block.peers()) channels.push_back(index(peer));
      for (const auto& key : block.remote_buffers()) {
        if (std::ranges::find(buffers, key) == buffers.end()) buffers.push_back(key);
      }
    }
    for (const auto& [peer, buffer] : buffers) {
      remote.push_back({{"rank", index(peer)},
                        {"type", buffer_type(buffer)},
                        {"access_channel_types", ordered_json::array({"memory"})}});
    }
    ordered_json blocks = ordered_json::array();
    for (const Block& block : ranks_[rank]) {
      blocks.push_back(block.json(blocks.size(), [&](Rank peer, Buffer buffer) {
        return std::ranges::find(buffers, std::pair(peer, buffer)) - buffers.begin();
      }));
    }
    const bool gather = sends_shard(schedule_.collective);
    const bool scatter = receives_shard(schedule_.collective);
    ordered_json result = {{"id", rank},
                           {"input_chunks", gather ? layout_.shard : layout_.total},
                           {"output_chunks", scatter ? layout_.shard : layout_.total},
                           {"scratch_chunks", scratch_[rank]},
                           {"threadblocks", blocks},
                           {"channels", ordered_json::array()},
                           {"remote_buffers", remote},
                           {"semaphores", ordered_json::array()}};
    if (!channels.empty()) {
      result["channels"].push_back({{"channel_type", "memory"}, {"connected_to", channels}});
    }
    return result;
  }

  const Schedule& schedule_;
  const UnitLayout& layout_;
  const RankOperations& all_;
  std::uint32_t blocks_;
  std::vector<std::uint32_t> scratch_;
  std::vector<Place> slots_;                          // of each receive
  std::vector<std::vector<Block>> ranks_;             // those that do something
  std::vector<std::vector<std::uint32_t>> position_;  // rank, block
};

/// Counted without a plan: each operation of a rank is at least one of its thread block.
bool has_too_many_operations(const RankOperations& all, std::uint32_t ranks, std::uint32_t blocks) {
  std::vector<std::size_t> count(std::size_t{ranks} * blocks, 0);
  for (const Operation& o : all.operations) {
    if (++count[std::size_t{index(o.rank)} * blocks + o.chunk % blocks] > kMaxOperations)
      return true;
  }
  return false;
}

}  // namespace

std::string write_mscclpp_json(const Schedule& schedule, const MscclppOptions& options) {
  const UnitLayout layout = unit_layout(schedule);
  const RankOperations all = rank_operations(schedule, layout, BufferMode::OutOfPlace);
  const auto chunks = static_cast<std::uint32_t>(schedule.chunks.size());
  std::uint32_t blocks = std::max(options.blocks, 1U);
  for (;; ++blocks) {
    const bool is_last = options.blocks != 0 || blocks >= chunks;
    if (!is_last && has_too_many_operations(all, schedule.ranks, blocks)) continue;
    const Planner planner(schedule, layout, all, blocks);
    const std::string problem = planner.exceeded();
    if (problem.empty()) {
      const ordered_json plan = {{"name", schedule.algorithm},
                                 {"collective", schedule.collective == Collective::ReduceScatter
                                                    ? "reducescatter"
                                                    : std::string(to_string(schedule.collective))},
                                 {"protocol", "Simple"},
                                 {"inplace", false},
                                 {"reuse_resources", false},
                                 {"gpus", planner.gpus()},
                                 {"num_threads_per_block", 1024},
                                 {"use_double_scratch_buffer", false},
                                 {"buffer_alignment", 16},
                                 {"min_message_size", options.min_bytes},
                                 {"max_message_size", options.max_bytes}};
      return plan.dump(1) + "\n";
    }
    if (is_last) {
      throw Error(
          ErrorCode::Unsupported,
          fmt::format("mscclpp: expected {}: {}", problem,
                      options.blocks != 0 ? "give more thread blocks"
                                          : "choose an algorithm with more and smaller trees"));
    }
  }
}

}  // namespace multitree
