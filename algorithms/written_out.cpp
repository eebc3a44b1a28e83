// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Refuses what would take all memory and most of a day.
#include "algorithms/written_out.hpp"

#include <fmt/format.h>

#include "algorithms/schedule.hpp"
#include "topologies/error.hpp"

namespace multitree {

void check_written_out(const Topology& topology) {
  const double ranks = topology.num_ranks();
  if (topology.num_ranks() <= kMostWrittenOut) return;
  const double gigabytes = 2 * ranks * ranks * sizeof(Transfer) / 1e9;
  throw Error(ErrorCode::Unsupported,
              fmt::format("{}: expected at most {} ranks where one does not stand for all, got {}, "
                          "whose messages take about {:.0f} GB; take fewer of them, or ask "
                          "'multitree bounds', 'tune' or 'schedule -a auto', which need one alone "
                          "where all are alike, as in a torus",
                          topology.name(), kMostWrittenOut, topology.num_ranks(), gigabytes));
}

}  // namespace multitree
