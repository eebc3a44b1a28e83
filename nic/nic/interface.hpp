// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One network interface: table sequencer, dependences, lockstep counter, reduction.
/// docs/nic-spec.md says what happens in which cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "nic/parameters.hpp"
#include "nic/program/program.hpp"

namespace multitree::nic {

/// An entry of a rank's table.
struct EntryRef {
  std::uint32_t rank = 0;
  std::uint32_t entry = 0;
  bool operator==(const EntryRef&) const = default;
};

/// What an interface keeps of its table while it runs. It knows no network and no time but what it
/// is told: whoever simulates it, flit by flit or message by message, asks which entry a port sends
/// next and reports what was sent and what has arrived.
class Interface {
 public:
  /// Keeps references to the program and the parameters.
  /// `port_of_link[p]`: injection port for the entries of the node's p-th link, below `ports`.
  Interface(const Program& program, Rank rank, std::span<const std::uint32_t> port_of_link,
            std::uint32_t ports, const Parameters& parameters);

  [[nodiscard]] std::uint32_t ports() const { return static_cast<std::uint32_t>(queues_.size()); }
  [[nodiscard]] const Entry& entry(std::uint32_t number) const { return entries_[number]; }

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// The entry that a port may begin to send now: its next one, if what it waits for has been taken
  /// in and, in lockstep, its step has come; kNone otherwise.
  [[nodiscard]] std::uint32_t issuable(std::uint32_t port) const;
  /// The port has read and sent all of that entry; its next one is up.
  void sent(std::uint32_t port);

  /// A message of this rank has arrived whole. It is taken in when its turn has come.
  void arrived(EntryRef message, const Entry& entry);
  /// The next message that may be taken in, if any: called after sent() and arrived() until there
  /// is none. Adding takes place between take() and taken(), at once or later.
  [[nodiscard]] bool take(EntryRef& message);
  /// It has been taken in, and what waited for it may be sent.
  void taken(const Entry& entry);
  /// Whether the message could be taken in as it arrives: its turn has come.
  [[nodiscard]] bool is_open(const Entry& entry) const;

  /// Lockstep: whether all entries of the current step have been sent.
  [[nodiscard]] bool step_is_done() const;
  [[nodiscard]] std::uint32_t step() const { return step_; }
  void next_step() { ++step_; }

  /// All entries sent, nothing left that has arrived and was not taken in.
  [[nodiscard]] bool is_done() const { return unsent_ == 0 && parked_.empty(); }
  [[nodiscard]] std::uint32_t unsent() const { return unsent_; }
  /// The first entry that a port waits to send, for messages; kNone if all were sent.
  [[nodiscard]] std::uint32_t head(std::uint32_t port) const;
  /// Messages taken in so far of an entry's piece.
  [[nodiscard]] std::uint32_t taken_of(const Entry& entry) const {
    return pieces_[program_.piece_of(entry)].taken;
  }

 private:
  struct Piece {
    std::uint32_t taken = 0, sent = 0;
    std::uint32_t adding = 0;  // 1 between take() and taken()
  };
  struct Parked {
    EntryRef message;
    const Entry* entry = nullptr;
  };

  const Program& program_;
  const Parameters& parameters_;
  std::span<const Entry> entries_;
  std::vector<std::vector<std::uint32_t>> queues_;  // [port]: entries in order
  std::vector<std::uint32_t> next_;                 // [port]
  std::vector<Piece> pieces_;
  std::vector<Parked> parked_;  // in order of arrival
  std::uint32_t unsent_ = 0;
  std::uint32_t step_ = 0;
};

/// Cycles of each step in lockstep: as long as its longest message takes to send, less
/// Parameters::step_discount, but at least one cycle a packet.
std::vector<std::uint64_t> estimate_steps(const Program& program, const Parameters& parameters);

}  // namespace multitree::nic
