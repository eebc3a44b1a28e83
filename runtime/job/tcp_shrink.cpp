// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going on with those that are left, also where the coordinator is not among them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "runtime/job/interfaces_internal.hpp"
#include "runtime/job/shrink_vote_internal.hpp"
#include "runtime/job/tcp_job_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// For a host to say whether a rank is there, for a rank that is there to answer, and for the
/// coordinator's word to arrive after all are late.
constexpr std::chrono::milliseconds kRankPatience{1000};
constexpr std::chrono::seconds kAnswer{5};
constexpr std::chrono::seconds kGrace{3};

}  // namespace

/// Collective: every rank opens a door, and learns of those of the others.
void Tcp::exchange_doors(Clock::time_point end) {
  place_.standing.self = origin_of(options_.seat);
  place_.standing.members = all_members(options_.size);
  if (!options_.hosted_by_rank) {
    options_.trunks->add(meeting_place(), channel_.trunk());
    return barrier(until(end));
  }
  Door own{this_host(), 0, {}, options_.coordinator != nullptr};
  if (options_.coordinator == nullptr) {
    options_.coordinator = std::make_unique<Coordinator>(listen_at(0, reached_at()), options_.size,
                                                         options_.token, false);
  }
  std::string at = options_.coordinator->address();
  if (at == kAnyAddress) at = reached_at();
  own.numbers = at == kAnyAddress ? host_addresses() : std::vector<std::string>{at};
  own.port = options_.coordinator->port();
  const Gathered all = all_gather(pack(own), until(end));
  const Gathered ports = all_gather(Writer().number(own.port).bytes(), until(end));
  for (const Origin one : place_.standing.members) {
    const std::uint32_t port = Reader(ports[index(one)]).number().value_or(0);
    place_.doors.push_back(unpack_door(all[index(one)], port).value_or(Door{}));
    if (place_.doors.back().meeting) place_.host = one;
  }
  options_.trunks->add(meeting_place(), channel_.trunk());
  options_.coordinator->stand_by(place_.standing, place_.doors);
  name_host();
}

std::string Tcp::meeting_place() const {
  if (place_.doors.empty()) return "the launcher";
  const Door& door = place_.doors.at(index(place_.host));
  return fmt::format("{} {}", door.host, door.port);
}

/// Of many addresses the one that the coordinator is reached from is one that works. Loopback is
/// how a rank comes to a coordinator of its own process, and says nothing of the others.
std::string Tcp::reached_at() const {
  if (options_.on_this_host) return kLoopback;
  const std::string used = channel_.local_address();
  return is_loopback(used) ? widest_interface() : used;
}

void Tcp::name_host() {
  if (place_.doors.empty()) return;
  options_.coordinator_name =
      host_is_left_out()
          ? "the coordinator"
          : fmt::format("rank {} (coordinator)", seat_in(place_.standing.members, place_.host));
}

Tcp::Tcp(Tcp& from, const Shrunk& shrunk, const Renewal& renewal)
    : options_(from.options_),
      channel_(std::exchange(from.channel_, JobLine())),
      place_(from.place_),
      welcome_(true),
      failure_(std::exchange(from.failure_, "the job has been shrunk to another")),
      dead_link_(std::exchange(from.dead_link_, std::nullopt)),
      lost_seat_(std::exchange(from.lost_seat_, std::nullopt)) {
  // The rest stays: any thread may ask for the old job's numbers, and it answers why it is of no
  // use.
  from.options_.coordinator.reset();
  from.options_.session.reset();
  options_.seat = renewal.seat;
  options_.size = static_cast<std::uint32_t>(shrunk.survivors.size());
  Standing& standing = place_.standing;
  standing.epoch = renewal.epoch;
  standing.unsettled = renewal.unsettled;
  standing.members.clear();
  for (const Seat survivor : shrunk.survivors) {
    standing.members.push_back(from.place_.standing.members.at(index(survivor)));
  }
  standing.dead_links.clear();
  for (const auto& [a, b] : shrunk.dead_links) {
    standing.dead_links.push_back(
        link_between(standing.members.at(index(a)), standing.members.at(index(b))));
  }
  options_.lineage.reset();  // it is a job with numbers of its own
  options_.failed_before = {};
  listen();
  from.place_.doors.clear();  // nobody is to be met again for it
  name_host();
  if (options_.coordinator != nullptr && !place_.doors.empty()) {
    options_.coordinator->stand_by(standing, place_.doors, options_.job);
  }
}

void Tcp::refuse(const std::string& why) const {
  throw Error(ErrorCode::Transport, fmt::format("rank {}: {}", options_.seat, why));
}

Shrunk Tcp::shrink(Deadline deadline, std::span<const Seat> without) {
  const auto end = Clock::now() + deadline;
  shrunk_.reset();
  if (refused_ && !place_.doors.empty()) channel_.close();  // tries again
  do {
    if (!channel_.open()) meet_again(end);
    Writer wish;
    wish.number(static_cast<std::uint32_t>(until(end).count()));
    for (const Seat one : without) wish.number(index(one));
    channel_.send(FrameType::Shrink, wish.bytes());
  } while (!await_survivors(end + kGrace, deadline));
  Shrunk shrunk;
  Reader reader(*shrunk_);
  const std::uint32_t epoch = reader.number().value_or(0);
  for (auto left = reader.number().value_or(0); left > 0; --left) {
    const auto survivor = reader.number();
    if (!survivor) break;  // fewer than it says
    shrunk.survivors.push_back(Seat{*survivor});
  }
  const auto self = std::ranges::find(shrunk.survivors, options_.seat);
  const bool ascend = std::ranges::adjacent_find(shrunk.survivors, std::ranges::greater_equal()) ==
                      shrunk.survivors.end();
  if (self == shrunk.survivors.end() || !ascend ||
      index(shrunk.survivors.back()) >= options_.size) {
    refuse("not among the survivors it was told of");
  }
  auto unsettled = read_unsettled(reader);
  while (const auto a = reader.number()) {
    const std::uint32_t b = reader.number().value_or(*a);
    if (std::max(*a, b) >= shrunk.survivors.size()) refuse("told of a link to nobody");
    shrunk.dead_links.push_back({Seat{*a}, Seat{b}});
  }
  const Seat seat{static_cast<std::uint32_t>(self - shrunk.survivors.begin())};
  const Renewal renewal{seat, epoch, std::move(unsettled).value_or(std::vector<Members>())};
  const std::shared_ptr<Tcp> job(new Tcp(*this, shrunk, renewal));
  shrunk.job = job;
  return job->host_is_left_out() ? job->under_a_member(shrunk, until(end)) : shrunk;
}

/// A rank that is left out takes its coordinator along when it ends, so its last word is who goes
/// on: they meet again at one of theirs before that counts as a failure.
Shrunk Tcp::under_a_member(const Shrunk& left, Deadline deadline) {
  channel_.close();
  Shrunk again = shrink(deadline, {});
  for (Seat& survivor : again.survivors) survivor = left.survivors.at(index(survivor));
  return again;
}

bool Tcp::await_survivors(Clock::time_point end, Deadline deadline) {
  while (!shrunk_) {
    receive();
    if (shrunk_) break;
    if (refused_) refuse(*refused_);
    if (!channel_.open()) return false;
    if (Clock::now() >= end) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: {} did not name the survivors within {} ms", options_.seat,
                              options_.coordinator_name, deadline.count()));
    }
    check_cancelled();
    channel_.wait(std::min(until(end), kLook));
  }
  return true;
}

void Tcp::meet_again(Clock::time_point end) {
  if (place_.doors.empty()) {
    refuse(fmt::format("{}: nobody can be met again",
                       failure_.empty() ? options_.coordinator_name + " is gone" : failure_));
  }
  while (true) {
    check_cancelled();
    for (const Origin one : meeting_places()) {
      if (rejoin(one, end)) return;
      if (refused_) refuse(*refused_);
    }
    if (Clock::now() >= end) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: found no rank to meet the others at ({})", options_.seat,
                              failure_));
    }
    std::this_thread::sleep_for(kLook);
  }
}

Members Tcp::meeting_places() const {
  std::vector<const Door*> doors;
  for (const Origin one : members_below(place_.standing)) {
    doors.push_back(&place_.doors.at(index(one)));
  }
  return places_to_meet(place_.standing, knock(doors, kRankPatience));
}

bool Tcp::rejoin(Origin host, Clock::time_point end) {
  const std::string words = pack(place_.standing);
  const auto enough = std::min(end, Clock::now() + kAnswer);
  for (const Address& address : ways_to(place_.doors.at(index(host)))) {
    Connected connected = connect_to(address, std::min(until(enough), kRankPatience));
    if (!connected.socket.open()) continue;
    channel_ = JobLine(std::make_shared<Trunk>(std::move(connected.socket), key_of(options_.token)),
                       options_.job);
    coordinator_left_ = false;
    if (introduce(FrameType::Rejoin, words, enough)) {
      listen();
      place_.host = host;
      name_host();
      for (const std::string& report : links_reports_) {
        channel_.send(FrameType::DeadLinks, report);
      }
      return true;
    }
    channel_.close();
    if (refused_) return false;
  }
  return false;
}

/// What comes behind is for the new job, and stays where it is until that asks for it.
void Tcp::begin_anew(const std::string& payload) {
  shrunk_ = payload;
  failure_.clear();
  dead_link_.reset();
  lost_seat_.reset();
  dead_.clear();
}

}  // namespace multitree::runtime
