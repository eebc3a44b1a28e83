// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `auto` for a job: schedules by size, the same at every rank.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/tuning/choose.hpp"
#include "algorithms/tuning/plan.hpp"
#include "runtime/communicator.hpp"
#include "runtime/job/bootstrap.hpp"
#include "topologies/topology.hpp"

namespace multitree::runtime {

/// Collective: whether a Communicator with these options would go without messages if its plans are
/// replaceable: all ranks share a host whose memory they can map, and none has a device. Then
/// nothing needs to be measured or chosen. The same answer at every rank. \throws Error(Timeout),
/// Error(Transport) of the bootstrap
bool goes_without_messages(Bootstrap& bootstrap, const CommunicatorOptions& options);

/// Collective: rank 0 compares all algorithms (choose_specs()) and tells the others, who make the
/// winners only. With the same options, options.links among them, the same in every job; with
/// measure_links() as options.links, by what the links really take. For a Communicator's
/// PlansBySize, one collective each. \throws Error at every rank: as choose_specs(),
/// Error(Transport), Error(Timeout) if rank 0 is not done within `deadline`.
SizedSchedules choose_together(Bootstrap& bootstrap, const Topology& topology,
                               Collective collective, Rank root, const ChooseOptions& options,
                               Deadline deadline);

/// What make_auto_communicator() is to choose for.
struct AutoOptions {
  std::vector<Collective> collectives = {Collective::AllReduce};
  Rank root{};                ///< of broadcast and reduce
  ChooseOptions choose = {};  ///< choose.links null: measured now, if measure
  bool measure = true;
};

/// Collective: a communicator that picks, for every size, the schedule that takes the shortest time
/// by prediction, with times of links as measured. Where it goes without messages
/// (HostPath::Auto) nothing is measured. Communicator::algorithm() says what it picks. \throws as
/// measure_links(), choose_together() and Communicator.
std::unique_ptr<Communicator> make_auto_communicator(std::shared_ptr<Bootstrap> bootstrap,
                                                     const Topology& topology,
                                                     const AutoOptions& wanted = {},
                                                     const CommunicatorOptions& options = {});

}  // namespace multitree::runtime
