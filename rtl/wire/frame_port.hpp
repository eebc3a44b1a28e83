// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where frames go to and come from.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "rtl/wire/frame.hpp"

namespace multitree::rtl {

/// All that a rank has for frames. Frames may be lost, changed and doubled on their way.
class FramePort {
 public:
  FramePort() = default;
  virtual ~FramePort() = default;
  FramePort(const FramePort&) = delete;
  FramePort& operator=(const FramePort&) = delete;

  /// The next frame that has come, until the next call; empty: there is none.
  virtual std::span<const std::byte> receive() = 0;
  virtual void send(const Way& way, std::span<const std::byte> frame) = 0;
  /// Until a frame comes, but no longer.
  virtual void wait(std::chrono::milliseconds most) = 0;
};

/// The ports of ranks within one thread.
class MemoryWires {
 public:
  explicit MemoryWires(std::uint32_t ranks) : frames_(ranks) {}
  [[nodiscard]] std::unique_ptr<FramePort> port(std::uint32_t rank);

 private:
  class Port;
  std::vector<std::deque<std::vector<std::byte>>> frames_;  // [rank]: those for it
};

/// Loses part of what comes, on purpose: every other frame of those does not come at all, the rest
/// with a wrong bit.
class LossyPort final : public FramePort {
 public:
  /// \param part of all frames, 0 to 1
  LossyPort(std::unique_ptr<FramePort> port, double part, std::uint64_t seed)
      : port_(std::move(port)), part_(part), random_(seed) {}

  std::span<const std::byte> receive() override;
  void send(const Way& way, std::span<const std::byte> frame) override { port_->send(way, frame); }
  void wait(std::chrono::milliseconds most) override { port_->wait(most); }

 private:
  std::unique_ptr<FramePort> port_;
  double part_;
  std::mt19937_64 random_;
  bool drops_ = false;
  std::vector<std::byte> changed_;
};

}  // namespace multitree::rtl
