// SPDX-License-Identifier: BSD-3-Clause
// Topologies: what the network is.
#include <multitree/error.hpp>
#include <multitree/networks.hpp>

#include "bindings.hpp"

namespace multitree::python {
namespace {

using Vertex = std::tuple<std::string, bool>;
using Edge = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::int64_t>;

Network build(const std::string& name, const std::vector<Vertex>& nodes,
              const std::vector<Edge>& links) {
  TopologyBuilder builder(name);
  for (const auto& [node, is_switch] : nodes) {
    if (is_switch) {
      builder.add_switch(node);
    } else {
      builder.add_endpoint(node);
    }
  }
  for (const auto& [src, dst, bandwidth, latency] : links) {
    builder.add_link(NodeId{src}, NodeId{dst}, Bandwidth{bandwidth}, Time{latency});
  }
  return share(std::move(builder).build());
}

/// A network, and what was taken for granted about it.
using Noted = std::pair<Network, std::vector<std::string>>;

template <class Make>
Noted with_notes(const Make& make) {
  const Notes notes;
  Network network = share(make());
  return {std::move(network), notes.all()};
}

Noted changed(const Network& network, const std::string& without, const std::string& dead,
              const std::string& slow, const std::string& parallel, const std::string& ranks) {
  return with_notes(
      [&] { return change_network(*network, {without, dead, slow, parallel, ranks}); });
}

std::vector<std::string> node_names(const Network& network) {
  std::vector<std::string> names;
  for (const Node& node : (*network).nodes()) names.push_back(node.name);
  return names;
}

/// Of each node its rank, -1 for a switch.
std::vector<int> node_ranks(const Network& network) {
  std::vector<int> ranks;
  for (const Node& node : (*network).nodes()) {
    ranks.push_back(node.rank ? static_cast<int>(index(*node.rank)) : -1);
  }
  return ranks;
}

nb::object links(nb::handle self) {
  return bytes_of((*nb::cast<const Network&>(self)).links(), self);
}

nb::list families() {
  nb::list result;
  for (const TopologyFamily& family : topology_families()) {
    nb::dict row;
    row["name"] = std::string(family.name);
    row["sizes"] = std::string(family.dims);
    row["summary"] = std::string(family.summary);
    row["ranks"] = std::string(family.ranks);
    row["parameters"] = std::string(family.parameters);
    row["example"] = std::string(family.example);
    result.append(row);
  }
  return result;
}

void bind_units(nb::module_& module) {
  module.def(
      "parse_bytes", [](const std::string& text) { return parse_bytes(text); }, nb::arg("text"),
      "A size in bytes: '64MiB' or '64M' is 64 * 2**20, '64MB' is 64 * 10**6.");
  module.def(
      "parse_bandwidth",
      [](const std::string& text) { return parse_bandwidth(text).bytes_per_second; },
      nb::arg("text"), "Bytes a second: '16GB/s', '100Gbit/s'.");
  module.def(
      "parse_time", [](const std::string& text) { return parse_time(text).picoseconds; },
      nb::arg("text"), "Picoseconds: '150ns'.");
  module.def(
      "format_bytes", [](std::uint64_t bytes) { return format_bytes(bytes); }, nb::arg("bytes"),
      "The shortest text that is exactly so many bytes: '64MiB'.");
  module.def(
      "format_bandwidth", [](std::uint64_t rate) { return to_string(Bandwidth{rate}); },
      nb::arg("bytes_per_second"), "As '16GB/s'.");
  module.def(
      "format_time", [](std::int64_t time) { return to_string(Time{time}); },
      nb::arg("picoseconds"), "As '150ns'.");
}

}  // namespace

void bind_networks(nb::module_& module) {
  bind_units(module);
  nb::class_<Network>(module, "Topology",
                      "A network: ranks, switches and directed links. Never changes; make one with "
                      "`multitree.topology()`.")
      .def_prop_ro(
          "name", [](const Network& self) { return (*self).name(); },
          "The spec or file that it was made from.")
      .def_prop_ro(
          "family", [](const Network& self) { return (*self).shape().family; },
          "'torus', 'fattree', ...; '' where it is not known.")
      .def_prop_ro(
          "sizes", [](const Network& self) { return (*self).shape().dims; },
          "Sizes of the family, as in its spec.")
      .def_prop_ro(
          "num_ranks", [](const Network& self) { return (*self).num_ranks(); },
          "Endpoints that own data, numbered from 0.")
      .def_prop_ro(
          "num_nodes", [](const Network& self) { return (*self).num_nodes(); },
          "Ranks and switches.")
      .def_prop_ro(
          "num_links", [](const Network& self) { return (*self).num_links(); },
          "Directed links: a cable is two.")
      .def_prop_ro(
          "is_symmetric", [](const Network& self) { return (*self).is_symmetric(); },
          "Whether every link has a mate of the same speed in the other direction.")
      .def_prop_ro("node_names", node_names, "Of each node its name.")
      .def_prop_ro("node_ranks", node_ranks, "Of each node its rank; -1 for a switch.")
      .def_prop_ro("_links", links)
      .def("_changed", changed, nb::arg("without"), nb::arg("dead"), nb::arg("slow"),
           nb::arg("parallel"), nb::arg("ranks"))
      .def("__eq__",
           [](const Network& self, nb::handle other) {
             return nb::isinstance<Network>(other) && *self == *nb::cast<const Network&>(other);
           })
      .def("__hash__",
           [](const Network& self) { return std::hash<std::string>()((*self).name()); });
  module.def(
      "load_topology",
      [](const std::string& text) { return with_notes([&] { return load_topology(text); }); },
      nb::arg("spec_or_file"), nb::call_guard<nb::gil_scoped_release>());
  module.def("build_topology", build, nb::arg("name"), nb::arg("nodes"), nb::arg("links"));
  module.def("families", families,
             "The families of networks that specs can name, one dictionary each.");
}

}  // namespace multitree::python
