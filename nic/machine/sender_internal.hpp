// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the flit-level simulator keeps of a port that sends, and of a packet on its way.
#pragma once

#include <cstdint>

#include "nic/network/fabric.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/nic/word_reads.hpp"

namespace multitree::nic {

/// What an injection port is sending.
struct Sender {
  explicit Sender(const Parameters& parameters) : reads(parameters) {}

  /// A message of so many payload flits, whose first flit leaves in cycle `from` at the soonest.
  void begin(std::uint64_t payload, std::uint64_t from, std::uint64_t cycle) {
    payload_left = payload;
    not_before = from;
    opened = false;
    sent = 0;
    reads.begins(cycle);
  }

  std::uint32_t message = Endpoints::kNone;
  std::uint64_t not_before = 0;
  std::uint64_t payload_left = 0;  // flits of the message not yet in a packet
  std::uint32_t packet = 0;
  std::uint32_t flits_left = 0;    // of the packet
  std::uint32_t headers_left = 0;  // of those
  bool opened = false, started = false;
  bool active = false;
  Cycle next_cycle = 0;    // a flit a cycle: not before
  std::uint64_t sent = 0;  // flits of the message
  WordReads reads;
};

struct Packet {
  std::uint32_t message = 0;
  std::uint64_t first = 0;         // payload flit of the message
  std::uint64_t first_number = 0;  // the same, headers of packets before included
  std::uint32_t payload = 0;       // payload flits
  std::uint32_t received = 0;      // flits
};

}  // namespace multitree::nic
