// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Pipelined reduction: the engines that add what arrives at ejection ports, word by word.
/// docs/nic-spec.md says what each does in a cycle.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "nic/network/ports.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/nic/limited_memory.hpp"
#include "nic/observer.hpp"

namespace multitree::nic {

/// A header and its payload: a message, or a packet of one.
struct Worm {
  std::uint32_t message = Endpoints::kNone;
  std::uint32_t offset = 0;  ///< payload flits of the message before it
  std::uint32_t length = 0;  ///< payload flits
};

/// The engines of all ejection ports, and what they know of the messages that ports send. In each
/// cycle that step() visits they see what earlier cycles have left: so sends are to be reported
/// after the engines' part of a cycle. An engine costs time in cycles in which a flit arrives for
/// it, in which words wait beside the buffer, or worms are parked. Where ports share units, engines
/// work in step() only, for who gets a unit depends on all flits of the cycle; so they do where
/// memory is limited, and end_cycle() says what of their wishes it fulfils.
class ReceiveEngines {
 public:
  /// Keeps references, but to `ports`. `observer`, `memory`: or nullptr.
  ReceiveEngines(Endpoints& endpoints, const Parameters& parameters, const Ports& ports,
                 Observer* observer, LimitedMemory* memory);

  /// The (last) header flit of a worm arrives at a port in that cycle. At most one flit a cycle and
  /// port.
  void header(std::uint64_t cycle, std::uint32_t port, const Worm& worm);
  /// A payload flit arrives: of the worm whose header came last.
  void payload(std::uint64_t cycle, std::uint32_t port);
  /// A flit of a header before the last one arrives.
  void route(std::uint32_t port) {
    if (memory_ != nullptr) queue(engines_[port], {});
  }
  /// Lets the engines work to which no flit has come in that cycle; all, where units are shared.
  void step(std::uint64_t cycle);

  /// Limited memory: ends the cycle, after ports have sent.
  void end_cycle(std::uint64_t cycle);
  /// Limited memory: whether a port takes no flit from the router in the next cycle.
  [[nodiscard]] bool is_full(std::uint32_t port) const {
    return engines_[port].queue.size() > kUsualQueue;
  }

  /// A port has begun a message.
  void begins(std::uint32_t port) { payload_sent_[port] = 0; }
  /// It has sent another payload flit of it.
  void sends_payload(std::uint32_t port) { ++payload_sent_[port]; }

  /// Whether an engine may do something without a flit that arrives.
  [[nodiscard]] bool is_busy() const { return !busy_.empty(); }
  /// The last cycle in which a word was issued or a worm begun.
  [[nodiscard]] std::uint64_t last_progress() const { return last_progress_; }
  /// "cycle ...: rank 0 port 1: ..." once a worm has found no free slot; empty before.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// Which messages wait for what, for messages about a standstill; empty if none does.
  [[nodiscard]] std::string who_waits() const;

 private:
  static constexpr std::uint32_t kNone = Endpoints::kNone;
  static constexpr std::uint32_t kInCurrent = kNone;  // Engine::arriving
  static constexpr std::size_t kUsualQueue = 1;       // one flit is on the way then, one may follow

  /// That waits at a port: payload, the last of a header with its worm, or another of a header.
  struct Flit {
    bool is_payload = false;
    Worm worm;
  };

  /// A worm, or some that were put together, on its way through an engine.
  struct Load : Worm {
    std::uint32_t arrived = 0;  // payload flits
    std::uint32_t issued = 0;   // of those
    std::uint32_t seen = 0;     // words written of the message before it, that it has seen so far
  };
  /// The write that a word leads to.
  struct Write {
    std::uint64_t visible = 0;  // cycle
    std::uint32_t piece = kNone;
    std::uint32_t turn = 0;
    std::uint32_t words = 0;  // of the message, up to this one
    std::uint32_t end = 0;    // of the worm's words in the message
  };
  struct Engine {
    std::uint32_t rank = 0, number = 0;
    std::uint32_t slots_used = 0;
    std::uint32_t pointer = 0;            // slot to look at first
    std::uint32_t parked_last = kNone;    // slot, while it is still there
    std::uint32_t arriving = kInCurrent;  // slot of the worm whose header came last
    Load current;
    bool is_clear = false;  // the current worm need not wait for anybody any more
    bool is_busy = false;   // in busy_
    bool issues = false;    // in this cycle; shared units or memory only, as all to `header`
    bool asks = false;      // for the unit
    Worm header;            // that arrives in this cycle
    std::uint64_t stepped = ~std::uint64_t{0};  // cycle
    std::uint64_t came = ~std::uint64_t{0};     // cycle of the last payload flit of `current`
    std::uint64_t next_take = 0;                // cycle: the unit takes the next word, at best
    std::uint32_t next_place = 0;               // of a word that waits for memory, in free_from_
    std::uint32_t first_write = 0, writes = 0;  // that are not visible yet, in writes_
    Write last_write;                           // that is
    std::deque<Flit> queue;                     // limited memory only, as all to `takes_flit`
    bool has_payload = false;                   // first there in this cycle
    bool is_offered = false;                    // it, to the memory beside the buffer
    bool is_held = false;                       // it waits to be issued: only memory holds it up
    bool may_go = false;                        // it is of `current`, and not offered
    bool takes_flit = false;                    // it is the word that is issued in this cycle
    std::vector<std::pair<std::uint32_t, std::uint32_t>> claims;  // (piece, words), not 0
  };

  [[nodiscard]] std::uint32_t port_of(const Engine& engine) const {
    return static_cast<std::uint32_t>(&engine - engines_.data());
  }
  [[nodiscard]] Load& slot(const Engine& engine, std::uint32_t number) {
    return slots_[std::size_t{port_of(engine)} * num_slots_ + number];
  }
  /// The worm, or its slot, whose flits arrive.
  [[nodiscard]] Load& arriving(Engine& engine) {
    return engine.arriving == kInCurrent ? engine.current : slot(engine, engine.arriving);
  }
  void queue(Engine& engine, const Flit& flit);
  void look_at_flit(Engine& engine, std::uint64_t cycle);
  void leave_flit(Engine& engine);
  [[nodiscard]] bool waits_for_memory(const Engine& engine) const {
    return memory_ != nullptr && (!engine.queue.empty() || memory_->is_busy(port_of(engine)));
  }
  [[nodiscard]] bool has_place(const Engine& engine, std::uint64_t cycle) {
    return memory_ != nullptr ? memory_->may_issue(port_of(engine))
                              : place_of_next(engine) <= cycle;
  }
  void work(Engine& engine, std::uint64_t cycle, const Worm* header);
  void step_together(std::uint64_t cycle);
  void drop_idle();
  [[nodiscard]] bool is_ready(Engine& engine, std::uint64_t cycle);
  [[nodiscard]] bool gets_unit(const Engine& engine) const;
  void proceed(Engine& engine, std::uint64_t cycle, bool issues, const Worm* header);
  [[nodiscard]] static bool waits(const Engine& engine);
  void note_busy(Engine& engine);
  void issue(Engine& engine, std::uint64_t cycle);
  [[nodiscard]] std::uint64_t& place_of_next(const Engine& engine);
  void write(Engine& engine, const WordIn& word, std::uint64_t visible);
  void push_write(Engine& engine, const Write& write);
  const Write& last_write(Engine& engine, std::uint64_t cycle);
  void park(Engine& engine, std::uint64_t cycle, const Worm& worm);
  void look(Engine& engine, std::uint64_t cycle);
  void start(Engine& engine, std::uint64_t cycle, const Load& load);
  void look_round(Engine& engine, std::uint64_t cycle);
  [[nodiscard]] bool may_issue(const Engine& engine) const;
  [[nodiscard]] bool may_start(const Engine& engine, std::uint64_t cycle, const Worm& worm);
  [[nodiscard]] std::uint32_t reach(const Engine& engine, std::uint64_t cycle, const Worm& worm);
  [[nodiscard]] bool has_turn(const Engine& engine, const Endpoints::Message& message) const;
  [[nodiscard]] Write write_before(const Engine& engine, std::uint64_t cycle,
                                   const Endpoints::Message& message);
  [[nodiscard]] bool is_read(const Engine& engine, const Endpoints::Message& message,
                             std::uint32_t pos) const;
  [[nodiscard]] std::string describe(const Engine& engine, const Load& load) const;

  Endpoints& endpoints_;
  Observer* const observer_;
  LimitedMemory* const memory_;
  const std::uint32_t num_slots_, num_places_, num_writes_;
  const std::uint64_t memory_cycles_, cycles_to_visible_;
  const bool shares_units_;
  std::vector<std::uint32_t> first_port_, num_ports_;  // [rank]
  std::vector<Engine> engines_;                        // [port]
  std::vector<Load> slots_;                            // [port][slot]
  std::vector<Write> writes_;                          // [port][num_writes_]: rings
  std::vector<std::uint64_t> free_from_;               // [port][num_places_]: cycles, rings
  std::vector<std::uint32_t> payload_sent_;            // [port]: of the message being sent
  std::vector<std::uint32_t> busy_;                    // ports
  std::vector<std::uint32_t> served_last_;             // [port, the lower of a unit's]: its number
  std::uint64_t last_progress_ = 0;
  std::string error_;
};

}  // namespace multitree::nic
