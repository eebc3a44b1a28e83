// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks of one host and the memory that they share.
///
/// Every rank has a card of which there are two in turn, and areas for pieces of its vectors:
///
///     arena:  card 0 of rank 0 | card 1 | beat | input 0 | input 1 | result 0 | result 1 | rank 1
///     ...
///
/// All that ranks tell each other goes by numbered publications: a rank writes its card and areas
/// of parity p % 2, then stores p to the card's stamp; readers wait for everybody's stamp p. A rank
/// publishes p only after it has seen all p - 1, and by publishing says that it has read what came
/// with p - 1; so whoever has seen all p - 1 may write what goes with p, and two of each are
/// enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/host/mapping_internal.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::host {

/// Most bytes of a vector that a card carries.
inline constexpr std::size_t kCardBytes = 32 * 1024;
/// Most bytes of a vector that are under way at a time through an area.
inline constexpr std::size_t kAreaBytes = 1024 * 1024;
inline constexpr std::uint32_t kNoAllocation = ~0U;

/// Where a buffer lies that the others can see.
struct Place {
  std::uint32_t allocation = kNoAllocation;
  std::uint64_t offset = 0;
  [[nodiscard]] bool shared() const { return allocation != kNoAllocation; }
};

/// What a rank was called with, for the others to compare and to find its buffers.
struct Offer {
  CommonCall call;
  std::uint64_t send_offset = 0, recv_offset = 0;
  std::uint32_t send_allocation = kNoAllocation, recv_allocation = kNoAllocation;
};

/// Stamp, offer and the smallest vectors fill one cache line: small messages cost one line a rank.
struct alignas(64) Card {
  std::atomic<std::uint64_t> stamp;
  Offer offer;
  std::byte near[16];
  std::byte data[kCardBytes];

  /// Where a vector of so many bytes lies.
  [[nodiscard]] std::byte* vector(std::uint64_t bytes) {
    return bytes <= sizeof near ? near : data;
  }
};
static_assert(offsetof(Card, data) == 64);

/// What one rank has in the arena.
struct alignas(4096) Desk {
  Card cards[2];
  alignas(64) std::atomic<std::uint64_t> beat;  ///< counts while it works, so that others wait
  alignas(4096) std::byte input[2][kAreaBytes];
  alignas(4096) std::byte result[2][kAreaBytes];
};

/// The ranks of a job that all run on this host.
class Group {
 public:
  /// Collective. Null where the ranks do not share a host; then `why_not` says why, the same words
  /// at every rank. \throws Error(Timeout), Error(Transport) of the bootstrap
  static std::unique_ptr<Group> join(Bootstrap& bootstrap, Deadline deadline, std::string& why_not);

  /// Collective: whether join() would, if there is memory enough. \throws as join()
  static bool can_join(Bootstrap& bootstrap, Deadline deadline);

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Desk& desk(std::uint32_t rank) { return desks_[rank]; }

  /// Publications of this rank so far.
  [[nodiscard]] std::uint64_t published() const { return published_; }
  /// This rank's card for the next publication.
  [[nodiscard]] Card& next_card() { return desks_[rank_].cards[(published_ + 1) % 2]; }
  void publish();
  /// A rank whose publication `published()` is missing; size() if all are there. Remembers whom it
  /// has seen.
  std::uint32_t missing();
  void beat() { desks_[rank_].beat.fetch_add(1, std::memory_order_relaxed); }

  /// For the one operation that runs.
  struct Scratch {
    std::vector<const void*> inputs;
    std::vector<std::byte*> outputs;
  };
  [[nodiscard]] Scratch& scratch() { return scratch_; }

  /// Tickets: operations run one after the other, in the order in which they were started.
  std::uint64_t take_ticket() { return tickets_++; }
  [[nodiscard]] bool is_next(std::uint64_t ticket) const { return ticket == running_; }
  void finish_ticket() { ++running_; }

  /// Collective: memory that all ranks map; each says how much it wants. \throws Error(Io) at every
  /// rank if one cannot have or map it.
  void* allocate(Bootstrap& bootstrap, std::size_t bytes, Deadline deadline);
  /// Every rank gives its part back. False if `memory` is none of allocate().
  bool deallocate(void* memory);
  /// What keeps this rank's part of an allocation mapped; null if `memory` is none of allocate().
  [[nodiscard]] std::shared_ptr<Mapping> owner(const void* memory) const;
  /// Where `bytes` from `buffer` lie, if wholly in one allocation of this rank.
  [[nodiscard]] Place find(const void* buffer, std::size_t bytes) const;
  /// The same place as this rank sees it. \throws Error(Transport) naming the rank if that has
  /// offered what it has not
  [[nodiscard]] std::byte* at(std::uint32_t rank, std::uint32_t allocation, std::uint64_t offset,
                              std::uint64_t bytes) const;

 private:
  struct Allocation {
    std::uint32_t id = 0;
    std::vector<std::shared_ptr<Mapping>> parts;  ///< by rank
  };

  Group(std::shared_ptr<Mapping> arena, std::uint32_t rank, std::uint32_t size);

  std::shared_ptr<Mapping> arena_;
  Desk* desks_;
  std::uint32_t rank_, size_;
  std::uint64_t published_ = 0;
  std::uint32_t seen_ = 0;  ///< ranks below have published published_
  std::uint64_t tickets_ = 0, running_ = 0;
  Scratch scratch_;
  std::uint32_t next_allocation_ = 0;
  std::vector<Allocation> allocations_;
};

}  // namespace multitree::runtime::host
