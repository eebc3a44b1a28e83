// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The programs of several jobs as one.
#pragma once

#include <span>

#include "nic/jobs.hpp"
#include "nic/program/program.hpp"

namespace multitree::nic {

/// One program for all jobs, each with flows, pieces and a part of the buffer of its own.
/// \throws as simulate() of jobs.
Program compile_jobs(std::span<const Job> jobs, const Topology& topology,
                     const Parameters& parameters, std::span<const double> slowness);

}  // namespace multitree::nic
