// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parts of a communicator, by the ranks' own choice.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/c/comm_turn_internal.hpp"

namespace multitree::runtime::c {
namespace {

/// Numbers of parts by color, apart from tags.
constexpr std::uint64_t kSplit = std::uint64_t{1} << 32;

/// What a rank tells the others.
struct Choice {
  int color = 0, key = 0;
};

std::vector<Choice> read_choices(const Gathered& blobs) {
  std::vector<Choice> choices(blobs.size());
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    if (blobs[i].size() != sizeof(Choice)) {
      // Out of step from here on.
      throw Error(ErrorCode::Transport,
                  fmt::format("rank {} does not call mtCommSplit(), as this rank does", i));
    }
    std::memcpy(&choices[i], blobs[i].data(), sizeof(Choice));
  }
  return choices;
}

/// The ranks of one color, by key and then by rank.
std::vector<Seat> members_of(const std::vector<Choice>& choices, int color) {
  std::vector<Seat> members;
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    if (choices[i].color == color) members.push_back(Seat{i});
  }
  std::ranges::stable_sort(members, {}, [&](Seat one) { return choices[index(one)].key; });
  return members;
}

}  // namespace

std::optional<Part> Comm::split(int color, int key, Deadline deadline) {
  check_usable();
  // As in choose_rooted(): nothing progresses meanwhile.
  wait_for_all(Which::WithoutStream);
  const Turn turn(*this);
  check_alive();
  std::optional<Part> part;
  run([&] {
    const Choice own{color, key};
    const std::string blob(reinterpret_cast<const char*>(&own), sizeof own);
    const std::vector<Choice> choices = read_choices(bootstrap_->all_gather(blob, deadline));
    if (color == MT_SPLIT_NOCOLOR) return;
    part = make_part(kSplit | static_cast<std::uint32_t>(color), members_of(choices, color));
  });
  return part;
}

Part Comm::part(std::uint64_t tag, const std::vector<Rank>& members) {
  const Turn turn(*this);
  check_usable();
  std::vector<Seat> seats;
  for (const Rank member : members) seats.push_back(seat_of(member));
  return make_part(tag, seats);
}

/// \pre locked
Part Comm::make_part(std::uint64_t which, const std::vector<Seat>& members) {
  Part part{.job = bootstrap_->part(which, members), .members = {}, .name = {}};
  for (const Seat member : members) part.members.push_back(rank_at(member));
  if (household_ != nullptr) part.name = fmt::format("{}/{:x}", household_->job(), part.job.name);
  return part;
}

std::optional<LostMember> Comm::find_lost(const std::vector<Rank>& members) {
  if (look() == mtSuccess) return std::nullopt;
  const auto found = [&](Rank lost, std::string how) {
    const auto at = std::ranges::find(members, lost);
    if (at == members.end()) return std::optional<LostMember>();
    const auto place = static_cast<std::size_t>(at - members.begin());
    return std::optional(LostMember{place, std::move(how)});
  };
  if (const std::optional<Rank> first = cause().rank) {
    if (auto lost = found(*first, words())) return lost;
  }
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || bootstrap_ == nullptr || shrunk_ || is_forked()) return std::nullopt;
  std::vector<Seat> seats;
  for (const Rank member : members) seats.push_back(seat_of(member));
  const std::optional<Seat> dead = bootstrap_->find_dead(seats);
  return dead ? found(rank_at(*dead), "died after this: " + words()) : std::nullopt;
}

Joined join_part(const std::shared_ptr<Comm>& whole, const Part& part, BootstrapOptions options) {
  options.failed_before = [whole, members = part.members]() -> std::optional<std::string> {
    const std::optional<LostMember> lost = whole->find_lost(members);
    if (!lost) return std::nullopt;
    return fmt::format("rank {} was lost before it joined (rank {} of {}; {})", lost->place,
                       members.at(lost->place), whole->size(), lost->how);
  };
  return {.job = part.job.join(options), .name = part.name};
}

}  // namespace multitree::runtime::c
