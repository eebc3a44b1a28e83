// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who goes first on connections that several collectives share.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// What a collective's time is made of: latency goes before bandwidth.
enum class Urgency : std::uint8_t { Latency, Bulk };

/// By the bytes of its vector.
[[nodiscard]] Urgency urgency_of(std::uint64_t bytes);

/// Who goes first: by class, then by the caller's word, then in the order of start.
struct Turn {
  Urgency urgency = Urgency::Bulk;
  std::uint32_t priority = 0;  ///< as in Call
  std::uint64_t sequence = 0;
  auto operator<=>(const Turn&) const = default;
};

/// Whose sends wait in an outbox.
class Sender {
 public:
  /// Gives a send to the transport.
  virtual void post(std::uint32_t id) = 0;

 protected:
  ~Sender() = default;
};

/// The sends that are ready, of all collectives of an engine. Each connection has a window, or the
/// port that all of them share (TransportLimits::one_port); what is more waits here, where it can
/// be overtaken: behind the window all is in order.
///
/// A small collective takes its time in many short steps, and would wait at each of them behind a
/// window of a large one's. So as long as one is moving, large ones send nothing; should it stop
/// (a rank that has not started it may wait for the large one first) they go on after a moment.
///
/// No deadlock: where a send may have to wait for its receiver, each collective's lowest to a peer
/// goes whatever the window holds.
class Outbox {
  struct Lane;

 public:
  using Clock = std::chrono::steady_clock;

  explicit Outbox(const TransportLimits& limits) : limits_(limits) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// One collective's sends to one peer.
  class Line {
   public:
    Line(Outbox& outbox, Seat peer, Sender& sender, Turn turn);
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    /// A send is ready: it is posted now, or when its turn comes. Lower ids go first.
    void add(std::uint32_t id, std::size_t bytes);
    /// The transport has it no longer.
    void left(std::uint32_t id);

   private:
    friend class Outbox;
    struct Send {
      std::uint32_t id = 0;
      std::size_t bytes = 0;
      auto operator<=>(const Send&) const = default;
    };

    Outbox& outbox_;
    Lane& lane_;
    Sender& sender_;
    Turn turn_;
    std::vector<Send> waiting_;  ///< min-heap
    std::vector<Send> in_flight_;
  };

  /// A collective has started, which is to be told to leave() when it has nothing more to send or
  /// receive.
  void enter(Urgency urgency);
  void leave(Urgency urgency);
  /// Something of a collective has moved.
  void moved(Urgency urgency);
  /// Sends what was held back for long enough; true if there was anything.
  bool resume();

 private:
  struct Lane {
    std::vector<Line*> lines;  ///< by turn
    std::size_t bytes = 0, messages = 0;
  };

  using Lines = std::span<Line* const>;  ///< of one turn

  void pump(Lane& lane);
  static void post(Lane& lane, Line& line);
  /// The one whose first send is the lowest; null if none waits.
  [[nodiscard]] static Line* next_of(Lines turn);
  [[nodiscard]] bool has_room(const Lane& lane, const Line::Send& send) const;
  /// Whether large ones are to wait for a small one.
  [[nodiscard]] bool holds_back() const;

  TransportLimits limits_;
  std::map<Seat, Lane> lanes_;
  std::uint32_t urgent_ = 0;                       ///< small collectives under way
  bool held_ = false;                              ///< something waits for them alone
  Clock::time_point hold_until_{}, held_since_{};  ///< since: from when on large ones send nothing
};

}  // namespace multitree::runtime
