// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which entry of several groups a port of the hardware looks at in which cycle.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/program/program.hpp"

namespace multitree::nic {

/// A port of the hardware has one entry at hand: after it was free that of the most urgent group
/// whose doorbell has been rung, and as long as that may not be sent another one in each cycle, in
/// turn (docs/nic-spec.md, "Doorbells"). Here no cycle is visited in which it only looks: where it
/// looks follows from when it last began to. \pre calls for a port come in the order of their
/// cycles.
class PortLooks {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// \throws Error(Unsupported) if there are more collectives than an interface has doorbells.
  PortLooks(const std::vector<JobRow>& jobs, std::size_t ports);

  /// The next message of a job at a port; kNone: it has sent all.
  [[nodiscard]] std::uint32_t front(std::uint32_t port, std::uint32_t job) const {
    return fronts_[std::size_t{port} * jobs_ + job];
  }
  void set_front(std::uint32_t port, std::uint32_t job, std::uint32_t message) {
    fronts_[std::size_t{port} * jobs_ + job] = message;
  }

  /// The job's doorbell is rung: its entry comes to hand from the next cycle on, in cycle 0, the
  /// first, at once.
  void ring(std::uint32_t port, std::uint32_t job, std::uint64_t cycle);
  /// The port has sent a message of the job, and looks for another from that cycle on.
  void free(std::uint32_t port, std::uint32_t job, std::uint64_t cycle);
  /// The job that it looks at in a cycle, if it has sent nothing since it was free; or kNone.
  [[nodiscard]] std::uint32_t at(std::uint32_t port, std::uint64_t cycle) const;
  /// The first cycle from `cycle` on in which it looks at a job for which is_ready(job) holds; or
  /// kNever.
  template <typename Ready>
  [[nodiscard]] std::uint64_t next(std::uint32_t port, std::uint64_t cycle,
                                   const Ready& is_ready) const {
    for (std::uint64_t later = 0; later <= job_at_.size(); ++later) {
      const std::uint32_t job = at(port, cycle + later);
      if (job != kNone && is_ready(job)) return cycle + later;
    }
    return kNever;
  }

 private:
  struct Look {
    std::uint32_t may = 0;       // by bits: urgency of jobs with doorbells rung and messages left
    std::uint32_t from = kNone;  // urgency of the one that it looks at
    std::uint64_t since = 0;     // in this cycle
  };

  std::size_t jobs_;
  std::vector<std::uint32_t> urgency_;  // [job]: 0 goes first
  std::vector<std::uint32_t> job_at_;   // [urgency]
  std::vector<std::uint32_t> fronts_;   // [port][job]: message
  std::vector<Look> looks_;             // [port]
};

}  // namespace multitree::nic
