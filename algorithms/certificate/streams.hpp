// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds the two ranks between which it takes longest to send all that one starts with.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/time_certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// For one network and all-reduces whose messages cost their senders nothing; sizes are asked for
/// one by one. Says more than the other reasons where latency and bytes take about as long.
class Streams {
 public:
  /// Searches latencies from and to each of the first 256 ranks. `topology` must outlive this.
  explicit Streams(const Topology& topology);

  /// The certificate of the largest bound by TimeReason::Stream. It checks
  /// (check_time_certificate()). O(pairs of ranks * links of a rank).
  [[nodiscard]] TimeCertificate at(std::uint64_t bytes) const;

 private:
  const Topology& topology_;
  std::vector<std::vector<std::int64_t>> from_, to_;  ///< by rank and node, in picoseconds
};

}  // namespace multitree
