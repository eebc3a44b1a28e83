// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a rank notes for those who ask after a job later, or from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "runtime/execution/shared_call_internal.hpp"
#include "runtime/flight/layout_internal.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::flight {

/// Of one communicator, in a file that stays when the process dies. Calls are noted by the one who
/// makes them, the rest under the engine's guard.
class FlightRecorder {
 public:
  /// In the folder that the environment variable MULTITREE_FLIGHT names; null without it, and
  /// where the file cannot be made, which is logged: nobody's job ends for want of a record.
  static std::unique_ptr<FlightRecorder> open(const Bootstrap& job);
  /// Removes the file unless something failed.
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;

  void begin(std::uint64_t number, const CommonCall& call);
  void end(std::uint64_t number);
  /// `since`: for how long already.
  void waits(const Whereabouts& where, std::chrono::nanoseconds since);
  void goes_on();
  /// For so long more, for all of `awaited`, while something was on its way to all of `unsent`.
  void waited(std::chrono::nanoseconds time, std::span<const Seat> awaited,
              std::span<const Seat> unsent);
  void fail(const std::string& reason);

 private:
  FlightRecorder(std::string path, Page& page) : path_(std::move(path)), page_(page) {}

  std::string path_;
  Page& page_;
};

}  // namespace multitree::runtime::flight
