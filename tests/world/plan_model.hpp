// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Going over to other schedules as a model: ranks that hear all words in one order, each when it
/// does, and begin calls meanwhile. What they decide is decided by PlanGate and PlanVote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace multitree::runtime::world {

struct PlanBounds {
  std::uint32_t ranks = 3;
  std::uint32_t changes = 2;  ///< of links, told by any rank at any time
  std::uint64_t calls = 3;    ///< that each rank makes
  std::uint32_t lately = 0;   ///< calls that were begun in a while
  bool objects = false;       ///< who waits may object
  bool unserved = false;      ///< a rank may find no schedules
  bool first_tells = false;   ///< of links, and no other rank: all are alike
  bool at_once = false;       ///< what is said is at the rendezvous at once
};

struct PlanResult {
  std::uint64_t states = 0;
  std::uint64_t most_editions = 0;  ///< that one history had: else nothing was tried
  std::vector<std::string> trace;
  std::string wrong;
};

PlanResult explore_plans(const PlanBounds& bounds);

}  // namespace multitree::runtime::world
