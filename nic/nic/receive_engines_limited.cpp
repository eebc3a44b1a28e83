// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Receive engines where memory is limited: flits wait in a short queue of their port until they
/// are taken in or are beside the buffer.
#include <algorithm>

#include "nic/nic/receive_engines.hpp"

namespace multitree::nic {

void ReceiveEngines::queue(Engine& engine, const Flit& flit) {
  engine.queue.push_back(flit);
  note_busy(engine);
}

/// All engines with something to do, each with the first flit of its queue.
void ReceiveEngines::step_limited(std::uint64_t cycle) {
  for (const std::uint32_t port : busy_) {
    Engine& engine = engines_[port];
    if (engine.queue.empty()) {
      work(engine, cycle, nullptr);
      continue;
    }
    if (engine.queue.front().is_payload) {
      take_payload(engine, cycle);
      continue;
    }
    const Worm worm = engine.queue.front().worm;
    engine.queue.pop_front();
    if (worm.message == kNone) {
      work(engine, cycle, nullptr);
      continue;
    }
    if (worm.offset == 0) endpoints_.came(worm.message);
    work(engine, cycle, &worm);
  }
}

/// A flit that may be the word that is issued in this cycle; else it is offered to the memory
/// beside the buffer, and goes nowhere else from then on.
void ReceiveEngines::take_payload(Engine& engine, std::uint64_t cycle) {
  const bool may_go = !engine.is_offered && engine.arriving == kInCurrent;
  engine.takes_flit = false;
  if (may_go) {
    ++engine.current.arrived;
    engine.came = cycle;
  }
  work(engine, cycle, nullptr);
  if (engine.takes_flit) return engine.queue.pop_front();
  if (may_go) --engine.current.arrived;
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
