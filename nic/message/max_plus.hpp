// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How many cycles tables take, message by message, without simulating any cycle.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/table/table.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// Links and flow control; the defaults are those of the MULTITREE study (Huang et al., ISCA 2021,
/// section V): 1 GHz, 16 bytes a flit, 150 cycles a link, a whole chunk as one message.
struct MessageTiming {
  std::uint32_t flit_bytes = 16;    ///< a link carries one flit a cycle
  std::uint32_t element_bytes = 4;  ///< float
  std::uint64_t latency = 150;      ///< cycles from the last flit's start to its arrival
  std::uint32_t header_flits = 1;   ///< before each message, or each packet
  std::uint32_t packet_bytes = 0;   ///< payload of a packet (256 in the study); 0: one message
};

struct MessageTimes {
  std::uint64_t cycles = 0;        ///< until the last message has arrived
  std::uint64_t busiest_port = 0;  ///< cycles that the busiest port sends
  std::uint64_t messages = 0;
};

/// Flits of a message with its headers; none without elements.
std::uint64_t flits_of(std::uint64_t elements, const MessageTiming& timing);

/// When everything is there if each port sends its entries in the order of the table, one after
/// the other, as soon as what they wait for has arrived whole (dependency-driven issue, memory as
/// fast as needed). That is a recurrence in maxima and sums, for an entry waits for messages of
/// earlier steps alone. Compiled once, it can be evaluated again and again. O(entries).
class MaxPlus {
 public:
  /// \pre `tables` are absolute and compiled for this topology.
  /// \throws Error(Unsupported) if it has switches: their links are shared, and tables do not say
  /// by whom; for tables of groups; or if it takes more than 2^32 cycles or states.
  MaxPlus(const Tables& tables, const Topology& topology, const MessageTiming& timing);
  [[nodiscard]] MessageTimes evaluate() const;

 private:
  /// A message: from a port and a state (rank and piece) to another state.
  struct Term {
    std::uint32_t port = 0, from = 0, to = 0;
    std::uint32_t flits = 0;
  };

  std::vector<Term> terms_;         // step by step
  std::vector<std::size_t> steps_;  // where each step begins; empty: a step's arrivals may count
                                    // at once, for nothing in it waits for the same piece
  std::uint32_t ports_ = 0, states_ = 0;
  std::uint64_t latency_ = 0, busiest_port_ = 0;
};

/// MaxPlus(tables, topology, timing).evaluate().
MessageTimes evaluate(const Tables& tables, const Topology& topology, const MessageTiming& timing);

}  // namespace multitree::nic
