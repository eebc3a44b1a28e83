// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree list`: what this build knows.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "algorithms/collective.hpp"
#include "algorithms/registry.hpp"
#include "runtime/kernels/data_type.hpp"
#include "runtime/messages/transport.hpp"
#include "tools/command.hpp"
#include "topologies/registry.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

ordered_json topologies_json() {
  ordered_json list = ordered_json::array();
  for (const TopologyFamily& family : topology_families()) {
    list.push_back({{"name", family.name},
                    {"dims", family.dims},
                    {"summary", family.summary},
                    {"parameters", family.parameters},
                    {"example", family.example}});
  }
  return list;
}

ordered_json algorithms_json() {
  ordered_json list = ordered_json::array();
  for (const Algorithm& algorithm : algorithms()) {
    list.push_back({{"name", algorithm.name},
                    {"summary", algorithm.summary},
                    {"source", algorithm.source},
                    {"parameters", algorithm.parameters}});
  }
  return list;
}

template <typename Range>
ordered_json names_json(const Range& values) {
  ordered_json list = ordered_json::array();
  for (const auto& value : values) list.push_back({{"name", to_string(value)}});
  return list;
}

ordered_json transports_json() {
  ordered_json list = ordered_json::array();
  for (const auto& transport : runtime::transports()) {
    list.push_back({{"name", transport.name}, {"summary", transport.summary}});
  }
  return list;
}

ordered_json everything() {
  return {{"topologies", topologies_json()},
          {"algorithms", algorithms_json()},
          {"collectives", names_json(all_collectives())},
          {"transports", transports_json()},
          {"types", names_json(runtime::all_data_types())},
          {"operators", names_json(runtime::all_reduce_ops())}};
}

std::string field(const ordered_json& entry, const char* key) {
  return entry.contains(key) ? entry[key].get<std::string>() : std::string();
}

void print_list(const std::string& title, const ordered_json& list) {
  print(title + ":\n");
  for (const ordered_json& entry : list) {
    std::string name = field(entry, "name");
    if (!field(entry, "dims").empty()) name += ":" + field(entry, "dims");
    const std::string summary = field(entry, "summary");
    print(summary.empty() ? fmt::format("  {}\n", name)
                          : fmt::format("  {:<22} {}\n", name, summary));
    if (!field(entry, "parameters").empty()) {
      print(fmt::format("  {:<22}   parameters: {}\n", "", field(entry, "parameters")));
    }
    if (!field(entry, "source").empty()) {
      print(fmt::format("  {:<22}   source: {}\n", "", field(entry, "source")));
    }
    if (!field(entry, "example").empty()) {
      print(fmt::format("  {:<22}   example: {}\n", "", field(entry, "example")));
    }
  }
}

}  // namespace

Command add_list_command(CLI::App& parent) {
  struct Flags {
    std::string what;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app =
      parent.add_subcommand("list", "What can be asked for: topologies, algorithms, ...");
  app->add_option("what", flags->what, "One list only")
      ->check(
          one_of({"topologies", "algorithms", "collectives", "transports", "types", "operators"}));
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer("Example: multitree list algorithms");
  return {app, [flags] {
            ordered_json lists = everything();
            if (!flags->what.empty()) lists = {{flags->what, lists[flags->what]}};
            if (flags->json) {
              print_json(lists);
            } else {
              for (const auto& [title, list] : lists.items()) print_list(title, list);
            }
            return static_cast<int>(kOk);
          }};
}

}  // namespace multitree::tools
