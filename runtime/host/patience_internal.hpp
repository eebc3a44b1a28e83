// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long a rank looks for itself before it waits as the engine does.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>

#include "topologies/error.hpp"

namespace multitree::runtime::host {

/// Most waits end sooner than the engine would look at its clock, so a rank looks again at once,
/// for some microseconds, and then offers its processor to others: soon where these take it and
/// give it back as soon, as the one that is waited for may be among them. Where the last offer cost
/// it a slice of time, strangers compute, of whatever priority, and it looks for about as long
/// before it offers again: so it takes at most twice what either way would. Of one rank, for one
/// wait after another.
class Patience {
 public:
  /// `crowded`: more ranks than processors, so that offers are always taken.
  explicit Patience(bool crowded) : crowded_(crowded), spins_(crowded ? 0 : kSpins) {}
  /// At the beginning of a wait, and after a look that was not in vain.
  void renew() { looks_ = offers_ = 0; }
  /// After one in vain: whether to look again.
  bool lasts() {
    if (looks_ < spins_) {
      ++looks_;
      pause();
      return true;
    }
    if (offers_ == kOffers) return false;
    ++offers_;
    offer();
    return true;
  }

 private:
  /// Leaves the line that is looked at to its writer for a moment, and the core to its other
  /// thread.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  using Clock = std::chrono::steady_clock;
  /// Looks before an offer: where the last was not taken, taken, or cost a slice; some ten
  /// nanoseconds each.
  static constexpr std::uint32_t kSpins = 500, kSpinsWhenTaken = 8, kSpinsWhenDear = 10'000;
  static constexpr std::uint32_t kOffers = 64;
  static constexpr std::chrono::microseconds kTaken{2}, kDear{200};

  void offer() {
    if (crowded_) {
      ::sched_yield();
      return;
    }
    const Clock::time_point before = Clock::now();
    ::sched_yield();
    learn(Clock::now() - before);
  }

  void learn(Clock::duration away) {
    if (away > kDear) {
      spins_ = kSpinsWhenDear;
      looks_ = 0;
    } else {
      spins_ = away > kTaken ? kSpinsWhenTaken : kSpins;
    }
  }

  bool crowded_;
  std::uint32_t spins_;
  std::uint32_t looks_ = 0, offers_ = 0;
};

/// Whether an operation is over, after it was given a little time. What it throws it throws again
/// when the engine drives it, which tells the others.
template <typename Operation>
bool advance_shortly(Operation& operation, Patience& patience) {
  patience.renew();
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
