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
