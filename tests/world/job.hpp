// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A job of a world: what it is, drawn from a seed, and what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "runtime/communicator.hpp"
#include "tests/world/wires.hpp"
#include "tests/world/world.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime::world {

/// The same at all ranks.
struct CallDraw {
  Collective collective{};
  std::size_t count = 0;
  DataType type{};
  ReduceOp op{};
  WireType wire{};
  bool in_place = false;
  std::uint32_t priority = 0;
  std::size_t salt = 0;  ///< where in the inputs of all calls its own begin
};

enum class FaultKind : std::uint8_t {
  DiesSending,   ///< at its n-th send
  Dies,          ///< at some time
  DiesSilently,  ///< the same with its host: nobody's connection ends
  Cut,           ///< nothing passes from a to b
  Breaks,        ///< the connection of a and b ends at some byte, where streams carry messages
  Stops,         ///< a does not run for a while that others can wait for
  StopsLong,     ///< nor for one that they cannot
};
struct Fault {
  FaultKind kind{};
  std::uint32_t a = 0, b = 0;
  std::uint64_t sends = 0;
  Nanoseconds when{}, time{};
};
std::string words_of(const Fault& fault);

struct JobDraw {
  std::uint32_t ranks = 2;
  std::string network;
  std::vector<std::string> algorithms;  ///< by collective, for people
  std::vector<Schedule> schedules;
  std::vector<CallDraw> calls;
  Habits habits;
  std::size_t segment_bytes = 1024;
  Deadline timeout{400};
  std::size_t under_way = 1;  ///< calls at a time
  Nanoseconds longest_pause{};
  bool adapts = false;
  bool streams = false;  ///< the runtime's TCP streams carry the messages
  std::vector<Fault> faults;
};

JobDraw draw_job(std::uint64_t seed);
std::string words_of(const JobDraw& job);

/// What a seed came to.
struct Outcome {
  std::uint64_t history = 0;
  std::string wrong;  ///< empty: all claims held
  std::size_t calls = 0, errors = 0, faults = 0;
  Nanoseconds time{};
};

Outcome run_job(std::uint64_t seed, bool tells = false);

}  // namespace multitree::runtime::world
