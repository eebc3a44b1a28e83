// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From an image, and a plan, to jobs.
#include "tools/image_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nic/encode/image.hpp"
#include "nic/program/program.hpp"
#include "nic/table/check.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"

namespace multitree::tools {
namespace {

/// \throws Error(InvalidArgument) if the image's groups are not those of the plan's transfers.
void check_plan(const training::Plan& plan, const nic::Tables& tables, const std::string& image) {
  if (plan.transfers.size() != tables.groups.size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--plan: expected a plan of {} transfers, a group of {} each, got one "
                            "of {}",
                            tables.groups.size(), image, plan.transfers.size()));
  }
  for (std::size_t g = 0; g < plan.transfers.size(); ++g) {
    const training::PlannedTransfer& transfer = plan.transfers[g];
    const nic::TableGroup& group = tables.groups[g];
    const std::uint64_t elements =
        nic::padded_elements(transfer.bytes, nic::Parameters{}.element_bytes, tables.ranks);
    if (transfer.collective == group.collective && elements == group.elements) continue;
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--plan: expected the plan that {} was made of: its group {} is {} of "
                            "{} elements, got a plan with {} of {}",
                            image, g, to_string(group.collective), group.elements,
                            to_string(transfer.collective), elements));
  }
}

/// When the doorbells of a plan ring: when the gradients are there, and of a plan that sends one
/// transfer after the other when the one before is over at the rank.
void ring_as_planned(const training::Plan& plan, std::vector<nic::Job>& jobs) {
  const std::vector<double> ready = training::ready_times(plan.model);
  for (std::size_t t = 0; t < jobs.size(); ++t) {
    const training::PlannedTransfer& transfer = plan.transfers[t];
    const double time = std::max(transfer.hold, ready[transfer.first]);
    jobs[t].ready = Time{std::llround(time * 1e12)};
    jobs[t].delay = Time{std::llround(plan.call * 1e12)};
    if (plan.order == training::Order::Serial && t > 0) {
      jobs[t].after = {static_cast<std::uint32_t>(t - 1)};
    }
  }
}

void ring_as_given(const std::string& times, std::vector<nic::Job>& jobs) {
  const std::vector<std::string> list = split_list(times);
  if (list.size() != jobs.size()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--doorbells: expected a time for each of {} groups, got {}",
                            jobs.size(), list.size()));
  }
  for (std::size_t g = 0; g < jobs.size(); ++g) {
    jobs[g].ready = for_flag("--doorbells", [&] { return parse_time(list[g]); });
  }
}

/// The priority of a group, which is that of its entries; 0 if it has none.
std::uint32_t priority_of(const nic::Tables& tables, std::uint32_t group) {
  std::optional<std::uint32_t> priority;
  for (const auto& entries : tables.of_rank) {
    for (const nic::Entry& entry : entries) {
      if (entry.group != group) continue;
      if (priority.value_or(entry.priority) != entry.priority) {
        throw Error(ErrorCode::Unsupported,
                    fmt::format("nic: group {}: expected one priority of all its entries, got "
                                "{} and {}",
                                group, *priority, entry.priority));
      }
      priority = entry.priority;
    }
  }
  return priority.value_or(0);
}

}  // namespace

LoadedImage load_image(const ImageFlags& flags) {
  nic::Tables tables = nic::read_image(read_file(flags.image), flags.image);
  if (flags.plan.empty()) {
    if (flags.network.topology.empty()) {
      throw Error(ErrorCode::InvalidArgument,
                  "nic: expected --topology or --plan, the network of the image, got neither");
    }
    return {flags.image, std::move(tables), load_network(flags.network), {}};
  }
  training::PlanFile file = training::parse_iteration_plan(read_file(flags.plan), flags.plan);
  check_plan(file.plan, tables, flags.image);
  if (!flags.network.topology.empty()) file.topology = load_network(flags.network);
  return {flags.image, std::move(tables), std::move(file.topology), std::move(file.plan)};
}

std::vector<std::string> faults_of(const LoadedImage& loaded) {
  std::vector<std::string> faults;
  for (const nic::TableViolation& violation :
       for_flag("image", [&] { return nic::check_tables(loaded.tables, loaded.topology); })) {
    faults.push_back(fmt::format("{}: {}", nic::to_string(violation.fault), violation.message));
  }
  return faults;
}

bool is_right(const LoadedImage& loaded) {
  const std::vector<std::string> faults = faults_of(loaded);
  for (const std::string& fault : faults) print_error(fmt::format("multitree: {}\n", fault));
  return faults.empty();
}

GroupJobs jobs_of_groups(const LoadedImage& image, const std::string& doorbells,
                         std::uint32_t element_bytes, const std::string& command) {
  const std::vector<nic::TableGroup>& groups = image.tables.groups;
  if (groups.empty()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: expected an image of groups, as of 'nic tables --plan', got {} "
                            "without; 'simulate' runs the schedule of such a one",
                            command, image.file));
  }
  GroupJobs made;
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    if (groups[g].elements % image.tables.ranks != 0) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: group {}: expected a multiple of {} elements, as many for each "
                              "rank, got {}",
                              command, g, image.tables.ranks, groups[g].elements));
    }
    made.schedules.push_back(nic::schedule_of_group(image.tables, image.topology, g));
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    made.jobs.push_back({.name = fmt::format("group {}", g),
                         .schedule = &made.schedules[g],
                         .bytes = groups[g].elements * element_bytes,
                         .priority = priority_of(image.tables, g)});
  }
  if (image.plan) ring_as_planned(*image.plan, made.jobs);
  if (!doorbells.empty()) ring_as_given(doorbells, made.jobs);
  return made;
}

}  // namespace multitree::tools
