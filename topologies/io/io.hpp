// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Topology files: native JSON, DOT, GraphML, NCCL's XML, ASTRA-sim's YAML, lists of edges, and
/// what nvidia-smi, ibnetdiscover and Slurm say (see docs/file-formats.md). Errors are
/// Error(InvalidInput) "file:line: what was expected and found"; `file` is only used in messages.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "topologies/registry.hpp"  // load_topology()
#include "topologies/topology.hpp"

namespace multitree {

/// What a DOT or GraphML edge gets that carries no bandwidth or latency attribute of its own.
struct LinkDefaults {
  Bandwidth bandwidth{16'000'000'000};
  Time latency{150'000};
};

Topology parse_topology_json(std::string_view text, const std::string& file);
Topology parse_topology_dot(std::string_view text, const std::string& file,
                            const LinkDefaults& = {});
Topology parse_topology_graphml(std::string_view text, const std::string& file,
                                const LinkDefaults& = {});
/// What NCCL writes to NCCL_TOPO_DUMP_FILE: GPUs, the PCI tree, NVLinks and network adapters.
Topology parse_topology_nccl(std::string_view text, const std::string& file);
/// A network file of ASTRA-sim's analytical backend.
Topology parse_topology_astra(std::string_view text, const std::string& file);
/// What `nvidia-smi topo -m` prints of the GPUs of a host.
Topology parse_topology_nvidia_smi(std::string_view text, const std::string& file);
/// What `ibnetdiscover` prints of an InfiniBand fabric: adapters are ranks.
Topology parse_topology_ibnetdiscover(std::string_view text, const std::string& file);
/// Slurm's topology.conf: nodes are ranks.
Topology parse_topology_slurm(std::string_view text, const std::string& file);
/// A list of edges, one a line: "a b 50GB/s 500ns", as networkx writes it, or a table with names of
/// columns. All nodes are ranks.
Topology parse_topology_edge_list(std::string_view text, const std::string& file);

/// Canonical, byte-stable text; parse_topology_*(write_topology_*(t)) == t.
std::string write_topology_json(const Topology& topology);
std::string write_topology_dot(const Topology& topology);
std::string write_topology_graphml(const Topology& topology);

/// The same for ASTRA-sim's analytical backend, but for names and the order of links. \throws
/// Error(Unsupported) saying why not, if the network is not one of its dimensions.
std::string write_topology_astra(const Topology& topology);
/// The physical topology file of ASTRA-sim's ns-3 backend: rank r is node r, switches follow.
/// \throws Error(Unsupported) if a link has no equal one back, or there are parallel links.
std::string write_topology_ns3(const Topology& topology);

/// The native form as a JSON value, for files that embed a topology (schedules).
nlohmann::ordered_json topology_to_json(const Topology& topology);

/// What files with one extension are.
struct TopologyFormat {
  std::string_view extension;  ///< ".gv"
  std::string_view name;       ///< "dot": several extensions may be of one format
  std::string_view summary;
  Topology (*parse)(std::string_view text, const std::string& file);
  std::string (*write)(const Topology& topology);  ///< null: it is only read
};
std::span<const TopologyFormat> topology_formats();
/// ".json, .dot or .gv", of all of them or of those that are written, for messages.
std::string topology_extensions(bool written);

}  // namespace multitree
