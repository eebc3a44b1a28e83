// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who keeps a job waiting.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/job/whereabouts.hpp"

namespace multitree::runtime {

/// For an answer to "where are you?". Ranks that wait look for questions every millisecond or ten.
inline constexpr std::chrono::milliseconds kWherePatience{300};

std::string pack(const Whereabouts& whereabouts);
/// Empty if `text` is none.
std::optional<Whereabouts> unpack_whereabouts(std::string_view text);

/// "allreduce #7 of 1024 float, sum at train.cpp:88".
std::string words_of(const Whereabouts& call);

/// What is known of a rank. One of which nothing of this is known does not answer.
struct Sighting {
  std::optional<Whereabouts> call = {};  ///< that it waits in
  bool at_barrier = false;               ///< of the job, and in no call
  std::string gone = {};                 ///< what it has: "left the job"
};

/// Who keeps the others waiting, in a sentence that names ranks, call, and place in the program;
/// empty if nobody waits. By seat. The first of these that holds:
/// - ranks that are awaited and are gone;
/// - ranks that are awaited and say nothing: they compute, are stopped, or are slow;
/// - ranks that are at a barrier while others await them in a call, or the other way round;
/// - ranks that are in an earlier call than others;
/// - nobody: all are in the same call, and a message between them is missing.
std::string blame(std::span<const Sighting> ranks);

}  // namespace multitree::runtime
