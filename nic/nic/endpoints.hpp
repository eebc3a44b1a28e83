// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The interfaces of all ranks: table sequencers, dependences, lockstep counters, reduction units,
/// and the events of all that. docs/nic-spec.md says what happens in which cycle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nic/network/ports.hpp"
#include "nic/nic/event_wheel.hpp"
#include "nic/nic/job_queues.hpp"
#include "nic/nic/job_states.hpp"
#include "nic/nic/port_looks.hpp"
#include "nic/nic/roll_call.hpp"
#include "nic/nic/shared_ports.hpp"
#include "nic/observer.hpp"
#include "nic/program/program.hpp"
#include "nic/simulate.hpp"

namespace multitree::nic {

/// What interfaces keep of their tables while they run, whoever carries the messages between them:
/// the flit-level network or the message-level one. A carrier calls begin(), sent() and arrive(),
/// and is told when a port has something to send.
class Endpoints {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  class Carrier {
   public:
    virtual ~Carrier() = default;
    /// A port that sends nothing has an entry that it may send. Not to be begun before this
    /// returns.
    virtual void ready(std::uint32_t port) = 0;
    /// A message is being taken in: its numbers count now.
    virtual void take(std::uint32_t message) = 0;
    /// The rank's own contribution to the job counts as nothing from now on.
    virtual void lose(std::uint32_t /*rank*/, std::uint32_t /*job*/) {}
    /// An event of the carrier's own.
    virtual void happen(std::uint32_t what) = 0;
  };

  /// An entry as it is needed again and again. Messages are numbered by step, rank and entry, so
  /// that what is sent at the same time lies together.
  struct Message {
    std::uint32_t rank = 0, dst = 0;
    std::uint32_t entry = 0;    ///< of the rank's table
    std::uint32_t piece = 0;    ///< chunk of the schedule
    std::uint32_t payload = 0;  ///< flits
    std::uint32_t route = 0;
    std::uint32_t following = kNone;              ///< the port's next one
    std::uint16_t wait = 0, turn = 0, after = 0;  ///< as in Entry
    Opcode op = Opcode::Nop;
  };

  /// A port of an interface, numbered through all ranks.
  struct Port {
    std::uint32_t rank = 0, number = 0;
    std::uint32_t next = kNone;     ///< message that it has not begun
    std::uint32_t sending = kNone;  ///< message
    std::uint32_t piece = kNone;    ///< of the next message
    std::uint32_t wait = 0;         ///< of the next message
    std::uint32_t step = 0;         ///< of the next message, in lockstep
  };

  /// Keeps references, but to `ports`.
  /// \throws Error(Unsupported) if messages or counts exceed 32 and 16 bits.
  Endpoints(const Program& program, const Parameters& parameters, const SimulationOptions& options,
            const Ports& ports, Carrier& carrier);

  [[nodiscard]] std::uint32_t num_messages() const {
    return static_cast<std::uint32_t>(messages_.size());
  }
  [[nodiscard]] const Message& message(std::uint32_t number) const { return messages_[number]; }
  [[nodiscard]] const Entry& entry_of(std::uint32_t message) const {
    const Message& m = messages_[message];
    return program_.tables.of_rank[m.rank][m.entry];
  }
  /// "reduce of flow 3 piece 0 from rank 1 to 2 in step 4".
  [[nodiscard]] std::string describe(std::uint32_t message) const;
  [[nodiscard]] std::span<const Port> ports() const { return ports_; }

  [[nodiscard]] std::uint64_t now() const { return now_; }
  [[nodiscard]] std::uint64_t next_time() { return events_.next_time(); }
  /// Handles all events until `cycle`, which becomes the present.
  void handle_until(std::uint64_t cycle);

  /// The port begins its next message, if there is one that it may send now: what it waits for has
  /// been taken in and, in lockstep, its step has come. Messages without elements are sent and
  /// arrive at once, unless they are sent as a header alone (pipelined). \returns the message, or
  /// kNone.
  std::uint32_t begin(std::uint32_t port);
  /// Cycles from there to the message's first flit.
  [[nodiscard]] std::uint64_t issue_delay(std::uint32_t message) const;
  /// The port has read and sent the last flit of its message. In lockstep other ports see it from
  /// cycle `visible` on, the one after that flit's.
  void sent(std::uint32_t port, std::uint64_t visible);
  /// Another `packet_bytes` of it have left, or the rest of it.
  void sent_packet(std::uint32_t port);
  /// The first header of a message comes, in the present cycle; where sums count what they hold.
  void came(std::uint32_t message);
  /// What it holds; 0 where sums do not count.
  [[nodiscard]] std::uint32_t count_of(std::uint32_t message) const {
    return counts_.empty() ? 0 : counts_[message];
  }
  /// What became of such sums.
  [[nodiscard]] std::optional<LossReport> losses() const {
    return roll_call_ ? std::optional(roll_call_->report()) : std::nullopt;
  }
  /// The message is there whole at that time. It is taken in when its turn has come.
  void arrive(std::uint64_t time, std::uint32_t message) {
    events_.push(time, {Kind::Arrive, message});
  }
  /// Carrier::happen(what) at that time.
  void post(std::uint64_t time, std::uint32_t what) { events_.push(time, {Kind::Carrier, what}); }
  /// Whether a message that is arriving could be taken in as it does.
  [[nodiscard]] bool is_open(std::uint32_t message) const {
    return parameters_.reduction == Reduction::Streaming && has_turn(messages_[message]);
  }

  /// Messages of a piece that a rank has taken in, and sent: what earlier cycles have left, and for
  /// `taken` this one's events too.
  [[nodiscard]] std::uint32_t taken(std::uint32_t rank, std::uint32_t number) const {
    return piece(rank, number).taken;
  }
  [[nodiscard]] std::uint32_t num_sent(std::uint32_t rank, std::uint32_t number) const {
    return piece(rank, number).sent & (kAdding - 1U);
  }
  /// Whether the rank takes messages of the piece in: where there are jobs, it has started that
  /// one.
  [[nodiscard]] bool takes_in(std::uint32_t rank, std::uint32_t number) const {
    return !jobs_ || jobs_->is_running(rank, job_of(number));
  }

  /// Messages that were not taken in yet, and jobs of ranks that are not over.
  [[nodiscard]] std::uint64_t left() const { return left_ + (jobs_ ? jobs_->left() : 0); }
  /// left() at the beginning.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  /// Jobs, if there are any: when they took place, in their order.
  [[nodiscard]] std::vector<JobSpan> job_spans() const {
    return jobs_ ? jobs_->spans() : std::vector<JobSpan>{};
  }
  /// When the last was.
  [[nodiscard]] std::uint64_t finished_at() const { return finished_at_; }
  /// Which port waits for what, for messages about a standstill.
  [[nodiscard]] std::string who_waits() const;

 private:
  enum class Kind : std::uint8_t { Start, Arrive, Reduced, Step, Room, Job, Look, Late, Carrier };
  struct Event {
    Kind kind = Kind::Arrive;
    std::uint32_t what = 0;
  };
  /// What a rank has of a chunk.
  struct Piece {
    std::uint16_t taken = 0;  ///< messages taken in
    std::uint16_t sent = 0;
  };
  static constexpr std::uint16_t kAdding = 1U << 15;  // in Piece::sent: one is being added

  [[nodiscard]] Piece& piece(std::uint32_t rank, std::uint32_t number) {
    return pieces_[std::size_t{rank} * program_.pieces + number];
  }
  [[nodiscard]] const Piece& piece(std::uint32_t rank, std::uint32_t number) const {
    return pieces_[std::size_t{rank} * program_.pieces + number];
  }
  [[nodiscard]] bool has_turn(const Message& m) const {
    const Piece& p = piece(m.dst, m.piece);
    return p.taken == m.turn && p.sent >= m.after && p.sent < kAdding && takes_in(m.dst, m.piece);
  }
  [[nodiscard]] std::uint32_t number_of(const Port& port) const {
    return static_cast<std::uint32_t>(&port - ports_.data());
  }
  void add_messages();
  void link_messages();
  void share_ports();
  void assign_ports(std::uint32_t rank);
  void look_ahead(Port& port) const;
  [[nodiscard]] bool is_issuable(const Port& port) const;
  void prefetch() const;
  void handle(const Event& event);
  void wake_ports(std::uint32_t rank);
  void take_in_parked(std::uint32_t rank);
  void add(std::uint32_t message);
  void complete(std::uint32_t message);
  void check_step(std::uint32_t rank);
  void enter_step(std::uint32_t rank);
  [[nodiscard]] bool step_is_done(std::uint32_t rank) const;

  // Of jobs, in endpoints_jobs.cpp.
  [[nodiscard]] std::uint32_t job_of(std::uint32_t piece) const {
    return program_.job_of_piece[piece];
  }
  void queue_jobs();
  void start_jobs(std::uint32_t rank);
  void happen_to_job(std::uint32_t what);
  void job_took_in(const Message& message);
  void job_has(std::uint64_t time, std::uint32_t rank, std::uint32_t piece);
  void offer(std::uint32_t port, std::uint32_t job);
  std::uint32_t next_of_jobs(std::uint32_t port);
  void post_due();
  void post_job(std::uint64_t time, std::uint32_t rank, std::uint32_t job);
  // Of jobs in hardware, where a port looks at one of them in a cycle.
  void look_for(std::uint32_t port, std::uint64_t from);
  std::uint32_t next_at_hand(std::uint32_t port);
  [[nodiscard]] bool is_ready(std::uint32_t port, std::uint32_t job) const;
  void look_again(std::uint32_t rank);
  // Of contributions that are late.
  void count_begun(std::uint32_t message);
  void happen_late(std::uint32_t rank);
  void learn(std::uint32_t rank, std::uint32_t found);

  const Program& program_;
  const Parameters& parameters_;
  Observer* const observer_;  // or nullptr
  Carrier& carrier_;
  std::vector<Message> messages_;
  std::vector<Port> ports_;
  std::optional<SharedPorts> shared_;               // if ports send any message
  std::optional<JobStates> jobs_;                   // if there are several collectives
  std::optional<JobQueues> queues_;                 // with jobs_: what ports may send, or
  std::optional<PortLooks> looks_;                  // pipelined: what they look at
  std::optional<RollCall> roll_call_;               // if contributions may be late
  std::vector<std::uint32_t> counts_;               // with it, [message]: what it holds
  std::vector<std::uint32_t> first_port_;           // [rank], and the number of all
  std::vector<Piece> pieces_;                       // [rank][piece]
  std::vector<std::vector<std::uint32_t>> parked_;  // [rank]: arrived before their turn
  EventWheel<Event> events_;
  std::vector<std::uint64_t> steps_;           // estimates; empty: no lockstep
  std::vector<std::uint32_t> step_of_;         // [rank]
  std::vector<std::uint64_t> step_ends_;       // [rank]
  std::vector<std::uint64_t> reduction_free_;  // [rank]
  std::vector<std::uint8_t> awake_;            // [rank]: its interface has started
  std::uint64_t left_ = 0, total_ = 0, now_ = 0, finished_at_ = 0;
};

/// Cycles of each step in lockstep: as long as its longest message takes to send, less
/// Parameters::step_discount, but at least one cycle a packet, and at least one.
std::vector<std::uint64_t> estimate_steps(const Program& program, const Parameters& parameters);

}  // namespace multitree::nic
