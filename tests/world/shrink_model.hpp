// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The shrinking of a job as a model: ranks, their coordinators and the messages between them,
/// small enough to be tried in every order. What is decided is decided by the code of the runtime
/// (ShrinkVote, places_to_meet()); what is a model is who says what when, which processes die and
/// which links are lost.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace multitree::runtime::world {

inline constexpr std::uint8_t kMost = 5;
inline constexpr std::uint8_t kNobody = 0xff;

/// How many ranks there are and what may happen to them.
struct ShrinkBounds {
  std::uint8_t ranks = 3;
  std::uint8_t deaths = 0;
  std::uint8_t cuts = 0;  ///< links that are lost
  bool one_way = false;   ///< a cut takes one direction only
  bool exits = false;     ///< who has stopped may end its process
  /// Deadlines are long: they pass when no message is under way.
  bool patient = false;
  /// A rank's wish and the welcome for it are one step: nothing happens between.
  bool coarse = false;
  std::uint8_t epochs = 2;  ///< shrinks of a job that is shrunk already are tried up to this one
};

enum class Says : std::uint8_t {
  Rejoin,
  Ask,
  Gather,
  Bye,
  Welcome,
  Elsewhere,
  Refused,
  LeftOut,
  Shrunk,
  Gathered
};
/// Standing::unsettled: sets of ranks, those there are first.
using Unsettled = std::array<std::uint8_t, 4>;
struct Words {
  Says what;
  std::uint8_t epoch, members;  ///< of Rejoin, Shrunk: a bit a rank
  Unsettled unsettled;
};

/// What is under way in one direction, first in first out.
struct Queue {
  std::uint8_t count;
  std::array<Words, 4> words;
};

/// From a rank to the coordinator in the process of another, or its own.
struct Line {
  std::uint8_t rank, host;
  std::uint8_t rank_open, host_open;
  std::uint8_t known, asked, gathered, leaving;  ///< as the host has it (Guest)
  Queue up, down;
};

enum class Phase : std::uint8_t {
  Working,   ///< in a job
  Seeking,   ///< for a place to meet
  Knocking,  ///< says who it is, and waits
  Asking,    ///< waits for the survivors' names
  Told,      ///< has them, and gathers with them
  Stopped,   ///< with an error
  Ended,     ///< its process has
  Dead,
};

struct RankState {
  Phase phase;
  std::uint8_t epoch, members;
  std::uint8_t places;  ///< where to look still, a bit each
  Unsettled unsettled;
};
struct HostState {
  std::uint8_t epoch, members, in_charge;
  std::uint8_t retired, failed, shrinking, late;
  std::uint8_t left;  ///< who has said goodbye, a bit each
  Unsettled unsettled;
};
/// That all of its members went on with.
struct Job {
  std::uint8_t epoch, members;
};

/// All of it; every byte counts, none is padding that differs.
struct ShrinkState {
  std::array<RankState, kMost> ranks;
  std::array<HostState, kMost> hosts;
  std::array<std::uint8_t, kMost> cut;  ///< by sender: to whom nothing passes, a bit each
  std::uint8_t deaths, cuts;            ///< so far
  std::uint8_t tainted;                 ///< one died that had gone on
  std::uint8_t jobs_count, lines_count;
  std::array<Job, 6> jobs;
  std::array<Line, 16> lines;
};

/// What is wrong, or empty.
struct ShrinkResult {
  std::uint64_t states = 0;
  std::vector<std::string> trace;  ///< to what is wrong, shortest of those that were looked at
  std::string wrong;
  std::uint64_t split_after_death =
      0;  ///< states in which two parts go on, as one that died had gone on
  std::uint64_t went_on = 0, stopped = 0;  ///< ends in which all who live did
  std::uint64_t died_in_telling = 0;       ///< of walks: a coordinator had told some, and not all
};

/// Every order of everything that may happen within `bounds`.
ShrinkResult explore_shrink(const ShrinkBounds& bounds);

/// Some orders, drawn from the seeds from `seed` on, where there are too many: `went_on` and
/// `stopped` count walks in whose end somebody works, or nobody.
ShrinkResult walk_shrink(const ShrinkBounds& bounds, std::uint64_t seed, std::uint64_t walks);

}  // namespace multitree::runtime::world
