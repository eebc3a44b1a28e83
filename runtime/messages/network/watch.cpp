// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that are watched, and how long the first contact may take.
#include "runtime/messages/network/watch_internal.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "runtime/execution/engine_internal.hpp"
#include "runtime/job/wire_internal.hpp"
#include "runtime/messages/network/cables.hpp"

namespace multitree::runtime {
namespace {

/// Of the first contact: so many polls with something to do, and then a look at who has died.
constexpr std::uint32_t kBusyPolls = 16;
/// Longest wait between two looks.
constexpr std::chrono::milliseconds kContactNap{5};

/// As much as a link carries in about 5 ms at 100 Mbit/s. With UCX's header below the 64 KiB of its
/// TCP buffers, or it would cut every message in two.
constexpr std::size_t kSlowSegmentBytes = 60 * 1024;
/// 1.3 ms at 100 Mbit/s, where a message costs some 15 us of processor time at both ends.
constexpr std::size_t kSlowMergeBytes = 16 * 1024;
/// On their way to a peer. What is more urgent need not wait long behind what is sent already; the
/// socket's buffer keeps the link busy.
constexpr std::size_t kSlowWindowBytes = 64 * 1024;
/// On their way to all peers, where one port leads to them: a few, as the first may be slow to take
/// its own. On a fat tree of 16 ranks 64 KiB take 1.45 times as long as the port must, 256 to 512
/// KiB 1.1, and without a limit it is lost packets that decide.
constexpr std::size_t kSlowPortBytes = 256 * 1024;

/// Where the heartbeats of that cable to `peer` are heard.
std::string heartbeat_name(Seat peer, std::uint32_t cable) {
  return cable == 0 ? fmt::format("heartbeat {}", peer)
                    : fmt::format("heartbeat {} {}", peer, cable);
}

/// Somebody is lost while the first contact is made: the error that says so.
void check_contact_failure(Bootstrap& bootstrap, Seat peer) {
  const auto failure = bootstrap.failure();
  if (!failure) return;
  const std::string what = fmt::format("rank {}: {} during the first contact with rank {}",
                                       bootstrap.seat(), *failure, peer);
  if (const auto link = bootstrap.dead_link()) throw LinkError(*link, what);
  throw Error(ErrorCode::Transport, what);
}

}  // namespace

std::string pack(const Addresses& addresses) {
  Writer writer;
  for (const auto& [name, address] : addresses) writer.text(name).text(address);
  return writer.bytes();
}

std::optional<std::string> find_address(const std::string& packed, std::string_view wanted) {
  Reader reader(packed);
  while (const auto name = reader.text()) {
    auto address = reader.text();
    if (*name == wanted && address) return address;
  }
  return std::nullopt;
}

void LinkWatch::open(const std::vector<Host>& hosts, std::span<const Seat> peers, Deadline deadline,
                     Addresses& mine) {
  heartbeats_ = std::make_unique<Heartbeats>(deadline);
  const std::vector<Interface>& own = hosts[index(self_)].interfaces;
  if (own.size() == 1) only_interface_ = own.front().name;
  const auto open_cable = [&](Seat peer, std::uint32_t cable) {
    const std::optional<Wire> wire = ways_.wire_to(peer, cable);
    const CablePort* const port =
        wire && wire->cable ? hosts[index(self_)].port_of(*wire->cable) : nullptr;
    const auto ip = address_towards(hosts, ways_, self_, peer);
    const auto here = port != nullptr ? heartbeats_->open(peer, port->address, port->name, cable)
                      : ip            ? heartbeats_->open(peer, *ip)
                                      : std::nullopt;
    if (here) mine.emplace(heartbeat_name(peer, cable), pack(*here));
  };
  for (const Seat peer : peers) {
    for (std::uint32_t cable = 0; cable < ways_.cables_to(peer); ++cable) open_cable(peer, cable);
  }
}

void LinkWatch::answer(AddressBook& book, std::span<const Seat> peers) {
  if (heartbeats_ == nullptr) return;
  for (const Seat peer : peers) {
    bool watched = false;
    for (std::uint32_t cable = 0; cable < ways_.cables_to(peer); ++cable) {
      const auto there = find_address(book.of(peer), heartbeat_name(self_, cable));
      const auto end = there ? unpack_heartbeat(*there) : std::nullopt;
      if (!end) continue;
      heartbeats_->connect(peer, *end, cable);
      watched |= heartbeats_->heard(peer, cable) != nullptr;
    }
    if (watched) watched_.push_back(peer);
  }
  heartbeats_->answer();
}

void LinkWatch::start() {
  if (heartbeats_ != nullptr) heartbeats_->start();
}

void LinkWatch::follow() {
  if (heartbeats_ != nullptr) heartbeats_->follow();
}

std::uint32_t LinkWatch::changes() const {
  return heartbeats_ == nullptr ? 0 : heartbeats_->changes();
}

bool LinkWatch::is_silent(Seat peer, std::uint32_t cable) const {
  return heartbeats_ != nullptr && heartbeats_->is_away(peer, cable);
}

std::vector<Seat> LinkWatch::all_silent() const {
  std::vector<Seat> all;
  if (changes() == 0) return all;
  std::ranges::copy_if(watched_, std::back_inserter(all), [this](Seat peer) {
    std::uint32_t silent = 0;
    while (silent < ways_.cables_to(peer) && is_silent(peer, silent)) ++silent;
    return silent == ways_.cables_to(peer);
  });
  std::ranges::sort(all);
  return all;
}

std::atomic<bool>* LinkWatch::heard(Seat peer, std::uint32_t cable) const {
  return heartbeats_ == nullptr ? nullptr : heartbeats_->heard(peer, cable);
}

std::optional<SilentLinks> LinkWatch::silent() const {
  if (heartbeats_ == nullptr) return std::nullopt;
  auto silent = heartbeats_->silent();
  if (!silent) return silent;
  find_left(*silent);
  silent->where = where(silent->peers.front(), silent->cable);
  return silent;
}

void LinkWatch::leave_out(Seat peer, std::uint32_t cable) {
  if (heartbeats_ != nullptr) heartbeats_->leave_out(peer, cable);
}

std::string LinkWatch::where(Seat peer, std::uint32_t cable) const {
  const std::optional<Wire> wire = ways_.wire_to(peer, cable);
  if (wire && wire->cable) {
    const std::string ends = cable_words(*wire->cable);
    return ends.empty() ? "port " + wire->device : "cable " + ends;
  }
  const std::string& interface = wire ? wire->device : only_interface_;
  return interface.empty() ? std::string() : "interface " + interface;
}

SilentLinks LinkWatch::unreachable(Seat peer) const {
  SilentLinks silent{{peer}, {}, Deadline{0}};
  find_left(silent);
  return silent;
}

/// Also wires that lead to no peer.
void LinkWatch::find_left(SilentLinks& silent) const {
  std::set<Seat> left(watched_.begin(), watched_.end());
  for (const Seat peer : Seats(static_cast<std::uint32_t>(ways_.wires.size()))) {
    if (ways_.wire_to(peer)) left.insert(peer);
  }
  for (const Seat peer : silent.peers) left.erase(peer);
  silent.left.assign(left.begin(), left.end());
}

void LinkWatch::link_is_dead(Bootstrap& bootstrap, const SilentLinks& silent,
                             const std::string& reason) const {
  const std::string why =
      words_of(silent, self_) + (reason.empty() ? std::string() : ": " + reason);
  bootstrap.report_dead_links(silent.peers, silent.left, why);
  throw LinkError(link_between(self_, silent.peers.front()),
                  fmt::format("rank {}: {}", self_, why));
}

void await_contacts(Bootstrap& bootstrap, Transport& transport, const LinkWatch& links,
                    std::span<const Seat> peers, const std::function<Contact(std::size_t)>& look,
                    std::string_view network, Deadline deadline) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + deadline;
  std::uint32_t busy = 0;
  for (std::size_t i = 0; i < peers.size();) {
    if (transport.progress() && ++busy % kBusyPolls != 0) continue;
    const Contact contact = look(i);
    if (!contact.failure.empty()) {
      if (links.watches_hosts() && !await_failure(bootstrap)) {
        links.link_is_dead(bootstrap, links.unreachable(peers[i]), contact.failure);
      }
      throw Error(ErrorCode::Transport, fmt::format("rank {}: first contact with rank {}: {}",
                                                    bootstrap.seat(), peers[i], contact.failure));
    }
    if (contact.over) {
      ++i;
      continue;
    }
    if (const auto silent = transport.silent_links()) links.link_is_dead(bootstrap, *silent);
    check_contact_failure(bootstrap, peers[i]);
    if (Clock::now() > until) {
      throw Error(
          ErrorCode::Timeout,
          fmt::format("rank {}: no first message {} rank {} over {} within {} ms", bootstrap.seat(),
                      contact.missing, peers[i], network, deadline.count()));
    }
    if (!transport.sleep(kContactNap)) ::sched_yield();
  }
}

TransportLimits slow_network_limits(const Ways& ways, bool buffered) {
  const bool one_port = buffered && ways.one_port;
  return {.segment_bytes = kSlowSegmentBytes,
          .window_bytes = one_port ? kSlowPortBytes : kSlowWindowBytes * ways.most_cables,
          .window_messages = 1,
          .buffered = buffered,
          .one_port = one_port,
          .merge_bytes = kSlowMergeBytes};
}

}  // namespace multitree::runtime
