// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A configuration, checked, and the schedules that it asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/io/io.hpp"
#include "algorithms/tuning/link_table.hpp"
#include "algorithms/tuning/plan.hpp"
#include "runtime/c/multitree.h"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::c {

inline constexpr std::string_view kDeclared = "declared", kMeasured = "measured";

struct Settings {
  bool blocking = true;
  Deadline init_deadline{60'000};
  std::string topology;  ///< empty: full:N
  std::string algorithm = "auto";
  std::string plan_file;
  std::string tuning;  ///< kDeclared, kMeasured or a file: the times that `auto` chooses by
  CommunicatorOptions options;

  /// No schedule was asked for: on one host, shared memory may take the place of schedules.
  [[nodiscard]] bool open() const { return plan_file.empty() && algorithm == "auto"; }
};

/// \throws Failure(mtInvalidArgument) naming the field. nullptr gives the defaults.
Settings read_config(const mtConfig_t* config);

/// A network, and what is left of it for those who have shrunk. Nodes have the same names in both.
struct Remainder {
  Topology whole, left;
};

/// The network of a communicator, and what runs on it. Schedules are kept for the next communicator
/// with the same settings.
class Planner {
 public:
  /// `remainder`: instead of what the settings say. \throws Error for the topology or the file.
  Planner(Settings settings, std::uint32_t ranks,
          const std::optional<Remainder>& remainder = std::nullopt);
  /// Collective: what links take, where settings want it measured and schedules are going to be
  /// chosen by it. Before the others. \throws Error as measure_links()
  void measure(Bootstrap& job);
  /// Of all-reduce, reduce-scatter and all-gather. All verified.
  [[nodiscard]] std::vector<SizedSchedules> unrooted() const;
  /// Of broadcast and reduce. All verified.
  [[nodiscard]] std::vector<SizedSchedules> rooted(Rank root) const;
  /// Null where nobody named one.
  [[nodiscard]] const Topology* named_network() const {
    const bool named = !settings_.topology.empty() || file_ || whole_;
    return named ? network() : nullptr;
  }
  /// Null for a single rank.
  [[nodiscard]] const Topology* network() const { return topology_ ? &*topology_ : nullptr; }
  /// The same before anything was lost.
  [[nodiscard]] const Topology* original() const { return whole_ ? &*whole_ : network(); }

 private:
  [[nodiscard]] SizedSchedules plan(Collective collective, Rank root) const;
  /// Whether any schedule is chosen by predicted time.
  [[nodiscard]] bool chooses() const { return settings_.algorithm == "auto"; }
  [[nodiscard]] SizedSchedules generate(const Topology& network, Collective collective,
                                        Rank root) const;
  [[nodiscard]] SizedSchedules repaired(Collective collective, Rank root) const;

  Settings settings_;
  std::optional<Topology> topology_;  ///< none for a single rank, which needs no schedules
  std::optional<Topology> whole_;     ///< that topology_ is left of
  std::optional<PlanFile> file_;
  std::optional<LinkTable> times_;  ///< none: those of the topology
};

}  // namespace multitree::runtime::c
