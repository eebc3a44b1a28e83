// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the engine sees of a started collective.
#pragma once

#include <string>

namespace multitree::runtime {

class Runnable {
 public:
  Runnable() = default;
  virtual ~Runnable() = default;
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;
  /// Reacts to completions; true if there were any. \throws Error if one failed.
  virtual bool advance() = 0;
  [[nodiscard]] virtual bool done() const = 0;
  /// Whether it waits for its own caller (a stream that has not come so far), which no deadline
  /// of ours limits.
  [[nodiscard]] virtual bool awaits_caller() const { return false; }
  /// "waiting to receive chunk 4 segment 0 from rank 1 at step 3": the first of what is
  /// outstanding.
  [[nodiscard]] virtual std::string waiting_for() const = 0;
};

}  // namespace multitree::runtime
