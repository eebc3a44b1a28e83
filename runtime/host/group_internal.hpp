// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks of one host and the memory that they share.
///
/// Every rank has cards, and areas for pieces of its vectors:
///
///     arena:  card 0 of rank 0 | .. | card 31 | beat | slip 0 | .. | slip 31 | inbox |
///             card 0 of rank 1 | ...
///             input 0 of rank 0 | input 1 | result 0 | result 1 | input 0 of rank 1 | ...
///             process of rank 0 | process of rank 1 | ...
///
/// All that ranks tell each other goes by numbered publications: a rank writes its card p % kCards
/// and its areas p % 2, then stores p to the card's stamp; whoever needs it waits for that stamp.
/// By publishing p a rank says as well that it has read all that it needs of p - 1 and before. So a
/// card may be written for p when everybody has published p - kCards + 1, and an area when those
/// who read it have published p - 1: who only sends small vectors is some publications ahead of who
/// receives them, and waits for nobody until then.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/host/mapping_internal.hpp"
#include "runtime/host/peer_memory_internal.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::host {

class Inbox;

/// Publications whose cards a rank keeps.
inline constexpr std::uint64_t kCards = 32;
inline constexpr std::uint32_t kNoAllocation = ~0U, kPeerMemory = kNoAllocation - 1;

/// Where a buffer lies that the others can see.
struct Place {
  std::uint32_t allocation = kNoAllocation;  ///< kPeerMemory: the offset is its address
  std::uint64_t offset = 0;
  [[nodiscard]] bool is_lent() const { return allocation != kNoAllocation; }
};

/// A buffer of another rank that need not be copied into its areas first.
struct Lent {
  std::byte* mapped = nullptr;  ///< in a shared allocation, as this rank sees it
  std::uint64_t address = 0;    ///< in the peer's own memory
  [[nodiscard]] bool is_lent() const { return mapped != nullptr || address != 0; }
};

/// What a rank was called with, for the others to compare and to find its buffers.
struct Offer {
  CommonCall call;
  std::uint64_t send_offset = 0;  ///< or the slip that the input is on
  std::uint64_t recv_offset = 0;
  std::uint32_t send_allocation = kNoAllocation, recv_allocation = kNoAllocation;
};

/// Stamp, offer and the smallest vectors fill one cache line: small messages cost one line a rank.
/// Larger ones lie on a slip, of which the card says the number: the lowest that nobody reads any
/// more, so that ranks who wait for each other in every call need two, which stay in the caches.
struct alignas(64) Card {
  std::atomic<std::uint64_t> stamp;
  Offer offer;
  std::byte near[16];
};
static_assert(sizeof(Card) == 64);

/// Behind a rank's cards: what it shows while it works, and while it sleeps.
struct alignas(64) Pulse {
  std::atomic<std::uint64_t> beat;      ///< counts while it works, so that the others wait
  std::atomic<std::uint32_t> asleep;    ///< a futex: 1 from before its last look until a ring
  std::atomic<std::uint32_t> sleepers;  ///< at seat 0: threads of all ranks
};
static_assert(sizeof(Pulse) == sizeof(Card));

/// Most bytes of a vector on a card or slip, and of a piece in an area, of so many ranks.
[[nodiscard]] std::uint64_t card_bytes(std::uint32_t ranks);
[[nodiscard]] std::uint64_t piece_bytes(std::uint32_t ranks);

/// The ranks of a job that all run on this host.
class Group {
 public:
  /// Collective. Null where the ranks do not share a host; then `why_not` says why, the same words
  /// at every rank. \throws Error(Timeout), Error(Transport) of the bootstrap
  static std::unique_ptr<Group> join(Bootstrap& bootstrap, Deadline deadline, std::string& why_not);

  /// Collective: whether join() would, if there is memory enough. \throws as join()
  static bool can_join(Bootstrap& bootstrap, Deadline deadline);

  [[nodiscard]] Seat self() const { return self_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }

  /// Most bytes of a vector on a card or slip.
  [[nodiscard]] std::uint64_t card_room() const { return card_room_; }
  /// The card of a rank that goes with a publication.
  [[nodiscard]] Card& card(Seat seat, std::uint64_t number) const {
    return reinterpret_cast<Card*>(desk(index(seat)))[number % kCards];
  }
  /// Where the vector of so many bytes lies that goes with a publication of a rank.
  [[nodiscard]] std::byte* vector(Seat seat, std::uint64_t number, std::uint64_t bytes) const {
    Card& at = card(seat, number);
    return bytes <= sizeof at.near ? at.near : slip(seat, at.offer.send_offset);
  }
  /// A slip for this rank's next publication.
  [[nodiscard]] std::uint8_t take_slip();
  /// Where messages for a rank are put.
  [[nodiscard]] Inbox& inbox(Seat seat) const;
  [[nodiscard]] Pulse& pulse(Seat seat) const {
    return *reinterpret_cast<Pulse*>(desk(index(seat)) + kCards * sizeof(Card));
  }
  void beat() { pulse(self_).beat.fetch_add(1, std::memory_order_relaxed); }
  /// Wakes whoever sleeps (bell.cpp). Who has told something rings behind it, without a fence: a
  /// ring that comes too early for its word is lost, which costs the sleeper the rest of its nap.
  void ring() const {
    if (pulse(Seat{0}).sleepers.load(std::memory_order_relaxed) != 0) ring_all();
  }
  void ring(Seat seat) const;
  /// The areas of a rank that go with a publication.
  [[nodiscard]] std::byte* input(Seat seat, std::uint64_t number) const {
    return area(4 * index(seat) + number % 2);
  }
  [[nodiscard]] std::byte* result(Seat seat, std::uint64_t number) const {
    return area(4 * index(seat) + 2 + number % 2);
  }
  /// Whether ranks read and write each other's own memory for vectors of so many bytes: where the
  /// kernel lets them, and it is faster than through areas.
  [[nodiscard]] bool lends(std::uint64_t bytes) const;
  /// Whether they can.
  [[nodiscard]] bool reaches() const { return peers_.has_value(); }
  /// \pre reaches()
  [[nodiscard]] const PeerMemory& peers() const { return *peers_; }

  /// Publications of this rank so far.
  [[nodiscard]] std::uint64_t published() const { return published_; }
  /// The next one.
  void publish() { publish_until(published_ + 1); }
  /// All up to `number`, with nothing in those that are skipped.
  void publish_until(std::uint64_t number);
  [[nodiscard]] bool has_published(Seat seat, std::uint64_t number) const {
    return card(seat, number).stamp.load(std::memory_order_acquire) >= number;
  }
  /// One whose publication `number` is missing; none if all are there.
  std::optional<Seat> missing(std::uint64_t number);
  /// The last publication that belongs to an operation in which this rank's areas were used.
  [[nodiscard]] std::uint64_t areas_used_until() const { return areas_used_until_; }
  void use_areas_until(std::uint64_t number) { areas_used_until_ = number; }

  /// For the one operation that runs.
  struct Scratch {
    std::vector<const void*> inputs;
    std::vector<std::byte*> outputs;
    /// What was read of peers' own memory, and their sum. Not cleared: of many ranks' blocks few
    /// are used.
    std::unique_ptr<std::byte[]> blocks;
    std::size_t block_bytes = 0;  ///< of all of them
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
  /// Where `bytes` from `buffer` lie, if wholly in one allocation of this rank,
  /// or, if it may be lent, by its address.
  [[nodiscard]] Place find(const void* buffer, std::size_t bytes, bool lend) const;
  /// The same place as this rank sees it. \throws Error(Transport) naming the rank if that has
  /// offered what it has not
  [[nodiscard]] Lent at(Seat seat, const Place& place, std::uint64_t bytes) const;

 private:
  struct Allocation {
    std::uint32_t id = 0;
    std::vector<std::shared_ptr<Mapping>> parts;  ///< by seat
    [[nodiscard]] std::shared_ptr<Mapping>& part(Seat seat) { return parts[index(seat)]; }
    [[nodiscard]] const std::shared_ptr<Mapping>& part(Seat seat) const {
      return parts[index(seat)];
    }
  };

  Group(std::shared_ptr<Mapping> arena, Seat self, std::uint32_t size);

  void ring_all() const;
  [[nodiscard]] std::byte* desk(std::uint32_t number) const {
    return arena_->data() + number * desk_bytes_;
  }
  [[nodiscard]] std::byte* slip(Seat seat, std::uint64_t number) const {
    return desk(index(seat)) + (kCards + 1) * sizeof(Card) + number * slip_bytes_;
  }
  [[nodiscard]] std::byte* area(std::uint64_t number) const {
    return desk(size_) + number * area_bytes_;
  }
  [[nodiscard]] const std::atomic<pid_t>* processes() const {
    return reinterpret_cast<const std::atomic<pid_t>*>(area(std::uint64_t{4} * size_));
  }

  std::shared_ptr<Mapping> arena_;
  std::optional<PeerMemory> peers_;
  bool lends_ = false;
  Seat self_;
  std::uint32_t size_;
  std::uint64_t card_room_, slip_bytes_, desk_bytes_, area_bytes_;
  std::uint64_t published_ = 0;
  std::uint64_t areas_used_until_ = 0;
  std::array<std::uint64_t, kCards> slips_{};  ///< the publications that they were used for
  std::uint64_t complete_ = 0;                 ///< all have published it
  std::uint64_t awaited_ = 0;                  ///< of it seats below seen_ have published
  std::uint32_t seen_ = 0;
  std::uint64_t tickets_ = 0, running_ = 0;
  Scratch scratch_;
  std::uint32_t next_allocation_ = 0;
  std::vector<Allocation> allocations_;
};

/// Announces that a thread of this rank is going to sleep, and what to call for that, with the
/// longest time: it returns when another rank rings, at once if one has since. A last look goes
/// between the two.
[[nodiscard]] std::function<void(std::chrono::microseconds)> arm(std::shared_ptr<Group> group);

}  // namespace multitree::runtime::host
