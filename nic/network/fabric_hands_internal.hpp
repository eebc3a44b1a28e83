// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The arrays of a network in hand, and what is done with places of its buffers.
#pragma once

#include "nic/network/fabric.hpp"

namespace multitree::nic {

struct Fabric::Hands {
  Buffer* const buffers;
  Slot* const slots;
  Channel* const channels;
  std::uint64_t* const ready;
  std::vector<std::uint32_t>* const wheel;
  const std::uint32_t wheel_mask, shift, depth, first_ejection;
  const Cycle now;
  const bool may_hold;  // channels may take no flit for a while

  [[nodiscard]] Slot& slot(std::uint32_t buffer, std::uint32_t place) const {
    return slots[buffer * depth + place];
  }
  [[nodiscard]] std::uint16_t after(std::uint16_t place) const {
    return static_cast<std::uint16_t>(place + 1U == depth ? 0 : place + 1U);
  }
  [[nodiscard]] bool has_room(std::uint32_t buffer) const {
    const Slot& next = slot(buffer, buffers[buffer].tail);
    return next.word == kNone && next.time <= now;
  }
  [[nodiscard]] bool has_room(std::uint32_t buffer, std::uint32_t room) const {
    std::uint32_t last = buffers[buffer].tail + room - 1;
    if (last >= depth) last -= depth;
    const Slot& place = slot(buffer, last);
    return place.word == kNone && place.time <= now;
  }

  void wake_at(std::uint32_t buffer, Cycle time) const {
    wheel[time & wheel_mask].push_back(buffer);
  }

  /// \returns whether it is the only flit, so that somebody has to wake the buffer.
  bool fill(std::uint32_t buffer, std::uint32_t word, Cycle time) const {
    Buffer& b = buffers[buffer];
    slot(buffer, b.tail) = {time, word};
    b.tail = after(b.tail);
    return b.count++ == 0;
  }

  void set_ready(std::uint32_t buffer, bool is_ready) const {
    const std::uint64_t bit = std::uint64_t{1} << (buffer % 64);
    std::uint64_t& bits = ready[buffer / 64];
    bits = (bits & ~bit) | (is_ready ? bit : 0);
  }
};

}  // namespace multitree::nic
