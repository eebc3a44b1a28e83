// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree nic verify` and `multitree nic run`: an image proved, and its groups simulated.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/image_jobs.hpp"
#include "tools/progress.hpp"
#include "training/network_costs.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// Simulations compare sums of images up to this, for memory has two buffers for each rank.
constexpr std::uint64_t kMostCheckedElements = std::uint64_t{1} << 26;

struct ImageRunFlags {
  ImageFlags image;
  std::string model = "flit";
  bool json = false;
};

std::size_t messages_of(const nic::Tables& tables) {
  std::size_t messages = 0;
  for (const auto& entries : tables.of_rank) {
    messages += static_cast<std::size_t>(
        std::ranges::count_if(entries, [](const auto& e) { return e.op != nic::Opcode::Nop; }));
  }
  return messages;
}

int run_verify(const ImageRunFlags& flags) {
  const LoadedImage loaded = load_image(flags.image);
  const std::size_t groups = std::max<std::size_t>(loaded.tables.groups.size(), 1);
  const std::size_t messages = messages_of(loaded.tables);
  if (flags.json) {
    const std::vector<std::string> faults = faults_of(loaded);
    print_json({{"ok", faults.empty()},
                {"topology", loaded.topology.name()},
                {"groups", groups},
                {"messages", messages},
                {"elements", loaded.tables.elements},
                {"violations", faults}});
    return faults.empty() ? kOk : kNegativeAnswer;
  }
  if (!is_right(loaded)) return kNegativeAnswer;
  print(fmt::format("{}: verified on {}: {} groups, {} messages, {} elements\n", loaded.file,
                    loaded.topology.name(), groups, messages, loaded.tables.elements));
  return kOk;
}

std::string text_of(const LoadedImage& loaded, const std::vector<nic::Job>& jobs,
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

ordered_json json_of(const LoadedImage& loaded, const std::vector<nic::Job>& jobs,
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

int run_groups(const ImageRunFlags& flags) {
  const LoadedImage loaded = load_image(flags.image);
  if (!is_right(loaded)) return kNegativeAnswer;
  const nic::Parameters parameters = training::interface_for(loaded.topology);
  const GroupJobs groups =
      jobs_of_groups(loaded, flags.image.doorbells, parameters.element_bytes, "nic run");
  const std::vector<nic::Job>& jobs = groups.jobs;
  const nic::Model model = for_flag("--model", [&] { return nic::parse_model(flags.model); });
  const bool is_small = loaded.tables.elements <= kMostCheckedElements / loaded.tables.ranks;
  const Progress progress("simulating " + flags.image.image + " on " + loaded.topology.name());
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
  auto flags = std::make_shared<ImageRunFlags>();
  CLI::App* app = add_image_command(nic, "verify", "Prove that an image's groups are collectives",
                                    flags->image);
  app->add_flag("--json", flags->json, "Print JSON");
  return {app, [flags] { return run_verify(*flags); }};
}

Command add_nic_run_command(CLI::App& nic) {
  auto flags = std::make_shared<ImageRunFlags>();
  CLI::App* app = add_image_command(
      nic, "run", "Simulate the groups of an image, each from its doorbell on", flags->image);
  app->add_option("--doorbells", flags->image.doorbells,
                  "When each group starts, a time for each (default: as in --plan, or 0)");
  app->add_option("--model", flags->model, "flit, which compares all sums, or message")
      ->capture_default_str();
  app->add_flag("--json", flags->json, "Print JSON instead of the table");
  return {app, [flags] { return run_groups(*flags); }};
}

}  // namespace multitree::tools
