// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A rank in hardware: one verilated node between cables.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rtl/sim/memory.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/sim/run.hpp"
#include "rtl/wire/coupling.hpp"

namespace multitree::rtl {
namespace {

class HardwareEndpoint final : public Endpoint {
 public:
  HardwareEndpoint(const Part& part, Adders adders)
      : memory_(part.collective.tables.elements * bytes_of(part.collective.type),
                part.collective.parameters.flit_bytes),
        coupling_(made(part, adders), part.cables, part.collective.parameters.buffer_flits) {
    for (const RegisterWrite& one : writes_of(part)) coupling_.write(one);
    coupling_.write(arm());
    for (std::uint32_t c = 0; c < kArmCycles; ++c) coupling_.node().tick();
  }

  std::span<std::byte> buffer() override { return memory_.bytes(); }
  void start() override { coupling_.write(go()); }
  bool work() override { return coupling_.run(); }
  [[nodiscard]] bool is_done() const override { return coupling_.is_done(); }

  [[nodiscard]] std::string error() override {
    const std::uint32_t bits = coupling_.read(reg::kError);
    if (bits == 0) return {};
    const std::uint32_t first = coupling_.read(reg::kFirstError);
    const bool is_full = (bits >> mt_pkg::kErrParked & 1) != 0;
    return fmt::format(
        "{} (first at port {}, piece {}){}", describe_errors(bits), first >> 8 & 0xf, first >> 16,
        is_full ? fmt::format("; at most {} worms are certain to have places at a port: "
                              "make the buffer smaller, its pieces larger, or worms "
                              "whole messages",
                              kMostParkSlots)
                : "");
  }

 private:
  std::unique_ptr<Node> made(const Part& part, Adders adders) {
    const nic::Parameters& parameters = part.collective.parameters;
    check_verilated(part.topology, parameters);
    auto node = make_rank(memory_.handle(), adders, with_places(part),
                          interface_ports(part.topology, part.rank), "rank");
    node->set_latency(parameters.memory_cycles);
    node->set_memory_ports(parameters.memory_ports);
    node->set_traced(false);
    return node;
  }

  /// When worms come is not known before, so there are places for all that could come early at any
  /// port, or as many as are verilated; with more worms than those an interface may report that its
  /// places are full.
  static nic::Parameters with_places(const Part& part) {
    nic::Parameters parameters = part.collective.parameters;
    const auto most = std::min<std::uint64_t>(most_worms(part), kMostParkSlots);
    parameters.park_slots = std::max(parameters.park_slots, static_cast<std::uint32_t>(most));
    return parameters;
  }

  /// That come at a port of the rank's.
  static std::uint64_t most_worms(const Part& part) {
    const auto& [topology, collective, rank, cables] = part;
    const bool is_cut = collective.parameters.flow_control == nic::FlowControl::Packet;
    const std::uint64_t elements = collective.parameters.packet_bytes / bytes_of(collective.type);
    std::map<std::uint32_t, std::uint64_t> worms;  // [port]
    std::uint64_t most = 0;
    for (std::size_t r = 0; r < collective.tables.of_rank.size(); ++r) {
      for (const nic::Entry& entry : collective.tables.of_rank[r]) {
        if (entry.op == nic::Opcode::Nop || entry.peer != rank) continue;
        std::uint64_t& of_port = worms[collective.tables.routes[r][entry.route].ejection];
        of_port += is_cut ? std::max<std::uint64_t>((entry.size + elements - 1) / elements, 1) : 1;
        most = std::max(most, of_port);
      }
    }
    return most;
  }

  Memory memory_;
  Coupling coupling_;
};

}  // namespace

std::unique_ptr<Endpoint> make_hardware_endpoint(const Part& part, Adders adders) {
  return std::make_unique<HardwareEndpoint>(part, adders);
}

}  // namespace multitree::rtl
