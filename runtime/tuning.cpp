// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One rank chooses, all make the same.
#include "runtime/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "algorithms/registry.hpp"
#include "algorithms/tuning/planner.hpp"
#include "runtime/device/device.hpp"
#include "runtime/host/group_internal.hpp"
#include "runtime/job/agreement.hpp"
#include "runtime/measure/link_measurement.hpp"
#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// A line each: the size, then the algorithm.
std::string to_text(const std::vector<SizedSpec>& specs) {
  std::string text;
  for (const SizedSpec& sized : specs) text += fmt::format("{} {}\n", sized.max_bytes, sized.spec);
  return text;
}

std::vector<SizedSpec> from_text(const std::string& text) {
  std::vector<SizedSpec> specs;
  std::istringstream in(text);
  for (SizedSpec sized; in >> sized.max_bytes && std::getline(in >> std::ws, sized.spec);) {
    specs.push_back(sized);
  }
  return specs;
}

}  // namespace

bool goes_without_messages(Bootstrap& bootstrap, const CommunicatorOptions& options) {
  if (options.host_path == HostPath::Off || bootstrap.size() == 1) return false;
  const bool device = options.devices && (options.device != nullptr || device::cuda_is_loaded());
  const auto devices = bootstrap.all_gather(device ? "device" : "", options.timeout);
  if (!std::ranges::all_of(devices, &std::string::empty)) return false;
  return host::Group::can_join(bootstrap, options.timeout);
}

SizedSchedules choose_together(Bootstrap& bootstrap, const Topology& topology,
                               Collective collective, Rank root, const ChooseOptions& options,
                               Deadline deadline) {
  std::string mine;
  if (bootstrap.seat() == Seat{0}) {
    try {
      mine = to_text(choose_specs(topology, collective, root, options));
    } catch (const Error& error) {
      bootstrap.report_failure(error.what());
      throw;
    }
  }
  const std::string chosen = bootstrap.all_gather(mine, deadline).front();
  SizedSchedules schedules;
  for (const SizedSpec& sized : from_text(chosen)) {
    schedules.push_back(
        {generate_schedule(sized.spec, topology, collective, root), sized.max_bytes});
  }
  check_sized(schedules);
  return schedules;
}

std::unique_ptr<Communicator> make_auto_communicator(std::shared_ptr<Bootstrap> bootstrap,
                                                     const Topology& topology,
                                                     const AutoOptions& wanted,
                                                     const CommunicatorOptions& options) {
  ChooseOptions choose = wanted.choose;
  LinkTable measured;
  if (choose.links == nullptr && wanted.measure && !goes_without_messages(*bootstrap, options)) {
    measured = measure_links(*bootstrap, topology,
                             {.transport = options.transport, .timeout = options.timeout});
    choose.links = &measured;
  }
  const RemainingNetwork network(topology);
  const Planner planner(network, {}, [&](const Topology& on, Collective collective, Rank root) {
    return choose_together(*bootstrap, on, collective, root, choose, options.timeout);
  });
  std::vector<SizedSchedules> plans = planner.schedules(wanted.collectives, wanted.root);
  check_agreement(plans, *bootstrap, options.timeout);
  return std::make_unique<Communicator>(std::move(bootstrap), PlansBySize(std::move(plans), true),
                                        options);
}

}  // namespace multitree::runtime
