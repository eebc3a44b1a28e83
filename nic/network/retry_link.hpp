// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A link that loses, cycle by cycle, as rtl/net/mt_retry_tx.sv and mt_retry_rx.sv:
/// docs/nic-spec.md, "Links that lose".
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "nic/link_errors.hpp"
#include "nic/network/link_faults.hpp"

namespace multitree::nic {

/// Flits go forth and credits back. Whose flits they are it does not know: they come out in the
/// order in which they went in.
class RetryLink {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  /// Cycles that it takes beyond its wires' latency, each way.
  static constexpr std::uint32_t kExtraCycles = 2;
  /// The least flits that are kept so that a link of this latency never waits for an answer.
  static constexpr std::uint64_t least_replay(std::uint64_t latency) { return 2 * latency + 4; }

  /// What a link is built for.
  struct Shape {
    std::uint32_t number = 0;  ///< of the link, for its draws
    std::uint32_t latency = 1;
    std::uint32_t channels = 1;
    std::uint32_t replay = 512;  ///< flits that are kept
    std::uint32_t dead_after = 65536;
  };
  RetryLink(const Shape& shape, const LinkErrors& errors);

  /// The router at its beginning has put a flit on it in this cycle, or that at its end has given a
  /// credit (one for each channel at most, in hardware one in all): known to it in the next.
  void send(std::uint32_t channel) { coming_ = channel; }
  void give(std::uint32_t channel) { giving_ |= 1U << channel; }
  /// Whether the router may choose a flit for it in this cycle.
  [[nodiscard]] bool is_ready() const { return ready_; }

  /// What comes out, for the routers' next cycle: virtual channels, or kNone.
  struct Out {
    std::uint32_t arrived = kNone, credited = kNone;
  };
  /// One cycle; those in which is_quiet() may be left out.
  Out step(std::uint64_t cycle);
  /// Nothing is on its way or missing.
  [[nodiscard]] bool is_quiet() const {
    return out_ == 0 && flying_ == 0 && coming_ == kNone && giving_ == 0 && ready_;
  }
  /// Nothing new has arrived for Shape::dead_after cycles.
  [[nodiscard]] bool is_dead() const { return time_ >= shape_.dead_after; }
  [[nodiscard]] std::uint32_t dead_after() const { return shape_.dead_after; }

  [[nodiscard]] LinkFaults& faults() { return faults_; }
  [[nodiscard]] const LinkCounts& counts() const { return counts_; }

 private:
  struct Frame {
    bool is_there = false, is_good = true, is_empty = false, round = false;
    std::uint8_t channel = 0;
    std::uint32_t number = 0;
  };
  struct Answer {
    bool is_there = false, is_good = true, nack = false, round = false;
    std::uint8_t channel = 0;
    std::uint32_t ack = 0, count = 0;
  };

  std::uint32_t receive(const Frame& frame, Answer& answer);
  void transmit(const Answer& answer, Frame& frame, Out& out);
  std::uint32_t next_owed();
  /// What becomes of what is put on the wires.
  template <typename T>
  void pass(T& sent, LinkWay way, std::uint64_t cycle);

  Shape shape_;
  LinkErrors errors_;
  LinkFaults faults_;
  LinkCounts counts_;
  std::vector<Frame> forth_;  // [cycle mod latency]
  std::vector<Answer> back_;
  std::uint32_t flying_ = 0;  // in these
  std::uint32_t coming_ = kNone;
  std::uint32_t giving_ = 0;  // channels as bits

  // The sending end.
  std::vector<std::uint8_t> kept_;  // [number mod replay]: channel
  std::uint32_t head_ = 0, send_ = 0, ack_ = 0, furthest_ = 0, out_ = 0, time_ = 0, turn_ = 0;
  bool round_ = false, ready_ = true;
  std::vector<std::uint32_t> seen_, given_;  // [channel]: credits

  // The receiving end.
  std::uint32_t next_ = 0, told_ = 0;
  bool round_there_ = false, nack_ = false;
  std::vector<std::uint32_t> count_;  // [channel]: credits
};

}  // namespace multitree::nic
