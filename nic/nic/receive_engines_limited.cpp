// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Receive engines that memory may hold up: flits wait in a short queue of their port until they
/// are taken in or are beside the buffer.
#include <algorithm>

#include "nic/nic/receive_engines.hpp"

namespace multitree::nic {

void ReceiveEngines::queue(Engine& engine, const Flit& flit) {
  engine.queue.push_back(flit);
  note_busy(engine);
}

/// What the first flit of its queue is in this cycle: a header, which leaves; or payload, which may
/// be the word that is issued.
void ReceiveEngines::look_at_flit(Engine& engine, std::uint64_t cycle) {
  engine.has_payload = engine.may_go = engine.takes_flit = false;
  if (engine.queue.empty()) return;
  if (!engine.queue.front().is_payload) {
    engine.header = engine.queue.front().worm;
    engine.queue.pop_front();
    if (engine.header.message != kNone && engine.header.offset == 0) {
      endpoints_.came(engine.header.message);
    }
    return;
  }
  engine.has_payload = true;
  engine.may_go =
      !engine.is_offered && engine.arriving == kInCurrent && engine.current.message != kNone;
  if (!engine.may_go) return;
  // The worm's next word may be added now, and memory cannot take it, or could not before.
  if (!engine.is_clear) look_round(engine, cycle);
  const bool is_short = engine.is_held || !memory_->may_issue(port_of(engine));
  engine.is_held = is_short && may_issue(engine);
  ++engine.current.arrived;
  engine.came = cycle;
}

/// A flit that is not the word that is issued stays, if it only waits for memory; else it is
/// offered to the memory beside the buffer, and goes nowhere else from then on.
void ReceiveEngines::leave_flit(Engine& engine) {
  if (!engine.has_payload) return;
  if (engine.takes_flit) {
    engine.is_held = false;
    return engine.queue.pop_front();
  }
  if (engine.may_go) {
    --engine.current.arrived;
    if (engine.is_held) return;
  }
  engine.is_offered = true;
  memory_->offer(port_of(engine));
}

void ReceiveEngines::end_cycle(std::uint64_t cycle) {
  memory_->step(cycle);
  last_progress_ = std::max(last_progress_, memory_->last_progress());
  for (const std::uint32_t port : busy_) {
    Engine& engine = engines_[port];
    if (memory_->written(port)) {
      (void)last_write(engine, cycle);  // makes room
      write(engine, *memory_->written(port), cycle + 1);
    }
    if (!memory_->is_beside(port)) continue;
    ++arriving(engine).arrived;
    engine.is_offered = false;
    engine.queue.pop_front();
  }
  drop_idle();
}

}  // namespace multitree::nic
