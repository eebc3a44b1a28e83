// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Simulates the points that a file of results lacks, on several threads.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "tools/study/results.hpp"

namespace multitree::tools {

/// Told before each point or schedule: how many points are done, of how many, and what comes.
/// Called by several threads, one at a time.
using StudyProgress =
    std::function<void(std::size_t done, std::size_t all, const std::string& what)>;

/// Simulates what is missing, and adds it to the file point by point. Every schedule is generated
/// and verified once. What is simulated does not depend on `jobs`, only the order of the file.
/// \returns how many points were simulated. \throws what a generator, simulation or write throws,
/// after the points in work; std::logic_error if a simulation does not end as it should.
std::size_t run_points(std::span<const Point> points, ResultsFile& results, unsigned jobs,
                       const StudyProgress& progress);

}  // namespace multitree::tools
