// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the ranks of a job come to be connected over UCX.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/ucx/transport_internal.hpp"
#include "runtime/messages/ucx/ucx_internal.hpp"

namespace multitree::runtime {
namespace {

/// Of the first contact; no collective uses its last message number.
constexpr std::uint64_t kHelloTag = (std::uint64_t{1} << kTagBits) - 1;
/// Name of the address at which a rank is met by those who are no neighbours of it.
constexpr const char* kForAll = "*";

std::string name_of(const std::optional<Wire>& wire) {
  return wire ? fmt::format("{}/{}", wire->subnet.address, wire->subnet.prefix) : std::string();
}

bool has_rdma() {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", error);
  return !error && devices != std::filesystem::directory_iterator();
}

/// UCX_TLS unset, or with TCP in it.
bool allows_tcp() {
  const char* text = std::getenv("UCX_TLS");
  if (text == nullptr) return true;
  const std::string_view wanted = text;
  const bool listed = wanted.find("tcp") != wanted.npos || wanted.find("all") != wanted.npos;
  return wanted.starts_with('^') ? !listed : listed;
}

/// Whether interfaces may be chosen for UCX here.
bool leaves_choice() {
  return std::getenv("UCX_NET_DEVICES") == nullptr && allows_tcp() && !has_rdma();
}

/// The address for `wire`. \throws Error(Transport) if the rank has opened none for it
std::string address_for(const std::string& packed, const std::string& wire, Seat peer) {
  if (auto address = find_address(packed, wire)) return *address;
  throw Error(ErrorCode::Transport, fmt::format("rank {} has no connection for the network {}",
                                                peer, wire.empty() ? "that UCX chooses" : wire));
}

}  // namespace

bool ucx_is_tcp() { return std::getenv("UCX_TLS") == nullptr && leaves_choice(); }

Ucx::Ucx(Bootstrap& bootstrap, const TransportOptions& options)
    : self_(bootstrap.seat()), links_(bootstrap.seat()) {
  if (bootstrap.size() > kMaxRanks) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} ranks; message tags tell {} apart", bootstrap.size(), kMaxRanks));
  }
  try {
    std::vector<Host> hosts;
    const std::string here = pack(describe_host(leaves_choice()));
    for (const auto& text : bootstrap.all_gather(here, options.deadline)) {
      hosts.push_back(unpack_host(text));
    }
    links_.set_ways(choose_ways(hosts, self_));
    ucx_->by_seat.resize(bootstrap.size());
    for (const Host& host : hosts) {
      ucx_->by_memory.push_back(host.id == hosts[index(self_)].id && !has_rdma());
    }
    for (const Seat peer : options.peers) ucx_->add_peer(peer);
    open_rails(hosts[index(self_)]);
    Addresses mine;
    if (options.link_deadline.count() > 0) {
      links_.open(hosts, options.peers, options.link_deadline, mine);
    }
    connect_all(bootstrap, std::move(mine), options.deadline);
    greet(bootstrap, options.deadline);
  } catch (...) {
    close(false);
    throw;
  }
}

/// A rail for each wire that leads to a peer, and one for the peers that no wire leads to. Whoever
/// is met later takes that, or where there is none the first: an interface reaches more hosts than
/// the one at the other end of its wire.
void Ucx::open_rails(const Host& own) {
  const auto mbits_of = [&](const std::optional<Wire>& wire) {
    std::uint32_t mbits = 0;
    for (const Interface& one : own.interfaces) {
      if (!wire || one.name == wire->device) mbits = std::max(mbits, one.mbits);
    }
    return mbits;
  };
  const std::size_t senders = links_.ways().one_port ? ucx_->peers.size() : 1;
  const auto open = [&](const std::optional<Wire>& wire) {
    Rail& rail = ucx_->rails.emplace_back();
    // Shared memory must be polled: waking up through it costs ten times its latency.
    open_rail(rail, {.device = wire ? wire->device : std::string(),
                     .slow = links_.ways().slow_network,
                     .send_buffer = send_buffer_bytes(mbits_of(wire)),
                     .receive_buffer = receive_buffer_bytes(mbits_of(wire), senders),
                     .wakeup = wire || links_.ways().slow_network});
    return &rail;
  };
  std::map<std::string, Rail*> by_wire;
  for (Peer& peer : ucx_->peers) {
    const std::optional<Wire>& wire = links_.ways().wire_to(peer.seat);
    Rail*& rail = by_wire[name_of(wire)];
    if (rail == nullptr) rail = open(wire);
    peer.rail = rail;
  }
  rail_for_all_ = by_wire[name_of(std::nullopt)];
  if (rail_for_all_ == nullptr) {
    rail_for_all_ = ucx_->rails.empty() ? open(std::nullopt) : &ucx_->rails.front();
  }
}

void Ucx::connect_all(Bootstrap& bootstrap, Addresses mine, Deadline deadline) {
  for (const Peer& peer : ucx_->peers) {
    std::string& address = mine[name_of(links_.ways().wire_to(peer.seat))];
    if (address.empty()) address = address_of(*peer.rail);
  }
  mine.emplace(kForAll, address_of(*rail_for_all_));
  std::vector<Seat> neighbours;
  for (const Peer& peer : ucx_->peers) neighbours.push_back(peer.seat);
  book_ = bootstrap.open_book(pack(mine), neighbours, deadline);
  links_.answer(*book_, neighbours);
  for (Peer& peer : ucx_->peers) {
    peer.heard = links_.heard(peer.seat);
    const std::string address =
        address_for(book_->of(peer.seat), name_of(links_.ways().wire_to(peer.seat)), peer.seat);
    try {
      connect(peer, address);
    } catch (const Error&) {
      if (!links_.watches_hosts() || await_failure(bootstrap)) throw;
      links_.link_is_dead(bootstrap, links_.unreachable(peer.seat));
    }
  }
  links_.start();
}

std::string Ucx::address_of_stranger(Seat seat) {
  return find_address(book_->of(seat), kForAll).value_or(std::string());
}

/// A small message each way before any large one: connections are then complete, which UCX needs
/// (large messages sent while they are being made have been seen to hang), and a peer that cannot
/// be reached is known now and by name.
void Ucx::greet(Bootstrap& bootstrap, Deadline deadline) {
  std::vector<std::uint64_t> heard(ucx_->peers.size());
  std::vector<Completion> sent(ucx_->peers.size()), received(ucx_->peers.size());
  const std::uint64_t word = index(self_);
  for (std::size_t i = 0; i < ucx_->peers.size(); ++i) {
    receive(ucx_->peers[i].seat, kHelloTag, &heard[i], sizeof word, received[i]);
    send(ucx_->peers[i].seat, kHelloTag, &word, sizeof word, sent[i]);
  }
  std::vector<Seat> seats;
  for (const Peer& peer : ucx_->peers) seats.push_back(peer.seat);
  const auto look = [&](std::size_t i) {
    Contact contact;
    for (const Completion* completion : {&sent[i], &received[i]}) {
      if (completion->state == Completion::State::Failed) contact.failure = completion->error;
    }
    const bool heard_from = received[i].state == Completion::State::Done;
    contact.over = heard_from && sent[i].state == Completion::State::Done;
    if (heard_from) contact.missing = "to";
    return contact;
  };
  await_contacts(bootstrap, *this, links_, seats, look, "UCX", deadline);
  drain(deadline);
}

}  // namespace multitree::runtime
