// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Starts the ranks of a job on this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime {

struct LaunchOptions {
  /// Once a rank has failed, how long the others may take to notice and leave before they are
  /// killed: their communicator's timeout and a few seconds.
  Deadline grace{35'000};
  /// What to run; empty: this very program.
  std::string program;
  /// The ranks go on without one that dies by a signal: that alone neither ends the job nor shows
  /// in its exit code, unless no rank is left.
  bool survive_deaths = false;
  /// So many more copies, with the numbers behind the ranks', of the same job: what they are for is
  /// the program's affair.
  std::uint32_t spares = 0;
};

/// Runs `ranks` copies of a program with arguments `argv` (argv[0] included) and waits for all of
/// them; each finds the others by make_bootstrap(). SIGINT and SIGTERM are passed on; no copy
/// survives this process. Which rank died by which signal is printed on stderr. \returns 0, or the
/// exit code of the first rank that failed by itself; 4 for a death by signal. \throws
/// Error(InvalidArgument) for 0 ranks, Error(Io) if a process cannot be started.
int launch_local(std::uint32_t ranks, const std::vector<std::string>& argv,
                 const LaunchOptions& options = {});

}  // namespace multitree::runtime
