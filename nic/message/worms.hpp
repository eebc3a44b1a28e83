// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages that share links: worms of segments, each link serving them in turn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nic/message/channels.hpp"
#include "nic/message/ring.hpp"

namespace multitree::nic {

/// The flit-level network in coarser grains. A message (or each of its packets) is cut into
/// segments of some dozens of flits. A channel sends one segment at a time and lets the virtual
/// channels of its router's inputs take turns. A worm holds a virtual channel until its last
/// segment has entered the buffer there, and others may queue behind it. Times are exact for a worm
/// alone.
class Worms {
 public:
  class Client {
   public:
    virtual ~Client() = default;
    /// Calls Worms::serve(channel) at that time.
    virtual void call(std::uint64_t time, std::uint32_t channel) = 0;
    /// The last flit leaves the sender's interface in the cycle before this one.
    virtual void left(std::uint64_t time, std::uint32_t message) = 0;
    /// The last flit is at the receiver's interface.
    virtual void arrived(std::uint64_t time, std::uint32_t message) = 0;
    /// The message occupied a link.
    virtual void passed(std::uint32_t channel, std::uint32_t message, std::uint64_t begin,
                        std::uint64_t end) = 0;
  };

  Worms(const Channels& channels, const Parameters& parameters, Client& client);

  /// A message, or a packet of it, of that many flits is at its injection port from `time` on.
  /// Packets of a port come one after the other: each when the one before it has left().
  void start(std::uint64_t time, std::uint32_t message, std::uint64_t flits,
             std::span<const Hop> route);
  /// A channel looks for something to send.
  void serve(std::uint64_t time, std::uint32_t channel);

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// When the first and the last flit of a segment start on a channel.
  struct Passage {
    std::uint64_t first = 0, last = 0;
  };
  struct Worm {
    std::uint32_t message = 0;
    std::uint64_t time = 0;  // of its start
    std::uint64_t flits = 0;
    std::uint32_t grain = 1;  // flits of a segment, but for the last
    std::uint32_t segments = 1;
  };
  /// A worm at one hop of its route. Legs of a worm lie one behind the other.
  struct Leg {
    std::uint64_t data = kNever;  // when its next segment is there; kNever: nobody knows yet
    std::uint64_t began = 0;      // its first segment's start on the channel
    std::uint32_t worm = 0, hop = 0;
    std::uint32_t channel = 0;
    std::uint32_t next = 0;  // segment to send
    std::uint32_t lane = 0;  // that it takes, of all lanes
    std::uint8_t channel_class = 0;
    bool is_ejection = false;
  };
  /// A leg at the channel that it wants to send on.
  struct Place {
    std::uint32_t leg = 0;
    std::uint32_t input = 0;   // channel that it comes from
    std::uint64_t served = 0;  // when last
  };
  /// Segments that have left a buffer, and the flits that have in all.
  struct Departure {
    std::uint64_t time = 0, flits = 0;
  };
  /// A virtual channel and the buffer at its end: worms queue in it.
  struct Lane {
    bool taken = false;                // a worm has not sent its tail into it
    std::uint64_t sent = 0, left = 0;  // flits in all, into it and out of it
    std::uint64_t credited = 0;        // flits whose credits are back
    Ring<Departure> departures;        // whose credits are on the way
    Ring<std::uint32_t> legs;          // in it, of worms on their next hop; the first is at its end
  };
  struct Server {
    std::uint64_t free_at = 0;  // as an output
    std::uint64_t pace = 0;     // the same to a fraction, in units of 2^-16
    std::uint64_t called_for = kNever;
    std::vector<Place> places;
    std::uint32_t last_input = 0;  // round robin
  };

  [[nodiscard]] std::uint32_t lane_of(std::uint32_t channel, std::uint32_t number) const {
    return channel * lanes_of_channel_ + number;
  }
  [[nodiscard]] std::uint64_t flits_of(const Worm& worm, std::uint32_t segment) const;
  void cut(Worm& worm) const;
  /// Sends flits from `time` on: the last one's start.
  std::uint64_t occupy(Server& server, std::uint64_t time, std::uint64_t flits,
                       std::uint32_t interval);
  std::uint64_t room_at(std::uint32_t channel, Lane& lane, std::uint64_t flits, std::uint64_t time);
  std::uint64_t choose_lane(std::uint64_t time, const Leg& leg, std::uint32_t& chosen);
  void find_data(std::uint32_t leg);
  std::uint64_t earliest(std::uint64_t time, const Leg& leg, std::uint32_t& chosen);
  void call(std::uint32_t channel, std::uint64_t time);
  void leave_buffer(std::uint64_t time, std::uint32_t leg, std::uint64_t flits, bool is_last);
  void enter_buffer(std::uint64_t time, std::uint32_t leg, std::uint64_t flits, bool is_first);
  void end(Leg leg, std::uint64_t last);
  void send(std::uint64_t time, std::uint32_t channel, std::size_t number, std::uint32_t chosen);

  const Channels& channels_;
  const Parameters& parameters_;
  Client& client_;
  std::vector<Server> servers_;  // [channel]
  std::vector<Worm> worms_;
  std::vector<Leg> legs_;                // [worm][hop]
  std::vector<Ring<Passage>> passages_;  // [leg]: of segments that are in the buffer behind it
  std::vector<std::uint32_t> free_;
  std::uint32_t lanes_of_channel_, most_hops_;
  std::vector<Lane> lanes_;                           // [channel][virtual channel]
  std::vector<std::vector<std::uint32_t>> of_class_;  // [class]: virtual channels
  std::vector<std::uint32_t> all_;                    // virtual channels
};

}  // namespace multitree::nic
