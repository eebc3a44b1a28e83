// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A configuration, checked, and the schedules that it asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/tuning/link_table.hpp"
#include "algorithms/tuning/planner.hpp"
#include "runtime/c/multitree.h"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"

namespace multitree::runtime::c {

inline constexpr std::string_view kDeclared = "declared", kMeasured = "measured",
                                  kCached = "cached";

struct Settings {
  bool blocking = true;
  Deadline init_deadline{60'000};
  std::string topology;  ///< empty: full:N
  std::string algorithm = "auto";
  std::string plan_file;
  bool refine = false;
  std::string tuning;  ///< one of these, or a file: the times that `auto` chooses by
  CommunicatorOptions options;

  /// No schedule was asked for: on one host, shared memory may take the place of schedules.
  [[nodiscard]] bool open() const { return plan_file.empty() && algorithm == "auto"; }
};

/// \throws Failure(mtInvalidArgument) naming the field. nullptr gives the defaults.
Settings read_config(const mtConfig_t* config);

/// What runs on a communicator. Schedules are kept for the next one with the same settings.
class CommPlans {
 public:
  /// `remaining`: instead of what the settings say. \throws Error for the topology or the file.
  CommPlans(Settings settings, std::uint32_t ranks,
            const std::optional<RemainingNetwork>& remaining = std::nullopt);
  /// Collective, before all others: the network of the cluster that ranks run on, where none was
  /// named. \throws Error as installed_cluster_of()
  void follow(Bootstrap& job);
  /// Collective, before the others: what links take, where settings want it measured and schedules
  /// are going to be chosen by it. \throws Error as measure_links()
  void measure(Bootstrap& job);
  /// Collective, before first(), or on_demand() with a root: what `auto` runs. \throws Error as
  /// choose_specs_together()
  void choose(Bootstrap& job, bool rooted);
  /// Whether choose() has to ask the others.
  [[nodiscard]] bool must_choose(bool rooted) const { return !unchosen(rooted).empty(); }
  /// What a communicator begins with: all-reduce, and what a file has.
  [[nodiscard]] std::vector<SizedSchedules> first() const;
  /// Of any collective; `root` of those that have one.
  [[nodiscard]] SizedSchedules on_demand(Collective collective, Rank root) const;
  /// What is tried while running; null: nothing.
  [[nodiscard]] std::shared_ptr<const Refining> refining() const { return refining_; }
  /// What is made once links have fallen silent; null for a single rank.
  [[nodiscard]] std::shared_ptr<const Remaking> remaking() const;
  /// Keeps what came of it, where settings want that.
  void keep(const std::vector<Refined>& refined) const;
  /// Whether somebody named a network, by itself or in a file.
  [[nodiscard]] bool is_named() const { return named_; }
  /// None for a single rank, which needs no schedules.
  [[nodiscard]] const std::optional<RemainingNetwork>& network() const { return network_; }

 private:
  [[nodiscard]] std::vector<SizedSchedules> plan(std::span<const Collective> collectives,
                                                 Rank root) const;
  [[nodiscard]] std::vector<Collective> unchosen(bool rooted) const;
  void load(std::uint32_t ranks);
  void read_times();
  /// Whether any schedule is chosen by predicted time.
  [[nodiscard]] bool chooses() const { return settings_.algorithm == "auto"; }
  [[nodiscard]] std::vector<SizedSpec> choice(Collective collective) const;
  [[nodiscard]] SizedSchedules make(const Topology& network, Collective collective,
                                    Rank root) const;

  Settings settings_;
  bool named_ = false;
  std::optional<RemainingNetwork> network_;
  SizedSchedules ready_;            ///< of the file
  std::optional<LinkTable> times_;  ///< none: those of the topology
  std::string times_file_;          ///< where this rank keeps them; empty: nowhere
  std::map<Collective, std::vector<SizedSpec>> chosen_;
  std::shared_ptr<Refining> refining_;
};

/// Of the ranks of a job. The first of them logs what was taken for granted about the network.
/// \throws as the constructor
CommPlans plans_of(const Settings& settings, const Bootstrap& job,
                   const std::optional<RemainingNetwork>& remaining);

}  // namespace multitree::runtime::c
