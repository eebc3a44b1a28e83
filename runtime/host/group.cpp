// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finding out who shares this host, and the memory of those.
#include "runtime/host/group_internal.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "runtime/host/inbox_internal.hpp"
#include "runtime/host/lending_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Vectors up to this, of all ranks together, go on the cards: below it the work that all ranks do
/// alike costs less than a second wait for everybody. Measured; waiting takes longer with more
/// ranks than processors.
constexpr std::uint64_t kCardWork = 48 * 1024;
constexpr std::uint64_t kMostOnACard = 32 * 1024;
/// Inputs that are under way at a time, of all ranks: what caches hold.
constexpr std::uint64_t kAreasOfAll = std::uint64_t{2} << 20;

/// Inputs of all ranks that they read in each other's memory, where that is faster for small ones
/// (lending.cpp). Measured there, two ranks: 64 KiB all-gather 4.2 us, by areas 8.9; 1 MiB 61, 87;
/// 16 MiB all-reduce 4.8 ms, 3.5.
constexpr std::uint64_t kLentBytes = std::uint64_t{12} << 20;

/// Whether ranks may read and write each other's memory.
bool allows_peer_memory() {
  const char* const setting = std::getenv("MULTITREE_PEER_MEMORY");
  return setting == nullptr || std::string_view(setting) != "0";
}

/// Whether MULTITREE_PEER_MEMORY says that they do in collectives.
bool demands_peer_memory() {
  const char* const setting = std::getenv("MULTITREE_PEER_MEMORY");
  return setting != nullptr && std::string_view(setting) == "1";
}

/// Between what a rank says of its host, of its memory, and of what rank 0 has made for all.
constexpr char kSeparator = '|';

/// What a rank says after it has tried: first whether it reaches its peers' memory, and lends in
/// collectives in any case; or that there is nothing to reach.
constexpr char kLends = '+', kReaches = '~', kReachesNot = '-', kElsewhere = '?';

/// The first that complained, and of what; empty if none did.
std::string first_complaint(const Gathered& answers, std::size_t from = 0) {
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    if (answers[rank].size() > from) {
      return fmt::format("rank {}: {}", rank, answers[rank].substr(from));
    }
  }
  return {};
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == kSeparator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// What ranks of one host have found out about each other.
struct Meeting {
  std::shared_ptr<Mapping> arena;  ///< memory of rank 0 that all have mapped; null: as join()
  bool reach = false;              ///< they read and write each other's own memory,
  bool lend = false;               ///< also in collectives, whatever is faster
  std::uint32_t processors = 0;    ///< that any of them may run on
};

using Neighbours = std::array<Seat, 2>;

Neighbours neighbours_of(Seat self, std::uint32_t size) {
  return {Seat{(index(self) + 1) % size}, Seat{(index(self) + size - 1) % size}};
}

/// Whether this rank can read the memory of those beside it. All pairs would be a question for each
/// pair, and the kernel asks whether two processes are of one owner: where not all are, neighbours
/// differ somewhere.
bool reaches_neighbours(AddressBook& book, const Neighbours& neighbours) {
  if (!allows_peer_memory()) return false;
  return std::ranges::all_of(neighbours, [&](Seat other) {
    const std::string& said = book.of(other);
    return PeerMemory::can_reach(std::string_view(said).substr(0, said.find(kSeparator)));
  });
}

std::uint64_t whole_lines(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Cards, the beat, margins, slips and the inbox of a rank, in whole pages.
std::uint64_t desk_bytes(std::uint32_t ranks) {
  const std::uint64_t bytes = kSlipsAt + kSlips * whole_lines(card_bytes(ranks)) + sizeof(Inbox);
  return (bytes + 4095) / 4096 * 4096;
}

/// A rank's parts of an arena, by itself: on the memory of the socket that it runs on. \returns why
/// not, if it could not
std::string reserve_own(Mapping& arena, Seat self, std::uint32_t size) {
  const std::uint64_t desk = desk_bytes(size), areas = 4 * piece_bytes(size);
  try {
    arena.reserve(index(self) * desk, desk);
    arena.reserve(size * desk + index(self) * areas, areas);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Adds those that this rank may run on: where each is bound to its own, all together have enough.
void note_processors(Roll& roll) {
  constexpr std::uint32_t kBits = 64, kMost = kBits * std::tuple_size_v<decltype(roll.processors)>;
  static_assert(kMost == CPU_SETSIZE);
  cpu_set_t allowed;
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const std::uint32_t all = std::min(std::max(1U, std::thread::hardware_concurrency()), kMost);
  for (std::uint32_t i = 0; i < kMost; ++i) {
    const bool mine = known ? CPU_ISSET(i, &allowed) : i < all;
    if (mine) roll.processors[i / kBits].fetch_or(std::uint64_t{1} << i % kBits);
  }
}

/// What follows from what all have said, and from the roll behind `bytes` of the arena.
void conclude(Meeting& meeting, const Gathered& answers, std::size_t bytes) {
  const auto all_say = [&](std::string_view either) {
    return std::ranges::all_of(answers, [&](const std::string& answer) {
      return either.find(answer.front()) != std::string_view::npos;
    });
  };
  meeting.reach = all_say("+~");
  meeting.lend = all_say("+");
  const Roll& roll = *reinterpret_cast<const Roll*>(meeting.arena->data() + bytes);
  for (const auto& word : roll.processors) {
    meeting.processors += static_cast<std::uint32_t>(std::popcount(word.load()));
  }
}

/// Collective. Each rank compares itself with rank 0, and looks at its neighbours: nobody looks at
/// everybody's description. Behind `bytes` of the arena is the roll.
Meeting meet(Bootstrap& bootstrap, std::size_t bytes, Deadline deadline, std::string& why_not) {
  const bool first_seat = bootstrap.seat() == Seat{0};
  const std::string host = host_identity();
  Meeting meeting;
  std::string complaint;
  std::string mine = PeerMemory::describe() + kSeparator;
  if (first_seat) {
    try {
      const std::size_t roll = sizeof(Roll) + sizeof(std::atomic<pid_t>) * bootstrap.size();
      meeting.arena = Mapping::create_unreserved(bytes + roll);
      meeting.arena->reserve(bytes, roll);
      mine += host + kSeparator + meeting.arena->describe();
    } catch (const Error& error) {
      mine += host + kSeparator;
      complaint = error.what();
    }
  }
  const Neighbours neighbours = neighbours_of(bootstrap.seat(), bootstrap.size());
  const auto book =
      bootstrap.open_book(mine, std::array{Seat{0}, neighbours[0], neighbours[1]}, deadline);
  const std::vector<std::string> first = split(book->of(Seat{0}));
  const bool here = first.size() == 3 && first[1] == host;
  if (!first_seat && here) {
    try {
      meeting.arena = Mapping::open(first[2]);
    } catch (const Error& error) {
      complaint = error.what();
    }
  }
  if (meeting.arena != nullptr) {
    if (bytes != 0) complaint = reserve_own(*meeting.arena, bootstrap.seat(), bootstrap.size());
    Roll& roll = *reinterpret_cast<Roll*>(meeting.arena->data() + bytes);
    roll.processes()[index(bootstrap.seat())] = ::getpid();
    note_processors(roll);
  }
  char word = kElsewhere;
  if (here) {
    const char reaches = demands_peer_memory() ? kLends : kReaches;
    word = reaches_neighbours(*book, neighbours) ? reaches : kReachesNot;
  }
  const Gathered answers = bootstrap.all_gather(word + complaint, deadline);
  // All see the same answers and come to the same end.
  for (std::size_t other = 0; other < answers.size(); ++other) {
    if (!answers[other].starts_with(kElsewhere)) continue;
    why_not = fmt::format("rank {} is on another host or in another container than rank 0", other);
    return {};
  }
  why_not = first_complaint(answers, 1);
  if (!why_not.empty()) return {};
  meeting.arena->close_door();
  conclude(meeting, answers, bytes);
  return meeting;
}

}  // namespace

std::uint64_t card_bytes(std::uint32_t ranks) { return std::min(kMostOnACard, kCardWork / ranks); }

std::uint64_t piece_bytes(std::uint32_t ranks) {
  return std::clamp<std::uint64_t>(kAreasOfAll / ranks, 64 * 1024, 1024 * 1024) / 4096 * 4096;
}

Group::Group(std::shared_ptr<Mapping> arena, Seat self, std::uint32_t size,
             std::uint32_t processors)
    : arena_(std::move(arena)),
      self_(self),
      size_(size),
      processors_(processors),
      patience_(size > processors),
      card_room_(card_bytes(size)),
      slip_bytes_(whole_lines(card_bytes(size))),
      desk_bytes_(desk_bytes(size)),
      area_bytes_(piece_bytes(size)) {}

std::unique_ptr<Group> Group::join(Bootstrap& bootstrap, Deadline deadline, std::string& why_not) {
  const std::uint32_t size = bootstrap.size();
  Meeting meeting =
      meet(bootstrap, (desk_bytes(size) + 4 * piece_bytes(size)) * size, deadline, why_not);
  if (meeting.arena == nullptr) return nullptr;
  std::unique_ptr<Group> group(
      new Group(std::move(meeting.arena), bootstrap.seat(), size, meeting.processors));
  if (!meeting.reach) return group;
  group->peers_.emplace(group->processes());
  // Where not every rank can have a processor nobody works while the kernel copies.
  group->lends_ = meeting.lend ||
                  (size <= meeting.processors && is_lending_faster(*group, bootstrap, deadline));
  return group;
}

bool Group::lends(std::uint64_t bytes) const { return lends_ && bytes * size_ <= kLentBytes; }

bool Group::can_join(Bootstrap& bootstrap, Deadline deadline) {
  std::string why_not;
  return meet(bootstrap, 0, deadline, why_not).arena != nullptr;
}

Inbox& Group::inbox(Seat seat) const { return *reinterpret_cast<Inbox*>(slip(seat, kSlips)); }

std::uint64_t Group::free_slip() const {
  if (free_at_[0] <= complete_) return 0;
  for (std::uint64_t i = 1; i <= kSlips; ++i) {
    const std::uint64_t slip = (last_slip_ + i) % kSlips;
    if (free_at_[slip] <= complete_) return slip;
  }
  return kSlips;
}

/// Some more than the first of them needs, as with cards.
std::uint64_t Group::needed_before_a_slip() const {
  if (free_slip() < kSlips) return 0;
  return std::min(*std::ranges::min_element(free_at_) + kSlips / 4, published_);
}

std::byte* Group::next_vector(std::uint64_t bytes) {
  const std::uint64_t next = published_ + 1;
  if (bytes > sizeof(Margin)) {
    last_slip_ = free_slip();
    free_at_[last_slip_] = next + 1;
    card(self_, next).near[0] = static_cast<std::byte>(last_slip_);
  } else if (bytes > sizeof(Card::near)) {
    claim(margin(self_, next + 1));
  }
  return vector(self_, next, bytes);
}

void Group::publish_until(std::uint64_t number) {
  const std::uint64_t first = number > kCards ? number - kCards : 0;
  for (std::uint64_t each = std::max(published_, first) + 1; each <= number; ++each) {
    card(self_, each).stamp.store(each, std::memory_order_release);
  }
  published_ = number;
  ring();
}

std::optional<Seat> Group::missing(std::uint64_t number) {
  if (number <= complete_) return std::nullopt;
  if (number != awaited_) seen_ = 0;
  awaited_ = number;
  while (seen_ < size_ && has_published(Seat{seen_}, number)) ++seen_;
  if (seen_ < size_) return Seat{seen_};
  complete_ = number;
  return std::nullopt;
}

void* Group::allocate(Bootstrap& bootstrap, std::size_t bytes, Deadline deadline) {
  Allocation allocation{next_allocation_++, std::vector<std::shared_ptr<Mapping>>(size_)};
  std::string complaint, description;
  try {
    allocation.part(self_) = Mapping::create(bytes);
    description = allocation.part(self_)->describe();
  } catch (const Error& error) {
    complaint = error.what();
  }
  const Gathered all = bootstrap.all_gather(description, deadline);
  for (const Seat seat : Seats(size_)) {
    const std::string& its = all[index(seat)];
    if (seat == self_ || its.empty() || !complaint.empty()) continue;
    try {
      allocation.part(seat) = Mapping::open(its);
    } catch (const Error& error) {
      complaint = fmt::format("memory of rank {}: {}", seat, error.what());
    }
  }
  const std::string failure = first_complaint(bootstrap.all_gather(complaint, deadline));
  if (!failure.empty()) throw Error(ErrorCode::Io, fmt::format("allocate: {}", failure));
  for (const Seat seat : Seats(size_)) allocation.part(seat)->close_door();
  allocations_.push_back(std::move(allocation));
  return allocations_.back().part(self_)->data();
}

bool Group::deallocate(void* memory) {
  return std::erase_if(allocations_,
                       [&](const Allocation& a) { return a.part(self_)->data() == memory; }) != 0;
}

std::shared_ptr<Mapping> Group::owner(const void* memory) const {
  for (const Allocation& allocation : allocations_) {
    if (allocation.part(self_)->data() == memory) return allocation.part(self_);
  }
  return nullptr;
}

Place Group::find(const void* buffer, std::size_t bytes, bool lend) const {
  const auto* const begin = static_cast<const std::byte*>(buffer);
  for (const Allocation& allocation : allocations_) {
    const Mapping& mine = *allocation.part(self_);
    const std::less_equal<> not_after;
    if (not_after(mine.data(), begin) && not_after(begin + bytes, mine.data() + mine.bytes())) {
      return {allocation.id, static_cast<std::uint64_t>(begin - mine.data())};
    }
  }
  if (!lend) return {};
  return {kPeerMemory, reinterpret_cast<std::uintptr_t>(buffer)};
}

Lent Group::at(Seat seat, const Place& place, std::uint64_t bytes) const {
  if (!place.is_lent()) return {};
  if (place.allocation == kPeerMemory) return {.address = place.offset};
  for (const Allocation& known : allocations_) {
    if (known.id != place.allocation) continue;
    const Mapping& part = *known.part(seat);
    if (place.offset <= part.bytes() && bytes <= part.bytes() - place.offset) {
      return {.mapped = part.data() + place.offset};
    }
  }
  throw Error(ErrorCode::Transport,
              fmt::format("rank {} uses memory of allocate() that this rank has given back", seat));
}

}  // namespace multitree::runtime::host
