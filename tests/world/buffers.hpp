// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The buffers of one call at one rank, and what they are to hold after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/communicator.hpp"
#include "tests/world/job.hpp"

namespace multitree::runtime::world {

class CallBuffers {
 public:
  CallBuffers(const CallDraw& draw, std::uint32_t rank, std::uint32_t ranks, Rank root);
  [[nodiscard]] Call call();
  /// What is not as it should be after the call has returned; empty: all is.
  [[nodiscard]] std::string check() const;

 private:
  [[nodiscard]] std::string compare() const;

  CallDraw draw_;
  std::uint32_t rank_, ranks_;
  Rank root_;
  std::size_t sent_, received_;            ///< elements
  std::size_t send_at_ = 0, recv_at_ = 0;  ///< in the buffers, which are one if it is in place
  std::vector<std::byte> send_, recv_, send_before_, recv_before_;
};

}  // namespace multitree::runtime::world
