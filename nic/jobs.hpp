// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Several collectives on one network, and computing between them: iterations of training, and jobs
/// of several users.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "nic/simulate.hpp"

namespace multitree::nic {

/// Something that all ranks do: a collective, or computing. A rank starts it when its own part of
/// all in `after` is over and the time `ready` has come; nothing waits for other ranks but what the
/// schedule waits for. A rank computes one thing at a time, in the order in which they may start.
struct Job {
  std::string name = {};
  const Schedule* schedule = nullptr;  ///< nullptr: computing
  std::uint64_t bytes = 0;             ///< of the collective (nccl-tests' size), as for simulate()
  Time computing = {};                 ///< how long, without a schedule
  Time ready = {};                     ///< from the start of the simulation
  Time delay = {};                     ///< from when it could start to when it does
  std::uint32_t priority = 0;          ///< least first, where a port could send for several
  std::vector<std::uint32_t> after = {};  ///< numbers of jobs before this one in the list
};

/// Simulates jobs together. A port that is free sends the next message of the job with the least
/// priority among those whose next message has what it waits for; of equal ones that of the first
/// in the list. What arrives for a job that a rank has not started waits there.
/// `Simulation::jobs` says when each took place. With SimulationOptions::data the jobs' buffers are
/// apart, and each job's result is compared.
/// \param slowness by rank: computing takes there so many times as long; empty: 1 for all.
/// \pre each schedule verifies on the topology, and is alive until this returns.
/// \throws Error(InvalidArgument) naming the job: after a job that is not before it, a negative
/// time, another number of ranks; a slowness that is not finite or below 0. Error(Unsupported) as
/// the other simulate(), and for the alphabeta model, lockstep and shared ports, which have one
/// collective at a time.
Simulation simulate(std::span<const Job> jobs, const Topology& topology,
                    const Parameters& parameters, const SimulationOptions& options,
                    std::span<const double> slowness = {});

}  // namespace multitree::nic
