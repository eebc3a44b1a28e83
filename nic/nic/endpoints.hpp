// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The interfaces of all ranks and their events: what the flit-level and the message-level
/// simulator share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nic/nic/event_wheel.hpp"
#include "nic/nic/interface.hpp"
#include "nic/simulate.hpp"

namespace multitree::nic {

/// Interfaces, the reduction unit of each rank, lockstep counters, and the queue of what is to
/// happen. Whoever carries the messages calls arrive() and sent(), and is told by Carrier when a
/// port has something to send.
class Endpoints {
 public:
  class Carrier {
   public:
    virtual ~Carrier() = default;
    /// A port that sends nothing has an entry that it may send. Not to be begun before this
    /// returns.
    virtual void ready(std::uint32_t port) = 0;
    /// A message is being taken in: its numbers count now.
    virtual void take(std::uint32_t message) = 0;
    /// An event of the carrier's own.
    virtual void happen(std::uint32_t what) = 0;
  };

  /// A port of an interface, numbered through all ranks.
  struct Port {
    std::uint32_t rank = 0, number = 0;
    std::uint32_t entry = Interface::kNone;  ///< that it is sending
  };

  /// Keeps references. `ports[r]` and `port_of_link[r]` as Interface wants them.
  Endpoints(const Program& program, const Parameters& parameters, const SimulationOptions& options,
            std::span<const std::uint32_t> ports,
            std::span<const std::vector<std::uint32_t>> port_of_link, Carrier& carrier);

  [[nodiscard]] std::uint32_t num_messages() const { return first_message_.back(); }
  [[nodiscard]] EntryRef ref_of(std::uint32_t message) const {
    const std::uint32_t rank = rank_of_[message];
    return {rank, message - first_message_[rank]};
  }
  [[nodiscard]] std::uint32_t message_of(std::uint32_t rank, std::uint32_t entry) const {
    return first_message_[rank] + entry;
  }
  [[nodiscard]] const Entry& entry_of(std::uint32_t message) const {
    const EntryRef ref = ref_of(message);
    return program_.tables.of_rank[ref.rank][ref.entry];
  }
  [[nodiscard]] std::uint32_t route_of(std::uint32_t message) const {
    const EntryRef ref = ref_of(message);
    return program_.route_of[ref.rank][ref.entry];
  }
  /// "reduce of flow 3 piece 0 from rank 1 to 2 in step 4".
  [[nodiscard]] std::string describe(std::uint32_t message) const;
  [[nodiscard]] std::span<const Port> ports() const { return ports_; }
  [[nodiscard]] const Interface& interface(std::uint32_t rank) const { return interfaces_[rank]; }

  [[nodiscard]] std::uint64_t now() const { return now_; }
  void set_now(std::uint64_t cycle) { now_ = cycle; }
  [[nodiscard]] std::uint64_t next_time() { return events_.next_time(); }
  /// Handles all events until `cycle`, which becomes the present.
  void handle_until(std::uint64_t cycle);

  /// The port takes its next entry, if there is one that it may send now. Entries without elements
  /// are sent and arrive at once. \returns the message, or Interface::kNone.
  std::uint32_t begin(std::uint32_t port);
  /// The port has sent the last flit of its entry.
  void sent(std::uint32_t port);
  /// The message is there whole at that time.
  void arrive(std::uint64_t time, std::uint32_t message);
  /// Carrier::happen(what) at that time.
  void post(std::uint64_t time, std::uint32_t what);
  /// Whether a message that is arriving could be taken in as it does.
  [[nodiscard]] bool is_open(std::uint32_t message) const;

  /// Messages that were not taken in yet.
  [[nodiscard]] std::uint64_t left() const { return left_; }
  /// When the last was.
  [[nodiscard]] std::uint64_t finished_at() const { return finished_at_; }
  /// Which port waits for what, for messages about a standstill.
  [[nodiscard]] std::string who_waits() const;

 private:
  enum class Kind : std::uint8_t { Start, Arrive, Reduced, Step, Carrier };
  struct Event {
    Kind kind = Kind::Arrive;
    std::uint32_t what = 0;
  };

  void handle(const Event& event);
  void wake_ports(std::uint32_t rank);
  void take_in(std::uint32_t rank);
  void complete(std::uint32_t message);
  void check_step(std::uint32_t rank);

  const Program& program_;
  const Parameters& parameters_;
  Carrier& carrier_;
  std::vector<std::uint32_t> first_message_;  // [rank], and the number of all
  std::vector<std::uint32_t> rank_of_;        // [message]
  std::vector<Interface> interfaces_;
  std::vector<Port> ports_;
  std::vector<std::uint32_t> first_port_;  // [rank]
  EventWheel<Event> events_;
  std::vector<std::uint64_t> steps_;           // estimates; empty: no lockstep
  std::vector<std::uint64_t> step_ends_;       // [rank]
  std::vector<std::uint64_t> reduction_free_;  // [rank]
  std::vector<std::uint8_t> awake_;            // [rank]: its interface has started
  std::uint64_t left_ = 0, now_ = 0, finished_at_ = 0;
};

}  // namespace multitree::nic
