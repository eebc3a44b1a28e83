// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Several cables between two hosts: a connection over each, which share messages by their rates.
/// Each of them goes on by another way when its cable falls silent (detour.cpp), by one of the
/// other cables at first, and has no share of messages until it is back. Where links that fall
/// silent end calls, a cable that is dead from the beginning does not: its connection is made over
/// another, which tells the other end as well, and it has no share.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/job/log_internal.hpp"
#include "runtime/messages/tcp/names_internal.hpp"
#include "runtime/messages/tcp/transport_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

/// What a receiver keeps of one peer that nobody awaits, where messages are long; on slow networks
/// they are short, and who waits for room would hold up others.
constexpr std::size_t kCredit = std::size_t{4} << 20;
/// Until a cable that carries another connection has carried one more.
constexpr std::chrono::seconds kOverAnother{1};
/// A cable that brings less of its rate is told of.
constexpr double kSlow = 0.7;

}  // namespace

Peer& TcpTransport::peer_at(Seat seat) {
  std::unique_ptr<Peer>& peer = peers_[index(seat)];
  if (peer != nullptr) return *peer;
  const bool slow = links_.ways().slow_network;
  peer = std::make_unique<Peer>(seat, slow ? Outgoing::kUnlimited : kCredit);
  for (std::uint32_t cable = 1; cable < links_.ways().cables_to(seat); ++cable) {
    peer->beside.push_back(std::make_unique<Peer>(*peer, cable));
  }
  each_cable(*peer, [this](Peer& one) { connections_.push_back(&one); });
  if (!peer->beside.empty()) several_.push_back(peer.get());
  return *peer;
}

/// That which a guest comes for. Null: the peer is lost, as it counts other cables than this rank.
Peer* TcpTransport::connection_for(Peer& first, const Hello& hello) {
  const std::size_t cables = 1 + first.beside.size();
  if (hello.cables == cables && hello.cable < cables) {
    return hello.cable == 0 ? &first : first.beside[hello.cable - 1].get();
  }
  lose(first,
       fmt::format("it comes over cable {} of {}, where this rank counts {} by the cluster's "
                   "file: expected the same file and version of multitree at both",
                   hello.cable + 1, hello.cables, cables));
  return nullptr;
}

void TcpTransport::dial_all(Peer& first) {
  each_cable(first, [this](Peer& one) {
    if (!one.linked() && one.dial == nullptr && (one.cable == 0 || !one.met)) dial(one);
  });
}

/// After one was connected or cut. Messages from here on are for the cables that are connected, and
/// carry what goes over them; how fast the link is shows anew.
void TcpTransport::count_cables(Peer& first) {
  std::vector<std::uint32_t> mbits;
  each_cable(first, [&](const Peer& one) {
    const std::optional<Wire> wire = links_.ways().wire_to(one.seat, one.cable);
    const CablePort* const port = wire && wire->cable ? here_.port_of(*wire->cable) : nullptr;
    const bool carries = wire && one.linked() && !is_elsewhere(one);
    mbits.push_back(!carries ? 0 : std::max(port == nullptr ? 0 : port->mbits, 1U));
  });
  const bool any = std::ranges::any_of(mbits, [](std::uint32_t rate) { return rate != 0; });
  if (!first.beside.empty()) {
    first.rates.declare(mbits);
    first.outgoing.share_by(first.rates.mbits());
  }
  std::erase(gauged_, first.seat);
  if (!goes_on_ || !any) return;
  gauged_.push_back(first.seat);
  rates_.begin_anew(first.seat);
}

/// Messages are divided by what cables bring now.
void TcpTransport::refine_shares() {
  const auto now = CableRates::Clock::now();
  for (Peer* const first : several_) {
    if (!first->rates.is_due(now)) continue;
    std::vector<std::optional<Flow>> flows;
    each_cable(*first, [&](const Peer& one) {
      const bool carries = one.linked() && !is_elsewhere(one);
      flows.push_back(carries ? std::optional(flow_of(one.socket)) : std::nullopt);
    });
    if (!first->rates.look(flows, now)) continue;
    first->outgoing.share_by(first->rates.mbits());
    tell_of_slow(*first);
  }
}

/// And of those that are no more.
void TcpTransport::tell_of_slow(Peer& first) {
  each_cable(first, [this, &first](Peer& one) {
    const double left = first.rates.left(one.cable);
    const bool slow = one.slow ? left < 1 : left < kSlow;
    if (slow == std::exchange(one.slow, slow)) return;
    logger().warn("rank {}: {} brings {:.0f} % of its rate beside the others to rank {}: {}", self_,
                  links_.where(one.seat, one.cable), 100 * left, one.seat,
                  slow ? "it carries less of the messages" : "it has its share again");
  });
}

/// Over all cables together, which are busy at the same time; none if there is none.
std::optional<Flow> TcpTransport::flow_to(Seat seat) {
  std::optional<Flow> sum;
  each_cable(peer_at(seat), [&](const Peer& one) {
    if (!one.linked() || is_elsewhere(one)) return;
    if (!sum) sum.emplace();
    const Flow flow = flow_of(one.socket);
    sum->bytes += flow.bytes;
    sum->busy = std::max(sum->busy, flow.busy);
    sum->held = std::max(sum->held, flow.held);
  });
  return sum;
}

/// Over the other cables, as far as they are not silent.
std::vector<Route> TcpTransport::routes_beside(const Peer& peer, const Entrance& there) const {
  std::vector<Route> routes;
  for (std::uint32_t cable = 0; cable < links_.ways().cables_to(peer.seat); ++cable) {
    if (cable == peer.cable || links_.is_silent(peer.seat, cable)) continue;
    for (const Route& one : routes_to(there, here_, links_.ways().wire_to(peer.seat, cable))) {
      routes.push_back(one);
    }
  }
  return routes;
}

/// Nobody answers over its cable. Whether another carries its connection, or may yet: those that
/// are being tried say.
bool TcpTransport::starts_without(Peer& peer) {
  if (goes_on_ || peer.dead || peer.first->beside.empty()) return false;
  peer.dead = true;
  bool may = false;
  each_cable(*peer.first, [&](const Peer& one) {
    may |= !one.dead && (one.dial != nullptr || (one.linked() && !is_elsewhere(one)));
  });
  if (!may) return false;
  peer.dial.reset();
  std::erase(dialling_, &peer);
  dial_dead(*peer.first);
  return true;
}

/// No job begins without a link: what ends it names all cables, and what to do. `why`: of the last.
std::string TcpTransport::dead_words(Peer& first, const std::string& why) const {
  std::vector<std::string> cables;
  each_cable(first, [&](const Peer& one) { cables.push_back(links_.where(one.seat, one.cable)); });
  return fmt::format(
      "nothing passes over {}: {}; plug {} in, let messages go another way by --on-failure "
      "continue "
      "(MULTITREE_ON_LINK_FAILURE=continue), or write the network without by 'multitree cluster "
      "discover --install'",
      fmt::join(cables, ", nor over "), why, cables.size() == 1 ? "it" : "one");
}

/// Those that wait for one of the others to be connected, if one is.
void TcpTransport::dial_dead(Peer& first) {
  const Peer* living = nullptr;
  each_cable(first, [&](const Peer& one) {
    if (living == nullptr && one.linked() && !is_elsewhere(one)) living = &one;
  });
  if (living == nullptr) return;
  each_cable(first, [&](Peer& one) {
    if (one.dead && !one.met && one.dial == nullptr) dial_over(one, *living);
  });
}

void TcpTransport::dial_over(Peer& peer, const Peer& living) {
  const Entrance there = entrance_of(peer.seat);
  std::vector<Route> routes =
      routes_to(there, here_, links_.ways().wire_to(living.seat, living.cable));
  peer.dial =
      std::make_unique<Dial>(std::move(routes), hello_of(peer, there), there.answer,
                             buffers_for(&living), Dial::Patience{kOverAnother}, pact_with(peer));
  dialling_.push_back(&peer);
  go_on(peer);
}

/// Its cable, from here on.
void TcpTransport::leave_out(const Peer& peer) {
  links_.leave_out(peer.seat, peer.cable);
  if (peer.seat < self_) return;  // the other end says so
  logger().warn("rank {}: nothing passes over {}: messages to rank {} go over their other cables",
                self_, links_.where(peer.seat, peer.cable), peer.seat);
}

}  // namespace multitree::runtime::tcp
