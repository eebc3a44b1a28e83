// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How far a run has come, for those who go on with it after a loss.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/run/benchmark.hpp"
#include "tools/run/crew.hpp"
#include "topologies/error.hpp"

namespace multitree::tools {

/// Of the schedules of one algorithm.
struct Done {
  std::size_t keys = 0;   ///< types, operators and sizes
  std::vector<Row> rows;  ///< sizes that rounding (to whole elements and shards) makes equal: one
};

struct History {
  explicit History(std::size_t algorithms) : done(algorithms) {}

  std::vector<Done> done;
  std::size_t begun = 0;  ///< algorithms

  /// For others that run the same program.
  [[nodiscard]] std::string bytes() const;
  /// Takes over what the other has done more.
  /// \throws Error(Transport) if the other runs something else
  void catch_up(const std::string& bytes);
};

/// Collective: ranks that were told of the failure earlier than others may lack the last row, and
/// those that have come for others lack all. \throws as Bootstrap::all_gather()
void catch_up(History& history, runtime::Bootstrap& job, runtime::Deadline deadline);

/// Collective over those that are still there: goes on after `error`, or rethrows it. The next rank
/// may be lost while the crew gets over the last one.
void recover(Error error, Crew& crew, History& history, runtime::Deadline deadline);

/// Of a spare that has waited: the same.
void join_in(Crew& crew, History& history, runtime::Deadline deadline);

}  // namespace multitree::tools
