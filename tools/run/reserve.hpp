// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The processes of a run that has spares: which of them is which rank, and which wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/bootstrap.hpp"
#include "topologies/remaining_network.hpp"

namespace multitree::tools {

/// A spare that has come in the place of a rank.
struct Taken {
  std::uint32_t spare = 0;  ///< from 0 on
  std::uint32_t rank = 0;
};

/// Reads no clock and sends nothing. Processes and ranks have the numbers of the beginning: those
/// behind the ranks are spares.
class Places {
 public:
  Places(std::uint32_t ranks, std::uint32_t processes);

  /// These are left, ascending: the lowest spares that wait take the lowest places that are empty.
  /// \returns those that have; a place for which there is none stays empty for good
  std::vector<Taken> go_on_with(const std::vector<std::uint32_t>& left);
  /// Whose place is not empty, ascending.
  [[nodiscard]] std::vector<std::uint32_t> ranks() const;
  /// The processes there, in the same order.
  [[nodiscard]] std::vector<std::uint32_t> members() const;
  [[nodiscard]] bool has(std::uint32_t process) const;

 private:
  std::vector<std::optional<std::uint32_t>> at_;  ///< by rank
  std::vector<std::uint32_t> waiting_;            ///< ascending
};

/// One process's part. All processes are one job, and those that have places are a part of it; when
/// one of these is lost, all of them, spares too, go on as another.
class Reserve {
 public:
  /// Not collective. \pre `all` has more processes than there are ranks
  Reserve(std::shared_ptr<runtime::Bootstrap> all, std::uint32_t ranks);

  [[nodiscard]] bool waits() const;
  [[nodiscard]] std::vector<std::uint32_t> ranks() const { return places_.ranks(); }
  /// Collective over those that have places: their job. \throws as make_bootstrap()
  [[nodiscard]] std::shared_ptr<runtime::Bootstrap> join(runtime::Deadline deadline) const;
  /// Collective over all processes: the run has ended. \throws Error(Transport) if one is lost.
  /// Those that wait do so here, for ever.
  void await_end(runtime::Deadline deadline);
  void await_end();
  /// Not collective: all are to regroup().
  void report_failure(const std::string& why) { all_->report_failure(why); }
  /// Collective over all processes that are left: who waits takes the places of those that are
  /// lost. \returns whether a place was left. \throws Error(Transport) if nobody is left that had a
  /// place, so that nobody knows how far the run has come; as Bootstrap::shrink().
  bool regroup(runtime::Deadline deadline);
  /// The same for those that wait, until others ask for it.
  bool regroup();
  /// In the last regroup().
  [[nodiscard]] const std::vector<Taken>& taken() const { return taken_; }

 private:
  [[nodiscard]] std::uint32_t self() const;

  std::shared_ptr<runtime::Bootstrap> all_;
  Survivors left_;  ///< processes
  Places places_;
  std::vector<Taken> taken_;
};

}  // namespace multitree::tools
