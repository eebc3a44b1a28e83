// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tagged messages over TCP: one connection a pair of ranks, made when they first need it; where
/// several cables join their hosts, one over each, which share messages.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/messages/network/link_rates_internal.hpp"
#include "runtime/messages/network/watch_internal.hpp"
#include "runtime/messages/tcp/cable_rates_internal.hpp"
#include "runtime/messages/tcp/handshake_internal.hpp"
#include "runtime/messages/tcp/incoming_internal.hpp"
#include "runtime/messages/tcp/outgoing_internal.hpp"
#include "runtime/messages/tcp/poller_internal.hpp"
#include "runtime/messages/transport.hpp"

namespace multitree::runtime::tcp {

/// Another rank, as far as this one has to do with it: the connection with it, over one cable where
/// there are several. What concerns all of them is at the first.
struct Peer {
  Peer(Seat whose, std::size_t credit) : seat(whose), outgoing(credit), incoming(whose, outgoing) {}
  /// The connection over a further cable.
  Peer(Peer& of, std::uint32_t number)
      : seat(of.seat),
        cable(number),
        first(&of),
        outgoing(of.outgoing),
        incoming(of.seat, outgoing, of.incoming) {}

  Seat seat;
  std::uint32_t cable = 0;  ///< Ways::cables_to()
  Peer* first = this;
  std::vector<std::unique_ptr<Peer>> beside;  ///< of the first: those over the other cables
  CableRates rates;                           ///< of the first, where there are others
  std::optional<Pact> pact;                   ///< once it was needed
  Outgoing outgoing;
  Incoming incoming;
  Socket socket;                                ///< once they know each other
  std::unique_ptr<Dial> dial;                   ///< meanwhile
  bool met = false;                             ///< there is a connection, or was one
  bool lasts = false;                           ///< what they say outlasts connections
  bool silent = false;                          ///< nothing passes over its wire
  bool stranded = false;                        ///< nor by any other way
  bool dead = false;                            ///< its cable was, before there was a connection
  bool slow = false;                            ///< its cable is, and that has been told
  std::uint32_t attempt = 0;                    ///< those up to here are over, of both ends
  std::uint32_t tried = 0;                      ///< the highest of this end
  std::string hung_up;                          ///< why the other end has closed the connection
  std::chrono::steady_clock::time_point until;  ///< it may come by another way
  Socket left_behind;                           ///< the one before, until there is another
  std::string lost;                             ///< why there is none any more
  bool blocked = false;                         ///< the socket takes nothing for now
  bool to_write = false, to_read = false;       ///< is in the list of those
  std::atomic<bool>* heard = nullptr;           ///< to be set when something comes; may be null

  [[nodiscard]] bool linked() const { return socket.open(); }
};

/// The connections with the rank of `first`.
template <typename Visit>
void each_cable(Peer& first, const Visit& visit) {
  visit(first);
  for (const std::unique_ptr<Peer>& one : first.beside) visit(*one);
}

class TcpTransport final : public Transport {
 public:
  TcpTransport(Bootstrap& bootstrap, const TransportOptions& options);
  ~TcpTransport() override { close(); }

  void send(Seat peer, std::uint64_t tag, const void* data, std::size_t bytes,
            Completion& completion) override;
  void receive(Seat peer, std::uint64_t tag, void* data, std::size_t bytes,
               Completion& completion) override;
  [[nodiscard]] bool has_come(Seat peer, std::uint64_t tag) const override;
  [[nodiscard]] std::vector<Seat> unsent() const override;
  bool progress() override;
  void flush(Seat peer, Completion& completion) override;
  bool drain(Deadline deadline) override;
  void abort() override { close(); }
  bool sleep(std::chrono::milliseconds time) override;
  Arrivals await_arrivals(std::vector<int>& descriptors) override;
  [[nodiscard]] std::optional<SilentLinks> silent_links() const override;
  [[nodiscard]] std::vector<ImpairedLink> impaired_links() override;
  void relearn_rates() override { rates_.relearn(); }
  void overlook_rates() override { rates_.overlook(); }
  [[nodiscard]] TransportLimits limits() const override;
  [[nodiscard]] std::string describe() const override;

 private:
  // first_contact.cpp
  std::vector<Host> gather(Bootstrap& bootstrap, const TransportOptions& options);
  void open(const std::vector<Host>& hosts, std::span<const Seat> peers);
  void meet_all(Bootstrap& bootstrap, const TransportOptions& options);
  [[nodiscard]] Entrance entrance_of(Seat seat) const;
  void dial(Peer& peer);
  void go_on(Peer& peer);
  void take_guests();
  void hear(std::uint64_t guest);
  void link(Peer& peer, Socket socket, const Standing& there, Sealing sealing);
  const Pact& pact_with(Peer& peer) const;
  void keep_time();
  /// Null: of the door.
  [[nodiscard]] Dial::Buffers buffers_for(const Peer* peer) const;

  // beside.cpp
  Peer& peer_at(Seat seat);
  Peer* connection_for(Peer& first, const Hello& hello);
  void dial_all(Peer& first);
  void count_cables(Peer& first);
  void refine_shares();
  void tell_of_slow(Peer& first);
  [[nodiscard]] std::optional<Flow> flow_to(Seat seat);
  [[nodiscard]] std::vector<Route> routes_beside(const Peer& peer, const Entrance& there) const;
  [[nodiscard]] bool starts_without(Peer& peer);
  void dial_over(Peer& peer, const Peer& living);
  void dial_dead(Peer& first);
  void leave_out(const Peer& peer);
  [[nodiscard]] std::string dead_words(Peer& first, const std::string& why) const;

  // detour.cpp
  void follow_links();
  [[nodiscard]] bool is_elsewhere(const Peer& peer) const;
  void look_for_ways(Peer& peer);
  [[nodiscard]] Standing standing_with(const Peer& peer) const;
  [[nodiscard]] Hello hello_of(const Peer& peer, const Entrance& there) const;
  [[nodiscard]] bool comes_again(const Peer& peer, const Hello& hello) const;
  void cut(Peer& peer, const std::string& why);
  void hang_up(Peer& peer, const std::string& why);
  void give_up_waiting(Peer& peer, std::chrono::steady_clock::time_point now);
  void fail(Peer& peer);
  void tell_of_way(const Peer& peer) const;

  // transport.cpp
  bool write_all();
  bool read_all();
  void write_to(Peer& peer);
  void read_from(Peer& peer);
  void want_to_write(Peer& peer);
  void want_all_to_write(Peer& first);
  void want_to_read(Peer& peer);
  void on_events(std::span<const epoll_event> events);
  void on_event(std::uint64_t name, std::uint32_t what);
  void over(Peer& peer, const std::string& why);
  void lose(Peer& peer, const std::string& why);
  [[nodiscard]] bool anything_known() const;
  void close();

  Seat self_;
  std::uint32_t ranks_;
  Deadline deadline_;
  bool goes_on_;           ///< where a link falls silent
  Deadline way_deadline_;  ///< longest silence of the way that it takes then
  LinkWatch links_;
  LinkRates rates_;
  std::vector<Seat> gauged_;       ///< to which messages go over wires of their own, or some do
  std::uint32_t links_known_ = 0;  ///< LinkWatch::changes() that have been looked at
  Host here_;
  std::size_t neighbours_ = 0;
  Secret knock_ = make_secret(), answer_ = make_secret();
  std::optional<KeyPair> keys_;  ///< where what is told to others is sealed
  std::unique_ptr<Poller> poller_ = std::make_unique<Poller>();  ///< null once closed
  Socket door_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Peer>> peers_;  ///< that were met, by seat
  std::vector<Peer*> connections_;                                  ///< of all these
  std::vector<Peer*> several_;             ///< to which several cables lead: the first of each
  std::uint32_t rounds_ = 0;               ///< of progress(), where there are some
  std::map<std::uint64_t, Guest> guests_;  ///< by their events' names
  std::uint64_t next_guest_ = 0;
  std::vector<Peer*> dialling_, hung_up_;
  std::vector<Peer*> writing_, reading_, batch_;
  std::span<const epoll_event> told_;  ///< what the last sleep has brought
  bool wrote_ = false;                 ///< the last round has written: who waits sleeps next
  std::unique_ptr<AddressBook> book_;
};

}  // namespace multitree::runtime::tcp
