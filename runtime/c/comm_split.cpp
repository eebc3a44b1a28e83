// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parts of a communicator, by the ranks' own choice.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/c/comm_turn_internal.hpp"

namespace multitree::runtime::c {
namespace {

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
std::vector<std::uint32_t> members_of(const std::vector<Choice>& choices, int color) {
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    if (choices[i].color == color) members.push_back(i);
  }
  std::ranges::stable_sort(members, {}, [&](std::uint32_t i) { return choices[i].key; });
  return members;
}

template <typename Value>
std::string as_text(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
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
    const std::uint32_t self = index(rank());
    const std::vector<Choice> choices =
        read_choices(bootstrap_->all_gather(as_text(Choice{color, key}), deadline));
    std::vector<std::uint32_t> members;
    if (color != MT_SPLIT_NOCOLOR) members = members_of(choices, color);
    const bool first = !members.empty() && members.front() == self;
    std::string id, why;
    if (first) {
      try {
        id = as_text(make_unique_id());
      } catch (const Error& error) {  // of this host; the others are told
        why = error.what();
      }
    }
    const Gathered ids = bootstrap_->all_gather(id, deadline);
    if (members.empty()) return;
    const std::string& met_at = ids[members.front()];
    if (!why.empty()) throw Failure(mtSystemError, why);
    if (met_at.size() != sizeof(UniqueId)) {
      throw Failure(mtRemoteError, fmt::format("rank {} has no port where the ranks of color {} "
                                               "could meet",
                                               members.front(), color));
    }
    const auto place = std::ranges::find(members, self) - members.begin();
    part = Part{.seat = Seat{static_cast<std::uint32_t>(place)},
                .size = static_cast<std::uint32_t>(members.size())};
    std::memcpy(part->id.data(), met_at.data(), sizeof part->id);
  });
  return part;
}

}  // namespace multitree::runtime::c
