// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Other ways to ranks behind a link that has fallen silent, and back when it speaks again. Who
/// notices goes to the other's door as at the first contact (first_contact.cpp), says how much has
/// come, and is told how much has come there; both go on behind that.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/job/log_internal.hpp"
#include "runtime/messages/tcp/names_internal.hpp"
#include "runtime/messages/tcp/transport_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

/// Callers wait meanwhile, and there may be several ways: each has a short time at first, and all a
/// longer one after that.
constexpr Dial::Patience kPatience{std::chrono::seconds{1}, std::chrono::milliseconds{100}};

}  // namespace

Hello TcpTransport::hello_of(const Peer& peer, const Entrance& there) const {
  Hello hello = make_hello(self_, peer.seat, there.knock, static_cast<std::uint16_t>(peer.cable),
                           static_cast<std::uint16_t>(1 + peer.first->beside.size()));
  hello.standing = standing_with(peer);
  return hello;
}

Standing TcpTransport::standing_with(const Peer& peer) const {
  return {goes_on_ ? 1U : 0U, std::max(peer.attempt, peer.tried), peer.incoming.came()};
}

/// Whether one who is known already comes by another way. Not by the words of an earlier attempt,
/// which may have been on their way for long.
bool TcpTransport::comes_again(const Peer& peer, const Hello& hello) const {
  return peer.lasts && hello.standing.lasts != 0 && hello.standing.attempt > peer.attempt;
}

void TcpTransport::follow_links() {
  links_known_ = links_.changes();
  std::vector<Peer*> changed;
  for (Peer* const peer : connections_) {
    const bool silent = links_.is_silent(peer->seat, peer->cable);
    if (silent == peer->silent) continue;
    peer->silent = silent;
    // What comes by another way says nothing of the link.
    peer->heard = silent ? nullptr : links_.heard(peer->seat, peer->cable);
    changed.push_back(peer);
  }
  for (Peer* const peer : changed) {
    if (!peer->lost.empty()) continue;
    if (!peer->lasts) {
      peer->stranded = peer->silent && peer->met;  // before, other ways are tried
    } else if (peer->silent != is_elsewhere(*peer) || peer->dial != nullptr || peer->stranded) {
      look_for_ways(*peer);
    }
  }
}

/// What a rate says of a wire is of no use while the wire is silent.
std::vector<ImpairedLink> TcpTransport::impaired_links() {
  if (!goes_on_) return {};
  const auto now = LinkRates::Clock::now();
  if (rates_.is_due(now)) {
    std::map<Seat, Flow> flows;
    for (const Seat seat : gauged_) {
      if (const auto flow = flow_to(seat)) flows.emplace(seat, *flow);
    }
    rates_.look(flows, now);
  }
  std::vector<ImpairedLink> all = rates_.slow();
  for (const Seat peer : links_.all_silent()) {
    const auto at = std::ranges::lower_bound(all, peer, {}, &ImpairedLink::peer);
    if (at == all.end() || at->peer != peer) {
      all.insert(at, {peer, 0});
    } else {
      at->percent = 0;
    }
  }
  return all;
}

/// Whether the connection does not take their wire: the other end may have noticed before.
bool TcpTransport::is_elsewhere(const Peer& peer) const {
  const std::optional<Wire> wire = links_.ways().wire_to(peer.seat, peer.cable);
  const auto there = address_behind(peer.socket);
  return wire && there && !is_at(*wire, *there);
}

/// Nothing more is read from the connection that there is, as the other end hears what has come.
/// It is closed when there is another: what it holds would be lost before.
void TcpTransport::look_for_ways(Peer& peer) {
  if (peer.socket.open()) peer.left_behind = std::move(peer.socket);
  const Entrance there = entrance_of(peer.seat);
  const std::optional<Wire> wire = links_.ways().wire_to(peer.seat, peer.cable);
  std::vector<Route> routes;
  if (!peer.silent && wire) routes = routes_to(there, here_, wire);
  std::vector<Route> around = routes_beside(peer, there);
  const std::vector<Route> farther = routes_around(there, here_, wire);
  around.insert(around.end(), farther.begin(), farther.end());
  routes.insert(routes.end(), around.begin(), around.end());
  routes.insert(routes.end(), around.begin(), around.end());
  const Hello hello = hello_of(peer, there);
  const Pact& pact = pact_with(peer);
  Dial::Patience patience = kPatience;
  patience.silence = way_deadline_;
  count_cables(*peer.first);
  peer.dial = std::make_unique<Dial>(std::move(routes), hello, there.answer, buffers_for(&peer),
                                     patience, pact);
  if (std::ranges::find(dialling_, &peer) == dialling_.end()) dialling_.push_back(&peer);
  go_on(peer);
}

/// The kernel has given the connection up.
void TcpTransport::cut(Peer& peer, const std::string& why) {
  if (!peer.lasts) return lose(peer, why);
  look_for_ways(peer);
}

/// The other end has closed the connection. It may be on its way here by another; if it is not, and
/// the lower of the two does not find it either, it is gone.
void TcpTransport::hang_up(Peer& peer, const std::string& why) {
  if (peer.incoming.refuses()) {
    logger().warn("rank {}: the connection to rank {} is given up: {}", self_, peer.seat, why);
  }
  peer.socket.close();
  peer.hung_up = why;
  if (self_ < peer.seat) return look_for_ways(peer);
  peer.until = Guest::Clock::now() + kPatience.last;
  count_cables(*peer.first);
  hung_up_.push_back(&peer);
}

void TcpTransport::give_up_waiting(Peer& peer, std::chrono::steady_clock::time_point now) {
  if (peer.hung_up.empty() || peer.dial != nullptr || !peer.lost.empty()) return;
  if (now < peer.until) return hung_up_.push_back(&peer);
  lose(peer, peer.hung_up);
}

/// No way leads there. Whoever was met and has not left is behind a dead link, unless the other end
/// finds one.
void TcpTransport::fail(Peer& peer) {
  const std::optional<Wire> wire = links_.ways().wire_to(peer.seat, peer.cable);
  const std::string place = links_.where(peer.seat, peer.cable);
  const std::string why = peer.dial->why() + (place.empty() ? "" : ", " + place);
  if (!peer.met && starts_without(peer)) return;
  if (!peer.met && wire && wire->cable && !goes_on_) {
    return lose(peer, dead_words(*peer.first, peer.dial->why()));
  }
  if (!peer.met || !peer.hung_up.empty()) return lose(peer, peer.met ? peer.hung_up : why);
  logger().warn("rank {}: no other way to rank {}: {}", self_, peer.seat, why);
  peer.dial.reset();
  std::erase(dialling_, &peer);
  peer.stranded = true;
}

void TcpTransport::tell_of_way(const Peer& peer) const {
  const auto there = address_behind(peer.socket);
  const bool one_of_several = peer.cable != 0 || !peer.beside.empty();
  logger().warn("rank {}: going on with rank {} over {}{}", self_, peer.seat,
                there ? words_of(*there) : "what is gone already",
                !is_elsewhere(peer) ? ""
                : one_of_several    ? ", as one of their cables is silent"
                                    : ", as their link is silent");
}

}  // namespace multitree::runtime::tcp
