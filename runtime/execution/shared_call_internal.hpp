// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What all ranks must call a collective with alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/communicator.hpp"

namespace multitree::runtime {

/// A call without what is a rank's own, its buffers. Where the collective has no root or does not
/// reduce, these are 0 and Sum.
struct CommonCall {
  static constexpr int kCountBits = 48;  ///< an address space has no more elements
  std::uint64_t count : kCountBits = 0;
  std::uint64_t several : 16 = 0;  ///< as in Call
  Rank root{};
  Collective collective{};
  DataType type{};
  ReduceOp op{};
  Exchange exchange : 4 {};  ///< if it is one: instead of the collective
  WireType wire : 4 {};      ///< how it travels where there are messages
  bool operator==(const CommonCall&) const = default;
  /// As many as there can be where there are more.
  void set_count(std::uint64_t elements) {
    constexpr std::uint64_t kMost = (std::uint64_t{1} << kCountBits) - 1;
    count = (elements < kMost ? elements : kMost) & kMost;
  }
};

CommonCall common_call(const Call& call, Rank root);

/// "allreduce of 1024 float, sum".
std::string words_of(const CommonCall& call);
/// "allreduce #5 of 1024 float, sum".
std::string numbered_words(const CommonCall& call, std::uint64_t number);
/// "allreduce".
std::string_view name_of(const CommonCall& call);

/// The same with what executes it.
struct SharedCall : CommonCall {
  std::uint64_t schedule = 0;  ///< digest of the schedule and of how it is cut; 0 without one
  bool operator==(const SharedCall&) const = default;
};

/// For tags: equal calls of one round have equal digests, all others hardly ever.
std::uint32_t digest_of(const SharedCall& call, std::uint64_t round);

/// "rank 0 calls allreduce of 1024 float, sum, rank 1 calls allreduce of 1024 int32, max".
/// Schedules are told only where nothing else differs.
std::string words_of_difference(Seat self, const SharedCall& call, Seat other,
                                const SharedCall& its);

}  // namespace multitree::runtime
