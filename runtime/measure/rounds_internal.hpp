// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Rounds of messages between all neighbours at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "runtime/messages/transport.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime::measuring {

/// Whom one sends to and receives from.
struct Neighbours {
  std::vector<Seat> targets, sources;

  /// Ascending, each once.
  [[nodiscard]] std::vector<Seat> all() const {
    std::vector<Seat> seats = targets;
    seats.insert(seats.end(), sources.begin(), sources.end());
    std::ranges::sort(seats);
    seats.erase(std::unique(seats.begin(), seats.end()), seats.end());
    return seats;
  }
};

/// What one rank's messages to another took: from the first send, on its clock, to the last
/// arrival, on the other's.
struct Span {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  std::int64_t second = 0;  ///< arrival of the second of the first step; 0: there was one only
  [[nodiscard]] std::int64_t length() const { return end - begin; }
  void add(const Span& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

/// The kinds of a round: what is sent to each neighbour, in so many steps, of which each begins
/// when all of the one before has come.
struct Kind {
  std::uint32_t count;
  std::size_t bytes;
  std::uint32_t steps = 1;
  bool together = false;  ///< messages to one may leave together
};
/// One rank's part.
class Rounds {
 public:
  /// \throws as make_transport()
  Rounds(Bootstrap& job, const Topology& topology, const MeasureOptions& options);

  [[nodiscard]] const Neighbours& all() const { return all_; }
  /// Of pairs_in_turn().
  [[nodiscard]] const Neighbours& in_turn() const { return in_turn_; }
  [[nodiscard]] std::size_t segment_bytes() const { return transport_->limits().segment_bytes; }

  /// Collective: as many messages to each of `who` and from each as the kind says, at the same
  /// time. \returns by source
  std::vector<Span> round(const Neighbours& who, const Kind& kind);
  /// Collective, beside others' round(): looks for messages for so long, as a rank does that waits.
  void watch(std::chrono::nanoseconds time);
  /// Collective, at the end.
  void close();

 private:
  struct Message;

  void receive(const std::vector<Seat>& from, std::vector<Message>& messages, std::uint64_t tag,
               std::size_t bytes);
  /// Posts messages to all in turn. Each carries the time at which the first of them was posted.
  void send(const std::vector<Seat>& to, std::vector<Message>& messages, std::uint64_t tag,
            const Kind& kind);
  /// Progresses until all are done, and notes when; also of `others` that come meanwhile.
  void await(std::vector<Message>& incoming, std::vector<Message>& outgoing,
             std::vector<Message>* others);
  /// Waits as the engine does: where what arrives ends a sleep, looking before it would only take
  /// the processor from other ranks.
  void rest();
  bool all_done(std::vector<Message>& messages, std::int64_t now) const;
  /// \throws LinkError once a link has fallen silent, after telling the others
  void check_links() const;
  [[noreturn]] void time_out(const std::vector<Message>& incoming) const;

  Bootstrap& job_;
  Deadline timeout_;
  Neighbours all_, in_turn_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace multitree::runtime::measuring
