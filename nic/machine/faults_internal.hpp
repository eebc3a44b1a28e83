// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What goes wrong on links, on purpose.
#pragma once

#include <span>

#include "nic/network/fabric.hpp"
#include "nic/simulate.hpp"

namespace multitree::nic {

inline void inject_faults(std::span<const Fault> faults, Fabric& fabric) {
  for (const Fault& fault : faults) {
    if (fault.kind == Fault::Kind::LateInterface) continue;
    const LinkFault kind = fault.kind == Fault::Kind::DeadLink   ? LinkFault::Dead
                           : fault.kind == Fault::Kind::DropFlit ? LinkFault::Drop
                                                                 : LinkFault::Corrupt;
    fabric.inject_fault(fault.link, kind, static_cast<Cycle>(fault.cycle), fault.count);
  }
}

}  // namespace multitree::nic
