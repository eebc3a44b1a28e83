// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What receive engines say of worms that wait.
#include <fmt/format.h>

#include "nic/nic/receive_engines.hpp"

namespace multitree::nic {
namespace {

constexpr std::uint32_t kMostNamed = 4;  // of those that wait

}  // namespace

std::string ReceiveEngines::describe(const Engine& engine, const Load& load) const {
  const Endpoints::Message& m = endpoints_.message(load.message);
  return fmt::format(
      "rank {} port {} has added {} of {} flits of the {}: {} of {} messages before it are in, and "
      "{} of {} sent",
      engine.rank, engine.number, load.offset + load.issued, m.payload,
      endpoints_.describe(load.message), endpoints_.taken(engine.rank, m.piece), +m.turn,
      endpoints_.num_sent(engine.rank, m.piece), +m.after);
}

std::string ReceiveEngines::who_waits() const {
  std::string waits;
  std::uint32_t count = 0;
  const auto note = [&](const Engine& engine, const Load& load) {
    if (++count <= kMostNamed) waits += (waits.empty() ? "" : "; ") + describe(engine, load);
  };
  for (std::size_t p = 0; p < engines_.size(); ++p) {
    const Engine& engine = engines_[p];
    const Load& current = engine.current;
    if (current.message != kNone && (current.arrived > current.issued || current.length == 0)) {
      note(engine, current);
    }
    for (std::uint32_t s = 0; s < num_slots_; ++s) {
      const Load& load = slots_[p * num_slots_ + s];
      if (load.message != kNone) note(engine, load);
    }
  }
  return count <= kMostNamed ? waits : fmt::format("{}; and {} more", waits, count - kMostNamed);
}

}  // namespace multitree::nic
