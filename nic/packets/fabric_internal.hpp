// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ports with finite queues, and the clock that moves packets through them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <queue>
#include <vector>

#include "algorithms/routing.hpp"
#include "nic/packets/packets.hpp"

namespace multitree::packets {

enum class Kind : std::uint8_t {
  Data,
  Answer,    ///< to each packet of data
  Question,  ///< what is missing?
  Missing,   ///< the answer to that
  Enough,    ///< nothing more is needed
};

struct Packet {
  std::uint32_t flow = 0, number = 0;
  std::uint32_t sending = 0;  ///< how many its flow had sent before it
  std::uint32_t bytes = 0;
  NodeId src{}, dst{};
  Kind kind = Kind::Data;
  std::uint8_t priority = 0;
  bool droppable = false, marked = false;
};

struct Event {
  enum class Kind : std::uint8_t { Start, Timer, PortFree, Arrival };
  std::int64_t at = 0;
  std::uint64_t order = 0;  ///< of events at one time
  Kind kind{};
  std::uint32_t what = 0;  ///< flow, link, or where the packet is kept
};

/// Time and what happens next.
class Clock {
 public:
  [[nodiscard]] std::int64_t now() const { return now_; }
  [[nodiscard]] bool done() const { return events_.empty(); }
  void at(std::int64_t time, Event::Kind kind, std::uint32_t what) {
    events_.push({time, order_++, kind, what});
  }
  Event next() {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::int64_t now_ = 0;
  std::uint64_t order_ = 0;
};

/// The network. Counts what it drops and marks with the flows.
class Fabric {
 public:
  /// All outlive this.
  Fabric(const Topology& topology, const Parameters& parameters, std::span<const Flow> flows,
         std::vector<FlowResult>& results, Clock& clock);

  /// At its source, now.
  void send(const Packet& packet) { forward(packet, packet.src); }
  void on_port_free(std::uint32_t link);
  /// The packet behind an event, if this was its last link; else it goes on.
  bool on_arrival(std::uint32_t kept, Packet& packet);
  [[nodiscard]] std::uint32_t most_waiting() const { return most_waiting_; }
  /// The same number for the same arguments.
  [[nodiscard]] std::uint64_t choice(std::uint64_t a, std::uint64_t b, std::uint64_t c) const;

 private:
  struct Port {
    std::array<std::deque<Packet>, kPriorities + 1> queues;  // the first one: answers
    std::uint32_t waiting = 0;                               // data of others
    bool busy = false;
  };
  struct OnLink {
    Packet packet;
    NodeId to{};
  };

  void forward(Packet packet, NodeId at);
  LinkId next_link(const Packet& packet, NodeId at);
  void start(std::uint32_t link, const Packet& packet);
  const std::vector<LinkId>& ways(NodeId at, NodeId dst);

  const Topology& topology_;
  const Parameters& parameters_;
  std::span<const Flow> flows_;
  std::vector<FlowResult>& results_;
  Clock& clock_;
  Router router_;
  std::vector<std::vector<std::vector<LinkId>>> ways_;  // by destination, node: shortest next links
  std::vector<Port> ports_;                             // by link
  std::vector<OnLink> kept_;
  std::vector<std::uint32_t> free_;
  std::uint32_t most_waiting_ = 0;
};

}  // namespace multitree::packets
