// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether what was sent has left this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/messages/transport.hpp"

namespace multitree::runtime {

/// The end of a collective: who is done may not come back for long, and his peers wait.
class Departure {
 public:
  Departure() = default;
  Departure(const Departure&) = delete;
  Departure& operator=(const Departure&) = delete;

  /// Waits for what was sent to `peers` before, and for nothing else that the transport carries.
  /// Lives until it is over, or the transport was aborted.
  void begin(Transport& transport, std::span<const Seat> peers) {
    begun_ = true;
    flushes_.resize(peers.size());
    for (std::size_t i = 0; i < peers.size(); ++i) {
      flushes_[i].finished = &over_;
      transport.flush(peers[i], flushes_[i]);
    }
  }
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] bool over() const { return begun_ && over_.size() == flushes_.size(); }

 private:
  bool begun_ = false;
  std::vector<Completion> flushes_;  ///< where they are for good
  std::vector<Completion*> over_;
};

}  // namespace multitree::runtime
