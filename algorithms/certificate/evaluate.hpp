// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks proofs of bandwidth bounds, and schedules against them. Shares no code with what makes
/// bounds, trees or schedules: it only adds up what the definitions say (certificate.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// The bound that the cuts, or the prices of links, prove, in shard times; 0 if they prove nothing.
/// Certificate::bound is not looked at. \pre Nodes are the topology's, weights are not negative,
/// prices are at switches. O(sizes of the far sides + links * cuts around a node).
[[nodiscard]] Exact evaluate(const Certificate& certificate, const Topology& topology);

/// Time of the busiest link in shard times, exact: the sum of the shares of the buffer that it
/// carries, over its bandwidth. What the schedule takes if links never wait and latency is nothing.
/// \pre Chunks, links and owners are in range (verify()).
[[nodiscard]] Exact load_of(const Schedule& schedule, const Topology& topology);

enum class CertificateFault : std::uint8_t {
  WrongNetwork,     ///< made for another number of ranks
  WrongCollective,  ///< collective or root is not the schedule's, or the root is out of range
  BadCut,           ///< a far side with a node that does not exist, not ascending, without a rank,
                    ///< or of all nodes
  BadWeight,        ///< negative, or of a phase that the collective does not have
  BadPrice,         ///< at a rank, at no node, not ascending, or of the wrong phase
  WrongBound,       ///< the cuts prove another bound
  WrongHops,        ///< the pair of ranks is not that far apart, or not at the root
  BadLinkPrice,     ///< of no link, not ascending, negative, or of another collective than AllToAll
  WrongDemand,      ///< not a row for each rank, or not what the schedule moves
};
std::string_view to_string(CertificateFault fault);

struct CertificateViolation {
  CertificateFault fault{};
  std::string message;
};

/// What a certificate proves, and how near a schedule comes to it.
struct CertificateReport {
  std::vector<CertificateViolation> violations;
  Exact bound = 0;  ///< evaluated; 0 if the certificate is malformed
  /// The following need a schedule.
  std::optional<Exact> load;   ///< load_of()
  std::optional<Exact> ratio;  ///< load / bound; 1 if both are 0
  bool optimal = false;        ///< nothing wrong, and load == bound
  std::uint32_t steps = 0;
  /// Least steps with chunks as large as the schedule's largest; counts hops if the schedule moves
  /// one rank-to-rank hop a step.
  std::uint32_t step_bound = 0;

  [[nodiscard]] bool ok() const { return violations.empty(); }
  [[nodiscard]] bool has(CertificateFault fault) const;
};

/// Lists everything that is wrong with a certificate. `schedule` may be nullptr.
[[nodiscard]] CertificateReport check_certificate(const Certificate& certificate,
                                                  const Topology& topology,
                                                  const Schedule* schedule = nullptr);

/// The schedule's largest chunk, in shards (1/ranks of the buffer); 0 without chunks.
[[nodiscard]] Exact largest_chunk(const Schedule& schedule);

/// Steps that a bound in shard times needs when a step moves the largest chunk over the slowest
/// link, rounded up. Saturates at 2^32 - 1; 0 without chunks.
[[nodiscard]] std::uint32_t least_steps(const Exact& bound, const Schedule& schedule);

}  // namespace multitree
