// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the ranks of a job come to be connected over UCX.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <set>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/ucx/transport_internal.hpp"

namespace multitree::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Of the first contact; no collective uses its last message number.
constexpr std::uint64_t kHelloTag = (std::uint64_t{1} << kTagBits) - 1;
/// Name of the address at which a rank is met by those who are no neighbours of it.
constexpr const char* kForAll = "*";
/// Of the first contact: so many polls with something to do, and then a look at who has died.
constexpr std::uint32_t kBusyPolls = 16;

std::string name_of(const std::optional<Wire>& wire) {
  return wire ? fmt::format("{}/{}", wire->subnet.address, wire->subnet.prefix) : std::string();
}

std::string pack(const std::map<std::string, std::string>& addresses) {
  Writer writer;
  for (const auto& [wire, address] : addresses) writer.text(wire).text(address);
  return writer.bytes();
}

/// Where the heartbeats of the link to `peer` are heard.
std::string heartbeat_name(Seat peer) { return fmt::format("heartbeat {}", peer); }

std::optional<std::string> find_address(const std::string& packed, const std::string& wanted) {
  Reader reader(packed);
  while (const auto name = reader.text()) {
    auto address = reader.text();
    if (*name == wanted && address) return address;
  }
  return std::nullopt;
}

/// The address for `wire`. \throws Error(Transport) if the rank has opened none for it
std::string address_for(const std::string& packed, const std::string& wire, Seat peer) {
  if (auto address = find_address(packed, wire)) return *address;
  throw Error(ErrorCode::Transport, fmt::format("rank {} has no connection for the network {}",
                                                peer, wire.empty() ? "that UCX chooses" : wire));
}

}  // namespace

Ucx::Ucx(Bootstrap& bootstrap, const TransportOptions& options) : self_(bootstrap.seat()) {
  if (bootstrap.size() > kMaxRanks) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} ranks; message tags tell {} apart", bootstrap.size(), kMaxRanks));
  }
  try {
    std::vector<Host> hosts;
    for (const auto& text : bootstrap.all_gather(pack(describe_host()), options.deadline)) {
      hosts.push_back(unpack_host(text));
    }
    ways_ = choose_ways(hosts, self_);
    ucx_->by_seat.resize(bootstrap.size());
    for (const Seat peer : options.peers) ucx_->add_peer(peer);
    open_rails(hosts[index(self_)]);
    Addresses mine;
    if (options.link_deadline.count() > 0) watch_links(hosts, options.link_deadline, mine);
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
  const std::size_t senders = ways_.one_port ? ucx_->peers.size() : 1;
  const auto open = [&](const std::optional<Wire>& wire) {
    Rail& rail = ucx_->rails.emplace_back();
    // Shared memory must be polled: waking up through it costs ten times its latency.
    open_rail(rail, {.device = wire ? wire->device : std::string(),
                     .slow = ways_.slow_network,
                     .send_buffer = send_buffer_bytes(mbits_of(wire)),
                     .receive_buffer = receive_buffer_bytes(mbits_of(wire), senders),
                     .wakeup = wire || ways_.slow_network});
    return &rail;
  };
  std::map<std::string, Rail*> by_wire;
  for (Peer& peer : ucx_->peers) {
    const std::optional<Wire>& wire = ways_.wire_to(peer.seat);
    Rail*& rail = by_wire[name_of(wire)];
    if (rail == nullptr) rail = open(wire);
    peer.rail = rail;
  }
  rail_for_all_ = by_wire[name_of(std::nullopt)];
  if (rail_for_all_ == nullptr) {
    rail_for_all_ = ucx_->rails.empty() ? open(std::nullopt) : &ucx_->rails.front();
  }
}

/// Opens this rank's end of each link; `mine` is where the others learn of it.
void Ucx::watch_links(const std::vector<Host>& hosts, Deadline deadline, Addresses& mine) {
  heartbeats_ = std::make_unique<Heartbeats>(deadline);
  for (const Peer& peer : ucx_->peers) {
    const auto ip = address_towards(hosts, ways_, self_, peer.seat);
    const auto here = ip ? heartbeats_->open(peer.seat, *ip) : std::nullopt;
    if (here) mine.emplace(heartbeat_name(peer.seat), pack(*here));
  }
}

void Ucx::connect_all(Bootstrap& bootstrap, Addresses mine, Deadline deadline) {
  for (const Peer& peer : ucx_->peers) {
    std::string& address = mine[name_of(ways_.wire_to(peer.seat))];
    if (address.empty()) address = address_of(*peer.rail);
  }
  mine.emplace(kForAll, address_of(*rail_for_all_));
  std::vector<Seat> neighbours;
  for (const Peer& peer : ucx_->peers) neighbours.push_back(peer.seat);
  book_ = bootstrap.open_book(pack(mine), neighbours, deadline);
  answer_links();
  for (Peer& peer : ucx_->peers) {
    const std::string address =
        address_for(book_->of(peer.seat), name_of(ways_.wire_to(peer.seat)), peer.seat);
    try {
      connect(peer, address);
    } catch (const Error&) {
      if (!watches_hosts() || await_failure(bootstrap)) throw;
      link_is_dead(bootstrap, unreachable(peer.seat));
    }
  }
  if (heartbeats_ != nullptr) heartbeats_->start();
}

std::string Ucx::address_of_stranger(Seat seat) {
  return find_address(book_->of(seat), kForAll).value_or(std::string());
}

/// Before connections are made, which may take some ranks longer than others.
void Ucx::answer_links() {
  if (heartbeats_ == nullptr) return;
  for (Peer& peer : ucx_->peers) {
    const auto there = find_address(book_->of(peer.seat), heartbeat_name(self_));
    const auto end = there ? unpack_heartbeat(*there) : std::nullopt;
    if (!end) continue;
    heartbeats_->connect(peer.seat, *end);
    peer.heard = heartbeats_->heard(peer.seat);
  }
  heartbeats_->answer();
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
  const auto until = Clock::now() + deadline;
  std::uint32_t busy = 0;
  for (std::size_t i = 0; i < ucx_->peers.size();) {
    if (progress() && ++busy % kBusyPolls != 0) continue;
    for (const Completion* completion : {&sent[i], &received[i]}) {
      if (completion->state != Completion::State::Failed) continue;
      if (watches_hosts() && !await_failure(bootstrap)) {
        link_is_dead(bootstrap, unreachable(ucx_->peers[i].seat));
      }
      throw Error(ErrorCode::Transport, fmt::format("rank {}: first contact with rank {}: {}",
                                                    self_, ucx_->peers[i].seat, completion->error));
    }
    if (sent[i].state == Completion::State::Done && received[i].state == Completion::State::Done) {
      ++i;
      continue;
    }
    if (const auto silent = silent_links()) link_is_dead(bootstrap, *silent);
    if (const auto failure = bootstrap.failure()) {
      const std::string what = fmt::format("rank {}: {} during the first contact with rank {}",
                                           self_, *failure, ucx_->peers[i].seat);
      if (const auto link = bootstrap.dead_link()) throw LinkError(*link, what);
      throw Error(ErrorCode::Transport, what);
    }
    if (Clock::now() > until) {
      throw Error(ErrorCode::Timeout,
                  fmt::format("rank {}: no first message {} rank {} over UCX within {} ms", self_,
                              received[i].state == Completion::State::Done ? "to" : "from",
                              ucx_->peers[i].seat, deadline.count()));
    }
    if (!sleep(kNap)) ::sched_yield();
  }
  drain(deadline);
}

/// Also wires that lead to no peer.
void Ucx::find_left(SilentLinks& silent) const {
  std::set<Seat> left;
  for (const Peer& peer : ucx_->peers) {
    if (peer.heard != nullptr) left.insert(peer.seat);
  }
  for (const Seat peer : Seats(static_cast<std::uint32_t>(ways_.wires.size()))) {
    if (ways_.wire_to(peer)) left.insert(peer);
  }
  for (const Seat peer : silent.peers) left.erase(peer);
  silent.left.assign(left.begin(), left.end());
}

void Ucx::link_is_dead(Bootstrap& bootstrap, const SilentLinks& silent) const {
  const std::string why = words_of(silent, self_);
  bootstrap.report_dead_links(silent.peers, silent.left, why);
  throw LinkError(link_between(self_, silent.peers.front()),
                  fmt::format("rank {}: {}", self_, why));
}

}  // namespace multitree::runtime
