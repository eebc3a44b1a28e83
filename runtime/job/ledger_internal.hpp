// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The address book of a job, as its coordinator keeps it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/job/line_internal.hpp"
#include "runtime/job/links.hpp"

namespace multitree::runtime {

/// Entries of ranks, each told to those that ask for it. All that a rank costs is its own entry and
/// what it asks for. Of one thread.
class Ledger {
 public:
  /// One that has written, or is about to.
  void add(JobLine line) {
    const Trunk* const trunk = line.trunk().get();
    subscribers_.insert_or_assign(trunk, Subscriber{.line = std::move(line)});
  }
  /// What has come by this trunk.
  void serve(const Trunk& trunk);
  /// Nobody can ask any more.
  [[nodiscard]] bool over() const { return subscribers_.empty(); }

 private:
  struct Subscriber {
    JobLine line;
    bool has_written = false;
    std::vector<Seat> wanted = {};  ///< until all have written
  };

  /// False on nonsense, which ends the line.
  bool handle(Subscriber& subscriber, const Frame& frame);
  bool enter(Subscriber& subscriber, const Frame& frame);
  void tell_all();
  [[nodiscard]] bool is_full() const { return written_ == entries_.size(); }

  std::map<const Trunk*, Subscriber> subscribers_;
  std::vector<std::optional<std::string>> entries_;  ///< by seat; sized by the first
  std::size_t written_ = 0;
};

}  // namespace multitree::runtime
