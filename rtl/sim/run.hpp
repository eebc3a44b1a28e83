// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A collective on verilated hardware.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rtl/sim/data.hpp"
#include "rtl/sim/hardware.hpp"
#include "rtl/sim/loader.hpp"

namespace multitree::rtl {

/// The register LOSSES.
struct Fate {
  std::uint32_t found = 0;  ///< contributions, by the roll call
  bool late = false, undecided = false, absent = false, discarded = false;
};

struct RunResult {
  std::uint64_t cycles = 0;  ///< until the last message was taken in, as nic::Simulation::cycles
  std::uint64_t link_flits = 0, busiest_link_flits = 0;
  std::uint64_t simulated = 0;  ///< cycles of the network, with loading
  /// Of sums that may lack contributions, what each rank's LOSSES says; else empty.
  std::vector<Fate> fates;
  std::vector<std::string> errors;  ///< what interfaces report; empty: it finished as it should
};

/// Names of the bits of the error register.
std::string describe_errors(std::uint32_t bits);

/// Loads, arms and starts the interfaces, moves `buffers` into the memories, and runs until all
/// interfaces are done or one has failed and the others have been given time to notice, at most
/// `most` cycles; then moves the memories back.
/// \param observe called after each cycle, with the number of cycles since the start.
RunResult run_collective(Hardware& network, const Collective& collective, Buffers& buffers,
                         std::uint64_t most,
                         const std::function<void(std::uint64_t)>& observe = {});

/// Another run of what is loaded: the same without loading.
RunResult run_again(Hardware& network, const Collective& collective, Buffers& buffers,
                    std::uint64_t most, const std::function<void(std::uint64_t)>& observe = {});

}  // namespace multitree::rtl
