// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// `multitree topology discover`: this host as a network.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/command.hpp"
#include "topologies/discovery/host_network.hpp"

namespace multitree::tools {
namespace {

using discovery::Host;
using discovery::HostNetwork;
using discovery::Known;
using discovery::NvLinks;
using nlohmann::ordered_json;

struct DiscoverFlags {
  std::string hwloc, hosts, output, format;
  std::uint32_t processes = 0;
  bool json = false;
};

std::string numa_text(const Host& host, std::uint32_t pci) {
  const auto numa = host.pci[pci].numa;
  return numa ? fmt::format("{}", host.numa[*numa].id) : "-";
}

std::string rate_text(Bandwidth rate) { return rate.bytes_per_second == 0 ? "-" : to_string(rate); }

std::string nvlink_text(const discovery::Gpu& gpu) {
  std::string text;
  for (const NvLinks& links : gpu.nvlinks) {
    text += fmt::format("{}{}x {}", text.empty() ? "" : ", ", links.count,
                        links.to == NvLinks::To::Gpu      ? fmt::format("gpu{}", links.gpu)
                        : links.to == NvLinks::To::Switch ? "nvswitch"
                                                          : "processor");
  }
  return text.empty() ? "-" : text;
}

std::string host_tables(const Host& host) {
  std::vector<std::vector<std::string>> rows{{"numa", "package", "cores", "memory"}};
  for (const auto& node : host.numa) {
    rows.push_back({fmt::format("{}", node.id), fmt::format("{}", node.package),
                    fmt::format("{}", node.cores), format_bytes(node.memory_bytes)});
  }
  std::string text = format_table(rows);
  rows = {{"gpu", "address", "numa", "pcie", "nvlinks", "name"}};
  for (std::size_t i = 0; i < host.gpus.size(); ++i) {
    const auto& gpu = host.gpus[i];
    const auto& pci = host.pci[gpu.pci];
    rows.push_back({fmt::format("{}", i), pci.address, numa_text(host, gpu.pci),
                    rate_text(pci.link), nvlink_text(gpu), gpu.name.empty() ? "-" : gpu.name});
  }
  if (rows.size() > 1) text += "#\n" + format_table(rows);
  rows = {{"nic", "numa", "pcie", "speed", "names"}};
  for (const auto& nic : host.nics) {
    const auto& pci = host.pci[nic.pci];
    rows.push_back({pci.address, numa_text(host, nic.pci), rate_text(pci.link),
                    rate_text(nic.speed), fmt::format("{}", fmt::join(nic.names, ","))});
  }
  if (rows.size() > 1) text += "#\n" + format_table(rows);
  return text;
}

std::string_view word(Known known) { return known == Known::Read ? "read" : "assumed"; }

std::string links_text(const HostNetwork& network) {
  std::vector<std::vector<std::string>> rows{{"link", "bandwidth", "latency", "is", "from"}};
  for (const auto& link : network.links) {
    rows.push_back({fmt::format("{} - {}", link.a, link.b), to_string(link.bandwidth),
                    to_string(link.latency), std::string(word(link.known)), link.from});
  }
  return rows.size() > 1 ? "#\n" + format_table(rows) : "";
}

ordered_json to_json(const Host& host, const HostNetwork& network) {
  ordered_json numa = ordered_json::array(), gpus = numa, nics = numa, links = numa;
  const auto numa_json = [&](std::uint32_t pci) {
    const auto found = host.pci[pci].numa;
    return found ? ordered_json(host.numa[*found].id) : ordered_json(nullptr);
  };
  const auto rate_json = [](Bandwidth rate) {
    return rate.bytes_per_second == 0 ? ordered_json(nullptr) : ordered_json(to_string(rate));
  };
  for (const auto& node : host.numa) {
    numa.push_back({{"numa", node.id},
                    {"package", node.package},
                    {"cores", node.cores},
                    {"memory_bytes", node.memory_bytes}});
  }
  for (const auto& gpu : host.gpus) {
    ordered_json nvlinks = ordered_json::array();
    for (const NvLinks& one : gpu.nvlinks) {
      nvlinks.push_back({{"to", one.to == NvLinks::To::Gpu      ? fmt::format("gpu{}", one.gpu)
                                : one.to == NvLinks::To::Switch ? "nvswitch"
                                                                : "processor"},
                         {"count", one.count},
                         {"bandwidth", to_string(one.each)}});
    }
    gpus.push_back({{"address", host.pci[gpu.pci].address},
                    {"name", gpu.name},
                    {"numa", numa_json(gpu.pci)},
                    {"pcie", rate_json(host.pci[gpu.pci].link)},
                    {"nvlinks", nvlinks}});
  }
  for (const auto& nic : host.nics) {
    nics.push_back({{"address", host.pci[nic.pci].address},
                    {"names", nic.names},
                    {"numa", numa_json(nic.pci)},
                    {"pcie", rate_json(host.pci[nic.pci].link)},
                    {"speed", rate_json(nic.speed)}});
  }
  for (const auto& link : network.links) {
    links.push_back({{"a", link.a},
                     {"b", link.b},
                     {"bandwidth", to_string(link.bandwidth)},
                     {"latency", to_string(link.latency)},
                     {"is", word(link.known)},
                     {"from", link.from}});
  }
  return {{"host", host.name},
          {"source", host.source},
          {"processor", host.processor.model},
          {"nvml", host.nvml},
          {"numa", numa},
          {"gpus", gpus},
          {"nics", nics},
          {"ranks", network.topology.num_ranks()},
          {"links", links}};
}

void print_text(const Host& host, const HostNetwork& network) {
  const Topology& topology = network.topology;
  print(fmt::format("# {} ({}); NVML: {}\n", host.name, host.source, host.nvml));
  print(host_tables(host));
  print(links_text(network));
  const auto counted = [](std::uint32_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : what == "switch" ? "es" : "s");
  };
  print(fmt::format("#\n# {}: {}, {}, {}; latencies are assumed\n", topology.name(),
                    counted(topology.num_ranks(), "rank"),
                    counted(topology.num_nodes() - topology.num_ranks(), "switch"),
                    counted(topology.num_links(), "link")));
  if (topology.num_ranks() == 1) {
    print("# one rank: --np N describes N processes on this host\n");
  }
}

int run(const DiscoverFlags& flags) {
  const Host host = discovery::discover_host({.hwloc_file = flags.hwloc});
  discovery::HostNetworkOptions options{.processes = flags.processes, .hosts = {}};
  if (!flags.hosts.empty()) {
    options.hosts = for_flag("--hosts", [&] { return split_list(flags.hosts); });
  }
  const HostNetwork network =
      for_flag("--hosts", [&] { return discovery::make_host_network(host, options); });
  if (!flags.output.empty()) write_network(network.topology, flags.output, flags.format);
  if (flags.output == "-") return kOk;
  if (flags.json) {
    print_json(to_json(host, network));
  } else {
    print_text(host, network);
  }
  return kOk;
}

}  // namespace

Command add_topology_discover_command(CLI::App& topology) {
  auto flags = std::make_shared<DiscoverFlags>();
  CLI::App* app = topology.add_subcommand(
      "discover", "Describe this host: NUMA nodes, GPUs, network interfaces, and their links");
  app->add_option("--hwloc", flags->hwloc,
                  "Another host, from this file of 'lstopo --of xml' (default: this host)");
  app->add_option("--np", flags->processes,
                  "Ranks are so many processes on the cores (default: the GPUs, or else the NUMA "
                  "nodes)")
      ->check(number_from(1, 1 << 16));
  app->add_option("--hosts", flags->hosts,
                  "NAME,...: hosts like this one, joined by their network interfaces");
  app->add_option("-o,--output", flags->output, "Write the network here ('-': standard output)");
  app->add_option("--format", flags->format, "Of the output; by its extension if not given")
      ->check(network_formats());
  app->add_flag("--json", flags->json, "Print JSON instead of tables");
  app->footer(
      "Example: multitree topology discover -o host.json && multitree schedule -t host.json");
  return {app, [flags] { return run(*flags); }};
}

}  // namespace multitree::tools
