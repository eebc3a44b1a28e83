// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the ranks of a job come to be connected over TCP. Both ends of a pair may set out at the
/// same time: then the way of the lower rank is taken, if it has reached the other's door. It lets
/// nobody in to whom it has said who it is, and the other gives up its own way when it opens.
/// Nothing was sent on that, so nothing is lost.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/job/log_internal.hpp"
#include "runtime/messages/encryption_internal.hpp"
#include "runtime/messages/network/cables.hpp"
#include "runtime/messages/tcp/names_internal.hpp"
#include "runtime/messages/tcp/transport_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

/// Name of the entrance in the address book.
constexpr const char* kEntrance = "tcp";
/// Who has come and says nothing leaves after this, or when so many have come.
constexpr std::chrono::seconds kGuestPatience{10};
constexpr std::size_t kMostGuests = 256;
/// Until another way is tried for a first contact: a lost packet or two are no reason.
constexpr std::chrono::milliseconds kWirePatience{3500};
/// Longest silence of a way around a link, where links are not watched.
constexpr Deadline kWayDeadline{5'000};

}  // namespace

TcpTransport::TcpTransport(Bootstrap& bootstrap, const TransportOptions& options)
    : self_(bootstrap.seat()),
      ranks_(bootstrap.size()),
      deadline_(options.deadline),
      goes_on_(options.on_link_failure != OnLinkFailure::Stop),
      way_deadline_(options.link_deadline.count() > 0 ? options.link_deadline : kWayDeadline),
      links_(bootstrap.seat()),
      here_(describe_host_with_cables()) {
  const std::vector<Host> hosts = gather(bootstrap, options);
  if (use_cables(hosts)) warn_of_other_order(self_, ranks_);
  const auto is_beside = [&](const Host& h) { return h.id != here_.id; };
  const auto has_same_file = [&](const Host& h) { return h.cluster == here_.cluster; };
  if (std::ranges::any_of(hosts, is_beside) && std::ranges::all_of(hosts, has_same_file)) {
    warn_of_ports_without_address();
  }
  links_.set_ways(choose_ways(hosts, self_));
  open(hosts, options.peers);
  Entrance entrance{here_, ipv6_addresses(), port_at(door_), knock_, answer_};
  if (keys_) entrance.key = keys_->told();
  Addresses mine{{kEntrance, pack(entrance)}};
  if (options.link_deadline.count() > 0) {
    links_.open(hosts, options.peers, options.link_deadline, mine);
    if (goes_on_) links_.follow();
  }
  book_ = bootstrap.open_book(runtime::pack(mine), options.peers, options.deadline);
  links_.answer(*book_, options.peers);
  meet_all(bootstrap, options);
}

/// The hosts of all, who also agree whether what they tell each other is sealed.
std::vector<Host> TcpTransport::gather(Bootstrap& bootstrap, const TransportOptions& options) {
  Writer own;
  own.text(runtime::pack(here_)).text(runtime::pack(encryption_here(bootstrap, options.encrypt)));
  std::vector<Host> hosts;
  std::vector<std::string> wishes;
  for (const auto& text : bootstrap.all_gather(own.bytes(), options.deadline)) {
    Reader reader(text);
    hosts.push_back(unpack_host(reader.text().value_or("")));
    wishes.push_back(reader.text().value_or(""));
  }
  if (agreed_encryption(wishes)) keys_.emplace();
  if (keys_ && self_ == Seat{0}) logger().info("messages between processes are encrypted");
  return hosts;
}

void TcpTransport::open(const std::vector<Host>& hosts, std::span<const Seat> peers) {
  const bool alone = std::ranges::all_of(hosts, [&](const Host& h) { return h.id == here_.id; });
  neighbours_ = peers.size();
  door_ = open_entrance(alone, buffers_for(nullptr).receive);
  poller_->add(door_.fd(), kDoor);
}

/// Of a slow network; elsewhere the kernel knows better.
Dial::Buffers TcpTransport::buffers_for(const Peer* peer) const {
  const Ways& ways = links_.ways();
  if (!ways.slow_network) return {};
  const auto wire = peer != nullptr ? ways.wire_to(peer->seat, peer->cable) : std::nullopt;
  std::uint32_t mbits = 0;
  if (wire && wire->cable) mbits = here_.port_of(*wire->cable)->mbits;
  for (const Interface& one : here_.interfaces) {
    if (wire && wire->cable) break;
    if (!wire || one.name == wire->device) mbits = std::max(mbits, one.mbits);
  }
  return {send_buffer_bytes(mbits), receive_buffer_bytes(mbits, ways.one_port ? neighbours_ : 1)};
}

/// The neighbours, while everybody is here anyway. Of two the lower calls.
void TcpTransport::meet_all(Bootstrap& bootstrap, const TransportOptions& options) {
  for (const Seat seat : options.peers) {
    Peer& peer = peer_at(seat);
    each_cable(peer, [&](Peer& one) { one.heard = links_.heard(seat, one.cable); });
    if (self_ < seat) dial_all(peer);
  }
  links_.start();
  const auto look = [&](std::size_t i) {
    const Peer& peer = peer_at(options.peers[i]);
    const bool met = peer.met && std::ranges::all_of(peer.beside, &Peer::met);
    return Contact{.over = met, .failure = met ? std::string() : peer.lost};
  };
  await_contacts(bootstrap, *this, links_, options.peers, look, "TCP", options.deadline);
}

Entrance TcpTransport::entrance_of(Seat seat) const {
  return unpack_entrance(find_address(book_->of(seat), kEntrance).value_or(std::string()));
}

void TcpTransport::dial(Peer& peer) {
  const Entrance there = entrance_of(peer.seat);
  const Hello hello = hello_of(peer, there);
  const Pact& pact = pact_with(peer);
  const std::optional<Wire> wire = links_.ways().wire_to(peer.seat, peer.cable);
  std::vector<Route> routes = routes_to(there, here_, wire);
  Dial::Patience patience{deadline_};
  if (wire && wire->cable && !goes_on_) {
    patience.last = std::min({deadline_, way_deadline_, Deadline(kWirePatience)});
  }
  if (goes_on_ && wire) {  // which may be cut already
    for (const auto& more : {routes_beside(peer, there), routes_around(there, here_, wire)}) {
      routes.insert(routes.end(), more.begin(), more.end());
    }
    patience.others = kWirePatience;
    patience.silence = way_deadline_;
  }
  peer.dial = std::make_unique<Dial>(std::move(routes), hello, there.answer, buffers_for(&peer),
                                     patience, pact);
  dialling_.push_back(&peer);
  go_on(peer);
}

void TcpTransport::go_on(Peer& peer) {
  while (peer.dial != nullptr) {
    const Dial::Step step = peer.dial->go_on();
    peer.tried = peer.dial->attempt();
    switch (step) {
      case Dial::Step::Waiting:
        return;
      case Dial::Step::Moved:
        poller_->add(peer.dial->fd(), name_of(peer.seat, peer.cable));
        break;
      case Dial::Step::Met:
        link(peer, peer.dial->take(), Standing(peer.dial->standing()), peer.dial->sealing());
        return;
      case Dial::Step::Failed:
        fail(peer);
        return;
    }
  }
}

/// With a rank that is known by its entrance. \throws Error(Transport) if that has no key
const Pact& TcpTransport::pact_with(Peer& peer) const {
  if (peer.pact) return *peer.pact;
  if (!keys_) return peer.pact.emplace();
  const std::optional<PublicKey> there = entrance_of(peer.seat).key;
  const std::optional<Key> shared = there ? keys_->shared_with(*there) : std::nullopt;
  if (shared) return peer.pact.emplace(*shared);
  throw Error(ErrorCode::Transport,
              fmt::format("rank {}: rank {} has told no key to encrypt with", self_, peer.seat));
}

/// The socket is known to the poller by the peer's name. `there`: what the other end says.
void TcpTransport::link(Peer& peer, Socket socket, const Standing& there, Sealing sealing) {
  const bool again = std::exchange(peer.met, true);
  peer.left_behind.close();
  peer.socket = std::move(socket);
  peer.blocked = false;
  peer.stranded = false;
  peer.hung_up.clear();
  peer.attempt = std::max(peer.tried, there.attempt);
  peer.dial.reset();
  std::erase(dialling_, &peer);
  peer.outgoing.seal_with(std::move(sealing.writes));
  peer.incoming.open_with(std::move(sealing.reads));
  if (!again && goes_on_ && there.lasts != 0) {
    peer.lasts = true;
    peer.outgoing.outlast_connections();
  }
  if (again && !peer.outgoing.go_on_behind(there.came)) {
    return lose(peer, "it has had what was never sent");
  }
  const bool elsewhere = is_elsewhere(peer) && (goes_on_ || !peer.first->beside.empty());
  count_cables(*peer.first);
  if (!again && elsewhere) peer.heard = nullptr;  // what comes that way says nothing of the link
  if (elsewhere && !goes_on_) {
    leave_out(peer);
  } else if (again || elsewhere) {
    tell_of_way(peer);
  }
  dial_dead(*peer.first);
  // No heartbeats tell of another way, nor of the way to a rank that is no neighbour: it may lead
  // over links that are cut as well.
  const bool watched = !again && !elsewhere && links_.heard(peer.seat, peer.cable) != nullptr;
  if (peer.lasts) give_up_after(peer.socket, watched ? Deadline{0} : way_deadline_);
  // What came with the answer is told no more.
  want_to_read(peer);
  want_to_write(peer);
}

void TcpTransport::take_guests() {
  while (true) {
    Socket socket(::accept4(door_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.open()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (guests_.size() == kMostGuests) guests_.erase(guests_.begin());
    const std::uint64_t name = kFirstGuest + next_guest_++;
    poller_->add(socket.fd(), name);
    guests_.emplace(name, Guest(std::move(socket)));
    hear(name);
  }
}

void TcpTransport::hear(std::uint64_t name) {
  const auto found = guests_.find(name);
  if (found == guests_.end()) return;
  const Guest::Step step = found->second.go_on(self_, knock_, ranks_);
  if (step == Guest::Step::Waiting) return;
  Guest guest = std::move(found->second);
  guests_.erase(found);
  if (step == Guest::Step::Stranger) return;
  Peer& first = peer_at(guest.from());
  const Pact& pact = pact_with(first);
  if (!pact.knows(guest.hello())) return;
  Peer* const found_peer = connection_for(first, guest.hello());
  if (found_peer == nullptr) return;
  Peer& peer = *found_peer;
  const bool ours_is_taken = peer.dial != nullptr && peer.dial->has_spoken() && self_ < peer.seat;
  if ((peer.met && !comes_again(peer, guest.hello())) || !peer.lost.empty() || ours_is_taken) {
    return;
  }
  const Dial::Buffers buffers = buffers_for(&peer);
  Socket socket = guest.take();
  prepare(socket, buffers.send, buffers.receive);
  Welcome words{answer_, standing_with(peer)};
  words.standing.attempt = std::max(peer.tried, guest.hello().standing.attempt);
  pact.sign(guest.hello(), words);
  if (!welcome(socket, words)) return;  // it comes again
  poller_->rename(socket.fd(), name_of(peer.seat, peer.cable));
  link(peer, std::move(socket), guest.hello().standing,
       pact.sealing(Pact::Side::Opener, guest.hello(), words));
}

/// What no event tells: ways that nobody answers on, and guests who say nothing.
void TcpTransport::keep_time() {
  const std::vector<Peer*> dialling = dialling_;
  for (Peer* const peer : dialling) go_on(*peer);
  std::erase_if(dialling_, [](const Peer* peer) { return peer->dial == nullptr; });
  const auto now = Guest::Clock::now();
  for (Peer* const peer : std::exchange(hung_up_, {})) give_up_waiting(*peer, now);
  std::erase_if(guests_,
                [&](const auto& entry) { return now - entry.second.came() > kGuestPatience; });
}

}  // namespace multitree::runtime::tcp
