// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Tells of what the network has done in a cycle.
#pragma once

#include <span>

#include "nic/machine/sender_internal.hpp"
#include "nic/network/fabric.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/nic/trace.hpp"
#include "nic/observer.hpp"

namespace multitree::nic {

/// `packets`: by the fabric's numbers. `trace`, and `observer` if the fabric records no moves: or
/// nullptr.
inline void note_moves(Cycle cycle, Fabric& fabric, std::span<const Packet> packets,
                       const Endpoints& endpoints, Trace* trace, Observer* observer) {
  if (trace != nullptr) {
    for (const Fabric::Passage& passage : fabric.passages()) {
      trace->passed(index(passage.link), packets[passage.packet].message, passage.begin,
                    passage.end);
    }
    fabric.clear_passages();
  }
  for (const Fabric::Move& move : fabric.last_moves()) {
    const Packet& packet = packets[move.packet];
    const Endpoints::Message& m = endpoints.message(packet.message);
    observer->passed(cycle, index(move.link), move.vc, m.rank, m.entry,
                     packet.first_number + move.number);
  }
}

}  // namespace multitree::nic
