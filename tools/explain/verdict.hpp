// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How far measured times are from a network's bound, and what is in the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/certificate/certify.hpp"
#include "tools/explain/log.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// What keeps a measured time from being shorter.
enum class Limit : std::uint8_t {
  Network,   ///< it is at the bound of the network's links, within a tenth
  Latency,   ///< messages and hops: the bytes alone would take less than half of the best schedule
  Schedule,  ///< what was run loads links more than needed
  Hosts,     ///< links or hosts are slower than the topology says
  Beyond,    ///< faster than any schedule can be: the topology is not what was measured
};
std::string_view to_string(Limit limit);

/// A measured time beside what is possible.
struct VerdictRow {
  std::uint64_t bytes = 0;  ///< of the whole buffer
  double seconds = 0, busbw = 0;
  double least = 0;  ///< seconds that the bound proves
  double share = 0;  ///< least / seconds
  Limit limit{};
  std::string best;         ///< the algorithm that is predicted to be the fastest of those compared
  double best_seconds = 0;  ///< and what it is predicted to take
};

struct Verdict {
  /// The algorithm that the log names, or whose predicted times are nearest to the measured ones of
  /// the largest sizes.
  std::string nearest;
  bool named = false;  ///< by the log
  double times = 1;    ///< measured over predicted for it, geometric mean over the largest sizes
  std::vector<VerdictRow> rows;
};

/// What an algorithm is predicted to take at each of a run's sizes, in seconds.
struct Prediction {
  std::string algorithm;
  std::vector<double> seconds;
};

/// The whole buffer of a collective whose size a log gives.
std::uint64_t buffer_bytes(const LoggedRun& run, const LoggedTime& time, std::uint32_t ranks);

/// \pre `run` is of the certificate's collective and has times; `predictions` is not empty, and
/// each has a time > 0 for every one of the run's.
Verdict judge(const LoggedRun& run, const Topology& topology, const Certificate& certificate,
              const std::vector<Prediction>& predictions);

}  // namespace multitree::tools
