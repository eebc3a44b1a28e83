// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Finds the best bound in seconds of a collective for so many bytes, with its proof.
#pragma once

#include <cstdint>
#include <memory>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/certificate/time_certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

class GrowthFinder;

/// For one network and collective; sizes are asked for one by one.
class LeastTime {
 public:
  /// `bandwidth`: of certify(), for the collective and root that are meant. `topology` must
  /// outlive this. What does not depend on the size is computed here: O(ranks) searches for the
  /// least latencies, up to 256 ranks from all of them, beyond from the two ends of the longest
  /// way.
  LeastTime(const Topology& topology, Certificate bandwidth, Time message_overhead);

  /// The certificate of the largest bound. It checks (check_time_certificate()).
  [[nodiscard]] TimeCertificate at(std::uint64_t bytes) const;
  [[nodiscard]] double seconds(std::uint64_t bytes) const { return at(bytes).bound.seconds(); }

 private:
  [[nodiscard]] TimeCertificate blank(TimeReason reason, std::uint64_t bytes) const;
  [[nodiscard]] TimeCertificate longest_way() const;
  void consider(TimeCertificate candidate, TimeCertificate& best) const;

  const Topology& topology_;
  Certificate bandwidth_;
  Time message_overhead_;
  std::int64_t nearest_;  // picoseconds between the two nearest ranks
  std::shared_ptr<const GrowthFinder> growth_;
  TimeCertificate latency_;  // the best for next to no bytes
};

}  // namespace multitree
