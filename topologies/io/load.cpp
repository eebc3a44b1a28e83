// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A topology from whatever the user named: a spec or a file.
#include <algorithm>
#include <array>
#include <filesystem>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/io/xml_internal.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

struct Format {
  std::string_view extension;
  Topology (*parse)(std::string_view text, const std::string& file);
};

Topology parse_dot(std::string_view text, const std::string& file) {
  return parse_topology_dot(text, file);
}
Topology parse_graphml(std::string_view text, const std::string& file) {
  return parse_topology_graphml(text, file);
}

// GraphML or NCCL's topology, as the root element says; a text without one is for the parser.
Topology parse_xml(std::string_view text, const std::string& file) {
  const std::string_view root = xml_root_name(text);
  if (root == "system" || root == "graphs") return parse_topology_nccl(text, file);
  if (!root.empty() && root != "graphml") {
    const auto offset = static_cast<std::size_t>(root.data() - text.data());
    fail_at(
        file, line_at(text, offset),
        "expected the root element <graphml> or NCCL's <system>, got <" + std::string(root) + ">");
  }
  return parse_topology_graphml(text, file);
}

constexpr std::array kFormats = std::to_array<Format>({
    {".json", parse_topology_json},
    {".dot", parse_dot},
    {".gv", parse_dot},
    {".graphml", parse_graphml},
    {".xml", parse_xml},
    {".yml", parse_topology_astra},
    {".yaml", parse_topology_astra},
});

}  // namespace

Topology load_topology(const std::string& spec_or_file) {
  const std::filesystem::path path(spec_or_file);
  const auto format = std::ranges::find(kFormats, path.extension().string(), &Format::extension);
  if (format != kFormats.end()) return format->parse(read_file(spec_or_file), spec_or_file);
  const auto is_family = [&](const TopologyFamily& family) { return family.name == spec_or_file; };
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) ||
      std::ranges::any_of(topology_families(), is_family)) {
    return make_topology(spec_or_file);
  }
  throw Error(
      ErrorCode::InvalidArgument,
      spec_or_file + ": expected a file ending in .json, .dot, .gv, .graphml, .xml, .yml or .yaml");
}

}  // namespace multitree
