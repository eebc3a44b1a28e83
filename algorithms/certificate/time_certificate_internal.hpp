// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long it takes to tell all ranks, if each message tells one and costs its sender.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/certificate/time_certificate.hpp"
#include "topologies/topology.hpp"

namespace multitree {

/// As evaluate_time(topology), for which `nearest` is nearest_latency(topology): that takes a
/// search from each rank.
Time evaluate_time(const TimeCertificate& certificate, const Topology& topology,
                   std::int64_t nearest);

/// What TimeReason::Shares proves; 0 if there are too many ranks. `nearest`: as above.
Time shares_time(const TimeCertificate& certificate, const Topology& topology,
                 std::int64_t nearest);

/// Least latency between two ranks, in picoseconds; 0 for one rank.
std::int64_t nearest_latency(const Topology& topology);

/// Picoseconds that nobody beats who starts as the only one that knows. `latencies`: to each of
/// those that are to know, ascending; `nearest`: no message has less; `overhead`: of each message,
/// at its sender.
std::int64_t informing_time(const std::vector<std::int64_t>& latencies, std::int64_t nearest,
                            std::int64_t overhead);

}  // namespace multitree
