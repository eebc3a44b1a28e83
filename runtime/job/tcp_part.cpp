// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Jobs of some ranks of another, over the connections that are there.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "runtime/job/keys_internal.hpp"
#include "runtime/job/tcp_job_internal.hpp"

namespace multitree::runtime {
namespace {

/// Between two looks for those that have died after the first.
constexpr std::chrono::milliseconds kLookForDead{50};

}  // namespace

JobNumber Tcp::number_of(std::vector<std::uint64_t> name) const {
  name.push_back(place_.standing.epoch);
  name.push_back(static_cast<std::uint64_t>(options_.job));
  const std::uint64_t digest = XXH3_64bits(name.data(), name.size() * sizeof name[0]);
  return JobNumber{std::max<std::uint64_t>(digest, 1)};
}

/// It tells nothing of the token.
std::uint64_t Tcp::name() const {
  const auto job = static_cast<std::uint64_t>(options_.job);
  const Key digest = digest_of(
      fmt::format("name of a multitree job\n{} {} {}", job, place_.standing.epoch, options_.token));
  std::uint64_t name = 0;
  std::memcpy(&name, digest.data(), sizeof name);
  return name;
}

/// The members meet at the first of them, who cannot leave before the part does; each is connected
/// to it by one connection, however many parts meet there.
NewPart Tcp::part(std::uint64_t which, std::span<const Seat> members) {
  std::vector<std::uint64_t> name{which};
  for (const Seat one : members) name.push_back(index(one));
  name.push_back(parts_[number_of(name)]++);
  TcpOptions options = options_;
  options.job = number_of(name);
  const auto number = static_cast<std::uint64_t>(options.job);
  if (members.size() == 1) {
    return {number, [](const BootstrapOptions&) { return make_in_process_bootstraps(1)[0]; }};
  }
  options.size = static_cast<std::uint32_t>(members.size());
  Lineage whole = lineage(), own{whole.root, {}};
  for (const Seat one : members) own.seats.push_back(whole.seats.at(index(one)));
  options.lineage = std::make_shared<const Lineage>(std::move(own));
  const auto self = std::ranges::find(members, options_.seat);
  options.seat = Seat{static_cast<std::uint32_t>(self - members.begin())};
  Place place;
  place.standing.self = origin_of(options.seat);
  place.standing.members = all_members(options.size);
  for (const Seat one : members) {
    if (place_.doors.empty()) break;
    const Origin origin = place_.standing.members.at(index(one));
    place.doors.push_back(place_.doors.at(index(origin)));
    place.doors.back().meeting = place.doors.size() == 1;
  }
  if (!place.doors.empty()) options.addresses = ways_to(place.doors.front());
  return {number, [options, place](const BootstrapOptions& how) {
            TcpOptions joining = options;
            joining.deadline = how.deadline;
            joining.cancellation = how.cancellation;
            joining.failed_before = how.failed_before;
            return std::make_shared<Tcp>(std::move(joining), place);
          }};
}

/// Only the first failure of a job is told. Who has died since is asked for, so that ranks which
/// die all at once do not take as many words each as there are ranks.
std::optional<Seat> Tcp::find_dead(std::span<const Seat> seats) {
  receive();
  if (failure_.empty()) return std::nullopt;
  if (Clock::now() >= next_look_) {
    look_for_dead(seats);
    next_look_ = Clock::now() + kLookForDead;
  }
  const auto dead = std::ranges::find_if(seats, [&](Seat one) { return dead_.contains(one); });
  return dead == seats.end() ? std::nullopt : std::optional(*dead);
}

/// Where the coordinator is lost, nobody else knows: then a host says that nobody is behind a door.
/// The first rank of a part looks for all of them; the others, who hear from it, look for it.
void Tcp::look_for_dead(std::span<const Seat> seats) {
  if (channel_.open()) return channel_.send(FrameType::WhoDied, {});
  if (place_.doors.empty() || seats.empty()) return;
  if (seats.front() != options_.seat) seats = seats.first(1);
  std::vector<const Door*> doors;
  for (const Seat one : seats) {
    doors.push_back(&place_.doors.at(index(place_.standing.members.at(index(one)))));
  }
  const std::vector<Presence> present = knock(doors, kLook);
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (present[i] == Presence::Gone) dead_.insert(seats[i]);
  }
}

void Tcp::hear_who_died(const std::string& payload) {
  Reader reader(payload);
  while (const auto rank = reader.number()) {
    if (*rank >= options_.size)
      return fail_with("invalid message from " + options_.coordinator_name);
    dead_.insert(Seat{*rank});
  }
}

Tcp::Tcp(TcpOptions options, Place place) : options_(std::move(options)), place_(std::move(place)) {
  if (!place_.doors.empty()) {
    name_host();
    options_.coordinator->open_part(options_.job, options_.size, options_.seat == Seat{0});
    options_.coordinator->stand_by(place_.standing, place_.doors, options_.job);
  }
  try {
    join(Clock::now() + options_.deadline);
  } catch (...) {
    if (!place_.doors.empty()) options_.coordinator->leave(options_.job);
    throw;
  }
  listen();
  options_.trunks->add(meeting_place(), channel_.trunk());
}

}  // namespace multitree::runtime
