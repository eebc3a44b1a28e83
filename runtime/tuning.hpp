// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `auto` for a job: schedules by size, the same at every rank.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
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

/// What one rank chooses for a collective: choose_specs() with options that all ranks have.
using Choose = std::function<std::vector<SizedSpec>(Collective collective)>;

/// Collective: for each of the collectives, in their order, what one rank chooses, so that the work
/// is shared, told to all. \throws Error at every rank: as `choose`, Error(Transport),
/// Error(Timeout) if a rank is not done within `deadline`.
std::vector<std::vector<SizedSpec>> choose_specs_together(Bootstrap& bootstrap,
                                                          std::span<const Collective> collectives,
                                                          const Choose& choose, Deadline deadline);

/// Collective: what `auto` chooses for one collective, and the schedules, which every rank makes.
/// With the same options, options.links among them, the same in every job; with measure_links() as
/// options.links, by what the links really take. For a Communicator's PlansBySize, one collective
/// each. \throws Error as choose_specs_together() and choose_specs()
SizedSchedules choose_together(Bootstrap& bootstrap, const Topology& topology,
                               Collective collective, Rank root, const ChooseOptions& options,
                               Deadline deadline);

/// What is tried while running, for PlansBySize::refining: `candidates` of choose_specs_together()
/// with rivals.
std::shared_ptr<Refining> refining_of(std::map<Collective, std::vector<SizedSpec>> candidates,
                                      Topology topology);

/// What make_auto_communicator() is to choose for.
struct AutoOptions {
  std::vector<Collective> collectives = {Collective::AllReduce};
  Rank root{};                ///< of broadcast and reduce
  ChooseOptions choose = {};  ///< choose.links null: measured now, if measure
  bool measure = true;
  bool refine = false;  ///< try what prediction cannot tell apart: PlansBySize::refining
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
