// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How fast several cables to one peer are, while they carry parts of the same messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/messages/network/link_rates_internal.hpp"

namespace multitree::runtime::tcp {

/// Rates by which messages are divided among cables: those that are declared, until what the
/// kernel says of the connections shows that some bring less of theirs than the one that brings
/// most. Only that ratio is followed, as what all bring varies with sizes of messages and with
/// processors. A cable that has no share tells nothing: from time to time it gets more.
class CableRates {
 public:
  using Clock = std::chrono::steady_clock;

  /// In Mbit/s; 0: that cable carries nothing. What was measured of those that are the same is
  /// kept.
  void declare(const std::vector<std::uint32_t>& mbits);
  /// Whether enough time has passed for look().
  [[nodiscard]] bool is_due(Clock::time_point now) const { return now - looked_ >= kLook; }
  /// By cable, all at the same moment; none of one that carries nothing. True: mbits() has changed.
  bool look(std::span<const std::optional<Flow>> flows, Clock::time_point now);
  /// At least 1 of what carries something.
  [[nodiscard]] std::vector<std::uint32_t> mbits() const;
  /// Of its declared rate, what cable `number` brings beside the one that brings most of its own.
  [[nodiscard]] double left(std::size_t number) const { return cables_[number].left; }

 private:
  struct Cable {
    std::uint32_t declared = 0;
    double left = 1;
    std::optional<Flow> flow;    ///< at the last look
    double busy = 0, bytes = 0;  ///< in the window: seconds
    Clock::time_point seen;      ///< when it last told something, or got more
    [[nodiscard]] bool tells() const;
    /// Of what is declared; no more than it does.
    [[nodiscard]] double brings() const;
  };
  void add(std::span<const std::optional<Flow>> flows);
  bool judge(Clock::time_point now);
  bool give_chances(Clock::time_point now);

  static constexpr std::chrono::milliseconds kLook{50};
  std::vector<Cable> cables_;
  Clock::time_point looked_;
};

}  // namespace multitree::runtime::tcp
