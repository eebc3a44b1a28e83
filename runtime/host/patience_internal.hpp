// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long a rank looks for itself before it waits as the engine does.
#pragma once

#include <sched.h>

#include <cstdint>

#include "topologies/error.hpp"

namespace multitree::runtime::host {

/// Most waits end sooner than the engine would look at its clock. With more ranks than processors
/// the one that is waited for may need ours.
class Patience {
 public:
  /// `crowded`: more ranks than processors.
  explicit Patience(bool crowded) : crowded_(crowded) {}
  /// After a look in vain: whether to look again.
  bool lasts() {
    if (++looks_ >= (crowded_ ? kYields : kSpins)) return false;
    if (crowded_) ::sched_yield();
    return true;
  }
  /// After one that was not.
  void renew() { looks_ = 0; }

 private:
  static constexpr std::uint32_t kSpins = 2000, kYields = 64;
  bool crowded_;
  std::uint32_t looks_ = 0;
};

/// Whether an operation is over, after it was given a little time. What it throws it throws again
/// when the engine drives it, which tells the others.
template <typename Operation>
bool advance_shortly(Operation& operation, Patience patience) {
  try {
    while (!operation.done()) {
      if (operation.advance()) {
        patience.renew();
      } else if (!patience.lasts()) {
        return false;
      }
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

}  // namespace multitree::runtime::host
