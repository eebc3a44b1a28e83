// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Who keeps a job waiting.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/job/whereabouts.hpp"

namespace multitree::runtime {

/// For an answer to "where are you?". Ranks that wait look for questions every millisecond or ten.
inline constexpr std::chrono::milliseconds kWherePatience{300};

std::string pack(const Whereabouts& whereabouts);
/// Empty if `text` is none.
std::optional<Whereabouts> unpack_whereabouts(std::string_view text);

/// "allreduce #7 of 1024 float, sum at train.cpp:88".
std::string words_of(const Whereabouts& call);
/// The same with its communicator: "allreduce #7 of 1024 float, sum on communicator
/// 0123456789abcdef at train.cpp:88".
std::string words_with_job(const Whereabouts& call);
/// "rank 5", "ranks 0-3, 7": where `ranks` is true.
std::string words_of(const std::vector<bool>& ranks);

/// What is known of a rank. One of which nothing of this is known does not answer.
struct Sighting {
  std::optional<Whereabouts> call = {};  ///< that it waits in; or `elsewhere`
  bool at_barrier = false;               ///< of the job, and in no call
  std::string gone = {};                 ///< what it has: "left the job"
};

/// Who keeps the others waiting, in a sentence that names ranks, call, and place in the program;
/// empty if nobody waits. By seat. The first of these that holds:
/// - ranks that are awaited and are gone;
/// - ranks that wait in a call of another communicator for one that waits for them in this one:
///   those are `crossed`, and get the same words;
/// - ranks that are awaited and say nothing: they compute, are stopped, or are slow;
/// - ranks that are awaited and are in a call of another communicator;
/// - ranks that are at a barrier while others await them in a call, or the other way round;
/// - ranks that are in an earlier call than others;
/// - nobody: all are in the same call, and a message between them is missing.
struct Blame {
  std::string words;
  std::vector<bool> crossed = {};  ///< none: nobody is
};
Blame find_blame(std::span<const Sighting> ranks);
inline std::string blame(std::span<const Sighting> ranks) { return find_blame(ranks).words; }

}  // namespace multitree::runtime
