// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages on connections that are made.
#include "runtime/messages/tcp/transport_internal.hpp"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <utility>

#include "runtime/messages/tcp/names_internal.hpp"
#include "runtime/messages/tcp/tcp_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

using Clock = std::chrono::steady_clock;

/// Longest wait between two looks.
constexpr std::chrono::milliseconds kNap{5};
/// A look at the time costs as much as a round that finds nothing.
constexpr std::uint32_t kRoundsALook = 16;
/// Of what a connection holds when it is closed.
constexpr int kLastReads = 64;

}  // namespace

void TcpTransport::send(Seat seat, std::uint64_t tag, const void* data, std::size_t bytes,
                        Completion& completion) {
  Peer& peer = peer_at(seat);
  if (!peer.lost.empty()) {
    completion.fail(peer.lost);
    return;
  }
  peer.outgoing.send(tag, data, bytes, completion);
  if (peer.linked()) {
    want_all_to_write(peer);
  } else if (peer.dial == nullptr) {
    dial_all(peer);
  }
}

void TcpTransport::receive(Seat seat, std::uint64_t tag, void* data, std::size_t bytes,
                           Completion& completion) {
  Peer& peer = peer_at(seat);
  peer.incoming.receive(tag, data, bytes, completion);
  want_to_write(peer);
}

bool TcpTransport::has_come(Seat seat, std::uint64_t tag) const {
  const auto found = peers_.find(index(seat));
  return found != peers_.end() && found->second->incoming.has(tag);
}

void TcpTransport::want_to_write(Peer& peer) {
  if (peer.outgoing.empty() || peer.blocked || peer.to_write || !peer.linked()) return;
  peer.to_write = true;
  writing_.push_back(&peer);
}

void TcpTransport::want_all_to_write(Peer& first) {
  each_cable(first, [this](Peer& one) { want_to_write(one); });
}

void TcpTransport::want_to_read(Peer& peer) {
  if (peer.to_read) return;
  peer.to_read = true;
  reading_.push_back(&peer);
}

/// What the kernel holds counts until the peer's has said that it has it.
std::vector<Seat> TcpTransport::unsent() const {
  std::vector<Seat> seats;
  for (const Peer* const peer : connections_) {
    if (!peer->linked()) continue;
    int held = 0;
    const bool asked = ::ioctl(peer->socket.fd(), SIOCOUTQ, &held) == 0;
    const bool told = std::ranges::find(seats, peer->seat) != seats.end();
    if (!told && (!peer->outgoing.empty() || (asked && held > 0))) seats.push_back(peer->seat);
  }
  return seats;
}

/// A round either writes or looks what has come. Who has just written and waits sleeps next, which
/// is a look as well; so a message that is answered by one costs three system calls.
bool TcpTransport::progress() {
  if (poller_ == nullptr) return false;
  if (links_.changes() != links_known_) follow_links();
  bool moved = write_all();
  if (!told_.empty()) {
    wrote_ = false;
    on_events(std::exchange(told_, {}));
  } else if (std::exchange(wrote_, moved) || moved) {
    // Nothing is looked for in this round.
  } else {
    on_events(poller_->wait(std::chrono::milliseconds{0}));
  }
  moved |= read_all();
  write_all();  // answers to what was read
  if (!several_.empty() && ++rounds_ % kRoundsALook == 0) refine_shares();
  if (!dialling_.empty() || !guests_.empty() || !hung_up_.empty()) keep_time();
  return moved;
}

bool TcpTransport::write_all() {
  if (writing_.empty()) return false;
  batch_.swap(writing_);
  for (Peer* const peer : batch_) write_to(*peer);
  batch_.clear();
  return true;
}

void TcpTransport::write_to(Peer& peer) {
  peer.to_write = false;
  if (!peer.linked()) return;
  std::string why;
  const Moved moved = peer.outgoing.write(peer.socket.fd(), why);
  peer.blocked = moved == Moved::Blocked;
  if (moved == Moved::Cut) return cut(peer, why);
  if (moved != Moved::Over) return;
  // What the peer has said before it left is still to be read, and why it left shows there.
  std::string last_words;
  Moved last = Moved::Some;
  while (last == Moved::Some || last == Moved::More) {
    last = peer.incoming.read(peer.socket.fd(), last_words);
  }
  over(peer, last_words.empty() ? why : last_words);
}

bool TcpTransport::read_all() {
  if (reading_.empty()) return false;
  std::vector<Peer*> ready = std::exchange(reading_, {});
  for (Peer* const peer : ready) {
    peer->to_read = false;
    read_from(*peer);
  }
  return true;
}

void TcpTransport::read_from(Peer& peer) {
  if (!peer.linked()) return;
  std::string why;
  const Moved moved = peer.incoming.read(peer.socket.fd(), why);
  if (moved == Moved::Cut) return cut(peer, why);
  if (moved == Moved::Over) return over(peer, why);
  if (moved == Moved::Nothing) return;
  if (peer.heard != nullptr) peer.heard->store(true, std::memory_order_relaxed);
  if (moved == Moved::More) want_to_read(peer);
  want_all_to_write(*peer.first);
  for (const std::unique_ptr<Peer>& one : peer.beside) {
    if (one->incoming.can_go_on()) want_to_read(*one);
  }
}

void TcpTransport::on_events(std::span<const epoll_event> events) {
  for (const epoll_event& event : events) on_event(event.data.u64, event.events);
}

void TcpTransport::on_event(std::uint64_t name, std::uint32_t what) {
  if (name == kDoor) return take_guests();
  if (name >= kFirstGuest) return hear(name);
  const auto found = peers_.find(index(seat_in(name)));
  if (found == peers_.end()) return;
  const std::uint32_t cable = cable_in(name);
  Peer& peer = cable == 0 ? *found->second : *found->second->beside.at(cable - 1);
  if (!peer.linked()) return go_on(peer);
  if ((what & EPOLLOUT) != 0 && std::exchange(peer.blocked, false)) want_to_write(peer);
  if ((what & ~std::uint32_t{EPOLLOUT}) != 0) want_to_read(peer);
}

/// The connection is.
void TcpTransport::over(Peer& peer, const std::string& why) {
  if (peer.lasts) return hang_up(peer, why);
  lose(peer, why);
}

/// With all cables: what comes over one is of no use without the others.
void TcpTransport::lose(Peer& peer, const std::string& why) {
  each_cable(*peer.first, [&](Peer& one) {
    one.lost = fmt::format("connection to rank {} failed ({})", one.seat, why);
    one.socket.close();
    one.left_behind.close();
    one.dial.reset();
    one.outgoing.fail(one.lost);
    one.incoming.fail(one.lost);
  });
}

void TcpTransport::flush(Seat seat, Completion& completion) {
  const auto found = peers_.find(index(seat));
  if (found == peers_.end()) return completion.complete();
  found->second->outgoing.flush(completion);
}

/// What a dead link holds back will not leave, and the others are told of it later.
bool TcpTransport::drain(Deadline deadline) {
  const auto until = Clock::now() + deadline;
  const auto left = [](const auto& entry) { return entry.second->outgoing.all_left(); };
  while (!std::ranges::all_of(peers_, left) && !silent_links()) {
    if (Clock::now() >= until) return false;
    if (!progress()) sleep(kNap);
  }
  return true;
}

bool TcpTransport::anything_known() const {
  return !told_.empty() || !writing_.empty() || !reading_.empty();
}

bool TcpTransport::sleep(std::chrono::milliseconds time) {
  if (poller_ == nullptr) return false;
  if (anything_known()) return true;
  wrote_ = false;
  told_ = poller_->wait(time);
  if (!told_.empty()) return true;
  // Nothing for so long: should one of them have room again and not have said so.
  for (Peer* const peer : connections_) {
    if (std::exchange(peer->blocked, false)) want_to_write(*peer);
  }
  return true;
}

Transport::Arrivals TcpTransport::await_arrivals(std::vector<int>& descriptors) {
  if (poller_ == nullptr) return Arrivals::Unknown;
  if (anything_known()) return Arrivals::Here;
  descriptors.push_back(poller_->fd());
  return Arrivals::Awaited;
}

std::optional<SilentLinks> TcpTransport::silent_links() const {
  if (poller_ == nullptr) return std::nullopt;
  if (!goes_on_) return links_.silent();
  for (const Peer* const peer : connections_) {
    if (peer->stranded) return links_.unreachable(peer->seat);
  }
  return std::nullopt;
}

TransportLimits TcpTransport::limits() const {
  return links_.ways().slow_network ? slow_network_limits(links_.ways(), true) : TransportLimits{};
}

std::string TcpTransport::describe() const {
  const auto wires =
      std::ranges::count_if(links_.ways().wires, [](const auto& wire) { return wire.has_value(); });
  const std::string own =
      wires == 0 ? "" : fmt::format(", {} neighbours on wires of their own", wires);
  const std::uint32_t cables = links_.ways().most_cables;
  const std::string several =
      cables == 1 ? "" : fmt::format(", up to {} cables between two hosts", cables);
  return fmt::format("TCP{}{}{}", own, several, keys_ ? ", encrypted" : "");
}

/// No completion is touched. What the peers have sent and nobody has read would make the kernel
/// throw away what they have not received yet.
void TcpTransport::close() {
  links_.stop();
  for (const Peer* const peer : connections_) {
    if (!peer->linked()) continue;
    std::array<std::byte, 65536> rest;
    ::shutdown(peer->socket.fd(), SHUT_WR);
    for (int i = 0; i < kLastReads; ++i) {
      if (::recv(peer->socket.fd(), rest.data(), rest.size(), MSG_DONTWAIT) <= 0) break;
    }
  }
  connections_.clear();
  several_.clear();
  peers_.clear();
  guests_.clear();
  writing_.clear();
  reading_.clear();
  dialling_.clear();
  hung_up_.clear();
  told_ = {};
  door_.close();
  poller_.reset();
}

}  // namespace multitree::runtime::tcp

namespace multitree::runtime {

std::unique_ptr<Transport> make_tcp(Bootstrap& bootstrap, const TransportOptions& options) {
  return std::make_unique<tcp::TcpTransport>(bootstrap, options);
}

}  // namespace multitree::runtime
