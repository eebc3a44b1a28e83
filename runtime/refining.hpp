// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schedules that are tried while they are used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/tuning/choose.hpp"

namespace multitree::runtime {

/// What is tried while it is used: of each collective, schedules by size with those that prediction
/// cannot tell apart (ChooseOptions::rivals).
struct Refining {
  std::map<Collective, std::vector<SizedSpec>> candidates;
  /// More of them, of other collectives.
  void add(std::map<Collective, std::vector<SizedSpec>> more);
  std::string comparing;  ///< the spec of the all-reduces by which ranks compare times
  /// Makes a schedule, verified; the same at every rank, not collective.
  std::function<Schedule(const std::string& spec, Collective collective, Rank root)> make;
};

/// What came of it for calls of one size.
struct Refined {
  Collective collective{};
  std::uint64_t bytes = 0;
  std::uint64_t calls = 0;
  std::string used;       ///< the spec
  double seconds = 0;     ///< of a call with it; 0 before anything was compared
  double lost_share = 0;  ///< of the time of all calls: what finding out has taken
  struct Rival {
    std::string spec;
    double ratio = 0;  ///< its time over that of the one in use; 0: not tried yet
    std::size_t looks = 0;
  };
  std::vector<Rival> rivals;
  [[nodiscard]] std::string words() const;  ///< why it is used, in a line
};

}  // namespace multitree::runtime
