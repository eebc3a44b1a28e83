// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedules of a communicator, and the programs made of them for the sizes that were called.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/tuning/plan.hpp"
#include "runtime/communicator.hpp"
#include "runtime/execution/operation_internal.hpp"

namespace multitree::runtime {

class Programs {
 public:
  /// For rank `self` of `ranks`. With one rank every collective is a copy, and no schedule is
  /// needed to say so. \throws Error(InvalidArgument): two lists for one collective, another number
  /// of ranks, as check_sized().
  Programs(std::vector<SizedSchedules> plans, Rank self, std::uint32_t ranks);

  [[nodiscard]] bool serves(Collective collective) const { return schedules_.contains(collective); }
  /// The root that the schedules of a collective have; `otherwise` if there are none.
  [[nodiscard]] Rank root_of(Collective collective, Rank otherwise) const;
  /// Those that any schedule sends to or receives from, ascending.
  [[nodiscard]] std::vector<Seat> peers() const;
  /// The spec of the schedule for a vector of `bytes`; empty if there is none.
  [[nodiscard]] std::string algorithm(Collective collective, std::uint64_t bytes) const;

  /// How the messages of a program are cut.
  struct Cut {
    std::size_t segment_bytes = 0;
    std::size_t window_bytes = 0;
    std::size_t merge_bytes = 0;  ///< chunks are merged up to this size; 0: they are not
  };
  /// \pre serves(call.collective).
  std::shared_ptr<const LoadedProgram> program_for(const Call& call, const Cut& cut);

 private:
  struct Sized {
    std::shared_ptr<const LoadedSchedule> loaded;
    std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
  };

  void load(SizedSchedules plan);
  void fill_in_for_one_rank();
  [[nodiscard]] const Sized* find(Collective collective, std::uint64_t bytes) const;
  [[nodiscard]] std::shared_ptr<const LoadedSchedule> loaded(Schedule schedule) const;

  Rank self_;
  std::uint32_t ranks_;
  std::map<Collective, std::vector<Sized>> schedules_;  ///< ascending by size
  std::map<std::tuple<Collective, std::size_t, std::size_t>, std::shared_ptr<const LoadedProgram>>
      programs_;  ///< by collective, elements, element size
};

}  // namespace multitree::runtime
