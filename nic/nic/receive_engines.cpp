// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Cycles of receive engines.
#include "nic/nic/receive_engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace multitree::nic {
namespace {

constexpr std::uint32_t kPortsOfUnit = 2;

}  // namespace

ReceiveEngines::ReceiveEngines(Endpoints& endpoints, const Parameters& parameters,
                               const Ports& ports, Observer* observer, LimitedMemory* memory)
    : endpoints_(endpoints),
      observer_(observer),
      memory_(memory),
      num_slots_(parameters.park_slots),
      num_places_(parameters.add_words),
      num_writes_(parameters.add_words + parameters.reduction_cycles + 1),
      memory_cycles_(parameters.memory_cycles),
      cycles_to_visible_(1 + parameters.reduction_cycles),
      shares_units_(parameters.ports_per_unit > 1),
      first_port_(ports.first),
      num_ports_(ports.count),
      engines_(ports.all),
      slots_(std::size_t{ports.all} * parameters.park_slots),
      writes_(std::size_t{ports.all} * num_writes_),
      free_from_(std::size_t{ports.all} * num_places_, 0),
      payload_sent_(ports.all, 0),
      served_last_(ports.all, kNone) {
  for (std::uint32_t p = 0; p < ports.all; ++p) {
    engines_[p].rank = endpoints.ports()[p].rank;
    engines_[p].number = endpoints.ports()[p].number;
  }
}

void ReceiveEngines::header(std::uint64_t cycle, std::uint32_t port, const Worm& worm) {
  Engine& engine = engines_[port];
  if (memory_ != nullptr) return queue(engine, {.is_payload = false, .worm = worm});
  if (worm.offset == 0) endpoints_.came(worm.message);
  if (!shares_units_) return work(engine, cycle, &worm);
  engine.header = worm;
  note_busy(engine);
}

void ReceiveEngines::payload(std::uint64_t cycle, std::uint32_t port) {
  Engine& engine = engines_[port];
  if (memory_ != nullptr) return queue(engine, {.is_payload = true, .worm = {}});
  // Counted first: a word of the current worm may be issued in the cycle in which it arrives.
  ++arriving(engine).arrived;
  if (engine.arriving == kInCurrent) engine.came = cycle;
  if (!shares_units_) return work(engine, cycle, nullptr);
  note_busy(engine);
}

void ReceiveEngines::step(std::uint64_t cycle) {
  if (shares_units_ || memory_ != nullptr) {
    step_together(cycle);
  } else {
    for (std::size_t i = 0; i < busy_.size(); ++i) {
      Engine& engine = engines_[busy_[i]];
      if (engine.stepped != cycle) work(engine, cycle, nullptr);
    }
  }
  if (memory_ == nullptr) drop_idle();
}

/// A cycle of all engines with something to do: first all say what they want, then it is decided
/// who gets the units, then all go on.
void ReceiveEngines::step_together(std::uint64_t cycle) {
  for (const std::uint32_t port : busy_) {
    Engine& engine = engines_[port];
    if (memory_ != nullptr) look_at_flit(engine, cycle);
    engine.issues = is_ready(engine, cycle);
    // Copies, and empty words, need no unit.
    engine.asks = shares_units_ && engine.issues && engine.current.length > 0 &&
                  endpoints_.message(engine.current.message).op == Opcode::Reduce;
  }
  for (const std::uint32_t port : busy_) {
    Engine& engine = engines_[port];
    if (engine.asks) engine.issues = gets_unit(engine);
  }
  for (const std::uint32_t port : busy_) {
    Engine& engine = engines_[port];
    if (engine.asks && engine.issues) {
      served_last_[port - engine.number % kPortsOfUnit] = engine.number;
    }
    engine.asks = false;
    const Worm header = std::exchange(engine.header, {});
    proceed(engine, cycle, engine.issues, header.message == kNone ? nullptr : &header);
    if (memory_ != nullptr) leave_flit(engine);
  }
}

/// Of two ports that ask for their unit, the one gets it that did not get it last; the lower one if
/// nobody did. \pre It asks.
bool ReceiveEngines::gets_unit(const Engine& engine) const {
  const std::uint32_t port = port_of(engine);
  const bool is_upper = engine.number % kPortsOfUnit != 0;
  if (!is_upper && engine.number + 1 == num_ports_[engine.rank]) return true;
  if (!engines_[is_upper ? port - 1 : port + 1].asks) return true;
  const std::uint32_t last = served_last_[is_upper ? port - 1 : port];
  return last == kNone ? !is_upper : last != engine.number;
}

void ReceiveEngines::drop_idle() {
  for (std::size_t i = 0; i < busy_.size();) {
    Engine& engine = engines_[busy_[i]];
    if (waits(engine) || engine.slots_used > 0 || waits_for_memory(engine)) {
      ++i;
      continue;
    }
    engine.is_busy = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
}

/// Whether the engine's current worm waits for anything but flits.
bool ReceiveEngines::waits(const Engine& engine) {
  const Load& current = engine.current;
  return current.message != kNone &&
         (current.arrived > current.issued || current.length == 0 || !engine.is_clear);
}

void ReceiveEngines::note_busy(Engine& engine) {
  if (engine.is_busy) return;
  engine.is_busy = true;
  busy_.push_back(port_of(engine));
}

/// One cycle of an engine. `header`: that arrives, or nullptr.
void ReceiveEngines::work(Engine& engine, std::uint64_t cycle, const Worm* header) {
  engine.stepped = cycle;
  proceed(engine, cycle, is_ready(engine, cycle), header);
}

/// Whether it has a word that may be issued in this cycle.
bool ReceiveEngines::is_ready(Engine& engine, std::uint64_t cycle) {
  const Load& current = engine.current;
  if (current.message == kNone) return false;
  if (!engine.is_clear) look_round(engine, cycle);
  return (current.arrived > current.issued || current.length == 0) && has_place(engine, cycle) &&
         may_issue(engine);
}

/// The rest of its cycle: the word, if it is issued, and the header that arrives, or a look at what
/// is parked.
void ReceiveEngines::proceed(Engine& engine, std::uint64_t cycle, bool issues, const Worm* header) {
  const bool was_free = engine.current.message == kNone;
  if (!was_free) {
    if (issues) issue(engine, cycle);
    if (waits(engine)) note_busy(engine);
  }
  if (header != nullptr) {
    if (was_free && may_start(engine, cycle, *header)) {
      engine.arriving = kInCurrent;
      start(engine, cycle, {*header});
    } else {
      park(engine, cycle, *header);
    }
  } else if (was_free && engine.slots_used > 0) {
    look(engine, cycle);
  }
}

/// The next word of the current worm.
void ReceiveEngines::issue(Engine& engine, std::uint64_t cycle) {
  Load& current = engine.current;
  const Endpoints::Message& m = endpoints_.message(current.message);
  const std::uint32_t pos = current.offset + current.issued;
  last_progress_ = cycle;
  if (observer_ != nullptr) {
    observer_->issued(cycle, engine.rank, engine.number, m.piece, m.turn, pos);
  }
  // Words go through the unit in order, once memory has answered: what is added to, and what was
  // put beside the buffer, is asked for in this cycle.
  const bool is_empty = current.length == 0;
  const bool is_direct = engine.came == cycle && current.issued + 1 == current.arrived;
  const WordIn word = {.message = current.message,
                       .words = pos + 1,
                       .end = current.offset + current.length,
                       .adds = !is_empty && m.op == Opcode::Reduce,
                       .staged = !is_empty && !is_direct,
                       .empty = is_empty};
  if (!is_empty) ++current.issued;
  if (current.issued == current.length) current.message = kNone;
  if (memory_ != nullptr) {
    engine.takes_flit = is_direct;
    return memory_->issue(port_of(engine), word);
  }
  const std::uint64_t asks = word.adds || word.staged ? memory_cycles_ : 1;
  const std::uint64_t taken = std::max(engine.next_take, cycle + asks);
  engine.next_take = taken + 1;
  place_of_next(engine) = taken + 1;
  engine.next_place = engine.next_place + 1 == num_places_ ? 0 : engine.next_place + 1;
  (void)last_write(engine, cycle);  // makes room
  write(engine, word, taken + cycles_to_visible_);
}

/// A word is in the buffer from that cycle on.
void ReceiveEngines::write(Engine& engine, const WordIn& word, std::uint64_t visible) {
  const Endpoints::Message& m = endpoints_.message(word.message);
  push_write(
      engine,
      {.visible = visible, .piece = m.piece, .turn = m.turn, .words = word.words, .end = word.end});
  // With the last word the message is in: its turn has come then, as the one before it was in when
  // that word could be issued.
  if (word.empty || word.words == m.payload) endpoints_.arrive(visible, word.message);
}

/// From which cycle on the place is free that the next word waits in.
std::uint64_t& ReceiveEngines::place_of_next(const Engine& engine) {
  const std::size_t base = std::size_t{port_of(engine)} * num_places_;
  return free_from_[base + engine.next_place];
}

void ReceiveEngines::push_write(Engine& engine, const Write& write) {
  const std::size_t base = std::size_t{port_of(engine)} * num_writes_;
  writes_[base + (engine.first_write + engine.writes) % num_writes_] = write;
  ++engine.writes;
}

/// What others see of the engine's last write in a cycle.
const ReceiveEngines::Write& ReceiveEngines::last_write(Engine& engine, std::uint64_t cycle) {
  const std::size_t base = std::size_t{port_of(engine)} * num_writes_;
  while (engine.writes > 0 && writes_[base + engine.first_write].visible <= cycle) {
    engine.last_write = writes_[base + engine.first_write];
    engine.first_write = engine.first_write + 1 == num_writes_ ? 0 : engine.first_write + 1;
    --engine.writes;
  }
  return engine.last_write;
}

/// A worm is early, or the engine has another: it is put beside the buffer.
void ReceiveEngines::park(Engine& engine, std::uint64_t cycle, const Worm& worm) {
  if (engine.parked_last != kNone) {
    Load& last = slot(engine, engine.parked_last);
    if (last.message == worm.message && last.offset + last.length == worm.offset) {
      last.length += worm.length;
      engine.arriving = engine.parked_last;
      return;
    }
  }
  std::uint32_t free = 0;
  while (free < num_slots_ && slot(engine, free).message != kNone) ++free;
  if (free == num_slots_) {
    if (error_.empty()) {
      error_ = fmt::format(
          "cycle {}: rank {} port {}: the {} is early, and none of park_slots ({}) is free", cycle,
          engine.rank, engine.number, endpoints_.describe(worm.message), num_slots_);
    }
    return;
  }
  slot(engine, free) = {worm};
  engine.arriving = engine.parked_last = free;
  ++engine.slots_used;
  note_busy(engine);
}

/// One of the parked worms a cycle is looked at, in turn. \pre one is there.
void ReceiveEngines::look(Engine& engine, std::uint64_t cycle) {
  std::uint32_t number = engine.pointer;
  while (slot(engine, number).message == kNone) number = number + 1 == num_slots_ ? 0 : number + 1;
  engine.pointer = number + 1 == num_slots_ ? 0 : number + 1;
  Load& load = slot(engine, number);
  if (!may_start(engine, cycle, load)) return;
  Load first = load;
  first.length = std::min(load.length, reach(engine, cycle, load));
  first.arrived = std::min(load.arrived, first.length);
  start(engine, cycle, first);
  load.offset += first.length;
  load.length -= first.length;
  load.arrived -= first.arrived;
  if (load.length > 0) return;
  load.message = kNone;
  --engine.slots_used;
  if (engine.parked_last == number) engine.parked_last = kNone;
  if (engine.arriving == number) engine.arriving = kInCurrent;
}

/// Makes a worm the current one, from the next cycle on, and claims its words.
void ReceiveEngines::start(Engine& engine, std::uint64_t cycle, const Load& load) {
  last_progress_ = cycle;
  engine.current = load;
  engine.is_clear = false;
  look_round(engine, cycle);
  const Endpoints::Message& m = endpoints_.message(load.message);
  if (waits(engine)) note_busy(engine);
  if (load.length == m.payload) return;
  const std::uint32_t claimed = load.offset + load.length;
  const auto claim =
      std::ranges::find(engine.claims, m.piece, [](const auto& c) { return c.first; });
  if (claim == engine.claims.end()) {
    engine.claims.emplace_back(m.piece, claimed);
  } else if (claimed < m.payload) {
    claim->second = claimed;
  } else {
    engine.claims.erase(claim);
  }
}

bool ReceiveEngines::has_turn(const Engine& engine, const Endpoints::Message& message) const {
  return endpoints_.taken(engine.rank, message.piece) == message.turn;
}

/// Whether a worm may start now. One that follows another message stays behind a worm that has
/// begun and reaches as far, so that worms that have begun never wait for one that has not.
bool ReceiveEngines::may_start(const Engine& engine, std::uint64_t cycle, const Worm& worm) {
  const Endpoints::Message& m = endpoints_.message(worm.message);
  if (!endpoints_.takes_in(engine.rank, m.piece)) return false;
  const auto claim =
      std::ranges::find(engine.claims, m.piece, [](const auto& c) { return c.first; });
  const std::uint32_t claimed = claim == engine.claims.end() ? 0 : claim->second;
  if (claimed != worm.offset || !is_read(engine, m, worm.offset)) return false;
  if (has_turn(engine, m)) return true;
  return write_before(engine, cycle, m).words > worm.offset;
}

/// How many words of a worm that may start do so: of one that follows another message as many as
/// have started there, so that worms that have begun never wait for one that has not.
std::uint32_t ReceiveEngines::reach(const Engine& engine, std::uint64_t cycle, const Worm& worm) {
  const Endpoints::Message& m = endpoints_.message(worm.message);
  if (has_turn(engine, m)) return worm.length;
  return write_before(engine, cycle, m).end - worm.offset;
}

/// What the current worm sees in this cycle.
void ReceiveEngines::look_round(Engine& engine, std::uint64_t cycle) {
  Load& current = engine.current;
  const Endpoints::Message& m = endpoints_.message(current.message);
  if (has_turn(engine, m)) {
    current.seen = m.payload;
    // Nothing but this message can end its turn.
    engine.is_clear = endpoints_.num_sent(engine.rank, m.piece) >= m.after;
  } else if (current.seen < m.payload) {
    current.seen = std::max(current.seen, write_before(engine, cycle, m).words);
  }
}

/// Whether the current worm's next word may be added.
bool ReceiveEngines::may_issue(const Engine& engine) const {
  if (engine.is_clear) return true;
  const Load& current = engine.current;
  const Endpoints::Message& m = endpoints_.message(current.message);
  if (current.length == 0) return has_turn(engine, m);
  const std::uint32_t pos = current.offset + current.issued;
  return current.seen > pos && is_read(engine, m, pos);
}

/// Another port's last write, if it is of the message whose turn is before; else none.
ReceiveEngines::Write ReceiveEngines::write_before(const Engine& engine, std::uint64_t cycle,
                                                   const Endpoints::Message& message) {
  const std::uint32_t first = first_port_[engine.rank];
  for (std::uint32_t p = first; p < first + num_ports_[engine.rank]; ++p) {
    if (&engines_[p] == &engine) continue;
    const Write& write = last_write(engines_[p], cycle);
    if (write.piece == message.piece && write.turn + 1 == message.turn) return write;
  }
  return {};
}

/// Whether the rank has read that word for all messages that it has to send before.
bool ReceiveEngines::is_read(const Engine& engine, const Endpoints::Message& message,
                             std::uint32_t pos) const {
  const std::uint32_t sent = endpoints_.num_sent(engine.rank, message.piece);
  if (sent >= message.after) return true;
  if (sent + 1 != message.after) return false;
  const std::uint32_t first = first_port_[engine.rank];
  std::uint32_t sending = 0;
  bool is_past = false;
  for (std::uint32_t p = first; p < first + num_ports_[engine.rank]; ++p) {
    const std::uint32_t other = endpoints_.ports()[p].sending;
    if (other == kNone || endpoints_.message(other).piece != message.piece) continue;
    ++sending;
    is_past = payload_sent_[p] > pos;
  }
  return sending == 1 && is_past;
}

}  // namespace multitree::nic
