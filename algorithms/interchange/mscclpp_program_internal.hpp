// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the thread blocks of an MSCCL++ plan do, before it is text: chunks dealt to blocks, places
/// for what arrives, channels. Cheap to make, so that numbers of blocks can be tried.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "algorithms/interchange/rank_operations_internal.hpp"

namespace multitree::interchange {

enum class BlockAction : std::uint8_t {
  Nop,  ///< a barrier of the block's threads
  RelaxedSignal,
  RelaxedWait,
  Put,
  PutSignal,       ///< through ports: the data, then a signal behind it
  PutSignalFlush,  ///< the same, and the source has been read when it is over
  Signal,
  Wait,
  Reduce,  ///< dst = src + other
  Copy,
};

struct BlockOperation {
  BlockAction action = BlockAction::Nop;
  bool port = false;                        ///< its channels' type
  std::uint32_t channel = 0, channels = 0;  ///< of the block, of that type: the first, how many
  Place src{}, other{}, dst{};              ///< local; of a put, dst is at the peer
  std::uint32_t units = 0;
  std::uint32_t remote = 0;  ///< of a put: which remote buffer of the block
};

/// Channels to one kind of peers, and the buffers that are written through them.
struct BlockLinks {
  std::vector<Rank> peers;                       ///< a channel each
  std::vector<std::pair<Rank, Buffer>> buffers;  ///< remote
  std::uint32_t first_channel = 0;               ///< among those of the rank and type
};

/// A thread block of one rank.
class Block {
 public:
  /// \param peers by type: in the memory of the host, through ports
  explicit Block(BlockLinks memory, BlockLinks ports);

  /// `flush`: the source is written later, or the kernel ends with it.
  void put(const Place& src, std::uint32_t units, Rank peer, const Place& dst, bool flush);
  void wait(Rank peer);
  void reduce(const Place& src, const Place& other, const Place& dst, std::uint32_t units);
  void copy(const Place& src, const Place& dst, std::uint32_t units);
  /// The last put of each port flushes: callers may write their buffers when the kernel is over.
  void finish();

  [[nodiscard]] const std::vector<BlockOperation>& operations() const { return operations_; }
  [[nodiscard]] const BlockLinks& links(bool port) const { return links_[port ? 1 : 0]; }

 private:
  void shake_hands(bool port);
  void synchronize_data();
  /// Whether a peer is behind a port, and its channel.
  [[nodiscard]] std::pair<bool, std::uint32_t> channel(Rank peer) const;
  std::uint32_t remote(bool port, Rank peer, Buffer buffer);

  BlockLinks links_[2];
  std::vector<BlockOperation> operations_;
  bool after_wait_ = false, after_data_ = false;
};

/// What does not depend on the number of blocks.
struct MscclppWork {
  const Schedule* schedule = nullptr;
  UnitLayout layout;
  RankOperations all;
  std::uint32_t ranks_per_host = 0;
  std::vector<Place> slots;            ///< of each receive: where its message is put
  std::vector<bool> flushes;           ///< of each send: something is written where it reads
  std::vector<std::uint32_t> scratch;  ///< units of each rank, slots included

  [[nodiscard]] bool is_remote(Rank a, Rank b) const {
    return index(a) / ranks_per_host != index(b) / ranks_per_host;
  }
};

/// \param ranks_per_host consecutive ranks that share a host's memory. \throws Error(Unsupported)
/// if MSCCL++ has no such collective.
MscclppWork mscclpp_work(const Schedule& schedule, BufferMode buffers,
                         std::uint32_t ranks_per_host);

/// The thread blocks of each rank, those that do something, with chunk c in block c mod `blocks`.
std::vector<std::vector<Block>> mscclpp_blocks(const MscclppWork& work, std::uint32_t blocks);

}  // namespace multitree::interchange
