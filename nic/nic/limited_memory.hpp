// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory that holds ports up: it takes a limited number of words in a cycle, for all ports of an
/// interface, or answers later than ports have words to wait. docs/nic-spec.md, "Memory", says
/// which words go first.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "nic/network/ports.hpp"
#include "nic/parameters.hpp"

namespace multitree::nic {

/// A word on its way into the buffer.
struct WordIn {
  std::uint32_t message = 0;
  std::uint32_t words = 0;  ///< of the message, up to this one
  std::uint32_t end = 0;    ///< of its worm's words in the message
  bool adds = false;        ///< to a word that is read,
  bool staged = false;      ///< is itself read from beside the buffer,
  bool empty = false;       ///< is none: the message has no elements
};

/// What waits for memory at all ports: words to be sent, words on their way into the buffer, and
/// flits on their way beside it. In a cycle the ports say what they want, in any order, as they see
/// it at its start; step() ends the cycle.
class LimitedMemory {
 public:
  /// \pre memory_limits(), and check_memory_ports() has found nothing.
  LimitedMemory(const Parameters& parameters, const Ports& ports);

  /// A port begins a message of so many payload flits.
  void begins(std::uint32_t port, std::uint64_t payload);
  /// Whether the next word of its message may be sent in that cycle; it is sent.
  [[nodiscard]] bool is_there(std::uint64_t cycle, std::uint32_t port) const;
  void sends(std::uint32_t port) { sending_[port].sends = true; }

  /// Whether a port may issue a word in this cycle; it issues one.
  [[nodiscard]] bool may_issue(std::uint32_t port) const;
  void issue(std::uint32_t port, const WordIn& word) { taking_[port].issued = word; }
  /// A port has a flit that goes beside the buffer, in this and later cycles until it is there.
  void offer(std::uint32_t port) { taking_[port].offers = true; }

  /// Ends a cycle.
  void step(std::uint64_t cycle);
  /// Whether the flit that was offered went beside the buffer in the last cycle.
  [[nodiscard]] bool is_beside(std::uint32_t port) const { return taking_[port].is_beside; }
  /// The word that a port wrote in the last cycle, if it did.
  [[nodiscard]] const std::optional<WordIn>& written(std::uint32_t port) const {
    return taking_[port].written;
  }
  /// Whether words of a port are on their way into the buffer, or to it.
  [[nodiscard]] bool is_busy(std::uint32_t port) const { return taking_[port].is_busy(); }
  /// The last cycle in which memory accepted anything.
  [[nodiscard]] std::uint64_t last_progress() const { return last_progress_; }

 private:
  /// Words of the message that a port sends.
  struct Sending {
    std::uint64_t payload = 0, asked = 0, sent = 0;
    bool sends = false;             // one, in this cycle
    std::deque<std::uint64_t> due;  // cycles from which on those under way are there
  };
  /// Words that a port adds or copies.
  struct Taking {
    std::optional<WordIn> issued;       // in this cycle
    bool acc_asks = false;              // for the word that the last one is added to
    bool stage_asks = false;            // for that word itself
    bool offers = false;                // a flit to go beside the buffer
    bool is_beside = false;             // it went there
    std::deque<WordIn> waiting;         // issued, and not with the adders
    std::deque<std::uint64_t> acc_due;  // cycles from which on what was asked for is there
    std::deque<std::uint64_t> stage_due;
    std::deque<std::optional<WordIn>> adders;  // a place for each cycle; the last one's is written
    std::uint32_t added = 0;                   // words in there
    bool has_sent = false;  // the last one was written; the other port's holds both up
    std::optional<WordIn> written;
    [[nodiscard]] bool is_busy() const {
      return issued || acc_asks || stage_asks || offers || !waiting.empty() || added > 0;
    }
  };

  [[nodiscard]] bool wants_word(const Sending& sending) const;
  void step_writes(std::uint64_t cycle, std::uint32_t rank);
  void step_reads(std::uint64_t cycle, std::uint32_t rank);
  void move(std::uint64_t cycle, std::span<Taking> ports, std::span<const std::uint8_t> goes);
  void enter(std::uint64_t cycle, std::span<Taking> ports);
  template <typename Asks, typename Accept>
  void share(std::uint32_t streams, std::uint32_t& pointer, const Asks& asks, const Accept& accept);

  const std::uint32_t words_, send_words_, add_words_, ports_per_unit_;
  const std::uint64_t latency_;
  std::vector<std::uint32_t> first_port_, num_ports_;        // [rank]
  std::vector<std::uint32_t> read_pointer_, write_pointer_;  // [rank]: stream that is first
  std::vector<Sending> sending_;                             // [port]
  std::vector<Taking> taking_;                               // [port]
  std::vector<std::uint8_t> upper_enters_first_;             // [port, the lower of a unit's]
  std::vector<std::uint8_t> result_goes_;                    // [port of a rank]: in this cycle
  bool progress_ = false;                                    // in this cycle
  std::uint64_t last_progress_ = 0;
};

}  // namespace multitree::nic
