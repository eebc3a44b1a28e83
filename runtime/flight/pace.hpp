// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who slows a job down that goes on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/flight/flights.hpp"

namespace multitree::runtime::flight {

/// Which rank, or else which link, the others wait for most of the time, in a sentence that names
/// it, their shares and the latest call; empty if there is none, as in a job whose ranks all wait
/// about as long. `before`: the same communicator some time earlier; null: since it was made.
/// `now_ns`: when `job` was read, since 1970. Needs the records of all ranks, of one second at
/// least.
///
/// A rank is slow if it waits less than half as long as each of the others, and they more than a
/// fifth of the time. A link is if no rank is, and its receiver waits, for more than a third of the
/// time, for what its sender had handed to the network, and twice as long as at any other link.
std::string find_slow(const FlightJob& job, const FlightJob* before, std::int64_t now_ns);

/// find_slow() of each, with those that are in both as the same ones earlier.
void find_slow(std::vector<FlightJob>& jobs, const std::vector<FlightJob>& before,
               std::int64_t now_ns);

}  // namespace multitree::runtime::flight
