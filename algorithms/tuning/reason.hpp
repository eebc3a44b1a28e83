// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Why a plan has what it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "algorithms/tuning/tune.hpp"

namespace multitree {

/// What a choice is due to at one size, by prediction.
struct Reason {
  std::uint64_t bytes = 0;
  std::size_t candidate = 0;  ///< of TuneResult::candidates, as TunedRange
  Time time{};
  /// The fastest that does something else; none if nothing does. It may be up to 1% faster: windows
  /// that gain less are left out.
  std::optional<std::size_t> next;
  Time next_time{};
  /// Parts of `time`, which add up to 1: what the busiest link takes for its bytes, what messages
  /// cost their senders and the processors that ranks share beyond that, and the rest: latencies,
  /// and waiting for each other.
  double bytes_part = 0, messages_part = 0, latency_part = 0;

  /// The largest part: "bytes", "messages" or "latency".
  [[nodiscard]] std::string_view decides() const;
};

/// For each of TuneResult::sizes. `result`: of tune() with these arguments, not only its winners.
std::vector<Reason> reasons(const TuneResult& result, const Topology& topology,
                            const TuneOptions& options);

}  // namespace multitree
