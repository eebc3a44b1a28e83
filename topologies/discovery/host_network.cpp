// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Bridges that only pass on become links; those where ways part become switches.
#include "topologies/discovery/host_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "topologies/error.hpp"
#include "topologies/io/nccl_rates_internal.hpp"
#include "topologies/io/reduce_network_internal.hpp"

namespace multitree::discovery {
namespace {

// As in files of NCCL, which has no latencies either.
constexpr Time kInside{150'000}, kToNetwork{500'000};
// Rates that are assumed where nothing is known. Memory: what one core copies.
constexpr Bandwidth kMemory{10'000'000'000};
constexpr Bandwidth kPcie{15'760'000'000};  // 16 lanes of 8 GT/s
constexpr Bandwidth kNetwork{1'250'000'000};

struct Draft {
  struct Node {
    std::string name;
    bool is_rank = false;
  };
  std::vector<Node> nodes;
  /// In pairs, there and back; `origins` has one for each pair.
  std::vector<Link> links;
  std::vector<LinkOrigin> origins;

  NodeId add(std::string name, bool is_rank = false) {
    nodes.push_back({std::move(name), is_rank});
    return NodeId{static_cast<std::uint32_t>(nodes.size() - 1)};
  }
  void join(NodeId a, NodeId b, Bandwidth rate, Known known, std::string from,
            Time latency = kInside) {
    links.push_back({a, b, rate, latency});
    links.push_back({b, a, rate, latency});
    origins.push_back(
        {nodes[index(a)].name, nodes[index(b)].name, rate, latency, known, std::move(from)});
  }
};

/// The nodes and links of one host.
class Builder {
 public:
  Builder(Draft& draft, const Host& host, const HostNetworkOptions& options, std::string prefix)
      : draft_(draft), host_(host), options_(options), prefix_(std::move(prefix)) {}

  void add_nodes() {
    const bool of_gpus = options_.processes == 0 && !host_.gpus.empty();
    const bool of_numa = options_.processes == 0 && host_.gpus.empty();
    for (std::size_t i = 0; of_gpus && i < host_.gpus.size(); ++i) {
      gpus_.push_back(draft_.add(fmt::format("{}gpu{}", prefix_, i), true));
      at_[host_.gpus[i].pci] = gpus_.back();
    }
    for (std::uint32_t i = 0; i < options_.processes; ++i) {
      processes_.push_back(draft_.add(fmt::format("{}p{}", prefix_, i), true));
    }
    for (const NumaNode& node : host_.numa) {
      numa_.push_back(draft_.add(fmt::format("{}numa{}", prefix_, node.id), of_numa));
    }
    if (!options_.hosts.empty()) {
      for (const Nic& nic : host_.nics) {
        nics_.push_back(draft_.add(fmt::format("{}nic@{}", prefix_, host_.pci[nic.pci].address)));
        at_[nic.pci] = nics_.back();
      }
    }
    add_switches();
  }

  void add_nvlinks() {
    std::optional<NodeId> nvswitch;
    for (std::uint32_t i = 0; i < gpus_.size(); ++i) {
      for (const NvLinks& links : host_.gpus[i].nvlinks) {
        const Bandwidth sum{links.each.bytes_per_second * links.count};
        const std::string from = fmt::format("{} NVLink{} of {}", links.count,
                                             links.count == 1 ? "" : "s", to_string(links.each));
        const Known known = links.assumed ? Known::Assumed : Known::Read;
        if (links.to == NvLinks::To::Switch) {
          if (!nvswitch) nvswitch = draft_.add(prefix_ + "nvswitch");
          draft_.join(gpus_[i], *nvswitch, sum, known, from);
        } else if (links.to == NvLinks::To::Gpu && (i < links.gpu || !lists(links.gpu, i))) {
          draft_.join(gpus_[i], gpus_[links.gpu], sum, known, from);
        } else if (links.to == NvLinks::To::Processor) {
          draft_.join(gpus_[i], numa_[place(host_.gpus[i].pci)], sum, known, from);
        }
      }
    }
  }

  void add_others() {
    for (const auto& [pci, node] : at_) join_upwards(pci, node);
    for (std::uint32_t i = 0; i < processes_.size(); ++i) {
      draft_.join(processes_[i], numa_[numa_of_process(i)], kMemory, Known::Assumed,
                  "memory, copied by one core");
    }
    for (std::size_t a = 0; a < numa_.size(); ++a) {
      for (std::size_t b = a + 1; b < numa_.size(); ++b) join_numa(a, b);
    }
  }

  void join_network(NodeId net) {
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      const Bandwidth speed = host_.nics[i].speed;
      const bool known = speed.bytes_per_second > 0;
      draft_.join(nics_[i], net, known ? speed : kNetwork, known ? Known::Read : Known::Assumed,
                  known ? "speed of " + host_.nics[i].names.front() : "a network of 10Gb/s",
                  kToNetwork);
    }
  }

 private:
  [[nodiscard]] bool lists(std::uint32_t gpu, std::uint32_t peer) const {
    return std::ranges::any_of(host_.gpus[gpu].nvlinks, [&](const NvLinks& links) {
      return links.to == NvLinks::To::Gpu && links.gpu == peer;
    });
  }

  /// The NUMA node of a device; the first where the host does not say.
  [[nodiscard]] std::uint32_t place(std::uint32_t pci) const {
    return host_.pci[pci].numa.value_or(0);
  }

  [[nodiscard]] std::uint32_t numa_of_process(std::uint32_t process) const {
    auto core =
        static_cast<std::uint32_t>(std::uint64_t{process} * host_.cores() / options_.processes);
    std::uint32_t numa = 0;
    while (core >= host_.numa[numa].cores) core -= host_.numa[numa++].cores;
    return numa;
  }

  /// A bridge below which ways to devices part becomes a switch.
  void add_switches() {
    std::map<std::uint32_t, std::set<std::uint32_t>> ways;  // bridge -> children on ways to devices
    for (const auto& [device, node] : at_) {
      for (std::uint32_t child = device; host_.pci[child].parent;
           child = *host_.pci[child].parent) {
        ways[*host_.pci[child].parent].insert(child);
      }
    }
    for (const auto& [bridge, children] : ways) {
      if (children.size() < 2) continue;
      at_[bridge] = draft_.add(fmt::format("{}pci@{}", prefix_, host_.pci[bridge].address));
    }
  }

  /// To the next switch above, or to the processor: as fast as the slowest of the links between.
  void join_upwards(std::uint32_t pci, NodeId node) {
    const PciNode* slowest = nullptr;
    std::uint32_t at = pci;
    while (true) {
      const PciNode& here = host_.pci[at];
      const bool knows = here.link.bytes_per_second > 0;
      if (knows && (slowest == nullptr || here.link < slowest->link)) slowest = &here;
      if (!here.parent || at_.contains(*here.parent)) break;
      at = *here.parent;
    }
    const auto parent = host_.pci[at].parent;
    const NodeId above = parent ? at_.at(*parent) : numa_[place(pci)];
    draft_.join(node, above, slowest == nullptr ? kPcie : slowest->link,
                slowest == nullptr ? Known::Assumed : Known::Read,
                slowest == nullptr ? "PCIe, 16 lanes of 8 GT/s" : slowest->link_from);
  }

  void join_numa(std::size_t a, std::size_t b) {
    if (host_.numa[a].package == host_.numa[b].package) {
      draft_.join(numa_[a], numa_[b], kMemory, Known::Assumed, "memory, copied by one core");
      return;
    }
    const Processor& cpu = host_.processor;
    const CpuModel model{cpu.arch, cpu.vendor, cpu.family, cpu.number};
    const Bandwidth rate = cpu_bandwidth(model);
    const bool known = rate < kLocalBandwidth;
    draft_.join(numa_[a], numa_[b], known ? rate : kMemory, Known::Assumed,
                known ? "between processors of this model, by NCCL" : "memory, copied by one core");
  }

  Draft& draft_;
  const Host& host_;
  const HostNetworkOptions& options_;
  std::string prefix_;
  std::vector<NodeId> gpus_, processes_, numa_, nics_;
  std::map<std::uint32_t, NodeId> at_;  ///< by place in Host::pci
};

void check_hosts(const Host& host, const std::vector<std::string>& hosts) {
  std::set<std::string> seen;
  for (const std::string& name : hosts) {
    if (name.empty() || name.find('/') != std::string::npos || !seen.insert(name).second) {
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("expected names of hosts, each once and without '/', got '{}'{}",
                              name, seen.contains(name) ? " twice" : ""));
    }
  }
  if (hosts.size() > 1 && host.nics.empty()) {
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{} has no network interface that hwloc knows to join {} hosts",
                            host.name, hosts.size()));
  }
}

/// What carries something between ranks.
HostNetwork finish(const Draft& draft, const std::string& name) {
  std::vector<bool> is_rank;
  for (const Draft::Node& node : draft.nodes) is_rank.push_back(node.is_rank);
  const std::vector<bool> carries = nodes_that_carry(is_rank, draft.links);
  TopologyBuilder builder(name);
  std::vector<NodeId> now(draft.nodes.size());
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    if (!carries[i]) continue;
    const Draft::Node& node = draft.nodes[i];
    now[i] = node.is_rank ? builder.add_endpoint(node.name) : builder.add_switch(node.name);
  }
  std::vector<LinkOrigin> origins;
  for (std::size_t i = 0; i < draft.links.size(); i += 2) {
    const Link& link = draft.links[i];
    if (!carries[index(link.src)] || !carries[index(link.dst)]) continue;
    builder.add_duplex(now[index(link.src)], now[index(link.dst)], link.bandwidth, link.latency);
    origins.push_back(draft.origins[i / 2]);
  }
  return {std::move(builder).build(), std::move(origins)};
}

bool nvlinks_suffice(const Draft& draft) {
  std::vector<bool> is_rank;
  for (const Draft::Node& node : draft.nodes) is_rank.push_back(node.is_rank);
  return std::ranges::count(is_rank, true) > 1 && joins_ranks(is_rank, draft.links);
}

}  // namespace

HostNetwork make_host_network(const Host& host, const HostNetworkOptions& options) {
  check_hosts(host, options.hosts);
  Draft draft;
  std::vector<Builder> builders;
  const std::vector<std::string> alone{""};
  for (const std::string& name : options.hosts.empty() ? alone : options.hosts) {
    builders.emplace_back(draft, host, options, name.empty() ? "" : name + "/");
    builders.back().add_nodes();
    builders.back().add_nvlinks();
  }
  if (!nvlinks_suffice(draft)) {
    for (Builder& builder : builders) builder.add_others();
    if (options.hosts.size() > 1) {
      const NodeId net = draft.add("net");
      for (Builder& builder : builders) builder.join_network(net);
    }
  }
  return finish(draft, options.hosts.empty()
                           ? host.name
                           : fmt::format("{} x {}", options.hosts.size(), host.name));
}

}  // namespace multitree::discovery
