// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where frames go to and come from.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "rtl/wire/frame.hpp"

namespace multitree::rtl {

/// All that a node has for frames. Frames may be lost, changed and doubled on their way.
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

/// Who is in a process, and to whom the frames of these go.
struct Neighbourhood {
  std::uint32_t job = 0;                                ///< as frames have it
  std::vector<std::uint16_t> here = {};                 ///< nodes
  std::vector<Way> ways = {};                           ///< from these to others
  std::function<std::string(std::uint16_t)> name = {};  ///< of a node: "rank 3"
};

/// The ports of nodes within one thread: frames between them go through memory, those from and to
/// others through a port that they share. It outlives its ports.
class MemoryWires {
 public:
  /// Frames of others that wait for one of these nodes, at most: more are lost.
  static constexpr std::size_t kMostFrames = 4096;

  /// \param nodes those here \param others null: there are none
  explicit MemoryWires(std::span<const std::uint16_t> nodes,
                       std::unique_ptr<FramePort> others = nullptr);
  [[nodiscard]] std::unique_ptr<FramePort> port(std::uint16_t node);

 private:
  class Port;
  using Frames = std::deque<std::vector<std::byte>>;
  void fetch(Frames& asker);

  std::map<std::uint16_t, Frames> frames_;  // [node]: those for it
  std::unique_ptr<FramePort> others_;
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
