// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A node, its cables and its frames.
#pragma once

#include <memory>

#include "rtl/wire/endpoint.hpp"
#include "rtl/wire/frame_port.hpp"

namespace multitree::rtl {

class Station {
 public:
  using Clock = Cable::Clock;

  /// \param job that frames of others are told by \pre `cables` are those of `endpoint`
  Station(std::unique_ptr<Endpoint> endpoint, std::unique_ptr<Cables> cables,
          std::unique_ptr<FramePort> port, std::uint32_t job)
      : cables_(std::move(cables)),
        endpoint_(std::move(endpoint)),
        port_(std::move(port)),
        job_(job) {}

  [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }

  /// Takes frames, works, sends frames. \returns whether anything moved
  bool turn();
  /// Until a frame comes, but no longer.
  void wait(std::chrono::milliseconds most) { port_->wait(most); }

  /// "rank 3 has not answered for 10.2 s" if one has not for so long; else empty.
  [[nodiscard]] std::string silent(Clock::duration most) const;
  [[nodiscard]] Cable::Counts counts() const;
  /// Frames of this job that could not be read.
  [[nodiscard]] std::uint64_t bad_frames() const { return bad_; }

 private:
  void take(std::span<const std::byte> bytes);

  std::unique_ptr<Cables> cables_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<FramePort> port_;
  std::uint32_t job_;
  std::uint64_t bad_ = 0;
};

}  // namespace multitree::rtl
