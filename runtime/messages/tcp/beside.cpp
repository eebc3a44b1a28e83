// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Several cables between two hosts: a connection over each, which share messages by their rates.
/// Each of them goes on by another way when its cable falls silent (detour.cpp), by one of the
/// other cables at first, and has no share of messages until it is back.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/messages/tcp/transport_internal.hpp"

namespace multitree::runtime::tcp {
namespace {

/// What a receiver keeps of one peer that nobody awaits, where messages are long; on slow networks
/// they are short, and who waits for room would hold up others.
constexpr std::size_t kCredit = std::size_t{4} << 20;

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
  if (!first.beside.empty()) first.outgoing.share_by(std::move(mbits));
  std::erase(gauged_, first.seat);
  if (!goes_on_ || !any) return;
  gauged_.push_back(first.seat);
  rates_.begin_anew(first.seat);
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

}  // namespace multitree::runtime::tcp
