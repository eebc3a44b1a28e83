// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A topology from whatever the user named: a spec or a file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "topologies/error.hpp"
#include "topologies/io/files.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/text_internal.hpp"
#include "topologies/registry.hpp"

namespace multitree {
namespace {

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

constexpr std::array kFormats = std::to_array<TopologyFormat>({
    {".json", "json", "multitree/topology/1", parse_topology_json, write_topology_json},
    {".dot", "dot", "Graphviz", parse_dot, write_topology_dot},
    {".gv", "dot", "Graphviz", parse_dot, write_topology_dot},
    {".graphml", "graphml", "GraphML", parse_graphml, write_topology_graphml},
    {".xml", "graphml", "GraphML, or read only NCCL's topology", parse_xml, write_topology_graphml},
    {".yml", "astra", "ASTRA-sim's analytical network", parse_topology_astra, write_topology_astra},
    {".yaml", "astra", "ASTRA-sim's analytical network", parse_topology_astra,
     write_topology_astra},
    {".smi", "nvidia-smi", "`nvidia-smi topo -m`, read only", parse_topology_nvidia_smi, nullptr},
    {".ibnet", "ibnetdiscover", "`ibnetdiscover`, read only", parse_topology_ibnetdiscover,
     nullptr},
    {".conf", "slurm", "Slurm's topology.conf, read only", parse_topology_slurm, nullptr},
    {".edgelist", "edges", "a link a line, `a b 50GB/s`, read only", parse_topology_edge_list,
     nullptr},
    {".txt", "edges", "a link a line, `a b 50GB/s`, read only", parse_topology_edge_list, nullptr},
    {".csv", "edges", "a link a line, `a,b,50GB/s`, read only", parse_topology_edge_list, nullptr},
});

}  // namespace

std::span<const TopologyFormat> topology_formats() { return kFormats; }

std::string topology_extensions(bool written) {
  std::vector<std::string_view> found;
  for (const TopologyFormat& format : kFormats) {
    if (!written || format.write != nullptr) found.push_back(format.extension);
  }
  const std::string_view last = found.back();
  found.pop_back();
  return fmt::format("{} or {}", fmt::join(found, ", "), last);
}

Topology load_topology(const std::string& spec_or_file) {
  const std::filesystem::path path(spec_or_file);
  const auto format =
      std::ranges::find(kFormats, path.extension().string(), &TopologyFormat::extension);
  if (format != kFormats.end()) return format->parse(read_text_file(spec_or_file), spec_or_file);
  const auto is_family = [&](const TopologyFamily& family) { return family.name == spec_or_file; };
  std::error_code ignored;
  // No name of a family has one, and values of parameters may.
  const std::string name = spec_or_file.substr(0, spec_or_file.find_first_of(":?"));
  const bool looks_like_file = name.find_first_of("./") != std::string::npos;
  if (looks_like_file && !std::filesystem::exists(path, ignored)) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{}: there is no such file, and no topology of that name ('multitree "
                            "list topologies'); files end in {}",
                            spec_or_file, topology_extensions(false)));
  }
  if (!std::filesystem::exists(path, ignored) ||
      std::ranges::any_of(topology_families(), is_family)) {
    return make_topology(spec_or_file);
  }
  throw Error(ErrorCode::InvalidArgument, fmt::format("{}: expected a file ending in {}",
                                                      spec_or_file, topology_extensions(false)));
}

}  // namespace multitree
