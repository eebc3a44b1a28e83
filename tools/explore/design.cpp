// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// From axes to points.
#include "tools/explore/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "nic/hardware.hpp"
#include "nic/parameter_members.hpp"
#include "topologies/io/json_document.hpp"

namespace multitree::tools {
namespace {

using nlohmann::ordered_json;

/// Those that are not the defaults.
ordered_json changed_parameters(const nic::Parameters& parameters) {
  const auto defaults = ordered_json::parse(nic::write_parameters(nic::Parameters{}));
  const auto given = ordered_json::parse(nic::write_parameters(parameters));
  ordered_json changed = ordered_json::object();
  for (const auto& [name, value] : given.items()) {
    if (value != defaults.at(name)) changed[name] = value;
  }
  return changed;
}

}  // namespace

std::string_view to_string(ModelRule rule) {
  constexpr std::string_view kNames[] = {"auto", "message", "flit"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::string_view to_string(Cost cost) {
  constexpr std::string_view kNames[] = {"cells", "memory_bits"};
  return kNames[static_cast<std::size_t>(cost)];
}

std::string digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::size_t ExploreDesign::num_points() const {
  std::size_t count = 1;
  for (const Axis& axis : axes) count *= axis.values.size();
  return count;
}

ExplorePoint ExploreDesign::point(std::size_t index) const {
  ExplorePoint point;
  point.at.resize(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::size_t count = axes[a].values.size();
    point.at[a] = static_cast<std::uint32_t>(index % count);
    index /= count;
  }
  std::size_t next = 0;
  const auto take = [&] { return ordered_json::parse(axes[next].values[point.at[next]].json); };
  const auto take_text = [&] {
    std::string text = take().get<std::string>();
    ++next;
    return text;
  };
  point.topology = point.at[next++];
  point.collective = parse_collective(take_text());
  point.bytes = take().get<std::uint64_t>();
  ++next;
  point.stragglers = take_text();
  point.background = take().dump();
  ++next;
  point.algorithm = point.at[next++];
  point.is_hardware = take_text() == "hardware";
  point.adders = take_text();
  if (point.is_hardware) point.parameters = nic::as_hardware(point.parameters);
  for (; next < axes.size(); ++next) {
    const JsonDocument document(axes[next].values[point.at[next]].json, axes[next].name);
    nic::read_parameter(axes[next].name, JsonValue(document), point.parameters);
    point.has_header_flits = point.has_header_flits || axes[next].name == "header_flits";
  }
  point.content =
      ordered_json{
          {"topology", topologies[point.topology].spec},
          {"network", topologies[point.topology].digest},
          {"collective", to_string(point.collective)},
          {"bytes", point.bytes},
          {"stragglers", point.stragglers},
          {"background", ordered_json::parse(point.background)},
          {"algorithm", algorithms[point.algorithm].spec},
          {"model", to_string(model)},
          {"header_flits", point.is_hardware && !point.has_header_flits ? "of routes" : "given"},
          {"parameters", changed_parameters(point.parameters)}}
          .dump();
  point.id = digest_of(point.content);
  return point;
}

}  // namespace multitree::tools
