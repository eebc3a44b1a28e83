// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The coordinator's event loop.
#include "runtime/coordinator_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "runtime/tcp_internal.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kStrangerBytes = 4096;
/// How long a connection may take to say who it is, and how long the goodbye may take.
constexpr std::chrono::seconds kIntroduction{10};
constexpr std::chrono::seconds kGoodbye{1};
constexpr std::size_t kMaxStrangers = 256;

/// A connection; a stranger until it has a rank.
struct Guest {
  Channel channel;
  std::optional<std::uint32_t> rank;
  std::optional<std::string> blob;  ///< of the gathering under way
  bool leaving = false;             ///< has said goodbye or was refused
  Clock::time_point since = Clock::now();
};

}  // namespace

class Coordinator::Server {
 public:
  Server(Socket listener, std::uint32_t ranks, std::string token)
      : listener_(std::move(listener)),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        token_(std::move(token)),
        seats_(ranks),
        thread_([this] { run(); }) {}

  ~Server() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.fd(), &one, sizeof one) == sizeof one);
    thread_.join();
  }

 private:
  enum class Seat : std::uint8_t { Empty, Present, Left, Dead };

  void run();
  bool wait();
  void accept_all();
  void serve(Guest& guest);
  void handle(Guest& guest, const Frame& frame);
  void admit(Guest& guest, const Frame& frame);
  void refuse(Guest& guest, const std::string& why);
  void try_gather();
  void broadcast_failure(const std::string& what, const Guest* except);
  void lost(Guest& guest, const std::string& how);
  void say_goodbye();
  [[nodiscard]] std::string missing() const;

  Socket listener_, wake_;
  std::string token_;
  std::vector<Seat> seats_;  ///< by rank
  std::list<Guest> guests_;
  std::string failure_;
  std::thread thread_;
};

void Coordinator::Server::run() {
  while (wait()) {
    accept_all();
    for (Guest& guest : guests_) {
      if (guest.channel.open()) serve(guest);
      const bool late = !guest.rank && Clock::now() - guest.since > kIntroduction;
      if (late || (guest.leaving && guest.channel.flushed() && !guest.rank)) guest.channel.close();
    }
    guests_.remove_if([](const Guest& guest) { return !guest.channel.open(); });
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
  bool strangers = false;
  for (const Guest& guest : guests_) {
    const bool output = !guest.channel.flushed();
    events.push_back(
        {guest.channel.fd(), static_cast<short>(output ? POLLIN | POLLOUT : POLLIN), 0});
    strangers |= !guest.rank;
  }
  ::poll(events.data(), events.size(), strangers ? 500 : -1);
  return (events[0].revents & POLLIN) == 0;
}

void Coordinator::Server::accept_all() {
  while (true) {
    Socket socket = accept_from(listener_);
    if (!socket.open()) return;
    const auto strangers = static_cast<std::size_t>(
        std::count_if(guests_.begin(), guests_.end(), [](const Guest& g) { return !g.rank; }));
    if (strangers >= kMaxStrangers) continue;  // closes it
    guests_.push_back({Channel(std::move(socket)), {}, {}, false, Clock::now()});
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
  if (!guest.rank) {
    if (frame.type == FrameType::Hello) return admit(guest, frame);
    return refuse(guest, "not a rank of a multitree job");
  }
  switch (frame.type) {
    case FrameType::Gather:
      guest.blob = frame.payload;
      return try_gather();
    case FrameType::WhoIsMissing:
      return guest.channel.send(FrameType::Missing, missing());
    case FrameType::Failure:
      return broadcast_failure(fmt::format("rank {} gave up: {}", *guest.rank, frame.payload),
                               &guest);
    case FrameType::Bye:
      seats_[*guest.rank] = Seat::Left;
      guest.leaving = true;
      return try_gather();
    default:
      return lost(guest, "sent an invalid message");
  }
}

void Coordinator::Server::admit(Guest& guest, const Frame& frame) {
  Reader reader(frame.payload);
  const auto magic = reader.text(), token = reader.text();
  const auto rank = reader.number(), size = reader.number();
  if (magic != kMagic || token != token_ || !rank || !size) {
    return refuse(guest, "wrong token: this is the rendezvous of another job");
  }
  if (*size != seats_.size() || *rank >= seats_.size()) {
    return refuse(guest, fmt::format("this job has {} ranks, found rank {} of {}", seats_.size(),
                                     *rank, *size));
  }
  if (seats_[*rank] != Seat::Empty) {
    return refuse(guest, fmt::format("another process is or was rank {} already", *rank));
  }
  seats_[*rank] = Seat::Present;
  guest.rank = rank;
  guest.channel.set_limit(std::size_t{1} << 30);
  guest.channel.send(FrameType::Welcome, {});
  if (!failure_.empty()) guest.channel.send(FrameType::Failure, failure_);
}

void Coordinator::Server::refuse(Guest& guest, const std::string& why) {
  guest.leaving = true;
  guest.channel.send(FrameType::Refused, why);
}

void Coordinator::Server::try_gather() {
  std::vector<const std::string*> blobs(seats_.size());
  std::size_t waiting = 0;
  for (const Guest& guest : guests_) {
    if (!guest.rank || !guest.blob) continue;
    blobs[*guest.rank] = &*guest.blob;
    ++waiting;
  }
  if (waiting == 0) return;
  if (const auto gone = std::find(seats_.begin(), seats_.end(), Seat::Left); gone != seats_.end()) {
    // Not a failure unless somebody still counts on that rank, as here.
    for (Guest& guest : guests_) {
      if (guest.blob) {
        guest.channel.send(FrameType::Failure,
                           fmt::format("rank {} has left the job", gone - seats_.begin()));
      }
    }
    return;
  }
  if (waiting < seats_.size()) return;
  Writer all;
  for (const std::string* blob : blobs) all.text(*blob);
  for (Guest& guest : guests_) {
    if (!guest.blob) continue;
    guest.blob.reset();
    guest.channel.send(FrameType::Gathered, all.bytes());
  }
}

void Coordinator::Server::broadcast_failure(const std::string& what, const Guest* except) {
  if (!failure_.empty()) return;  // the first is the cause, the others its consequences
  failure_ = what;
  for (Guest& guest : guests_) {
    if (guest.rank && !guest.leaving && &guest != except) {
      guest.channel.send(FrameType::Failure, what);
    }
  }
}

void Coordinator::Server::lost(Guest& guest, const std::string& how) {
  guest.channel.close();
  guest.blob.reset();
  if (!guest.rank || guest.leaving) return;
  seats_[*guest.rank] = Seat::Dead;
  broadcast_failure(fmt::format("rank {} died ({})", *guest.rank, how), &guest);
}

std::string Coordinator::Server::missing() const {
  std::vector<bool> here(seats_.size());
  for (const Guest& guest : guests_) {
    if (guest.rank && guest.blob) here[*guest.rank] = true;
  }
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t r = 0; r < here.size(); ++r) {
    if (!here[r]) ranks.push_back(r);
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
      if (status != Channel::Status::Open || !guest.rank) guest.channel.close();
    }
    guests_.remove_if([](const Guest& guest) { return !guest.channel.open(); });
    if (!guests_.empty()) guests_.front().channel.wait(std::chrono::milliseconds(5));
  }
}

Coordinator::Coordinator(Socket listener, std::uint32_t ranks, std::string token)
    : port_(port_of(listener)),
      server_(std::make_unique<Server>(std::move(listener), ranks, std::move(token))) {}

Coordinator::~Coordinator() = default;

}  // namespace multitree::runtime
