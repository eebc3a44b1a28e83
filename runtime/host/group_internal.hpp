// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The ranks of one host and the memory that they share.
///
/// Every rank has cards, and areas for pieces of its vectors:
///
///     arena:  card 0 of rank 0 | .. | card 127 | beat | margin 0 | .. | margin 127 |
///             slip 0 | .. | slip 31 | inbox |
///             card 0 of rank 1 | ...
///             input 0 of rank 0 | input 1 | result 0 | result 1 | input 0 of rank 1 | ...
///             process of rank 0 | process of rank 1 | ...
///
/// All that ranks tell each other goes by numbered publications: a rank writes its card p % kCards
/// and its areas p % 2, then stores p to the card's stamp; whoever needs it waits for that stamp.
/// By publishing p a rank says as well that it has read all that it needs of p - 1 and before. So a
/// card may be written for p when everybody has published p - kCards + 1, and an area when those
/// who read it have published p - 1: who only sends small vectors is up to kCards - 1 publications
/// ahead of who receives them. It looks at nobody's cards until then, and then waits for kStride
/// more than it needs, so that it looks seldom: a look takes a cache line away from who writes it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/host/mapping_internal.hpp"
#include "runtime/host/patience_internal.hpp"
#include "runtime/host/peer_memory_internal.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::host {

class Inbox;

/// Takes a cache line that others have read long ago, before it is written.
inline void claim(const void* line) {
#if defined(__x86_64__)
  // GCC makes a read of __builtin_prefetch(line, 1) where it must run on the oldest processors,
  // which take this for nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// Publications whose cards a rank keeps.
inline constexpr std::uint64_t kCards = 128;
/// Publications between two looks whether cards have been read.
inline constexpr std::uint64_t kStride = kCards / 2;
/// Places for vectors that fit on no card.
inline constexpr std::uint64_t kSlips = 32;
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

/// Where a rank's buffers lie, for the others to find them.
struct Offer {
  Place send, recv;
};

/// A call, for the others to compare. Who comes late may read it while its owner writes the next:
/// then the stamps say afterwards that it may be either, or half of both.
class ShownCall {
 public:
  void show(const CommonCall& call) {
    const auto words = std::bit_cast<Words>(call);
    // Who reads any of this sees the stamps that were stored before.
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < words.size(); ++i) {
      words_[i].store(words[i], std::memory_order_relaxed);
    }
  }
  [[nodiscard]] CommonCall read() const {
    Words words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = words_[i].load(std::memory_order_relaxed);
    }
    return std::bit_cast<CommonCall>(words);
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(CommonCall) / sizeof(std::uint64_t)>;
  std::array<std::atomic<std::uint64_t>, std::tuple_size_v<Words>> words_;
};

/// Stamp, call and the smallest vectors fill one cache line: small messages cost one line a rank. A
/// little larger ones lie in the margin, a line that goes with the card. Others lie on a slip, of
/// which the card says the number: one that nobody reads any more, and the first if that can be, so
/// that ranks who wait for each other in every call need two, which stay in the caches.
struct alignas(64) Card {
  std::atomic<std::uint64_t> stamp;
  ShownCall call;
  std::byte near[40];  ///< a vector, the number of a slip, or an Offer

  void put(const Offer& offer) { std::memcpy(near, &offer, sizeof offer); }
  [[nodiscard]] Offer offer() const {
    Offer offer;
    std::memcpy(&offer, near, sizeof offer);
    return offer;
  }
};
static_assert(sizeof(Card) == 64 && sizeof(Offer) <= sizeof(Card::near));

struct alignas(64) Margin {
  std::byte data[64];
};

/// What all ranks have written of themselves before they first meet. Their processes follow it.
struct alignas(64) Roll {
  std::array<std::atomic<std::uint64_t>, 16> processors;  ///< bits: that any of them may run on
  [[nodiscard]] std::atomic<pid_t>* processes() {         ///< by seat
    return reinterpret_cast<std::atomic<pid_t>*>(this + 1);
  }
};

/// Behind a rank's cards: what it shows while it works, and while it sleeps.
struct alignas(64) Pulse {
  std::atomic<std::uint64_t> beat;      ///< counts while it works, so that the others wait
  std::atomic<std::uint32_t> asleep;    ///< a futex: 1 from before its last look until a ring
  std::atomic<std::uint32_t> sleepers;  ///< at seat 0: threads of all ranks
};
static_assert(sizeof(Pulse) == sizeof(Card));

/// What a rank has by itself in the arena begins there, behind its first card.
inline constexpr std::uint64_t kPulseAt = kCards * sizeof(Card);
inline constexpr std::uint64_t kMarginsAt = kPulseAt + sizeof(Pulse);
/// Half a page from where allocators put large buffers: a load waits for stores shortly before it
/// to the same place of any page.
inline constexpr std::uint64_t kSlipsAt = kMarginsAt + kCards * sizeof(Margin) + 2048;

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
  /// Processors of this host that any of the ranks may run on.
  [[nodiscard]] std::uint32_t processors() const { return processors_; }
  /// For waits under the engine's guard.
  [[nodiscard]] Patience& patience() { return patience_; }

  /// Most bytes of a vector on a card or slip.
  [[nodiscard]] std::uint64_t card_room() const { return card_room_; }
  /// The card of a rank that goes with a publication.
  [[nodiscard]] Card& card(Seat seat, std::uint64_t number) const {
    return reinterpret_cast<Card*>(desk(index(seat)))[number % kCards];
  }
  /// Where the vector of so many bytes lies that goes with a publication of a rank.
  [[nodiscard]] std::byte* vector(Seat seat, std::uint64_t number, std::uint64_t bytes) const {
    Card& at = card(seat, number);
    if (bytes <= sizeof at.near) return at.near;
    if (bytes <= sizeof(Margin)) return margin(seat, number);
    return slip(seat, std::to_integer<std::uint64_t>(at.near[0]));
  }
  /// Brings a rank's next card nearer.
  void fetch_next(Seat seat) const { __builtin_prefetch(&card(seat, published_ + 1)); }
  /// Where to write that of this rank's next publication, noted on its card. \pre all have
  /// published needed_before_next(bytes)
  [[nodiscard]] std::byte* next_vector(std::uint64_t bytes);
  /// What all must have published before this rank's next publication, with a vector of so many
  /// bytes; 0 if that is known. \pre bytes <= card_room()
  [[nodiscard]] std::uint64_t needed_before_next(std::uint64_t bytes) const {
    const std::uint64_t next = published_ + 1;
    const std::uint64_t card = next < complete_ + kCards ? 0 : next + 1 + kStride - kCards;
    if (bytes <= sizeof(Margin) || free_at_[0] <= complete_) return card;
    return std::max(card, needed_before_a_slip());
  }
  /// Where messages for a rank are put.
  [[nodiscard]] Inbox& inbox(Seat seat) const;
  [[nodiscard]] Pulse& pulse(Seat seat) const {
    return *reinterpret_cast<Pulse*>(desk(index(seat)) + kPulseAt);
  }
  void beat() { pulse(self_).beat.fetch_add(1, std::memory_order_relaxed); }
  /// Wakes whoever sleeps (bell.cpp). Who has told something rings behind it, without a fence: a
  /// ring that comes too early for its word is lost, which costs the sleeper the rest of its nap.
  void ring() const {
    if (has_sleepers()) ring_all();
  }
  [[nodiscard]] bool has_sleepers() const {
    return pulse(Seat{0}).sleepers.load(std::memory_order_relaxed) != 0;
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
  void publish() {
    ++published_;
    card(self_, published_).stamp.store(published_, std::memory_order_release);
    claim(&card(self_, published_ + 1));
    ring();
  }
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

  /// A call in which this rank has looked at nobody's card, to be compared with those when it next
  /// looks at any.
  struct Unchecked {
    std::uint64_t number = 0;  ///< of its publication
    CommonCall call;
  };
  void leave_unchecked(const Unchecked& call) {
    if (unchecked_.size() == kCards) unchecked_.pop_front();
    unchecked_.push_back(call);
  }
  [[nodiscard]] const std::deque<Unchecked>& unchecked() const { return unchecked_; }
  void forget_unchecked() { unchecked_.clear(); }

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

  Group(std::shared_ptr<Mapping> arena, Seat self, std::uint32_t size, std::uint32_t processors);

  /// One that nobody reads any more; kSlips if there is none.
  [[nodiscard]] std::uint64_t free_slip() const;
  [[nodiscard]] std::uint64_t needed_before_a_slip() const;
  void ring_all() const;
  [[nodiscard]] std::byte* desk(std::uint32_t number) const {
    return arena_->data() + number * desk_bytes_;
  }
  [[nodiscard]] std::byte* margin(Seat seat, std::uint64_t number) const {
    return desk(index(seat)) + kMarginsAt + number % kCards * sizeof(Margin);
  }
  [[nodiscard]] std::byte* slip(Seat seat, std::uint64_t number) const {
    return desk(index(seat)) + kSlipsAt + number * slip_bytes_;
  }
  [[nodiscard]] std::byte* area(std::uint64_t number) const {
    return desk(size_) + number * area_bytes_;
  }
  [[nodiscard]] const std::atomic<pid_t>* processes() const {
    return reinterpret_cast<Roll*>(area(std::uint64_t{4} * size_))->processes();
  }

  std::shared_ptr<Mapping> arena_;
  std::optional<PeerMemory> peers_;
  bool lends_ = false;
  Seat self_;
  std::uint32_t size_, processors_;
  Patience patience_;
  std::uint64_t card_room_, slip_bytes_, desk_bytes_, area_bytes_;
  std::uint64_t published_ = 0;
  std::uint64_t areas_used_until_ = 0;
  std::array<std::uint64_t, kSlips> free_at_{};  ///< what all publish before a slip may be written
  std::uint64_t last_slip_ = 0;                  ///< that was taken
  std::uint64_t complete_ = 0;                   ///< all have published it
  std::uint64_t awaited_ = 0;                    ///< of it seats below seen_ have published
  std::uint32_t seen_ = 0;
  std::uint64_t tickets_ = 0, running_ = 0;
  Scratch scratch_;
  std::deque<Unchecked> unchecked_;  ///< the latest
  std::uint32_t next_allocation_ = 0;
  std::vector<Allocation> allocations_;
};

/// Announces that a thread of this rank is going to sleep, and what to call for that, with the
/// longest time: it returns when another rank rings, at once if one has since. A last look goes
/// between the two.
[[nodiscard]] std::function<void(std::chrono::microseconds)> arm(std::shared_ptr<Group> group);

}  // namespace multitree::runtime::host
