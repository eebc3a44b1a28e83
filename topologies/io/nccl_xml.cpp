// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What NCCL writes to NCCL_TOPO_DUMP_FILE: the CPUs of a host, the PCI tree below each, and the
/// GPUs with their NVLinks and the network adapters at its leaves. The rules are in
/// docs/file-formats.md.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "topologies/io/attributes_internal.hpp"
#include "topologies/io/io.hpp"
#include "topologies/io/nccl_rates_internal.hpp"
#include "topologies/io/reduce_network_internal.hpp"
#include "topologies/io/xml_internal.hpp"
#include "topologies/spec.hpp"

namespace multitree {
namespace {

using Element = pugi::xml_node;

constexpr int kMaxNesting = 64;
constexpr std::int64_t kMaxInteger = 1'000'000'000;
constexpr Time kLinkLatency{150'000};  // that of the MULTITREE study
constexpr Time kPortLatency{500'000};  // adapter, cable and network switch, as in the DGX families

// The address "0000:1a:00.0" as a number: letter case and leading zeros differ between writers.
std::optional<std::uint64_t> parse_bus_id(std::string_view text) {
  std::uint64_t value = 0;
  int digits = 0;
  for (const char c : text) {
    if (c == ':' || c == '.') continue;
    const bool decimal = c >= '0' && c <= '9';
    const char letter = static_cast<char>(c | 0x20);
    if ((!decimal && (letter < 'a' || letter > 'f')) || ++digits > 16) return std::nullopt;
    value = value * 16 + static_cast<std::uint64_t>(decimal ? c - '0' : letter - 'a' + 10);
  }
  if (digits == 0) return std::nullopt;
  return value;
}

class NcclReader {
 public:
  NcclReader(std::string_view text, const std::string& file) : xml_(text, file) {}

  Topology read() {
    const Element root = xml_.document().document_element();
    check_root(root);
    any_rank_ = !!root.find_node([](const Element& element) {
      return std::string_view(element.name()) == "gpu" && has_rank(element);
    });
    for (const Element& cpu : root.children("cpu")) read_cpu(cpu);
    join_cpus();
    if (gpus_.empty()) xml_.fail(root, "expected a <gpu>: there is none in the file");
    number_gpus();
    for (const Gpu& gpu : gpus_) read_gpu_links(gpu);
    for (const auto& [target, pci, host] : pci_links_) join_pci(target, pci, host);
    return build(root);
  }

 private:
  struct Gpu {
    Element element;
    NodeId node{}, cpu{};
    std::uint32_t host = 0;
    std::int64_t dev = 0;
  };
  struct Cpu {
    NodeId node{};
    std::uint32_t host = 0;
    Bandwidth bandwidth;
  };
  // Where an element is.
  struct Place {
    NodeId parent{}, cpu{};
    std::uint32_t host = 0;
    int depth = 0;
  };
  using Address = std::pair<std::uint32_t, std::uint64_t>;  // host, PCI address

  static bool has_rank(const Element& gpu) {
    const std::string_view rank = gpu.attribute("rank").value();
    return !rank.empty() && rank != "-1";
  }

  void check_root(const Element& root) const {
    const std::string_view name = root.name();
    if (name == "graphs") {
      xml_.fail(root,
                "expected a topology (NCCL_TOPO_DUMP_FILE), got the channels that NCCL chose "
                "(NCCL_GRAPH_DUMP_FILE)");
    }
    if (name != "system") {
      xml_.fail(root, fmt::format("expected the root element <system>, got <{}>", name));
    }
    const std::string version = xml_.require(root, "version");
    if (version != "1") xml_.fail(root, fmt::format("expected the version 1, got '{}'", version));
  }

  NodeId add_node(const Element& element, std::string name) {
    nodes_.push_back({std::move(name), std::nullopt, true});
    elements_.push_back(element);
    return NodeId{static_cast<std::uint32_t>(nodes_.size() - 1)};
  }

  void add_link(NodeId src, NodeId dst, Bandwidth bandwidth, Time latency = kLinkLatency) {
    links_.push_back({src, dst, bandwidth, latency});
  }
  void add_duplex(NodeId a, NodeId b, Bandwidth bandwidth, Time latency = kLinkLatency) {
    add_link(a, b, bandwidth, latency);
    add_link(b, a, bandwidth, latency);
  }
  // NVLinks between the same two are one link of their sum, whoever lists them.
  void add_nvlink(NodeId src, NodeId dst, Bandwidth bandwidth) {
    const auto [known, is_new] = nvlinks_.emplace(std::pair{src, dst}, nvlinks_of_.size());
    if (is_new) {
      nvlinks_of_.push_back({src, dst, bandwidth, kLinkLatency});
    } else {
      nvlinks_of_[known->second].bandwidth.bytes_per_second += bandwidth.bytes_per_second;
    }
  }

  // "pci@0000:17:00.0", and "host1/pci@..." in a file of several hosts.
  static std::string name_in_host(std::uint32_t host, const std::string& name) {
    return host == 0 ? name : fmt::format("host{}/{}", host, name);
  }

  // Part of a processor's identification; files for other than x86 lack it.
  std::int64_t id_of(const Element& cpu, const char* attribute) const {
    return cpu.attribute(attribute).empty() ? 0 : xml_.integer(cpu, attribute, -1, kMaxInteger);
  }

  void read_cpu(const Element& element) {
    const std::int64_t numa = xml_.integer(element, "numaid", -1, kMaxInteger);
    const std::string hash = element.attribute("host_hash").value();
    const auto host = hosts_.emplace(hash, static_cast<std::uint32_t>(hosts_.size())).first->second;
    const std::string arch = xml_.require(element, "arch");
    const CpuModel model{arch, element.attribute("vendor").value(), id_of(element, "familyid"),
                         id_of(element, "modelid")};
    if (!numa_nodes_.emplace(host, numa).second) {
      xml_.fail(element, fmt::format("the CPU with the numaid {} is repeated", numa));
    }
    const NodeId node = add_node(element, name_in_host(host, fmt::format("cpu{}", numa)));
    cpus_.push_back({node, host, cpu_bandwidth(model)});
    const Place place{node, node, host, 0};
    for (const Element& child : element.children()) {
      const std::string_view name = child.name();
      if (name == "pci") read_pci(child, place);
      // Adapters without a PCI address, such as a virtual machine's.
      if (name == "nic") read_nic(child, add_nic(child, place, kLocalBandwidth, adapters_++));
    }
  }

  void join_cpus() {
    for (const Cpu& a : cpus_) {
      for (const Cpu& b : cpus_) {
        if (a.node != b.node && a.host == b.host) add_link(a.node, b.node, a.bandwidth);
      }
    }
  }

  std::uint64_t bus_id(const Element& element, const char* attribute) const {
    const std::string text = xml_.require(element, attribute);
    const auto id = parse_bus_id(text);
    if (!id) {
      xml_.fail(element, fmt::format("{}: expected a PCI address such as 0000:1a:00.0, got '{}'",
                                     attribute, text));
    }
    return *id;
  }

  void read_pci(const Element& element, const Place& place) {
    if (place.depth == kMaxNesting) {
      xml_.fail(element, fmt::format("nested deeper than {} levels", kMaxNesting));
    }
    const Address address{place.host, bus_id(element, "busid")};
    const std::string text = element.attribute("busid").value();
    if (!addresses_.insert(address).second) {
      xml_.fail(element, fmt::format("the busid '{}' is repeated", text));
    }
    const std::string device_class = xml_.require(element, "class");
    const auto width =
        element.attribute("link_width").empty() ? 0 : xml_.integer(element, "link_width", 0, 64);
    const Bandwidth bandwidth =
        pci_bandwidth(static_cast<std::uint32_t>(width), element.attribute("link_speed").value());
    const Element gpu = element.child("gpu"), nic = element.child("nic");
    if (gpu && !device_class.starts_with("0x03")) {
      xml_.fail(gpu,
                fmt::format("<gpu> in a <pci> of the class '{}': expected 0x03...", device_class));
    }
    if (gpu) {
      read_gpu(gpu, address, place, bandwidth);
    } else if (nic) {
      // The functions of an adapter, which differ in the last digit, share its place.
      const auto known = nics_.find({place.host, address.second & ~std::uint64_t{0xf}});
      read_nic(nic, known != nics_.end() ? known->second
                                         : add_nic(nic, place, bandwidth, address.second));
    } else if (!device_class.starts_with("0x03") && !device_class.starts_with("0x02")) {
      const NodeId node = add_node(element, name_in_host(place.host, "pci@" + text));
      switches_.emplace(address, node);
      add_duplex(node, place.parent, bandwidth);
      for (const Element& child : element.children("pci")) {
        read_pci(child, {node, place.cpu, place.host, place.depth + 1});
      }
      for (const Element& child : element.children("pcilink")) {
        pci_links_.emplace_back(child, node, place.host);
      }
    }
  }

  void read_gpu(const Element& gpu, const Address& address, const Place& place, Bandwidth pci) {
    if (const Element second = gpu.next_sibling("gpu")) {
      xml_.fail(second, "expected one <gpu> in a <pci>: parts of a GPU are not supported");
    }
    if (any_rank_ && !has_rank(gpu)) return;
    const NodeId node = add_node(gpu, {});
    RawNode& raw = nodes_.back();
    raw.is_switch = false;
    if (any_rank_) {
      raw.rank = static_cast<std::uint32_t>(
          xml_.integer(gpu, "rank", 0, static_cast<std::int64_t>(Spec::kMaxRanks) - 1));
    }
    const std::int64_t dev = any_rank_ ? 0 : xml_.integer(gpu, "dev", 0, kMaxInteger);
    gpus_.push_back({gpu, node, place.cpu, place.host, dev});
    gpu_at_.emplace(address, node);
    add_duplex(node, place.parent, pci);
  }

  // Without any rank: by host, then by device number.
  void number_gpus() {
    if (!any_rank_) {
      std::vector<const Gpu*> order;
      for (const Gpu& gpu : gpus_) order.push_back(&gpu);
      const auto key = [](const Gpu* gpu) { return std::pair(gpu->host, gpu->dev); };
      std::ranges::stable_sort(order, {}, key);
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0 && key(order[i]) == key(order[i - 1])) {
          xml_.fail(order[i]->element, fmt::format("dev: {} is repeated", order[i]->dev));
        }
        nodes_[index(order[i]->node)].rank = static_cast<std::uint32_t>(i);
      }
    }
    std::set<std::uint32_t> ranks;
    for (const Gpu& gpu : gpus_) {
      RawNode& node = nodes_[index(gpu.node)];
      node.name = fmt::format("gpu{}", *node.rank);
      if (!ranks.insert(*node.rank).second) {
        xml_.fail(gpu.element, fmt::format("rank: {} is repeated", *node.rank));
      }
    }
  }

  NodeId add_nic(const Element& nic, const Place& place, Bandwidth bandwidth, std::uint64_t id) {
    const std::string name = nic.parent().attribute("busid").value();
    const NodeId node = add_node(
        nic, name_in_host(place.host, "nic@" + (name.empty() ? std::to_string(id) : name)));
    if (!name.empty()) nics_.emplace(Address{place.host, id & ~std::uint64_t{0xf}}, node);
    add_duplex(node, place.parent, bandwidth);
    return node;
  }

  void read_nic(const Element& nic, NodeId node) {
    for (const Element& net : nic.children("net")) {
      // Without a number it is not in use; with net="0" it is part of a fused one.
      if (net.attribute("dev").empty() || net.attribute("net").as_int(1) == 0) continue;
      constexpr std::int64_t kBytesByMegabit = 125'000, kDefaultMegabits = 10'000;
      std::int64_t megabits = kDefaultMegabits;
      if (!net.attribute("speed").empty()) {
        megabits = xml_.integer(net, "speed", -kMaxInteger, kMaxInteger);
      }
      if (megabits <= 0) megabits = kDefaultMegabits;
      const double microseconds = net.attribute("latency").as_double();
      if (!(microseconds >= 0 && microseconds <= 1e6)) {
        xml_.fail(net, fmt::format("latency: expected microseconds from 0 to 1000000, got '{}'",
                                   net.attribute("latency").value()));
      }
      const Time latency = microseconds > 0 ? Time{std::llround(microseconds * 1e6)} : kPortLatency;
      ports_.push_back(
          {node, {}, Bandwidth{static_cast<std::uint64_t>(megabits * kBytesByMegabit)}, latency});
    }
  }

  void read_gpu_links(const Gpu& gpu) {
    for (const Element& element : gpu.element.children("nvlink")) {
      const auto count = static_cast<std::uint64_t>(xml_.integer(element, "count", 1, 1024));
      const std::int64_t sm = xml_.integer(gpu.element, "sm", 0, kMaxInteger);
      const Bandwidth bandwidth{nvlink_bandwidth(sm).bytes_per_second * count};
      const std::string target_class = xml_.require(element, "tclass");
      if (target_class.starts_with("0x068000")) {
        if (!nvswitch_) nvswitch_ = add_node(element, "nvswitch");
        add_nvlink(gpu.node, *nvswitch_, bandwidth);
        add_nvlink(*nvswitch_, gpu.node, bandwidth);
      } else if (target_class.starts_with("0x068001")) {
        add_nvlink(gpu.node, gpu.cpu, bandwidth);
        add_nvlink(gpu.cpu, gpu.node, bandwidth);
      } else if (target_class.starts_with("0x03")) {
        // One direction: the other GPU lists the other. A GPU that does not take part has no node.
        const auto peer = gpu_at_.find({gpu.host, bus_id(element, "target")});
        if (peer == gpu_at_.end()) continue;
        if (peer->second == gpu.node) xml_.fail(element, "target: it is the GPU itself");
        add_nvlink(gpu.node, peer->second, bandwidth);
      } else {
        xml_.fail(element, fmt::format("tclass: expected 0x03... (GPU), 0x068000 (NVSwitch) or "
                                       "0x068001 (CPU), got '{}'",
                                       target_class));
      }
    }
    for (const Element& element : gpu.element.children("c2c")) {
      const auto count = static_cast<std::uint64_t>(xml_.integer(element, "count", 1, 1024));
      const auto megabytes =
          static_cast<std::uint64_t>(xml_.integer(element, "bw", 1, kMaxInteger));
      add_duplex(gpu.node, gpu.cpu, {megabytes * 1'000'000 * count});
    }
  }

  void join_pci(const Element& element, NodeId node, std::uint32_t host) {
    const auto peer = switches_.find({host, bus_id(element, "target")});
    if (peer != switches_.end() && peer->second != node) {
      add_link(node, peer->second, kLocalBandwidth);
    }
  }

  // Adapters lead somewhere only if the file has several hosts.
  void join_ports(const Element& root) {
    if (hosts_.size() < 2 || ports_.empty()) return;
    const NodeId net = add_node(root, "net");
    for (const Link& port : ports_) add_duplex(port.src, net, port.bandwidth, port.latency);
  }

  Topology build(const Element& root) {
    join_ports(root);
    std::vector<bool> is_rank;
    for (const RawNode& node : nodes_) is_rank.push_back(node.rank.has_value());
    // GPUs that NVLink joins use nothing else: the driver offers no other way between them.
    std::vector<Link> links = nvlinks_of_;
    if (!joins_ranks(is_rank, links)) links.insert(links.end(), links_.begin(), links_.end());

    const std::vector<bool> carries = nodes_that_carry(is_rank, links);
    RawNetwork network{name_of_file(xml_.file()), {}, {}, {}};
    std::vector<NodeId> new_id(nodes_.size());
    std::vector<Element> elements;
    for (std::size_t id = 0; id < nodes_.size(); ++id) {
      if (!carries[id]) continue;
      new_id[id] = NodeId{static_cast<std::uint32_t>(network.nodes.size())};
      network.nodes.push_back(std::move(nodes_[id]));
      elements.push_back(elements_[id]);
    }
    for (const Link& link : links) {
      if (!carries[index(link.src)] || !carries[index(link.dst)]) continue;
      network.links.push_back(
          {new_id[index(link.src)], new_id[index(link.dst)], link.bandwidth, link.latency});
    }
    return build_topology(std::move(network), [&](TopologyPart part, std::size_t i, auto& what) {
      xml_.fail(part == TopologyPart::Node ? elements[i] : root, what);
    });
  }

  XmlText xml_;
  bool any_rank_ = false;
  std::vector<RawNode> nodes_;
  std::vector<Element> elements_;  // of the nodes
  std::vector<Link> links_, nvlinks_of_;
  std::vector<Link> ports_;  // from an adapter to the network, whose node is made at the end
  std::vector<Gpu> gpus_;
  std::vector<Cpu> cpus_;
  std::map<std::string, std::uint32_t> hosts_;
  std::set<std::pair<std::uint32_t, std::int64_t>> numa_nodes_;
  std::set<Address> addresses_;
  std::map<Address, NodeId> gpu_at_, nics_, switches_;
  std::map<std::pair<NodeId, NodeId>, std::size_t> nvlinks_;
  std::vector<std::tuple<Element, NodeId, std::uint32_t>> pci_links_;
  std::optional<NodeId> nvswitch_;
  std::uint64_t adapters_ = 0;
};

}  // namespace

Topology parse_topology_nccl(std::string_view text, const std::string& file) {
  return NcclReader(text, file).read();
}

}  // namespace multitree
