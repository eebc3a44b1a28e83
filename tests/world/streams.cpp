// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bytes that are passed on, and connections that follow each other.
#include "tests/world/streams.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace multitree::runtime::world {
namespace {

/// Small buffers: writers find them full.
constexpr int kBuffer = 4096;
/// On their way in one direction.
constexpr std::size_t kMostUnderWay = 1 << 16;
/// Until there is another connection.
constexpr Nanoseconds kReconnect = 5ms;

}  // namespace

Streams::Streams(World& world, std::uint32_t ranks, Habits habits)
    : world_(world), habits_(habits), ends_(ranks), lost_(ranks) {
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = 0; b < ranks; ++b) {
      if (a != b) open(way(a, b));
    }
  }
}

void Streams::open(Way& way) {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    std::abort();
  }
  way.end = Socket(fds[0]);
  way.world = Socket(fds[1]);
  ::setsockopt(way.end.fd(), SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer);
  ::setsockopt(way.world.fd(), SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer);
  way.bytes.clear();
}

void Streams::close() { ways_.clear(); }

void Streams::break_off(std::uint32_t a, std::uint32_t b) {
  world_.note("broken", a, b);
  for (Way* const one : {&way(a, b), &way(b, a)}) {
    one->world.close();
    one->bytes.clear();
  }
  world_.wake(a);
  world_.wake(b);
  for (const std::uint32_t end : {a, b}) {
    if (ends_[end] != nullptr) ends_[end]->came_ = true;
  }
  world_.after(world_.random().delay(kReconnect), [this, a, b] { connect_again(a, b); });
}

/// As two ranks that meet again: each says how much has come to it.
void Streams::connect_again(std::uint32_t a, std::uint32_t b) {
  if (lost_[a] || lost_[b] || ends_[a] == nullptr || ends_[b] == nullptr) return;
  auto &one = ends_[a]->peers_.at(b), &other = ends_[b]->peers_.at(a);
  if (one.lost || other.lost) return;
  open(way(a, b));
  open(way(b, a));
  const bool goes = one.outgoing.go_on_behind(other.incoming.came()) &&
                    other.outgoing.go_on_behind(one.incoming.came());
  world_.note(goes ? "connected again" : "cannot go on", a, b);
  one.down = other.down = false;
  ends_[a]->came_ = ends_[b]->came_ = true;
  world_.wake(a);
  world_.wake(b);
}

void Streams::lose(std::uint32_t rank, bool tells) {
  lost_[rank] = true;
  for (std::uint32_t other = 0; other < ends_.size(); ++other) {
    if (other == rank) continue;
    way(rank, other).world.close();
    if (!tells) continue;
    world_.after(world_.random().delay(5ms), [this, rank, other] {
      if (ends_[other] != nullptr) ends_[other]->lose(rank);
    });
  }
}

void Streams::kick(std::uint32_t from, std::uint32_t to) {
  Way& one = way(from, to);
  if (std::exchange(one.moving, true)) return;
  world_.after(world_.random().delay(habits_.delay), [this, from, to] {
    way(from, to).moving = false;
    if (pass_on(from, to)) kick(from, to);
  });
}

/// False: there is nothing.
bool Streams::pass_on(std::uint32_t from, std::uint32_t to) {
  Way &here = way(from, to), &there = way(to, from);
  if (!here.world.open() || !there.world.open()) return false;
  std::array<std::byte, 4096> piece;
  const std::size_t most = std::min(piece.size(), 1 + world_.random().below(habits_.piece_bytes));
  const ssize_t got =
      here.bytes.size() >= kMostUnderWay ? 0 : ::read(here.world.fd(), piece.data(), most);
  if (got > 0) {
    here.bytes.insert(here.bytes.end(), piece.begin(), piece.begin() + got);
    world_.wake(from);  // as the system wakes who found no room
  }
  if (here.bytes.empty()) return got > 0;
  const std::size_t part = 1 + world_.random().below(std::min(here.bytes.size(), piece.size()));
  const ssize_t put = ::send(there.world.fd(), here.bytes.data(), part, MSG_NOSIGNAL);
  if (put <= 0) return false;  // until its reader makes room
  here.bytes.erase(here.bytes.begin(), here.bytes.begin() + put);
  world_.note("bytes", from, to, static_cast<std::uint64_t>(put));
  if (ends_[to] != nullptr) ends_[to]->came_ = true;
  world_.wake(to);
  return true;
}

StreamTransport::StreamTransport(std::shared_ptr<Streams> streams, Seat self, std::uint32_t ranks)
    : streams_(std::move(streams)), self_(index(self)) {
  const Habits& habits = streams_->habits_;
  const std::size_t credit =
      habits.limits.buffered ? tcp::Outgoing::kUnlimited : habits.unasked_bytes;
  for (std::uint32_t peer = 0; peer < ranks; ++peer) {
    if (peer != self_) peers_.try_emplace(peer, Seat{peer}, credit);
  }
  streams_->ends_[self_] = this;
}

StreamTransport::~StreamTransport() {
  abort();
  streams_->ends_[self_] = nullptr;
}

void StreamTransport::send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
                           Completion& completion) {
  Peer& there = peers_.at(index(peer));
  completion.state = Completion::State::Pending;
  if (!there.lost) there.outgoing.send(tag, data, bytes, completion);
  move(index(peer), there);
  if (streams_->on_send) streams_->on_send(self_, ++sends_);
}

void StreamTransport::receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
                              Completion& completion) {
  completion.state = Completion::State::Pending;
  peers_.at(index(peer)).incoming.receive(tag, data, bytes, completion);
  came_ = true;
}

/// As TcpTransport: what is to be written, then what has come.
bool StreamTransport::move(std::uint32_t number, Peer& peer) {
  if (peer.down || peer.lost) return false;
  const int socket = streams_->way(self_, number).end.fd();
  std::string why;
  bool moved = false;
  while (!peer.down) {
    const tcp::Moved wrote = peer.outgoing.write(socket, why);
    const tcp::Moved read = peer.incoming.read(socket, why);
    peer.outgoing.came(peer.incoming.came());
    const auto is = [&](tcp::Moved one) { return wrote == one || read == one; };
    peer.down = is(tcp::Moved::Over) || is(tcp::Moved::Cut);
    moved = moved || wrote == tcp::Moved::Some || read != tcp::Moved::Nothing;
    streams_->kick(self_, number);
    if (read == tcp::Moved::Nothing) break;
    streams_->kick(number, self_);
  }
  return moved;
}

bool StreamTransport::progress() {
  streams_->world_.pause();
  const bool look = std::exchange(came_, false);
  bool moved = false;
  for (auto& [number, peer] : peers_) {
    if (look || !peer.outgoing.empty()) moved = move(number, peer) || moved;
  }
  return moved;
}

void StreamTransport::lose(std::uint32_t number) {
  Peer& peer = peers_.at(number);
  if (std::exchange(peer.lost, true)) return;
  const std::string why = fmt::format("rank {} closed the connection", number);
  peer.incoming.fail(why);
  peer.outgoing.fail(why);
  came_ = true;
  streams_->world_.wake(self_);
}

void StreamTransport::flush(Seat peer, Completion& completion) {
  Peer& there = peers_.at(index(peer));
  if (!there.lost) return there.outgoing.flush(completion);
  completion.complete();
}

bool StreamTransport::drain(Deadline deadline) {
  const Nanoseconds until = streams_->world_.now() + deadline;
  const auto all_left = [&] {
    return std::ranges::all_of(
        peers_, [](const auto& one) { return one.second.lost || one.second.outgoing.all_left(); });
  };
  while (!all_left()) {
    if (streams_->world_.now() >= until) return false;
    if (!progress()) streams_->world_.await(1ms);
  }
  return true;
}

void StreamTransport::abort() {
  for (auto& [number, peer] : peers_) peer.lost = true;
}

bool StreamTransport::sleep(std::chrono::milliseconds time) {
  if (!came_) streams_->world_.await(time);
  return true;
}

}  // namespace multitree::runtime::world
