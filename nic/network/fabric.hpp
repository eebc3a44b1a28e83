// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Routers and links at flit level, cycle by cycle. docs/nic-spec.md specifies every cycle.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/link_errors.hpp"
#include "nic/network/channel_classes.hpp"
#include "nic/network/link_faults.hpp"
#include "nic/network/ports.hpp"
#include "nic/network/retry_link.hpp"
#include "nic/parameters.hpp"
#include "topologies/topology.hpp"

namespace multitree::nic {

/// A cycle. A simulation may last 2^31 of them.
using Cycle = std::uint32_t;

/// A flit that reached an interface.
struct Delivery {
  std::uint32_t packet = 0;
  std::uint32_t port = 0;  ///< ejection port, among all
  Cycle time = 0;          ///< when it is there
  bool head = false, tail = false, corrupt = false;
};

/// Every node of the topology is a router with one input and one output channel for each link and,
/// at endpoints, for each port of the interface. A channel has some virtual channels, each a buffer
/// at its end. Packets travel as worms: a header that takes a virtual channel of each channel on
/// its route, flits that follow, and a tail that frees it.
///
/// Each cycle every output of a router takes at most one flit: inputs that offer one take turns
/// (round robin), and of an input's virtual channels the one goes first that has waited longest.
/// Each virtual channel has its own way into the switch. Interfaces take what arrives, unless
/// hold() says otherwise. What a router does depends on earlier cycles of its neighbours alone, so
/// results do not depend on the order in which routers are visited.
class Fabric {
 public:
  static constexpr Cycle kNever = std::numeric_limits<Cycle>::max();

  /// Keeps no reference. \param errors links lose, and send again what is lost (retry_link.hpp);
  /// else everything arrives, and what inject_fault() takes away is gone. \throws
  /// Error(Unsupported) with `errors` if a link is slower than a flit a cycle, or its round trip
  /// longer than `replay_flits`.
  Fabric(const Topology& topology, const Parameters& parameters,
         const std::optional<LinkErrors>& errors = {});

  /// Ports of all interfaces.
  [[nodiscard]] const Ports& ports() const { return ports_; }

  /// Makes routes known, with the classes of each link out of `classes` in all.
  void set_routes(std::span<const std::vector<LinkId>> routes, const ChannelClasses& classes);

  /// A new packet on a known route. `room`: flits that a buffer must have room for before the
  /// header enters it. The number is free again once the tail was delivered and release()d.
  std::uint32_t open(std::uint32_t route, std::uint32_t room);
  void release(std::uint32_t packet) { free_packets_.push_back(packet); }

  /// Gives a packet's header a virtual channel of an injection port; false if none is free now.
  bool start(std::uint32_t packet, Rank rank, std::uint32_t port);
  /// Sends the packet's next flit from its interface; false if there is no room now. At most one a
  /// cycle and port. \pre started.
  bool inject(std::uint32_t packet, bool head, bool tail);

  /// Whether an ejection port, of all, takes no flit from now on; each takes all at first.
  void hold(std::uint32_t port, bool held) {
    channels_[first_ejection_ + port].held = held;
    may_hold_ = may_hold_ || held;
  }

  /// Lets routers work for one cycle.
  void step();
  /// The cycle that step() comes to next.
  [[nodiscard]] Cycle now() const { return now_; }
  /// What reached interfaces by the last step().
  [[nodiscard]] std::span<const Delivery> delivered() const { return delivered_; }

  /// No router has anything to do in this cycle.
  [[nodiscard]] bool is_idle() const;
  /// When a router has, if nothing is injected before; kNever if all is quiet.
  [[nodiscard]] Cycle next_event() const;
  /// Goes on to a cycle without visiting those before it. \pre idle, `cycle` <= next_event().
  void skip_to(Cycle cycle);

  /// Flits that passed a link so far, and that moved at all (each channel counts).
  [[nodiscard]] std::uint64_t flits_on(LinkId link) const { return channels_[index(link)].passed; }
  [[nodiscard]] std::uint64_t moves() const;

  /// Links that lose: which is dead and since when, else empty; and what all have sent.
  [[nodiscard]] const std::string& dead_link() const { return dead_link_; }
  [[nodiscard]] LinkCounts link_counts() const;
  /// Goes on until links that lose have nothing on their way, or one is dead. \pre Nothing is
  /// injected any more.
  void settle();

  /// All buffers empty, all virtual channels free, all credits home (by the cycle
  /// now() + the longest latency). Empty text, or what is not.
  [[nodiscard]] std::string check_drained() const;
  /// Who waits for whom: a circle of buffers if there is one, else the buffers that wait.
  [[nodiscard]] std::string describe_blockage() const;

  /// From `cycle` on, the `count`-th flit to pass the link (counted from 0 from then on) is dropped
  /// or corrupted; or all are lost, if dead. Never sends a flit anywhere else than it should go.
  /// Links that lose: frames, with a flit or empty, are counted, and dead is both ways.
  void inject_fault(LinkId link, LinkFault fault, Cycle cycle, std::uint64_t count);

  /// When a packet passed a link, for traces: its header in cycle `begin`, its tail in `end` - 1.
  struct Passage {
    LinkId link{};
    std::uint32_t packet = 0;
    Cycle begin = 0, end = 0;
  };
  void record_passages(bool on) { recording_passages_ = on; }
  [[nodiscard]] std::span<const Passage> passages() const { return passages_; }
  void clear_passages() { passages_.clear(); }

  /// A flit that a router has put on a link in the last step().
  struct Move {
    LinkId link{};
    std::uint32_t vc = 0;  ///< of that link
    std::uint32_t packet = 0;
    std::uint32_t number = 0;  ///< of the packet's flits that came here, from 0
  };
  void record_moves(bool on) { recording_moves_ = on; }
  [[nodiscard]] std::span<const Move> last_moves() const { return last_moves_; }

  /// Virtual channel of its injection port that a packet was given. \pre started.
  [[nodiscard]] std::uint32_t injection_vc(std::uint32_t packet) const {
    return packets_[packet].injected & ((1U << shift_) - 1);
  }

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  // Bits of a flit's word.
  static constexpr std::uint32_t kHead = 1, kTail = 2, kCorrupt = 4, kPacketShift = 3;

  /// A place in a buffer. Full: a flit that may go on from `time`. Empty: the sender's to fill from
  /// `time`, when the credit has come back. So credits need no counters and no messages.
  struct Slot {
    Cycle time = 0;
    std::uint32_t word = kNone;  // packet << 3 | corrupt << 2 | tail << 1 | head
  };
  /// The buffer of a virtual channel: number channel << shift_ | virtual channel.
  struct Buffer {
    std::uint32_t out = kNone;         // buffer that the worm at its head goes to
    Cycle served = 0;                  // one past the cycle in which it gave its last flit
    std::uint16_t head = 0, tail = 0;  // slots in use, from buffer * depth_ on in a ring
    std::uint16_t count = 0;           // flits in it or on the way to it
    bool taken = false;                // by a worm whose tail has not entered it
  };
  struct Channel {
    std::uint32_t winner = kNone;  // of this cycle: buffer whose flit it takes
    std::uint32_t into = kNone;    // and which of its own buffers that flit enters
    std::uint32_t latency = 1;     // from leaving the router (interface) before it to the next
    std::uint16_t input = 0;       // at the router that it leads to: which of its inputs
    std::uint16_t next_input = 0;  // of that router, at the one before it: round robin pointer
    std::uint64_t passed = 0;      // flits
    bool slow = false;             // takes more than a cycle for a flit
    bool faulty = false;
    bool special = false;  // one of these
    bool retries = false;  // a link that loses
    bool held = false;     // it, or an ejection port, takes no flit in this cycle
  };
  /// A channel that takes a flit every `interval` cycles, in units of 2^-16.
  struct Pace {
    std::uint32_t interval = kWholeCycle;
    std::uint64_t next_free = 0;
  };
  struct Hop {
    std::uint32_t channel = 0;
    std::uint8_t mask = 0;  // virtual channels that may be used
  };
  struct PacketState {
    std::uint32_t hop = 0;  // the header's next, in hops_
    std::uint32_t room = 1;
    std::uint32_t injected = kNone;  // buffer
  };
  /// Where the next flit to arrive, and the next credit to come back, belong in a buffer behind a
  /// link that loses.
  struct Due {
    std::uint16_t flit = 0, credit = 0;
  };

  /// The arrays in hand: pointers that the compiler can keep in registers.
  struct Hands;
  [[nodiscard]] Hands hands();
  void wake(const Hands& hands);
  [[nodiscard]] std::uint32_t wish(std::uint32_t buffer, const Hands& hands) const;
  void offer(std::uint32_t buffer, std::uint32_t out, const Hands& hands);
  std::uint32_t offer_one_of(std::uint32_t first, std::uint32_t count, const Hands& hands);
  [[nodiscard]] std::uint32_t next_buffer(const Hop& hop, std::uint32_t room,
                                          const Hands& hands) const;
  void move(std::uint32_t channel, const Hands& hands);
  std::uint32_t list_ready();
  void keep_pace(std::uint32_t channel);
  /// Whether a flit gets over a link with faults into that buffer; may mark it as corrupt. Of a
  /// worm whose header was lost the router at the end discards all flits up to the tail. Where a
  /// tail was lost, the virtual channel stays taken: its router never sees the worm's end.
  bool survives(std::uint32_t channel, std::uint32_t into, std::uint32_t& word);
  void record(std::uint32_t channel, std::uint32_t word);
  void make_retry(const Topology& topology, const Parameters& parameters, const LinkErrors& errors);
  void step_links();
  [[nodiscard]] std::string name_of(std::uint32_t buffer) const;

  std::uint32_t vcs_ = 1, shift_ = 0, depth_ = 1;
  std::uint32_t ejection_vcs_ = 1;
  Cycle router_cycles_ = 0, interface_cycles_ = 1;
  bool shared_inputs_ = false, may_hold_ = false;
  std::uint32_t links_ = 0;           // channels 0 .. links_-1 are links,
  std::uint32_t first_ejection_ = 0;  // then injection, then ejection
  Ports ports_;
  std::vector<Channel> channels_;
  std::vector<Pace> paces_;                        // [channel]
  std::vector<Buffer> buffers_;                    // [channel][vc]
  std::vector<Slot> slots_;                        // [buffer][depth], none for ejection
  std::vector<std::uint64_t> ready_;               // bits of channels with something ready
  std::vector<std::vector<std::uint32_t>> wheel_;  // [cycle mod size]: buffers to wake
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> first_hop_;  // [route]
  std::vector<PacketState> packets_;
  std::vector<std::uint32_t> free_packets_;
  std::vector<std::uint32_t> candidates_;  // ready buffers of this cycle
  std::vector<std::uint32_t> wanted_;      // output channels of this cycle
  std::vector<Delivery> delivered_;
  std::vector<std::string> names_;  // of links, for messages
  std::vector<LinkFaults> faults_;  // [link], if there are any
  std::vector<RetryLink> retries_;  // [link], if they lose
  std::vector<Due> due_;            // [buffer], likewise
  std::string dead_link_;
  std::vector<std::uint32_t> headless_;  // buffers whose router discards up to the next tail
  std::vector<Passage> passages_;
  std::vector<Cycle> passing_since_;  // [buffer]
  std::vector<Move> last_moves_;
  std::vector<std::uint32_t> passed_of_;  // [buffer]: flits of the worm that have entered it
  Cycle now_ = 0;
  bool recording_passages_ = false, recording_moves_ = false;
};

}  // namespace multitree::nic
