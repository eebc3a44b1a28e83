// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Pipelined: the words of a message that a port reads from memory while it sends them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nic/parameters.hpp"

namespace multitree::nic {

/// When each word of the message that a port sends is there. The port asks for a word a cycle from
/// the one on in which it begins, but for no more than Parameters::send_words that it has not sent;
/// memory answers Parameters::memory_cycles later.
class WordReads {
 public:
  /// Other interfaces have each word when they want it.
  explicit WordReads(const Parameters& parameters)
      : latency_(parameters.reduction == Reduction::Pipelined ? parameters.memory_cycles : 0),
        sent_at_(parameters.send_words) {}

  /// A message begins in that cycle.
  void begins(std::uint64_t cycle) {
    asked_at_ = cycle;
    word_ = 0;
  }
  /// Whether its next word may be sent in that cycle.
  [[nodiscard]] bool is_there(std::uint64_t cycle) const { return cycle >= asked_at_ + latency_; }
  /// It is sent in that cycle.
  void sends(std::uint64_t cycle) {
    sent_at_[word_ % sent_at_.size()] = cycle;
    ++word_;
    ++asked_at_;
    // The place of the word that was sent so many before is free in the cycle after.
    if (word_ >= sent_at_.size()) {
      asked_at_ = std::max(asked_at_, sent_at_[word_ % sent_at_.size()] + 1);
    }
  }

 private:
  std::uint64_t latency_;
  std::uint64_t asked_at_ = 0;          // cycle: for the next word
  std::uint64_t word_ = 0;              // its number in the message
  std::vector<std::uint64_t> sent_at_;  // cycles, of the words before it
};

}  // namespace multitree::nic
