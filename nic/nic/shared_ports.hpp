// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Interfaces whose ports send any message, as in the MULTITREE study's released simulator.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "nic/parameters.hpp"

namespace multitree::nic {

/// Parameters::port_queue_packets > 0: the lowest port with room takes the next message, in
/// whatever direction that goes, and messages queue in it. Only messages of the lowest step that is
/// not finished may be taken, and no Gather before all ports have room again.
class SharedPorts {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  SharedPorts(const Parameters& parameters, std::vector<std::uint32_t> first_port);

  /// A rank's messages, in the order of its table.
  void add(std::uint32_t rank, std::uint32_t message, std::uint32_t step, bool is_gather,
           std::uint64_t payload_flits);

  /// The next message that a port of the rank takes, if any: it is queued there.
  /// `is_ready(message)`: whether what it waits for is there.
  template <typename IsReady>
  std::uint32_t assign(std::uint32_t rank, std::uint64_t now, const IsReady& is_ready) {
    Rank& r = ranks_[rank];
    while (r.first < r.waiting.size() && r.waiting[r.first].is_taken) ++r.first;
    const std::uint32_t port = free_port(rank, now);
    if (port == kNone) return kNone;
    for (std::size_t i = r.first; i < r.waiting.size(); ++i) {
      Waiting& w = r.waiting[i];
      if (w.step != r.waiting[r.first].step) break;
      if (w.is_taken || !is_ready(w.message)) continue;
      if (w.is_gather && !r.is_gathering && !all_free(rank, now)) break;
      take(port, w, now);
      r.is_gathering = w.is_gather;
      return port;
    }
    return kNone;
  }
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  /// When a port has room again; kNever: not before packets have left.
  [[nodiscard]] std::uint64_t free_at(std::uint32_t port) const { return ports_[port].free_at; }
  /// The first message in a port's queue, or kNone.
  [[nodiscard]] std::uint32_t front(std::uint32_t port) const {
    return ports_[port].queue.empty() ? kNone : ports_[port].queue.front().message;
  }
  /// The port begins to send it.
  void begin(std::uint32_t port) { ports_[port].queue.pop_front(); }
  /// A packet, or so much of a message, has left. \returns whether there is room from now on.
  bool sent_packet(std::uint32_t port, std::uint64_t now);
  /// The lowest step of which a message was not taken; kNone: all were.
  [[nodiscard]] std::uint32_t step(std::uint32_t rank) const;

 private:
  struct Waiting {
    std::uint32_t message = 0, step = 0;
    std::uint64_t packets = 0;
    bool is_gather = false, is_taken = false;
  };
  struct Rank {
    std::vector<Waiting> waiting;
    std::size_t first = 0;
    bool is_gathering = false;
  };
  struct Port {
    std::deque<Waiting> queue;  // taken, not begun
    std::uint64_t queued = 0;   // packets that were taken and have not left
    std::uint64_t free_at = 0;
  };
  [[nodiscard]] std::uint32_t free_port(std::uint32_t rank, std::uint64_t now) const;
  [[nodiscard]] bool all_free(std::uint32_t rank, std::uint64_t now) const;
  void take(std::uint32_t port, Waiting& waiting, std::uint64_t now);

  std::uint64_t most_packets_, payload_flits_;
  std::vector<std::uint32_t> first_port_;  // [rank], and the number of all
  std::vector<Rank> ranks_;
  std::vector<Port> ports_;
};

}  // namespace multitree::nic
