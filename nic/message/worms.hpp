// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Messages that share links: worms of segments, each link serving them in turn.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "nic/message/channels.hpp"

namespace multitree::nic {

/// The flit-level network in coarser grains. A message is cut into segments of some dozens of
/// flits; a link sends one segment at a time, of the worms that have one there in turn; the
/// buffer behind it holds as many as fit, and a worm keeps a virtual channel of each link from its
/// first to its last segment there. Times are exact for a worm alone.
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

  /// A message of that many flits is at its injection port from `time` on.
  void start(std::uint64_t time, std::uint32_t message, std::uint64_t flits,
             std::span<const Hop> route);
  /// A channel looks for something to send.
  void serve(std::uint64_t time, std::uint32_t channel);

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  struct Worm {
    std::uint32_t message = 0;
    std::uint64_t time = 0;  // of its start
    std::uint64_t flits = 0;
    std::uint32_t grain = 1;  // flits of a segment, but for the last
    std::uint32_t segments = 1;
    std::uint32_t room = 1;  // segments that a buffer holds
    std::span<const Hop> route;
    std::vector<std::uint32_t> next;    // [hop]: segment to send
    std::vector<std::uint64_t> starts;  // [hop][segment]
  };
  /// A worm on a channel.
  struct Place {
    std::uint32_t worm = 0, hop = 0;
    std::uint32_t input = 0;   // channel that it comes from
    std::uint64_t served = 0;  // when last
  };
  struct Server {
    std::uint64_t free_at = 0, called_for = kNever;
    std::vector<Place> active;         // have a virtual channel
    std::deque<Place> waiting;         // for one
    std::vector<std::uint8_t> in_use;  // [class]: virtual channels
    std::uint32_t last_input = 0;  // served
  };

  [[nodiscard]] std::uint64_t& start_of(Worm& worm, std::uint32_t hop, std::uint32_t segment) {
    return worm.starts[std::size_t{hop} * worm.segments + segment];
  }
  [[nodiscard]] std::uint64_t flits_of(const Worm& worm, std::uint32_t segment) const;
  [[nodiscard]] std::uint64_t cycles_of(const Worm& worm, std::uint32_t segment,
                                        std::uint32_t hop) const;
  std::uint64_t earliest(Worm& worm, std::uint32_t hop);
  void call(std::uint32_t channel, std::uint64_t time);
  void attach(std::uint32_t channel, Place place);
  void detach(std::uint32_t channel, std::size_t number);
  void send(std::uint64_t time, std::uint32_t channel, std::size_t number);

  const Channels& channels_;
  const Parameters& parameters_;
  Client& client_;
  std::vector<Server> servers_;  // [channel]
  std::vector<Worm> worms_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint8_t> capacity_;  // [class]: virtual channels
};

}  // namespace multitree::nic
