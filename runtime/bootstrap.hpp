// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How the ranks of a job find each other and learn that one has died.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace multitree::runtime {

using Deadline = std::chrono::milliseconds;

/// Out-of-band exchange between the ranks of one job. Calls are collective unless said otherwise.
class Bootstrap {
 public:
  Bootstrap() = default;
  virtual ~Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  /// Everybody's blob, by rank. \throws Error(Timeout) naming the ranks that are missing, or
  /// Error(Transport) naming a rank that died.
  virtual std::vector<std::string> all_gather(const std::string& blob, Deadline deadline) = 0;
  void barrier(Deadline deadline) { all_gather({}, deadline); }
  /// Not collective, never blocks: what is known of a failure elsewhere in the job, in words that
  /// name the rank ("rank 3 died"); empty while all is well.
  virtual std::optional<std::string> failure() = 0;
  /// Not collective: tells the other ranks why this one gives up (best effort).
  virtual void report_failure(const std::string& reason) = 0;
  /// "local launcher", "Open MPI (PMIx)", "MPICH (PMI-1)", "torchrun", "Slurm", "in-process".
  [[nodiscard]] virtual std::string describe() const = 0;
};

/// For threads of this process: element r is rank r's, to be handed to its thread. \pre ranks > 0
std::vector<std::shared_ptr<Bootstrap>> make_in_process_bootstraps(std::uint32_t ranks);

}  // namespace multitree::runtime
