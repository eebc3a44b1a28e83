// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Everything about interfaces, routers and flow control that a simulation may vary, with every
/// default in this one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "topologies/topology.hpp"

namespace multitree::nic {

/// How a message is cut up (Huang et al., ISCA 2021, section IV-B).
enum class FlowControl : std::uint8_t {
  Message,  ///< one header before the whole chunk
  Packet    ///< one before each `packet_bytes`
};
/// When an entry may be sent once what it waits for is there.
enum class Issue : std::uint8_t {
  Dependency,  ///< at once, in the order of the port's entries
  Lockstep     ///< not before its step; steps last as long as estimated, see nic-spec.md
};
/// What happens to partial sums that arrive.
enum class Reduction : std::uint8_t {
  Streaming,  ///< added at the rate of the link while they arrive, on every port
  Store,      ///< stored whole, then added one after the other by one unit a rank
  Pipelined   ///< added word by word by an engine at each port, as in hardware. Flit model only
};

/// The defaults are the MULTITREE study's network (ISCA 2021, section V): flits of 16 bytes at
/// 1 GHz, 4 virtual channels of 318 flits, packets of 256 bytes. Bandwidth and latency of links are
/// the topology's.
struct Parameters {
  std::uint64_t clock_hz = 1'000'000'000;  ///< raised if a link carries more than a flit a cycle
  std::uint32_t flit_bytes = 16;
  std::uint32_t element_bytes = 4;  ///< float
  std::uint32_t virtual_channels = 4;
  std::uint32_t buffer_flits = 318;  ///< of each virtual channel: twice 150 cycles and some slack
  std::uint32_t router_cycles = 0;   ///< that a flit stays at least, besides the link's latency
  /// An input of a router moves one flit a cycle, of whichever virtual channel has waited longest
  /// of those that can; otherwise one of each. Flit model only.
  bool shared_inputs = false;
  std::uint32_t interface_cycles = 1;  ///< latency between an interface and its router
  std::uint32_t issue_cycles = 0;      ///< from an entry's last dependence to its first flit
  /// Jitter: each message is issued up to that many cycles later still, by a hash of its number.
  std::uint32_t issue_jitter = 0;
  /// Virtual cut-through: a header waits until the next buffer has room for its whole packet (for
  /// a message: its first `packet_bytes`). Otherwise wormhole: for one flit.
  bool cut_through = false;
  FlowControl flow_control = FlowControl::Message;
  std::uint32_t packet_bytes = 256;
  std::uint32_t header_flits = 1;
  std::uint32_t ports = 0;  ///< of an interface; 0: one for each link of its node
  /// Virtual channels of an interface's ejection ports: a worm takes one of the first that many. 0,
  /// or more than links have: as many as links have. Pipelined: 1 (0 means that). Flit model only.
  std::uint32_t ejection_channels = 0;
  /// 0: a port sends the messages of its links. Otherwise any port sends any message: the lowest
  /// with room takes the next of the lowest step, and has room again when all but so many packets
  /// of what it took have left. What the study's released simulator does, with 58. Flit model only.
  std::uint32_t port_queue_packets = 0;
  Issue issue = Issue::Dependency;
  std::uint32_t step_discount = 0;  ///< lockstep: cycles that the estimate of a step is short
  Reduction reduction = Reduction::Streaming;
  std::uint32_t reduction_elements = 32;  ///< Store: elements that are added in a cycle
  std::uint32_t reduction_cycles = 3;     ///< Pipelined: cycles that the adders of a port take
  std::uint32_t park_slots = 8;           ///< Pipelined: worms that can be early at a port
  std::uint32_t ports_per_unit = 1;       ///< Pipelined: 2: so many ports share an adder
  std::uint32_t memory_cycles = 1;        ///< Pipelined: from what memory is asked to its answer
  /// Pipelined: words that memory reads, and that it writes, in a cycle, for all ports of an
  /// interface; 0: as many as they ask for. Flit model only.
  std::uint32_t memory_ports = 0;
  std::uint32_t send_words = 4;  ///< Pipelined: words that a port asks for before it sends them
  std::uint32_t add_words = 2;  ///< Pipelined: words that a port adds or copies, waiting for memory
  std::uint32_t replay_flits = 512;           ///< Links that lose: kept until they have arrived
  std::uint32_t dead_link_cycles = 65'536;    ///< and after so many without any progress it is dead
  std::uint64_t watchdog_cycles = 1'000'000;  ///< without any flit moving: deadlock is reported
  bool operator==(const Parameters&) const = default;
};

/// Reads an object with some of the members; the others are those of `otherwise`. Names are those
/// above.
/// \throws Error(InvalidInput) "file:line: ..." on members that do not exist or make no sense.
Parameters read_parameters(std::string_view json, const std::string& file,
                           const Parameters& otherwise = {});
/// All members, in the order above.
std::string write_parameters(const Parameters& parameters);

/// Flits that carry a payload; 0 for no elements.
std::uint64_t payload_flits(std::uint64_t elements, const Parameters& parameters);
/// Headers before that many payload flits: one, or one a packet; for none 0, or one if Pipelined,
/// which sends messages without elements.
std::uint64_t header_flits(std::uint64_t payload, const Parameters& parameters);

/// Virtual channels of ejection ports that worms may take.
/// \throws Error(Unsupported) if it is another number than 1 with Reduction::Pipelined.
std::uint32_t ejection_channels_of(const Parameters& parameters);

/// Whether memory may hold up what ports take in: Pipelined, and it has a limited number of words
/// in a cycle, or a port's words that wait for it do not last as long as its answer takes. Without
/// cycles of adders, which no hardware has, ports wait for the former alone.
[[nodiscard]] bool memory_limits(const Parameters& parameters);
/// \throws Error(Unsupported) if Pipelined and with `memory_ports` there are fewer streams of
/// memory: three for each port, of a rank or a switch that adds or copies, whichever has the most;
/// or adders take no cycle.
void check_memory_ports(const Topology& topology, const Parameters& parameters);

/// What a link is in cycles.
struct LinkCycles {
  std::uint32_t latency = 1;         ///< >= 1
  std::uint32_t interval = 1 << 16;  ///< cycles a flit, in units of 2^-16, >= 2^16
};
inline constexpr std::uint32_t kWholeCycle = 1 << 16;

/// `clock_hz`, or what the fastest link needs to carry at most one flit a cycle.
std::uint64_t clock_of(const Topology& topology, const Parameters& parameters);
/// \throws Error(Unsupported) if a link takes more than 65535 cycles a flit or 2^24 of latency.
LinkCycles cycles_of(const Link& link, std::uint64_t clock_hz, const Parameters& parameters);

/// The least `buffer_flits`, from those given on, with which no link waits for its credits: what it
/// carries while a flit and its credit are on the way, and 2 more; 65535 at most.
/// \throws as cycles_of().
std::uint32_t round_trip_flits(const Topology& topology, const Parameters& parameters);

}  // namespace multitree::nic
