// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the engine sees of a started collective.
#pragma once

#include <string>
#include <vector>

#include "runtime/job/links.hpp"

namespace multitree::runtime {

class Activity {
 public:
  Activity() = default;
  virtual ~Activity() = default;
  Activity& operator=(const Activity&) = delete;

  /// Does what can be done without waiting; true if anything moved. \throws Error
  virtual bool advance() = 0;
  [[nodiscard]] virtual bool done() const = 0;
  /// Whether it waits for its own caller (a stream that has not come so far), which no deadline
  /// of ours limits.
  [[nodiscard]] virtual bool awaits_caller() const { return false; }
  /// In words: "waiting to receive chunk 4 segment 0 from rank 1 at step 3".
  [[nodiscard]] virtual std::string waiting_for() const = 0;
  /// The ranks without which it does not go on, as far as it knows; in any order, also repeated.
  [[nodiscard]] virtual std::vector<Seat> awaited_ranks() const = 0;

 protected:
  /// For one that moves before anybody has been told where it is.
  Activity(const Activity&) = default;
};

}  // namespace multitree::runtime
