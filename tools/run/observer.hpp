// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a run shows besides times: bytes by link, predicted times, timelines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/cost.hpp"
#include "algorithms/tuning/link_table.hpp"
#include "algorithms/tuning/plan.hpp"
#include "runtime/execution/recorder.hpp"
#include "runtime/job/bootstrap.hpp"
#include "runtime/kernels/data_type.hpp"
#include "runtime/measure/clock_offsets.hpp"
#include "tools/run/timeline.hpp"
#include "topologies/topology.hpp"

namespace multitree::tools {

/// What a directed link carried in one collective.
struct LinkBytes {
  std::string from, to;  ///< nodes
  std::uint64_t bytes = 0;
};

/// What a row measures.
struct RowKey {
  runtime::DataType type{};
  runtime::ReduceOp op{};
  std::uint64_t bytes = 0;  ///< of the whole vector
  bool operator==(const RowKey&) const = default;
};

/// What is known of a row besides its times.
struct RowDetails {
  RowKey key;
  std::string algorithm;                    ///< of the schedule that ran, or host
  std::optional<double> predicted_seconds;  ///< none without a schedule
  std::vector<LinkBytes> links;             ///< all of the network, in its order

  /// The first that carried most; null if none did.
  [[nodiscard]] const LinkBytes* busiest() const;
};

struct ObserverOptions {
  bool links = false;  ///< count bytes
  bool trace = false;  ///< record events
  /// Times of links for predictions; null: those of the topology.
  const LinkTable* times = nullptr;
};

/// One rank's part, for all runs of a job. Looks at one iteration of a row; without wishes it does
/// nothing but predict.
class Observer {
 public:
  explicit Observer(const ObserverOptions& options);

  /// To be handed to communicators.
  [[nodiscard]] const std::shared_ptr<runtime::Recorder>& recorder() const { return recorder_; }

  /// Collective: a communicator is going to run these schedules (none: without messages). Both live
  /// until the next call.
  void join(runtime::Bootstrap& job, const Topology& network, const SizedSchedules& schedules,
            runtime::Deadline deadline);
  /// What follows is of a vector of so many bytes.
  void prepare(const RowKey& key);
  /// Around the one collective that is looked at.
  void start();
  void stop() { recorder_->stop(); }
  /// Collective, after stop(): puts together what the ranks saw. The answer is complete at rank 0.
  RowDetails collect(runtime::Bootstrap& job, runtime::Deadline deadline);

  /// At rank 0: all that was recorded. \pre options.trace
  [[nodiscard]] std::string trace_json() const { return timeline_.to_json(); }
  /// At rank 0: events that found no room in the recorders.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  void collect_links(runtime::Bootstrap& job, runtime::Deadline deadline, RowDetails& details);
  void collect_events(runtime::Bootstrap& job, runtime::Deadline deadline,
                      const RowDetails& details);

  ObserverOptions options_;
  std::shared_ptr<runtime::Recorder> recorder_;
  const Topology* network_ = nullptr;
  std::optional<Topology> priced_;  ///< the network with the times for predictions
  CostModel cost_{kMessageOverhead};
  const SizedSchedules* schedules_ = nullptr;
  const Schedule* schedule_ = nullptr;  ///< of the row; null without messages
  RowKey key_;
  std::vector<runtime::ClockOffset> offsets_;
  RunTimeline timeline_;
  std::uint64_t lost_ = 0;
};

}  // namespace multitree::tools
