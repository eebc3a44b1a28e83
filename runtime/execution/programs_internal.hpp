// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedules of a communicator, and the programs made of them for the sizes that were called.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
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
  Programs(PlansBySize plans, Rank self, std::uint32_t ranks);

  /// Whether there are schedules for it, of any root, or somebody makes them.
  [[nodiscard]] bool serves(Collective collective) const;
  /// The same with a root; makes them if need be. \throws Error as PlansBySize::on_demand
  bool serves(Collective collective, Rank root);
  /// The root that the schedules of a collective have; `otherwise` if there are none, or they can
  /// be made for any.
  [[nodiscard]] Rank root_of(Collective collective, Rank otherwise) const;
  /// Those that any schedule of the lists sends to or receives from, ascending.
  [[nodiscard]] std::vector<Seat> peers() const;
  /// All that there are now, each list with its root.
  [[nodiscard]] std::vector<SizedSchedules> lists() const;
  /// PlansBySize::on_demand.
  [[nodiscard]] const std::function<SizedSchedules(Collective, Rank)>& on_demand() const {
    return on_demand_;
  }
  /// The spec of the schedule for a vector of `bytes`; empty if there is none.
  [[nodiscard]] std::string algorithm(Collective collective, std::uint64_t bytes) const;

  /// How the messages of a program are cut.
  struct Cut {
    std::size_t segment_bytes = 0;
    std::size_t window_bytes = 0;
    std::size_t merge_bytes = 0;  ///< chunks are merged up to this size; 0: they are not
    bool coalesce = false;        ///< schedules that ask for it have messages of several chunks
  };
  /// A schedule that runs instead of the one for the size.
  struct Variant {
    std::string_view spec;
    /// Makes it, the first time.
    std::function<Schedule()> make;
  };
  /// \pre serves(call.collective, root). `variant`: null for the one for the size. \throws Error
  /// as Variant::make
  std::shared_ptr<const LoadedProgram> program_for(const Call& call, Rank root, const Cut& cut,
                                                   const Variant* variant = nullptr);

 private:
  struct Sized {
    std::shared_ptr<const LoadedSchedule> loaded;
    std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();
  };

  void load(SizedSchedules plan);
  void fill_in_for_one_rank();
  [[nodiscard]] const Sized* find(Collective collective, Rank root, std::uint64_t bytes) const;
  /// Where those of a collective begin, whatever their root.
  [[nodiscard]] auto first_of(Collective collective) const {
    return schedules_.lower_bound({collective, Rank{0}});
  }
  /// The schedule that runs a call of `bytes`.
  std::shared_ptr<const LoadedSchedule> source_for(Collective collective, Rank root,
                                                   std::uint64_t bytes, const Variant* variant);
  [[nodiscard]] std::shared_ptr<const LoadedSchedule> loaded(Schedule schedule,
                                                             bool rounded = false) const;
  /// The same where messages of one level are one, for all sizes.
  [[nodiscard]] std::shared_ptr<const LoadedSchedule> coalesced(
      const std::shared_ptr<const LoadedSchedule>& source);

  Rank self_;
  std::uint32_t ranks_;
  std::function<SizedSchedules(Collective, Rank)> on_demand_;  ///< may be null
  /// By collective and root (0 where there is none), ascending by size.
  std::map<std::pair<Collective, Rank>, std::vector<Sized>> schedules_;
  std::map<std::tuple<Collective, Rank, std::string>, std::shared_ptr<const LoadedSchedule>>
      variants_;  ///< by collective, root, spec
  std::map<
      std::tuple<Collective, Rank, std::size_t, std::size_t, WireType, std::size_t, std::string>,
      std::shared_ptr<const LoadedProgram>>
      programs_;  ///< by collective, root, elements, element size, what travels, segment, variant
  std::map<std::shared_ptr<const LoadedSchedule>, std::shared_ptr<const LoadedSchedule>>
      coalesced_;  ///< of those of programs_, by what they came from
};

}  // namespace multitree::runtime
