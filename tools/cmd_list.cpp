// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree list`: what this build knows.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "algorithms/collective.hpp"
#include "algorithms/registry.hpp"
#include "algorithms/schemas.hpp"
#include "runtime/kernels/data_type.hpp"
#include "runtime/messages/transport.hpp"
#include "tools/command.hpp"
#include "tools/explore/design.hpp"
#include "topologies/io/cluster_file.hpp"
#include "topologies/io/io.hpp"
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
                    {"ranks", family.ranks},
                    {"links", family.links},
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

/// What a rank has of the buffer.
std::string_view words(Holder holder, std::string_view everyone) {
  if (holder == Holder::Everyone) return everyone;
  return holder == Holder::Root ? "root: every chunk" : "its own chunks";
}

ordered_json collectives_json() {
  ordered_json list = ordered_json::array();
  for (const Collective collective : all_collectives()) {
    const CollectiveFacts& row = facts(collective);
    const bool sums = reduces(row.collective);
    std::string ends(words(row.end, "every chunk"));
    if (sums) ends += ", all contributions once";
    list.push_back({{"name", row.name},
                    {"starts", words(row.start, "its input of every chunk")},
                    {"ends", ends}});
  }
  return list;
}

ordered_json types_json() {
  ordered_json list = ordered_json::array();
  for (const runtime::DataType type : runtime::all_data_types()) {
    const auto [c, number] = runtime::c_name(type);
    list.push_back({{"name", to_string(type)},
                    {"bytes", runtime::size_of(type)},
                    {"c", c},
                    {"number", number}});
  }
  return list;
}

ordered_json operators_json() {
  ordered_json list = ordered_json::array();
  for (const auto ops : {runtime::all_reduce_ops(), runtime::logic_ops()}) {
    for (const runtime::ReduceOp op : ops) {
      const auto [c, number] = runtime::c_name(op);
      list.push_back({{"name", to_string(op)}, {"c", c}, {"number", number}});
    }
  }
  return list;
}

ordered_json commands_json(const CLI::App& program) {
  ordered_json list = ordered_json::array();
  for (const CLI::App* command : program.get_subcommands({})) {
    list.push_back({{"name", command->get_name()}, {"summary", command->get_description()}});
  }
  return list;
}

ordered_json formats_json() {
  ordered_json list = ordered_json::array();
  for (const TopologyFormat& format : topology_formats()) {
    list.push_back(
        {{"name", format.extension}, {"format", format.name}, {"summary", format.summary}});
  }
  return list;
}

template <typename Rows>
ordered_json summaries_json(const Rows& rows) {
  ordered_json list = ordered_json::array();
  for (const auto& row : rows) list.push_back({{"name", row.name}, {"summary", row.summary}});
  return list;
}

/// JSON files besides networks, which are formats.
ordered_json files_json() {
  ordered_json list = summaries_json(kFileSchemas);
  constexpr std::array kOthers{
      FileSchema{kClusterSchema, "hosts, and the cables that join them, with their network"},
      FileSchema{kExplorationSchema, "values of parameters of interfaces, to be compared"}};
  for (const ordered_json& row : summaries_json(kOthers)) list.push_back(row);
  return list;
}

/// A list is a row here; its title is also the argument that asks for it alone.
ordered_json everything(const CLI::App& program) {
  return {{"topologies", topologies_json()},
          {"algorithms", algorithms_json()},
          {"collectives", collectives_json()},
          {"transports", summaries_json(runtime::transports())},
          {"types", types_json()},
          {"operators", operators_json()},
          {"formats", formats_json()},
          {"files", files_json()},
          {"exports", summaries_json(export_formats())},
          {"imports", summaries_json(import_formats())},
          {"commands", commands_json(program)}};
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
  std::vector<std::string> titles;
  const ordered_json known = everything(parent);
  for (const auto& [title, list] : known.items()) titles.push_back(title);
  app->add_option("what", flags->what, "One list only")->check(one_of(titles));
  app->add_flag("--json", flags->json, "Print JSON");
  app->footer("Example: multitree list algorithms");
  return {app, [flags, program = &parent] {
            ordered_json lists = everything(*program);
            if (!flags->what.empty()) lists = {{flags->what, lists[flags->what]}};
            if (flags->json) {
              print_json(lists);
            } else {
              for (const auto& [title, list] : lists.items()) {
                print_list(title, list);
                if (title == "algorithms") print(fmt::format("  all take {}\n", kParametersOfAll));
              }
            }
            return static_cast<int>(kOk);
          }};
}

}  // namespace multitree::tools
