// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A proof that no schedule of a collective on a network, for so many bytes, takes less than a
/// time: latency, bandwidth and what messages cost their senders, joined. A value, evaluated and
/// checked by code that knows nothing of who found it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/certificate/certificate.hpp"
#include "topologies/units.hpp"

namespace multitree {

/// What a time is proved by. Each is a theorem of docs/optimality.md, "Least time at a size".
enum class TimeReason : std::uint8_t {
  Path,      ///< what a rank starts with must reach another
  Spread,    ///< what a rank starts with must reach all, and a message tells one rank
  Cuts,      ///< cuts must be crossed after the first byte can be there, and before the last must
  Arrivals,  ///< what most ranks cannot know yet must enter them after that
  Stream,    ///< all that a rank starts with must leave it, go far, and enter another
  Growth,    ///< what has spread can at most double in a time, and links bring the rest
  Shares,    ///< a rank has another share for each other, and what is for many takes its time
};
/// "path", "spread", "cuts", "arrivals", "stream", "growth", "shares".
std::string_view to_string(TimeReason reason);
/// \throws Error(InvalidArgument) listing the names.
TimeReason parse_time_reason(std::string_view text);

/// Model: data as fine as one likes. A message occupies its sender for `message_overhead` first,
/// then each link of its route for bytes / bandwidth; it has arrived when the last of them is done,
/// and all latencies of the route have passed. Reduction takes no time. Otherwise as Certificate.
struct TimeCertificate {
  Collective collective = Collective::AllReduce;
  Rank root{};              ///< where there is one; 0 otherwise
  std::uint32_t ranks = 0;  ///< of the network it is for
  std::uint64_t bytes = 0;  ///< of the whole vector
  Time message_overhead{};
  Time bound{};  ///< what the reason proves, rounded down
  TimeReason reason = TimeReason::Path;
  /// Path, Stream: from the first to the second. Spread, Growth, Shares: from the first.
  std::pair<Rank, Rank> path{};
  std::uint32_t informed = 0;  ///< Arrivals: how many ranks may know an element before
  Certificate cuts{};          ///< Cuts; the certificate of no ranks otherwise
  Time doubling{};             ///< Growth: what knows something at most doubles in this time
  Time rest{};                 ///< Growth: the end, in which only what links can bring is counted
  bool operator==(const TimeCertificate&) const = default;
};

/// What the reason proves; TimeCertificate::bound is not looked at. \pre No fault but WrongBound.
[[nodiscard]] Time evaluate_time(const TimeCertificate& certificate, const Topology& topology);

enum class TimeFault : std::uint8_t {
  WrongNetwork,     ///< made for another number of ranks
  WrongCollective,  ///< the root is out of range, or the reason does not hold for the collective
  BadPath,          ///< ranks out of range, or not what the collective must join
  BadCount,         ///< `informed` is no rank, or all of them
  BadGrowth,        ///< more than doubling is possible in the time, or there is less than no rest
  BadCuts,          ///< the bandwidth certificate has faults of its own, or is for something else
  WrongBound,       ///< the reason proves another bound
};
std::string_view to_string(TimeFault fault);

struct TimeViolation {
  TimeFault fault{};
  std::string message;
};

/// Everything that is wrong with a certificate; nothing if it holds.
[[nodiscard]] std::vector<TimeViolation> check_time_certificate(const TimeCertificate& certificate,
                                                                const Topology& topology);

}  // namespace multitree
