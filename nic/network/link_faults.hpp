// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What goes wrong on one link on purpose.
#pragma once

#include <cstdint>
#include <vector>

namespace multitree::nic {

/// What goes wrong on a link, for tests of what notices it.
enum class LinkFault : std::uint8_t { None, Drop, Corrupt, Dead };

/// Of one link: from a cycle on the n-th to pass is dropped or corrupted, or all are lost.
class LinkFaults {
 public:
  void add(LinkFault kind, std::uint64_t cycle, std::uint64_t count) {
    faults_.push_back({kind, cycle, count});
  }
  /// Of what passes in that cycle; ask once for each.
  LinkFault next(std::uint64_t cycle) {
    for (Fault& fault : faults_) {
      if (cycle < fault.cycle || fault.kind == LinkFault::None) continue;
      if (fault.kind == LinkFault::Dead) return LinkFault::Dead;
      if (fault.count-- == 0) {
        const LinkFault kind = fault.kind;
        fault.kind = LinkFault::None;
        return kind;
      }
    }
    return LinkFault::None;
  }
  /// Whether all are lost by that cycle.
  [[nodiscard]] bool is_dead(std::uint64_t cycle) const {
    for (const Fault& fault : faults_) {
      if (fault.kind == LinkFault::Dead && cycle >= fault.cycle) return true;
    }
    return false;
  }

 private:
  struct Fault {
    LinkFault kind = LinkFault::None;
    std::uint64_t cycle = 0, count = 0;
  };
  std::vector<Fault> faults_;
};

}  // namespace multitree::nic
