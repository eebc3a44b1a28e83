// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small calls of a group that travel as one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/c/comm_internal.hpp"

namespace multitree::runtime::c {

/// Bytes of the whole (of all ranks' shards, where there are shards) of a call that is small, and
/// of calls that are one.
inline constexpr std::size_t kSmallMember = 4096, kMostTogether = 64 * 1024;

/// The data of several calls, one after the other in each shard, for one call.
class Together {
 public:
  /// \pre all of one communicator, collective, type, operator and root
  explicit Together(std::vector<std::shared_ptr<Job>> members);

  /// What runs instead of them; its send buffer is filled now.
  [[nodiscard]] CallSpec one();
  /// Hands out what it has brought.
  void hand_out();
  /// That of all of them.
  void set(Job::State state);

 private:
  [[nodiscard]] const Call& first() const { return members_.front()->spec.call; }

  std::vector<std::shared_ptr<Job>> members_;
  Comm& comm_;
  std::size_t width_ = 0, shard_ = 0;  ///< bytes of an element, and of all members' shards
  std::vector<std::byte> send_, recv_;
};

/// What is to be started for prepared calls, in an order that is the same at all ranks that have
/// the same calls: those that are small and alike as one. PreMulSum and operators of the user stay
/// alone, and so does everything on streams, with devices and of one rank.
std::vector<std::shared_ptr<Job>> put_together(const std::vector<std::shared_ptr<Job>>& calls);

}  // namespace multitree::runtime::c
