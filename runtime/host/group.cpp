// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finding out who shares this host, and the memory of those.
#include "runtime/host/group_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "topologies/error.hpp"

namespace multitree::runtime::host {
namespace {

/// Separates what a rank says of its host from the description of rank 0's arena.
constexpr char kSeparator = '|';

/// What a rank says after it has tried: empty is well.
std::string first_complaint(const std::vector<std::string>& answers) {
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    if (!answers[rank].empty()) return fmt::format("rank {}: {}", rank, answers[rank]);
  }
  return {};
}

/// Collective: `bytes` of rank 0 that all have mapped. Null as Group::join().
std::shared_ptr<Mapping> share(Bootstrap& bootstrap, std::size_t bytes, Deadline deadline,
                               std::string& why_not) {
  const bool first = bootstrap.seat() == Seat{0};
  const std::uint32_t size = bootstrap.size();
  std::shared_ptr<Mapping> arena;
  std::string complaint, mine = host_identity() + kSeparator;
  if (first) {
    try {
      arena = Mapping::create(bytes);
      mine += arena->describe();
    } catch (const Error& error) {
      complaint = error.what();
    }
  }
  const std::vector<std::string> all = bootstrap.all_gather(mine, deadline);
  const std::string host = all[0].substr(0, all[0].find(kSeparator));
  std::uint32_t stranger = 0;
  while (stranger < size && all[stranger].substr(0, all[stranger].find(kSeparator)) == host) {
    ++stranger;
  }
  if (stranger < size) {  // all see the same list and come to the same end
    why_not =
        fmt::format("rank {} is on another host or in another container than rank 0", stranger);
    return nullptr;
  }
  if (!first) {
    try {
      arena = Mapping::open(std::string_view(all[0]).substr(host.size() + 1));
    } catch (const Error& error) {
      complaint = error.what();
    }
  }
  why_not = first_complaint(bootstrap.all_gather(complaint, deadline));
  if (!why_not.empty()) return nullptr;
  if (first) arena->close_door();
  return arena;
}

}  // namespace

Group::Group(std::shared_ptr<Mapping> arena, Seat self, std::uint32_t size)
    : arena_(std::move(arena)),
      desks_(reinterpret_cast<Desk*>(arena_->data())),
      self_(self),
      size_(size) {}

std::unique_ptr<Group> Group::join(Bootstrap& bootstrap, Deadline deadline, std::string& why_not) {
  auto arena = share(bootstrap, sizeof(Desk) * bootstrap.size(), deadline, why_not);
  if (arena == nullptr) return nullptr;
  return std::unique_ptr<Group>(new Group(std::move(arena), bootstrap.seat(), bootstrap.size()));
}

bool Group::can_join(Bootstrap& bootstrap, Deadline deadline) {
  std::string why_not;
  return share(bootstrap, 1, deadline, why_not) != nullptr;
}

void Group::publish() {
  ++published_;
  seen_ = 0;
  desk(self_).cards[published_ % 2].stamp.store(published_, std::memory_order_release);
}

std::optional<Seat> Group::missing() {
  while (seen_ < size_ &&
         desk(Seat{seen_}).cards[published_ % 2].stamp.load(std::memory_order_acquire) >=
             published_) {
    ++seen_;
  }
  return seen_ < size_ ? std::optional(Seat{seen_}) : std::nullopt;
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
  const std::vector<std::string> all = bootstrap.all_gather(description, deadline);
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
  allocation.part(self_)->close_door();
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

Place Group::find(const void* buffer, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(buffer);
  for (const Allocation& allocation : allocations_) {
    const Mapping& mine = *allocation.part(self_);
    const std::less_equal<> not_after;
    if (not_after(mine.data(), begin) && not_after(begin + bytes, mine.data() + mine.bytes())) {
      return {allocation.id, static_cast<std::uint64_t>(begin - mine.data())};
    }
  }
  return {};
}

std::byte* Group::at(Seat seat, std::uint32_t allocation, std::uint64_t offset,
                     std::uint64_t bytes) const {
  for (const Allocation& known : allocations_) {
    if (known.id != allocation) continue;
    const Mapping& part = *known.part(seat);
    if (offset <= part.bytes() && bytes <= part.bytes() - offset) return part.data() + offset;
  }
  throw Error(ErrorCode::Transport,
              fmt::format("rank {} uses memory of allocate() that this rank has given back", seat));
}

}  // namespace multitree::runtime::host
