// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Thread blocks of MSCCL++ plans. One does all that a rank does with its chunks, in order, so that
/// blocks need not wait for each other.
#include <algorithm>
#include <set>

#include "algorithms/interchange/mscclpp_limits_internal.hpp"
#include "algorithms/interchange/mscclpp_program_internal.hpp"

namespace multitree::interchange {

Block::Block(BlockLinks memory, BlockLinks ports) : links_{std::move(memory), std::move(ports)} {
  // Nobody writes into a peer's buffers before that peer has started: until then they may be in
  // use. All are told before any is waited for.
  for (const BlockAction action : {BlockAction::RelaxedSignal, BlockAction::RelaxedWait}) {
    for (const bool port : {false, true}) {
      const auto peers = static_cast<std::uint32_t>(links(port).peers.size());
      for (std::uint32_t begin = 0; begin < peers; begin += kMscclppOperationChannels) {
        operations_.push_back({.action = action,
                               .port = port,
                               .channel = begin,
                               .channels = std::min(kMscclppOperationChannels, peers - begin)});
      }
    }
  }
  after_wait_ = !operations_.empty();
}

void Block::put(const Place& src, std::uint32_t units, Rank peer, const Place& dst, bool flush) {
  synchronize_data();
  const auto [port, at] = channel(peer);
  const BlockAction action = !port   ? BlockAction::Put
                             : flush ? BlockAction::PutSignalFlush
                                     : BlockAction::PutSignal;
  operations_.push_back({.action = action,
                         .port = port,
                         .channel = at,
                         .channels = 1,
                         .src = src,
                         .dst = dst,
                         .units = units,
                         .remote = remote(port, peer, dst.buffer)});
  // One thread gives the put to the port: others must not write its source before it is flushed.
  after_data_ = port && flush;
  if (port) return;
  operations_.push_back({});  // all threads have written before one tells
  operations_.push_back({.action = BlockAction::Signal, .channel = at, .channels = 1});
}

void Block::wait(Rank peer) {
  const auto [port, at] = channel(peer);
  operations_.push_back({.action = BlockAction::Wait, .port = port, .channel = at, .channels = 1});
  after_wait_ = true;
}

void Block::reduce(const Place& src, const Place& other, const Place& dst, std::uint32_t units) {
  synchronize_data();
  operations_.push_back(
      {.action = BlockAction::Reduce, .src = src, .other = other, .dst = dst, .units = units});
  after_data_ = true;
}

void Block::copy(const Place& src, const Place& dst, std::uint32_t units) {
  synchronize_data();
  operations_.push_back({.action = BlockAction::Copy, .src = src, .dst = dst, .units = units});
  after_data_ = true;
}

void Block::finish() {
  std::set<std::uint32_t> flushed;
  for (auto o = operations_.rbegin(); o != operations_.rend(); ++o) {
    const bool puts =
        o->action == BlockAction::PutSignal || o->action == BlockAction::PutSignalFlush;
    if (puts && flushed.insert(o->channel).second) o->action = BlockAction::PutSignalFlush;
  }
}

/// Threads move different parts of the data: all must be done before others use it.
void Block::synchronize_data() {
  if (after_wait_ || after_data_) operations_.push_back({});
  after_wait_ = after_data_ = false;
}

std::pair<bool, std::uint32_t> Block::channel(Rank peer) const {
  for (const bool port : {false, true}) {
    const std::vector<Rank>& peers = links(port).peers;
    const auto found = std::ranges::lower_bound(peers, peer);
    if (found != peers.end() && *found == peer) {
      return {port, static_cast<std::uint32_t>(found - peers.begin())};
    }
  }
  throw std::logic_error("mscclpp: a thread block without a channel to a peer of its operations");
}

std::uint32_t Block::remote(bool port, Rank peer, Buffer buffer) {
  std::vector<std::pair<Rank, Buffer>>& buffers = links_[port ? 1 : 0].buffers;
  const std::pair key(peer, buffer);
  const auto found = std::ranges::find(buffers, key);
  const auto position = static_cast<std::uint32_t>(found - buffers.begin());
  if (found == buffers.end()) buffers.push_back(key);
  return position;
}

namespace {

/// The blocks of a rank, by number; those without operations are left out.
class RankBlocks {
 public:
  RankBlocks(const MscclppWork& work, Rank rank, std::uint32_t blocks)
      : work_(work), rank_(rank), peers_(blocks), position_(blocks, kUnused) {}

  void use(const Operation& o) {
    const std::size_t block = o.chunk % position_.size();
    position_[block] = 0;
    if (o.action != Action::CopyLocal) peers_[block].insert(o.peer);
  }

  void make(std::vector<Block>& made) {
    std::uint32_t first[2] = {0, 0};
    for (std::size_t b = 0; b < position_.size(); ++b) {
      if (position_[b] == kUnused) continue;
      BlockLinks links[2];
      for (const Rank peer : peers_[b])
        links[work_.is_remote(rank_, peer) ? 1 : 0].peers.push_back(peer);
      for (std::size_t type = 0; type < 2; ++type) {
        links[type].first_channel = first[type];
        first[type] += static_cast<std::uint32_t>(links[type].peers.size());
      }
      position_[b] = static_cast<std::uint32_t>(made.size());
      made.emplace_back(std::move(links[0]), std::move(links[1]));
    }
  }

  [[nodiscard]] std::uint32_t position(std::uint32_t chunk) const {
    return position_[chunk % position_.size()];
  }

 private:
  static constexpr std::uint32_t kUnused = UINT32_MAX;
  const MscclppWork& work_;
  Rank rank_;
  std::vector<std::set<Rank>> peers_;
  std::vector<std::uint32_t> position_;
};

void emit(const MscclppWork& work, std::uint32_t id, Block& block) {
  const Operation& o = work.all.operations[id];
  const std::uint32_t units = work.layout.count[o.chunk];
  switch (o.action) {
    case Action::Send:
      block.put(o.src, units, o.peer, work.slots[o.other], work.flushes[id]);
      break;
    case Action::Receive:
      block.wait(o.peer);
      if (work.slots[id] != o.dst) block.copy(work.slots[id], o.dst, units);
      break;
    case Action::ReceiveReduce:
      block.wait(o.peer);
      block.reduce(o.src, work.slots[id], o.dst, units);
      break;
    case Action::CopyLocal:
      block.copy(o.src, o.dst, units);
      break;
  }
}

}  // namespace

std::vector<std::vector<Block>> mscclpp_blocks(const MscclppWork& work, std::uint32_t blocks) {
  std::vector<RankBlocks> ranks;
  for (std::uint32_t r = 0; r < work.schedule->ranks; ++r)
    ranks.emplace_back(work, Rank{r}, blocks);
  for (const Operation& o : work.all.operations) ranks[index(o.rank)].use(o);
  std::vector<std::vector<Block>> made(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].make(made[r]);
  for (std::uint32_t id = 0; id < work.all.operations.size(); ++id) {
    const Operation& o = work.all.operations[id];
    emit(work, id, made[index(o.rank)][ranks[index(o.rank)].position(o.chunk)]);
  }
  for (std::vector<Block>& rank : made) std::ranges::for_each(rank, &Block::finish);
  return made;
}

}  // namespace multitree::interchange
