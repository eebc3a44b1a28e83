// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Real runs as timelines, in the rows of `multitree simulate --trace`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "report/lanes.hpp"
#include "report/trace.hpp"
#include "runtime/execution/recorder.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// One collective, as all ranks saw it.
struct TracedIteration {
  std::string title;                                ///< "multitree 4096 B float"
  std::vector<std::vector<runtime::Event>> events;  ///< by rank; all on the clock of rank 0
  std::int64_t clock_error_ns = 0;                  ///< the most that two ranks' clocks may differ
  std::uint64_t lost = 0;                           ///< events that found no room
};

/// Iterations, one after the other on one time axis.
class RunTimeline {
 public:
  /// One by messages. `schedule`: what ran; `network`: what it is for.
  void add(const TracedIteration& iteration, const Schedule& schedule, const Topology& network);
  /// One without messages.
  void add(const TracedIteration& iteration, const Topology& network);

  /// As report::Trace::to_json().
  [[nodiscard]] std::string to_json() const { return trace_.to_json(); }

 private:
  struct Message;
  /// A span in the unit of the time axis.
  struct Bar {
    std::string group, name, label;
    std::uint64_t begin = 0, end = 0;
  };

  void begin_iteration(const TracedIteration& iteration);
  [[nodiscard]] std::uint64_t at(std::int64_t ns) const;
  std::uint32_t track(const Bar& bar);
  void add_sends(const std::vector<Message>& messages, const Schedule& schedule,
                 const Topology& network);
  void add_links(const std::vector<Message>& messages, const Schedule& schedule,
                 const Topology& network);
  void add_rank_rows(const std::vector<Message>& messages, const TracedIteration& iteration,
                     const Schedule& schedule, const Topology& network);
  std::uint64_t add_message(const Message& message, const Bar& bar, const Schedule& schedule);

  report::Trace trace_;
  report::Lanes lanes_{trace_};
  std::uint64_t base_ = 0;   ///< where the iteration begins, ns
  std::uint64_t end_ = 0;    ///< where the last one ended
  std::int64_t origin_ = 0;  ///< what rank 0's clock showed at base_
};

}  // namespace multitree::tools
