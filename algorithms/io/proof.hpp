// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Proofs of bandwidth bounds for programs that use the library: plain types, with exact numbers
/// and certificates as text. What lies beneath is algorithms/certificate/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// A bound on a collective that no schedule beats. Numbers are in shard times, the time of 1/ranks
/// of the buffer on the slowest link, exact: "63/2".
struct Proof {
  std::string bound;
  /// Whether schedules come as near to the bound as one likes, so that it is the optimum.
  bool optimum = false;
  std::string certificate;  ///< a certificate file (docs/file-formats.md)
};

/// \throws Error(InvalidArgument) if there is no such root, Error(Unsupported) if bandwidths differ
/// too much.
Proof prove_bound(const Topology& topology, Collective collective, Rank root = Rank{0});

/// What a certificate is worth, and how near a schedule comes to it.
struct ProofReport {
  std::vector<std::string> faults;  ///< what is wrong with it, in words; empty: it holds
  std::string bound;                ///< what it proves, in shard times
  std::string load;                 ///< of the schedule's busiest link, in shard times
  double ratio = 1;                 ///< load / bound; 1 if both are 0
  bool optimal = false;             ///< it holds, and the load is the bound
  double bound_seconds = 0;         ///< at the size asked for
  [[nodiscard]] bool ok() const { return faults.empty(); }
};

/// Adds up what the certificate's cuts prove, whoever made it; shares no code with prove_bound().
/// \pre the schedule verifies on the topology. \throws Error(InvalidInput) if `certificate` is not
/// one in form, Error(InvalidArgument) if it is for another network.
ProofReport check_proof(std::string_view certificate, const Schedule& schedule,
                        const Topology& topology, std::uint64_t bytes);

}  // namespace multitree
