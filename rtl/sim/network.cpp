// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Nodes and the wires between them.
#include "rtl/sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "rtl/sim/network_checks_internal.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/sim/retry_wire.hpp"
#include "rtl/sim/waves.hpp"
#include "topologies/error.hpp"
#include "topologies/io/files.hpp"

namespace multitree::rtl {

/// A link: what is on its way, both ways. A place for each cycle but the routers' own.
struct Network::Wire {
  std::uint32_t src = 0, out = 0, dst = 0, in = 0;  // nodes, and their ports
  std::vector<LinkFlit> flits;
  std::vector<std::uint8_t> credits;
  std::uint32_t length = 0, at = 0;
  std::uint32_t flying = 0;  // flits and credits in these
  LinkFlit sent;
};

/// Which ports of a node have something, this cycle.
struct Network::Sides {
  Node::Active outputs, inputs;
  std::uint32_t ready = ~0U, dead = 0;  // links from here that lose
};

std::uint32_t Network::add_memory(std::size_t bytes, std::uint32_t node, std::uint32_t word,
                                  const AxiPorts& axi) {
  memories_.push_back(std::make_unique<Memory>(bytes, word));
  AxiTiming timing = axi.timing;
  timing.seed += node * std::uint64_t{1000};
  memories_.back()->set_timing(timing);
  return memories_.back()->handle();
}

Network::Network(const Topology& topology, const nic::Parameters& parameters, std::size_t bytes,
                 Adders adders, const std::vector<Rank>& waves,
                 const std::optional<nic::LinkErrors>& errors, const AxiPorts& axi)
    : topology_(topology), wave_ranks_(waves) {
  check_verilated(topology, parameters);
  check_kinds(topology, parameters, waves, axi);
  if (!waves.empty()) waves_ = std::make_unique<Waves>();
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    const auto& node = topology.node(NodeId{n});
    if (node.rank) {
      const std::uint32_t memory = add_memory(bytes, n, parameters.flit_bytes, axi);
      nodes_.push_back(
          axi.ports > 0 ? make_axi_rank(memory, axi.ports, parameters.flit_bytes, node.name)
          : std::ranges::find(waves, *node.rank) != waves.end()
              ? make_wave_rank(memory, node.name, *waves_)
              : make_rank(memory, adders, parameters, links_of(topology, NodeId{n}), node.name));
      nodes_.back()->set_latency(parameters.memory_cycles);
      nodes_.back()->set_memory_ports(parameters.memory_ports);
    } else {
      nodes_.push_back(
          make_switch(links_of(topology, NodeId{n}), parameters.flit_bytes, node.name));
    }
  }
  const std::uint64_t clock = nic::clock_of(topology, parameters);
  for (const Link& link : topology.links()) {
    const nic::LinkCycles cycles = nic::cycles_of(link, clock, parameters);
    if (cycles.interval != nic::kWholeCycle) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("hardware model: {}: expected links of a flit a cycle, got one of {} "
                              "cycles a flit",
                              topology.name(), static_cast<double>(cycles.interval) / 65536));
    }
    if (cycles.latency < 2) {
      throw Error(
          ErrorCode::Unsupported,
          fmt::format("hardware model: {}: expected links of at least 2 cycles, got one of 1",
                      topology.name()));
    }
    Wire& wire = wires_.emplace_back();
    wire.src = index(link.src);
    wire.dst = index(link.dst);
    wire.flits.resize(cycles.latency - 2);
    wire.credits.resize(cycles.latency - 2);
    wire.length = cycles.latency - 2;
    if (!errors) continue;
    check_retry(topology, parameters, cycles.latency);
    retries_.push_back(make_retry_wire(static_cast<std::uint32_t>(retries_.size()), cycles.latency,
                                       *errors, parameters.flit_bytes));
  }
  for (std::uint32_t n = 0; n < topology.num_nodes(); ++n) {
    std::uint32_t port = 0;
    for (const LinkId link : topology.out_links(NodeId{n})) wires_[index(link)].out = port++;
    port = 0;
    for (const LinkId link : topology.in_links(NodeId{n})) wires_[index(link)].in = port++;
  }
  sides_.resize(nodes_.size());
  reset(parameters.buffer_flits);
}

void Network::reset(std::uint32_t buffer_flits) {
  for (auto& node : nodes_) node->set_reset(true);
  for (std::uint32_t c = 0; c < kNodeResetCycles; ++c) tick();
  for (auto& node : nodes_) node->set_reset(false);
  const RegisterWrite places{reg::kPlaces, buffer_flits};
  for (auto& node : nodes_) node->put_write(&places);
  tick();
  for (auto& node : nodes_) node->put_write(nullptr);
}

std::vector<std::uint32_t> Network::ports() const {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) {
    ports.push_back(interface_ports(topology_, Rank{r}));
  }
  return ports;
}

Network::~Network() {
  if (waves_) waves_->close();
}

void Network::tick() {
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    sides_[n] = {};
    sides_[n].outputs = nodes_[n]->outputs();
  }
  for (std::uint32_t l = 0; l < wires_.size(); ++l) {
    Wire& w = wires_[l];
    Sides &src = sides_[w.src], &dst = sides_[w.dst];
    w.sent.valid = (src.outputs.flits >> w.out & 1) != 0;
    if (w.sent.valid) nodes_[w.src]->get_flit(w.out, w.sent);
    if (on_flit) on_flit(LinkId{l}, w.sent);
    std::uint8_t credit = 0;  // or 1 + virtual channel
    if ((dst.outputs.credits >> w.in & 1) != 0) {
      credit = static_cast<std::uint8_t>(1 + nodes_[w.dst]->get_credit(w.in));
    }
    if (on_credit) on_credit(LinkId{l}, credit);
    if (!retries_.empty()) {
      carry_over(l, credit);
      continue;
    }
    if (!w.sent.valid && credit == 0 && w.flying == 0) continue;
    const LinkFlit* arrives = &w.sent;
    if (w.length != 0) {
      arrives = &w.flits[w.at];
      w.flying += (w.sent.valid ? 1 : 0) + (credit != 0 ? 1 : 0);
      std::swap(w.credits[w.at], credit);
      w.flying -= (arrives->valid ? 1 : 0) + (credit != 0 ? 1 : 0);
    }
    if (arrives->valid) {
      nodes_[w.dst]->put_flit(w.in, *arrives);
      dst.inputs.flits |= 1U << w.in;
    }
    if (credit != 0) {
      nodes_[w.src]->put_credit(w.out, static_cast<std::uint8_t>(credit - 1));
      src.inputs.credits |= 1U << w.out;
    }
    if (w.length == 0) continue;
    LinkFlit& place = w.flits[w.at];
    place.valid = w.sent.valid;
    if (w.sent.valid) place = w.sent;
    if (++w.at == w.length) w.at = 0;
  }
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    nodes_[n]->set_inputs(sides_[n].inputs);
    if (!retries_.empty()) nodes_[n]->put_links(sides_[n].ready, sides_[n].dead);
  }
  if (stalls) {
    for (std::uint32_t r = 0; r < topology_.num_ranks(); ++r) {
      nodes_[index(topology_.node_of(Rank{r}))]->put_stalls(stalls(Rank{r}));
    }
  }
  for (auto& node : nodes_) node->tick();
  for (auto& wire : retries_) wire->tick();
  for (const std::uint32_t node : writing_) nodes_[node]->put_write(nullptr);
  writing_.clear();
  if (waves_ && waves_->is_open()) waves_->write_cycle();
  ++cycle_;
}

void Network::carry_over(std::uint32_t link, std::uint8_t credit) {
  const Wire& w = wires_[link];
  RetryWire& wire = *retries_[link];
  Sides &src = sides_[w.src], &dst = sides_[w.dst];
  if (!wire.is_ready()) src.ready &= ~(1U << w.out);
  if (wire.is_dead()) src.dead |= 1U << w.out;
  LinkFlit arrives;
  std::uint8_t returns = 0;
  wire.settle(w.sent, credit, arrives, returns);
  if (arrives.valid) {
    nodes_[w.dst]->put_flit(w.in, arrives);
    dst.inputs.flits |= 1U << w.in;
  }
  if (returns != 0) {
    nodes_[w.src]->put_credit(w.out, static_cast<std::uint8_t>(returns - 1));
    src.inputs.credits |= 1U << w.out;
  }
}

void Network::cut(LinkId link) { retries_[index(link)]->cut(); }

std::vector<LinkId> Network::dead_links() const {
  std::vector<LinkId> dead;
  for (std::uint32_t l = 0; l < retries_.size(); ++l) {
    if (retries_[l]->is_dead()) dead.push_back(LinkId{l});
  }
  return dead;
}

nic::LinkCounts Network::link_counts() const {
  nic::LinkCounts sum;
  for (const auto& wire : retries_) sum += wire->counts();
  return sum;
}

void Network::write(const std::vector<std::vector<RegisterWrite>>& writes) {
  std::size_t most = 0;
  for (const auto& of_rank : writes) most = std::max(most, of_rank.size());
  for (std::size_t i = 0; i < most; ++i) {
    for (std::uint32_t r = 0; r < writes.size(); ++r) {
      nodes_[index(topology_.node_of(Rank{r}))]->put_write(i < writes[r].size() ? &writes[r][i]
                                                                                : nullptr);
    }
    tick();
  }
  for (std::uint32_t r = 0; r < writes.size(); ++r) {
    nodes_[index(topology_.node_of(Rank{r}))]->put_write(nullptr);
  }
}

void Network::put_write(Rank rank, const RegisterWrite& write) {
  const std::uint32_t node = index(topology_.node_of(rank));
  nodes_[node]->put_write(&write);
  writing_.push_back(node);
}

std::uint32_t Network::read(Rank rank, std::uint32_t address) {
  Node& node = *nodes_[index(topology_.node_of(rank))];
  node.put_read(&address);
  tick();
  node.put_read(nullptr);
  tick();
  std::uint32_t value = 0;
  if (!node.get_read(value)) {
    throw std::logic_error("hardware model: a register did not answer");
  }
  tick();
  return value;
}

Memory& Network::memory(Rank rank) { return *memories_[index(rank)]; }

NodeTrace Network::trace(Rank rank) const {
  return nodes_[index(topology_.node_of(rank))]->trace();
}

Network::RxTrace Network::rx_trace(Rank rank, std::uint32_t port) const {
  return nodes_[index(topology_.node_of(rank))]->rx_trace(port);
}

void Network::set_shy(bool shy) {
  for (auto& node : nodes_) node->set_shy(shy);
}

void Network::set_traced(bool traced) {
  for (auto& node : nodes_) node->set_traced(traced);
}

void Network::trace_to(const std::string& path) {
  std::vector<WaveRank> shown;
  for (const Rank rank : wave_ranks_) {
    const NodeId node = topology_.node_of(rank);
    const std::size_t ports =
        std::max(topology_.out_links(node).size(), topology_.in_links(node).size());
    shown.push_back(
        {scope_name(topology_.node(node).name), index(rank), static_cast<std::uint32_t>(ports)});
  }
  const std::filesystem::path file(path);
  const std::string save = std::filesystem::path(file).replace_extension(".gtkw").string();
  write_file(save, gtkwave_save(file.filename().string(), shown));
  waves_->open(path);
}

const LinkFlit& Network::sent(LinkId link) const { return wires_[index(link)].sent; }

}  // namespace multitree::rtl
