// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The numbers inside messages on their way from one memory to another.
#pragma once

#include <algorithm>
#include <bit>
#include <boost/crc.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "nic/parameters.hpp"
#include "nic/table/table.hpp"

namespace multitree::nic {

/// Reads each flit's elements from the sender's memory in the cycle in which the flit leaves, and
/// adds or copies them to the receiver's when the flit arrives, or later if it is not yet the
/// message's turn.
class Payloads {
 public:
  Payloads(std::vector<std::vector<float>>& memory, std::size_t messages,
           const Parameters& parameters, bool checksums)
      : memory_(memory),
        messages_(messages),
        elements_(parameters.flit_bytes / parameters.element_bytes),
        in_order_(parameters.flow_control == FlowControl::Message),
        checksums_(checksums) {}

  /// A message begins.
  void open(std::uint32_t message, const Entry& entry) {
    messages_[message].values.resize(entry.size);
  }
  /// Its `flit`-th payload flit leaves.
  void read(std::uint32_t message, std::uint32_t rank, const Entry& entry, std::uint64_t flit) {
    const std::uint64_t begin = flit * elements_, end = std::min(begin + elements_, entry.size);
    const float* const from = memory_[rank].data() + entry.start;
    std::copy(from + begin, from + end, messages_[message].values.data() + begin);
    // As it leaves: what happens to it on the way is not in the checksum.
    if (checksums_) {
      messages_[message].sent.process_bytes(from + begin, (end - begin) * sizeof(float));
    }
  }
  /// What a rank has from there on is nothing.
  void clear(std::uint32_t rank, std::uint64_t first) {
    std::ranges::fill(std::span(memory_[rank]).subspan(first), 0.0F);
  }
  void corrupt(std::uint32_t message, std::uint64_t flit) {
    float& value = messages_[message].values[flit * elements_];
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
  }
  /// That flit arrives. `open`: it is the message's turn.
  void arrived(std::uint32_t message, std::uint64_t flit, std::uint32_t rank, const Entry& entry,
               bool open) {
    // Packets may overtake each other: those wait for the end.
    if (open && in_order_) apply(message, rank, entry, (flit + 1) * elements_);
  }
  /// The message is taken in: whatever of it was not yet.
  void apply_rest(std::uint32_t message, std::uint32_t rank, const Entry& entry) {
    apply(message, rank, entry, entry.size);
    messages_[message].values = {};
  }
  /// Whether its numbers are those that were sent.
  [[nodiscard]] bool is_intact(std::uint32_t message) const {
    if (!checksums_) return true;
    boost::crc_32_type crc;
    const std::vector<float>& values = messages_[message].values;
    crc.process_bytes(values.data(), values.size() * sizeof(float));
    return crc.checksum() == messages_[message].sent.checksum();
  }

 private:
  struct Message {
    std::vector<float> values;
    std::uint64_t applied = 0;  // elements
    boost::crc_32_type sent;    // of what has been read
  };

  void apply(std::uint32_t message, std::uint32_t rank, const Entry& entry, std::uint64_t until) {
    Message& m = messages_[message];
    float* const to = memory_[rank].data() + entry.start;
    for (until = std::min(until, entry.size); m.applied < until; ++m.applied) {
      const float value = m.values[m.applied];
      to[m.applied] = entry.op == Opcode::Reduce ? to[m.applied] + value : value;
    }
  }

  std::vector<std::vector<float>>& memory_;
  std::vector<Message> messages_;
  std::uint64_t elements_;  // a flit
  bool in_order_, checksums_;
};

}  // namespace multitree::nic
