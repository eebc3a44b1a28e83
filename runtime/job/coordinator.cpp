// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coordinator's event loop.
#include "runtime/job/coordinator_server_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/job/log_internal.hpp"
#include "runtime/job/tcp_internal.hpp"

namespace multitree::runtime {
namespace {

constexpr std::size_t kStrangerBytes = std::size_t{1} << 20;
/// How long a connection may take to say who it is, and how long the goodbye may take.
constexpr std::chrono::seconds kIntroduction{10};
constexpr std::chrono::seconds kGoodbye{1};
constexpr std::size_t kMaxStrangers = 256;

}  // namespace

Coordinator::Server::Server(Socket listener, std::uint32_t ranks, std::string token, bool in_charge)
    : listener_(std::move(listener)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      token_(std::move(token)),
      in_charge_(in_charge),
      states_(ranks),
      members_(all_members(ranks)),
      thread_([this] { run(); }) {}

Coordinator::Server::~Server() {
  {
    const std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  wake();
  thread_.join();
}

void Coordinator::Server::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.fd(), &one, sizeof one) == sizeof one);
}

void Coordinator::Server::order(std::function<void()> work) {
  {
    const std::scoped_lock lock(mutex_);
    orders_.push_back(std::move(work));
  }
  wake();
}

void Coordinator::Server::died(Origin rank, const std::string& how) {
  order([this, rank, how] {
    // Of one that has come its connection says so, or has said so.
    if (states_.at(index(rank)) != State::Empty || !is_member(rank)) return;
    state_of(rank) = State::Dead;
    broadcast_failure(fmt::format("rank {} died before it joined ({})", seat_of(rank), how),
                      nullptr, seat_of(rank));
  });
}

void Coordinator::Server::stand_by(Standing standing, std::vector<Door> doors) {
  order([this, standing = std::move(standing), doors = std::move(doors)] {
    doors_ = doors;
    adopt(standing);
  });
}

void Coordinator::Server::retire() {
  order([this] { retired_ = true; });
}

void Coordinator::Server::run() {
  while (wait()) {
    accept_all();
    for (Guest& guest : guests_) {
      if (guest.channel.open()) serve(guest);
      const bool late = !guest.origin && Clock::now() - guest.since > kIntroduction;
      const bool refused = guest.leaving && guest.channel.flushed() && !guest.origin;
      if (late || refused) guest.channel.close();
    }
    guests_.remove_if([](const Guest& guest) { return !guest.channel.open(); });
    try_shrink();
  }
  // The host may leave because it has failed: the others are to hear why.
  for (Guest& guest : guests_) {
    if (guest.channel.open()) serve(guest);
  }
  guests_.remove_if([](const Guest& guest) { return !guest.channel.open(); });
  say_goodbye();
}

/// False when it is time to stop.
bool Coordinator::Server::wait() {
  std::vector<pollfd> events{{wake_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
  for (const Guest& guest : guests_) {
    const bool output = !guest.channel.flushed();
    events.push_back(
        {guest.channel.fd(), static_cast<short>(output ? POLLIN | POLLOUT : POLLIN), 0});
  }
  ::poll(events.data(), events.size(), patience());
  return (events[0].revents & POLLIN) == 0 || take_orders();
}

/// What other threads want. False: to stop.
bool Coordinator::Server::take_orders() {
  std::uint64_t count = 0;
  static_cast<void>(::read(wake_.fd(), &count, sizeof count));
  std::vector<std::function<void()>> orders;
  {
    const std::scoped_lock lock(mutex_);
    if (stops_) return false;
    orders.swap(orders_);
  }
  for (const auto& work : orders) work();
  return true;
}

/// Milliseconds until something is due without anybody saying anything; -1: nothing is.
int Coordinator::Server::patience() const {
  const bool strangers =
      std::any_of(guests_.begin(), guests_.end(), [](const Guest& g) { return !g.origin; });
  int wait = strangers ? 500 : -1;
  if (shrink_by_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*shrink_by_ - Clock::now());
    const int due = static_cast<int>(
        std::clamp<std::int64_t>(left.count(), 0, doors_.empty() ? 500 : knock_interval_.count()));
    wait = wait < 0 ? due : std::min(wait, due);
  }
  return wait;
}

void Coordinator::Server::accept_all() {
  while (true) {
    Socket socket = accept_from(listener_);
    if (!socket.open()) return;
    const auto strangers = static_cast<std::size_t>(
        std::count_if(guests_.begin(), guests_.end(), [](const Guest& g) { return !g.origin; }));
    if (strangers >= kMaxStrangers) continue;  // closes it
    guests_.push_back({.channel = Channel(std::move(socket)), .origin = {}, .blob = {}});
    guests_.back().channel.set_limit(kStrangerBytes);
  }
}

void Coordinator::Server::serve(Guest& guest) {
  const Channel::Status status = guest.channel.fill();
  if (status != Channel::Status::Garbage) {
    while (const auto frame = guest.channel.next()) handle(guest, *frame);
  }
  guest.channel.flush();
  if (status == Channel::Status::Closed) lost(guest, "connection closed");
  if (status == Channel::Status::Garbage) lost(guest, "sent an invalid message");
}

void Coordinator::Server::handle(Guest& guest, const Frame& frame) {
  if (guest.leaving) return;
  if (!guest.origin) {
    if (frame.type == FrameType::Hello) return admit(guest, frame);
    if (frame.type == FrameType::Rejoin) return readmit(guest, frame);
    return refuse(guest, "not a rank of a multitree job");
  }
  switch (frame.type) {
    case FrameType::Gather:
      guest.blob = frame.payload;
      return try_gather();
    case FrameType::WhoIsMissing:
      return guest.channel.send(FrameType::Missing, missing());
    case FrameType::Failure:
      return broadcast_failure(
          fmt::format("rank {} gave up: {}", seat_of(*guest.origin), frame.payload), &guest,
          seat_of(*guest.origin));
    case FrameType::Bye:
      state_of(*guest.origin) = State::Left;
      guest.leaving = true;
      return try_gather();
    case FrameType::Shrink:
      return ask_to_shrink(guest, frame);
    case FrameType::DeadLinks:
      return links_died(guest, frame);
    default:
      return lost(guest, "sent an invalid message");
  }
}

void Coordinator::Server::admit(Guest& guest, const Frame& frame) {
  Reader reader(frame.payload);
  const auto magic = reader.text(), token = reader.text();
  const auto rank = reader.number(), size = reader.number();
  if (magic != kMagic || token != token_ || !rank || !size) {
    return refuse(guest, kWrongToken, FrameType::Stranger);
  }
  if (*size != states_.size() || *rank >= states_.size()) {
    return refuse(guest, fmt::format("this job has {} ranks, found rank {} of {}", states_.size(),
                                     *rank, *size));
  }
  if (!in_charge_) {
    guest.leaving = true;
    return guest.channel.send(FrameType::Elsewhere, {});
  }
  const Origin origin{*rank};
  if (!is_member(origin)) {
    return refuse(guest, fmt::format("the job has gone on without rank {}", *rank));
  }
  if (state_of(origin) != State::Empty) {
    return refuse(guest, fmt::format("another process is or was rank {} already", *rank));
  }
  state_of(origin) = State::Present;
  guest.origin = origin;
  guest.channel.set_limit(std::size_t{1} << 30);
  guest.channel.send(FrameType::Welcome, {});
  if (!failure_.empty()) guest.channel.send(FrameType::Failure, failure_);
}

void Coordinator::Server::refuse(Guest& guest, const std::string& why, FrameType how) {
  logger().info("a process that came to the rendezvous was refused: {}", why);
  guest.leaving = true;
  guest.channel.send(how, why);
}

void Coordinator::Server::try_gather() {
  std::vector<const std::string*> blobs(members_.size());
  std::size_t waiting = 0;
  for (const Guest& guest : guests_) {
    if (!guest.origin || !guest.blob) continue;
    blobs[index(seat_of(*guest.origin))] = &*guest.blob;
    ++waiting;
  }
  if (waiting == 0) return;
  const auto gone = std::find_if(members_.begin(), members_.end(),
                                 [&](Origin one) { return state_of(one) == State::Left; });
  if (gone != members_.end()) {
    // Not a failure unless somebody still counts on that rank, as here.
    for (Guest& guest : guests_) {
      if (guest.blob) {
        guest.channel.send(FrameType::Failure,
                           fmt::format("rank {} has left the job", gone - members_.begin()));
      }
    }
    return;
  }
  if (waiting < members_.size()) return;
  Writer all;
  for (const std::string* blob : blobs) all.text(*blob);
  for (Guest& guest : guests_) {
    if (!guest.blob) continue;
    guest.blob.reset();
    guest.channel.send(FrameType::Gathered, all.bytes());
  }
}

void Coordinator::Server::broadcast_failure(const std::string& what, const Guest* except,
                                            Seat lost) {
  broadcast_failure(what, except, FrameType::RankFailed, Writer().number(index(lost)).text(what));
}

void Coordinator::Server::broadcast_failure(const std::string& what, const Guest* except,
                                            const DeadLink& link) {
  broadcast_failure(what, except, FrameType::LinkDied,
                    Writer().number(index(link.a)).number(index(link.b)).text(what));
}

void Coordinator::Server::broadcast_failure(const std::string& what, const Guest* except,
                                            FrameType type, const Writer& words) {
  if (!failure_.empty()) return;  // the first is the cause, the others its consequences
  failure_ = what;
  for (Guest& guest : guests_) {
    if (guest.origin && !guest.leaving && &guest != except) guest.channel.send(type, words.bytes());
  }
}

void Coordinator::Server::lost(Guest& guest, const std::string& how) {
  guest.channel.close();
  guest.blob.reset();
  if (!guest.origin || guest.leaving) return;
  state_of(*guest.origin) = State::Dead;
  const Seat rank = seat_of(*guest.origin);
  broadcast_failure(fmt::format("rank {} died ({})", rank, how), &guest, rank);
}

std::string Coordinator::Server::missing() const {
  std::vector<bool> here(members_.size());
  for (const Guest& guest : guests_) {
    if (guest.origin && guest.blob) here[index(seat_of(*guest.origin))] = true;
  }
  std::vector<Seat> ranks;
  for (std::uint32_t r = 0; r < here.size(); ++r) {
    if (!here[r]) ranks.push_back(Seat{r});
  }
  return fmt::format("{}", fmt::join(ranks, ", "));
}

/// Closing at once could reset connections with replies still on the way.
void Coordinator::Server::say_goodbye() {
  listener_.close();
  for (Guest& guest : guests_) guest.channel.send(FrameType::Bye, {});
  const auto until = Clock::now() + kGoodbye;
  while (!guests_.empty() && Clock::now() < until) {
    for (Guest& guest : guests_) {
      guest.channel.flush();
      const Channel::Status status = guest.channel.fill();
      while (guest.channel.next()) {
      }
      if (status != Channel::Status::Open || !guest.origin) guest.channel.close();
    }
    guests_.remove_if([](const Guest& guest) { return !guest.channel.open(); });
    if (!guests_.empty()) guests_.front().channel.wait(std::chrono::milliseconds(5));
  }
}

Coordinator::Coordinator(Socket listener, std::uint32_t ranks, std::string token, bool in_charge)
    : port_(port_of(listener)),
      address_(local_address(listener)),
      server_(std::make_unique<Server>(std::move(listener), ranks, std::move(token), in_charge)) {}

Coordinator::~Coordinator() = default;

void Coordinator::died(Origin rank, const std::string& how) { server_->died(rank, how); }

void Coordinator::stand_by(Standing standing, std::vector<Door> doors) {
  server_->stand_by(std::move(standing), std::move(doors));
}

void Coordinator::retire() { server_->retire(); }

}  // namespace multitree::runtime
