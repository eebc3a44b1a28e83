// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rank did, and when: for timelines and for counting what links carry.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topologies/topology.hpp"

namespace multitree::runtime {

/// Something that a rank did. Trivially copyable: equal programs exchange it as bytes.
struct Event {
  enum class Kind : std::uint8_t {
    Send,     ///< a message, from its posting until its buffer is free again
    Receive,  ///< a message: begin and end are its arrival
    Reduce,   ///< a message that came is accumulated
    Copy,     ///< a message that came is copied to its place
    CopyIn,   ///< without messages: own input to the shared areas
    Sum,      ///< without messages: sums, or what is gathered, of one part
    CopyOut,  ///< without messages: what others have made, to the own output
    Wait,     ///< without messages: for everybody's publication of one part
  };
  static constexpr Rank kNoPeer{~0U};

  Kind kind = Kind::Send;
  std::uint32_t transfer = 0;  ///< of a message: into Schedule::transfers
  std::uint32_t segment = 0;   ///< of a message: of its chunk; else the part
  Rank peer = kNoPeer;
  std::uint64_t bytes = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  ///< CLOCK_MONOTONIC of this host
};

/// Records collectives on host memory of one communicator, between start() and stop(). Off it costs
/// a comparison a message. Not thread-safe, as the communicator.
class Recorder {
 public:
  enum class Mode : std::uint8_t { Off, Count, Events };

  /// Room for `capacity` events, allocated now; what does not fit is counted, not kept.
  explicit Recorder(std::size_t capacity = 0) : events_(capacity) {}

  /// Forgets what there is. `transfers`: of the schedule that is going to run. Meanwhile all
  /// collectives are of that schedule.
  void start(Mode mode, std::size_t transfers);
  void stop() { mode_ = Mode::Off; }
  [[nodiscard]] bool active() const { return mode_ != Mode::Off; }
  [[nodiscard]] bool keeps_events() const { return mode_ == Mode::Events; }

  /// In the order of their ends.
  [[nodiscard]] std::span<const Event> events() const { return {events_.data(), size_}; }
  /// Events that found no room.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  /// Bytes that this rank has handed to the transport, by Schedule::transfers.
  [[nodiscard]] std::span<const std::uint64_t> sent() const { return sent_; }

  void count(std::uint32_t transfer, std::uint64_t bytes) {
    if (transfer < sent_.size()) sent_[transfer] += bytes;
  }
  void add(const Event& event) {
    if (size_ == events_.size()) {
      ++lost_;
    } else {
      events_[size_++] = event;
    }
  }
  [[nodiscard]] static std::int64_t now() {
    using std::chrono::steady_clock, std::chrono::nanoseconds;
    return std::chrono::duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
  }

 private:
  Mode mode_ = Mode::Off;
  std::vector<Event> events_;
  std::size_t size_ = 0;
  std::uint64_t lost_ = 0;
  std::vector<std::uint64_t> sent_;
};

}  // namespace multitree::runtime
