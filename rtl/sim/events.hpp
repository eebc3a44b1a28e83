// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What happens in a cycle, as the C++ model and the hardware both tell it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/observer.hpp"
#include "nic/program/program.hpp"
#include "rtl/sim/hardware.hpp"

namespace multitree::rtl {

/// An event, and what it is about: place and detail have the meanings below.
struct Event {
  enum class Kind : std::uint8_t {
    Begun,   ///< rank, port: a port begins its next entry
    Flit,    ///< link: a flit leaves a router; detail: virtual channel and, where sums count what
             ///< they hold, of a header how much
    Issued,  ///< rank, port: a receive port issues a word; detail: piece, turn, word
    Taken,   ///< rank, piece: a message is taken in
    Step,    ///< rank: lockstep goes on to a step; detail: which
    Over     ///< rank: a group is over; detail: which
  };
  std::uint32_t cycle = 0;
  Kind kind = Kind::Begun;
  std::uint32_t place = 0, port = 0;
  std::uint64_t detail = 0;
  auto operator<=>(const Event&) const = default;
};

/// "link 3 (0.0->0.1): flit on virtual channel 1".
std::string describe(const Event& event, const Topology& topology, const nic::Program& program);

/// Collects a simulation's events. Pieces are numbered as Program::piece_of().
class Recorder : public nic::Observer {
 public:
  /// \param worm flits of a worm, with its header, if what that counts is part of its events; else
  /// 0
  explicit Recorder(std::uint64_t worm = 0) : worm_(worm) {}
  void begun(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port,
             std::uint32_t entry) override;
  void injected(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                std::uint64_t, bool, bool) override {}
  void passed(std::uint64_t cycle, std::uint32_t link, std::uint32_t vc, std::uint32_t src,
              std::uint32_t entry, std::uint64_t number) override;
  void arrived(std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
               std::uint64_t) override {}
  void issued(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port, std::uint32_t piece,
              std::uint32_t turn, std::uint32_t pos) override;
  void taken(std::uint64_t cycle, std::uint32_t rank, std::uint32_t piece,
             std::uint32_t count) override;
  void step(std::uint64_t cycle, std::uint32_t rank, std::uint32_t step) override;
  void started(std::uint64_t cycle, std::uint32_t rank, std::uint32_t job) override;
  void over(std::uint64_t cycle, std::uint32_t rank, std::uint32_t job) override;
  void counts(std::uint32_t rank, std::uint32_t entry, std::uint32_t count) override;

  /// In order of cycles, and within a cycle in the order of Event.
  std::vector<Event> take();
  /// A rank has started a group.
  struct Start {
    std::uint64_t cycle = 0;
    std::uint32_t rank = 0, group = 0;
  };
  /// In the order of cycles.
  [[nodiscard]] const std::vector<Start>& starts() const { return starts_; }

 private:
  std::uint64_t worm_;
  std::vector<Event> events_;
  std::vector<Start> starts_;
  std::vector<std::vector<std::uint32_t>> counts_;  // [rank][entry]
};

/// Tells the hardware's events, cycle by cycle.
class HardwareEvents {
 public:
  /// \param doorbells of the groups, which is how the hardware numbers them; empty without.
  /// \param counted what headers count is part of their events, which are of that shape
  HardwareEvents(const Hardware& network, const Topology& topology, const nic::Program& program,
                 const std::vector<std::uint32_t>& doorbells = {},
                 const std::optional<FlitShape>& counted = {});

  /// Of the cycle `cycle` after the start, sorted. Flits and messages taken in are those of the
  /// cycle before, which is when the model tells them; call once a cycle.
  std::span<const Event> of(std::uint32_t cycle);

 private:
  void add_over(std::uint32_t cycle, std::uint32_t rank, std::uint32_t over);

  const Hardware& network_;
  const Topology& topology_;
  std::optional<FlitShape> counted_;
  std::vector<std::uint32_t> piece_of_;  // by the number that hardware gives it
  std::vector<std::uint32_t> group_of_;  // [doorbell]
  std::vector<std::uint32_t> active_;    // [rank]: doorbells of groups with messages there, as bits
  std::vector<std::uint32_t> steps_;     // [rank]
  std::vector<std::uint32_t> over_;      // [rank]
  std::vector<Event> events_;
  std::vector<Event> next_;  // told one cycle later
};

}  // namespace multitree::rtl
