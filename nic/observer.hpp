// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What happens in a simulation, event by event: for comparisons with hardware.
#pragma once

#include <cstdint>

namespace multitree::nic {

/// Told by the flit model what happens in which cycle; by the message model of begun(), taken() and
/// step() alone. Entries are numbered as in the table of the
/// rank that sends them, ports within their rank, links as in the topology, pieces as in
/// Program::piece_of(). `number`: which flit of the message, counted over all its packets, headers
/// included. Calls of one kind come in the order of cycles; those of one cycle in any order.
class Observer {
 public:
  virtual ~Observer() = default;

  /// A port begins an entry; the first flit leaves issue_cycles (and jitter) later, or when there
  /// is room.
  virtual void begun(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port,
                     std::uint32_t entry) = 0;
  /// A flit leaves an interface into that virtual channel of its port. `head`: first flit of a
  /// worm, `tail`: last.
  virtual void injected(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port,
                        std::uint32_t vc, std::uint32_t entry, std::uint64_t number, bool head,
                        bool tail) = 0;
  /// A flit leaves a router onto a link, whose virtual channel `vc` it takes. Beyond a link that
  /// has lost a flit of the worm (a fault) its later ones have too small a number.
  virtual void passed(std::uint64_t cycle, std::uint32_t link, std::uint32_t vc, std::uint32_t src,
                      std::uint32_t entry, std::uint64_t number) = 0;
  /// A flit stands before the interface that it is for.
  virtual void arrived(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port,
                       std::uint32_t src, std::uint32_t entry, std::uint64_t number) = 0;
  /// The engine of an ejection port issues word `pos` of the message that is the piece's `turn`-th;
  /// pipelined reduction only.
  virtual void issued(std::uint64_t cycle, std::uint32_t rank, std::uint32_t port,
                      std::uint32_t piece, std::uint32_t turn, std::uint32_t pos) = 0;
  /// From this cycle on that many messages of the piece are taken in.
  virtual void taken(std::uint64_t cycle, std::uint32_t rank, std::uint32_t piece,
                     std::uint32_t count) = 0;
  /// Lockstep: from this cycle on the rank is in that step. Not called for step 0, nor after the
  /// last.
  virtual void step(std::uint64_t cycle, std::uint32_t rank, std::uint32_t step) = 0;
  /// Jobs: a rank starts one (its doorbell is rung); from this cycle on it is over there, if it has
  /// messages at that rank.
  virtual void started(std::uint64_t /*cycle*/, std::uint32_t /*rank*/, std::uint32_t /*job*/) {}
  /// Sums that count what they hold: an entry that is begun has so many contributions in it.
  virtual void counts(std::uint32_t /*rank*/, std::uint32_t /*entry*/, std::uint32_t /*count*/) {}
  virtual void over(std::uint64_t /*cycle*/, std::uint32_t /*rank*/, std::uint32_t /*job*/) {}
};

}  // namespace multitree::nic
