// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the executor needs of a network: tagged point-to-point messages between ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace multitree::runtime {

/// Where a posted operation reports. Lives at a fixed address until done.
struct Completion {
  enum class State : std::uint8_t { Idle, Pending, Done, Failed };
  State state = State::Idle;
  std::string error;  ///< set when Failed
};

/// Point-to-point messages, matched by (sender, tag) in posting order. All calls come from one thread.
class Transport {
 public:
  virtual ~Transport() = default;
  /// `data` must stay valid and unchanged until the completion is Done.
  virtual void send(std::uint32_t peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    Completion& completion) = 0;
  /// The message must have exactly `bytes` bytes, else the completion fails.
  virtual void receive(std::uint32_t peer, std::uint64_t tag, void* data, std::size_t bytes,
                       Completion& completion) = 0;
  /// Moves data and updates completions; true if anything happened. Never blocks.
  virtual bool progress() = 0;
  /// Cancels everything outstanding and drops the peers without waiting for them: no completion is
  /// touched after it returns. After an error.
  virtual void abort() = 0;
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace multitree::runtime
