// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic verify` and `multitree nic run`: an image proved, and its groups simulated.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "nic/encode/image.hpp"
#include "nic/jobs.hpp"
#include "nic/program/program.hpp"
#include "nic/table/check.hpp"
#include "tools/command.hpp"
#include "tools/progress.hpp"
#include "topologies/io/files.hpp"
#include "topologies/units.hpp"
#include "training/network_costs.hpp"
#include "training/plan.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// Simulations compare sums of images up to this, for memory has two buffers for each rank.
constexpr std::uint64_t kMostCheckedElements = std::uint64_t{1} << 26;

struct ImageFlags {
  NetworkFlags network;
  std::string image, plan, doorbells, model = "flit";
  bool json = false;
};

/// An image and the network that it is for; what starts its groups.
struct Loaded {
  nic::Tables tables;
  Topology topology;
  std::optional<training::Plan> plan;
};

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

Loaded load(const ImageFlags& flags) {
  nic::Tables tables = nic::read_image(read_file(flags.image), flags.image);
  if (flags.plan.empty()) {
    if (flags.network.topology.empty()) {
      throw Error(ErrorCode::InvalidArgument,
                  "nic: expected --topology or --plan, the network of the image, got neither");
    }
    return {std::move(tables), load_network(flags.network), {}};
  }
  training::PlanFile file = training::parse_iteration_plan(read_file(flags.plan), flags.plan);
  check_plan(file.plan, tables, flags.image);
  if (!flags.network.topology.empty()) file.topology = load_network(flags.network);
  return {std::move(tables), std::move(file.topology), std::move(file.plan)};
}

/// Prints what is wrong. \returns whether nothing is.
bool is_right(const Loaded& loaded) {
  const std::vector<nic::TableViolation> found =
      for_flag("image", [&] { return nic::check_tables(loaded.tables, loaded.topology); });
  for (const nic::TableViolation& violation : found) {
    print_error(
        fmt::format("multitree: {}: {}\n", nic::to_string(violation.fault), violation.message));
  }
  return found.empty();
}

std::size_t messages_of(const nic::Tables& tables) {
  std::size_t messages = 0;
  for (const auto& entries : tables.of_rank) {
    messages += static_cast<std::size_t>(
        std::ranges::count_if(entries, [](const auto& e) { return e.op != nic::Opcode::Nop; }));
  }
  return messages;
}

int run_verify(const ImageFlags& flags) {
  const Loaded loaded = load(flags);
  if (!is_right(loaded)) return kNegativeAnswer;
  print(fmt::format("{}: verified on {}: {} groups, {} messages, {} elements\n", flags.image,
                    loaded.topology.name(), std::max<std::size_t>(loaded.tables.groups.size(), 1),
                    messages_of(loaded.tables), loaded.tables.elements));
  return kOk;
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
                    fmt::format("nic run: group {}: expected one priority of all its entries, got "
                                "{} and {}",
                                group, *priority, entry.priority));
      }
      priority = entry.priority;
    }
  }
  return priority.value_or(0);
}

/// \param schedules of the groups, which the jobs refer to
std::vector<nic::Job> jobs_of(const Loaded& loaded, const std::vector<Schedule>& schedules,
                              std::uint32_t element_bytes) {
  std::vector<nic::Job> jobs;
  for (std::uint32_t g = 0; g < schedules.size(); ++g) {
    const nic::TableGroup& group = loaded.tables.groups[g];
    if (group.elements % loaded.tables.ranks != 0) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("nic run: group {}: expected a multiple of {} elements, as many for "
                              "each rank, got {}",
                              g, loaded.tables.ranks, group.elements));
    }
    jobs.push_back({.name = fmt::format("group {}", g),
                    .schedule = &schedules[g],
                    .bytes = group.elements * element_bytes,
                    .priority = priority_of(loaded.tables, g)});
  }
  return jobs;
}

std::string text_of(const Loaded& loaded, const std::vector<nic::Job>& jobs,
                    const nic::Simulation& simulation) {
  std::vector<std::vector<std::string>> rows = {
      {"group", "collective", "elements", "priority", "doorbell", "begin", "end"}};
  for (std::size_t g = 0; g < jobs.size(); ++g) {
    const nic::TableGroup& group = loaded.tables.groups[g];
    const double doorbell = jobs[g].ready.seconds() * static_cast<double>(simulation.clock_hz);
    rows.push_back({fmt::format("{}", g), std::string(to_string(group.collective)),
                    fmt::format("{}", group.elements), fmt::format("{}", jobs[g].priority),
                    fmt::format("{:.0f}", doorbell), fmt::format("{}", simulation.jobs[g].begin),
                    fmt::format("{}", simulation.jobs[g].end)});
  }
  return fmt::format("# {} groups on {}: {} cycles, {} messages, sums {}\n", jobs.size(),
                     loaded.topology.name(), simulation.cycles, simulation.messages,
                     simulation.checked ? "right" : "not made") +
         format_table(rows);
}

ordered_json json_of(const Loaded& loaded, const std::vector<nic::Job>& jobs,
                     const nic::Simulation& simulation) {
  ordered_json groups = ordered_json::array();
  for (std::size_t g = 0; g < jobs.size(); ++g) {
    const nic::TableGroup& group = loaded.tables.groups[g];
    groups.push_back({{"collective", to_string(group.collective)},
                      {"elements", group.elements},
                      {"priority", jobs[g].priority},
                      {"doorbell_seconds", jobs[g].ready.seconds()},
                      {"begin", simulation.jobs[g].begin},
                      {"end", simulation.jobs[g].end}});
  }
  return {{"topology", loaded.topology.name()}, {"cycles", simulation.cycles},
          {"clock_hz", simulation.clock_hz},    {"messages", simulation.messages},
          {"checked", simulation.checked},      {"groups", std::move(groups)}};
}

int run_groups(const ImageFlags& flags) {
  const Loaded loaded = load(flags);
  if (loaded.tables.groups.empty()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("nic run: expected an image of groups, as of 'nic tables --plan', got "
                            "{} without; 'simulate' runs the schedule of such a one",
                            flags.image));
  }
  if (!is_right(loaded)) return kNegativeAnswer;
  const nic::Parameters parameters = training::interface_for(loaded.topology);
  std::vector<Schedule> schedules;
  for (std::uint32_t g = 0; g < loaded.tables.groups.size(); ++g) {
    schedules.push_back(nic::schedule_of_group(loaded.tables, loaded.topology, g));
  }
  std::vector<nic::Job> jobs = jobs_of(loaded, schedules, parameters.element_bytes);
  if (loaded.plan) ring_as_planned(*loaded.plan, jobs);
  if (!flags.doorbells.empty()) ring_as_given(flags.doorbells, jobs);
  const nic::Model model = for_flag("--model", [&] { return nic::parse_model(flags.model); });
  const bool is_small = loaded.tables.elements <= kMostCheckedElements / loaded.tables.ranks;
  const Progress progress("simulating " + flags.image + " on " + loaded.topology.name());
  const nic::Simulation simulation =
      nic::simulate(jobs, loaded.topology, parameters,
                    {.model = model, .data = model == nic::Model::Flit && is_small});
  for (const std::string& error : simulation.errors) print_error("multitree: " + error + "\n");
  if (!simulation.errors.empty()) return kNegativeAnswer;
  flags.json ? print_json(json_of(loaded, jobs, simulation))
             : print(text_of(loaded, jobs, simulation));
  return kOk;
}

CLI::App* add_image_command(CLI::App& nic, const char* name, const char* summary,
                            ImageFlags& flags) {
  CLI::App* app = nic.add_subcommand(name, summary);
  app->add_option("image", flags.image, "Image file")->required();
  add_network_flags(*app, flags.network)->required(false);
  app->add_option("--plan", flags.plan, "Plan of 'train plan' that the image was made of");
  return app;
}

}  // namespace

Command add_nic_verify_command(CLI::App& nic) {
  auto flags = std::make_shared<ImageFlags>();
  CLI::App* app =
      add_image_command(nic, "verify", "Prove that an image's groups are collectives", *flags);
  return {app, [flags] { return run_verify(*flags); }};
}

Command add_nic_run_command(CLI::App& nic) {
  auto flags = std::make_shared<ImageFlags>();
  CLI::App* app = add_image_command(
      nic, "run", "Simulate the groups of an image, each from its doorbell on", *flags);
  app->add_option("--doorbells", flags->doorbells,
                  "When each group starts, a time for each (default: as in --plan, or 0)");
  app->add_option("--model", flags->model, "flit, which compares all sums, or message")
      ->capture_default_str();
  app->add_flag("--json", flags->json, "Print JSON instead of the table");
  return {app, [flags] { return run_groups(*flags); }};
}

}  // namespace multitree::tools
