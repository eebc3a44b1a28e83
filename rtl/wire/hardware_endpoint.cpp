// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One verilated node between cables.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "rtl/sim/memory.hpp"
#include "rtl/sim/node.hpp"
#include "rtl/sim/run.hpp"
#include "rtl/wire/endpoint.hpp"

namespace multitree::rtl {
namespace {

/// Cycles of a turn; without anything on its links for so many it is thought to wait for others.
constexpr std::uint32_t kTurn = 64, kQuiet = 1024;
/// It makes no more as long as so many frames wait in a cable.
constexpr std::size_t kMostFrames = 64;

class HardwareEndpoint final : public Endpoint {
 public:
  HardwareEndpoint(const Part& part, Adders adders)
      : cables_(part.cables),
        memory_(part.collective.tables.elements * bytes_of(part.collective.type)),
        node_(make_rank(memory_.handle(), adders, with_places(part),
                        interface_ports(part.topology, part.rank), "rank")) {
    check_verilated(part.topology, part.collective.parameters);
    node_->set_latency(part.collective.parameters.memory_cycles);
    node_->set_memory_ports(part.collective.parameters.memory_ports);
    node_->set_traced(false);
    node_->set_reset(true);
    for (std::uint32_t c = 0; c < kNodeResetCycles; ++c) node_->tick();
    node_->set_reset(false);
    write({reg::kPlaces, part.collective.parameters.buffer_flits});
    for (const RegisterWrite& one : writes_of(part)) write(one);
    write(arm());
    for (std::uint32_t c = 0; c < kArmCycles; ++c) node_->tick();
  }

  std::span<std::byte> buffer() override { return memory_.bytes(); }
  void start() override { write(go()); }

  bool work() override {
    for (const Cable& cable : cables_.all) {
      if (cable.backlog() > kMostFrames) return false;
    }
    for (std::uint32_t c = 0; c < kTurn; ++c) cycle();
    return quiet_ < kQuiet;
  }
  [[nodiscard]] bool is_done() const override { return is_done_; }

  [[nodiscard]] std::string error() override {
    const std::uint32_t bits = read(reg::kError);
    if (bits == 0) return {};
    const std::uint32_t first = read(reg::kFirstError);
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

  /// What comes out goes into cables, what they have comes in; then an edge of the clock.
  void cycle() {
    const Node::Active outputs = node_->outputs();
    Node::Active inputs;
    LinkFlit flit;
    std::uint8_t vc = 0;
    for (std::uint32_t p = 0; p < cables_.out.size(); ++p) {
      if ((outputs.flits >> p & 1) != 0) {
        node_->get_flit(p, flit);
        cables_.of_out(p).put_flit(flit);
      }
      if (!cables_.of_out(p).take_credit(vc)) continue;
      node_->put_credit(p, vc);
      inputs.credits |= 1U << p;
    }
    for (std::uint32_t p = 0; p < cables_.in.size(); ++p) {
      if ((outputs.credits >> p & 1) != 0) cables_.of_in(p).put_credit(node_->get_credit(p));
      if (!cables_.of_in(p).take_flit(flit)) continue;
      node_->put_flit(p, flit);
      inputs.flits |= 1U << p;
    }
    node_->set_inputs(inputs);
    node_->tick();
    const bool moves = (outputs.flits | outputs.credits | inputs.flits | inputs.credits) != 0;
    quiet_ = moves ? 0 : quiet_ + 1;
    is_done_ = is_done_ || node_->trace().done;
  }

  void write(const RegisterWrite& one) {
    node_->put_write(&one);
    cycle();
    node_->put_write(nullptr);
    quiet_ = 0;
  }

  std::uint32_t read(std::uint32_t address) {
    node_->put_read(&address);
    cycle();
    node_->put_read(nullptr);
    cycle();
    std::uint32_t value = 0;
    if (!node_->get_read(value)) {
      throw std::logic_error("hardware model: a register did not answer");
    }
    cycle();
    return value;
  }

  Cables& cables_;
  Memory memory_;
  std::unique_ptr<Node> node_;
  std::uint32_t quiet_ = 0;  // cycles
  bool is_done_ = false;
};

}  // namespace

std::unique_ptr<Endpoint> make_hardware_endpoint(const Part& part, Adders adders) {
  return std::make_unique<HardwareEndpoint>(part, adders);
}

}  // namespace multitree::rtl
