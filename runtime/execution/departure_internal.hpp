// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether what was sent has left this process.
#pragma once

#include <cstdint>
#include <deque>
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
  void begin(Transport& transport, std::span<const std::uint32_t> peers) {
    begun_ = true;
    for (const std::uint32_t peer : peers) {
      Completion& completion = flushes_.emplace_back();
      completion.finished = &over_;
      transport.flush(peer, completion);
    }
  }
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] bool over() const { return begun_ && over_.size() == flushes_.size(); }

 private:
  bool begun_ = false;
  std::deque<Completion> flushes_;
  std::vector<Completion*> over_;
};

}  // namespace multitree::runtime
