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
    return fmt::format("{} (first at port {}, piece {})", describe_errors(bits), first >> 8 & 0xf,
                       first >> 16);
  }

 private:
  /// When messages come is not known before, so there are as many places for early ones as come at
  /// any port, if those are verilated.
  static nic::Parameters with_places(const Part& part) {
    const nic::Tables& tables = part.collective.tables;
    std::map<std::uint32_t, std::uint32_t> messages;  // [port]
    for (std::size_t r = 0; r < tables.of_rank.size(); ++r) {
      for (const nic::Entry& entry : tables.of_rank[r]) {
        if (entry.op == nic::Opcode::Nop || entry.peer != part.rank) continue;
        ++messages[tables.routes[r][entry.route].ejection];
      }
    }
    nic::Parameters parameters = part.collective.parameters;
    for (const auto& [port, count] : messages) {
      parameters.park_slots = std::max(parameters.park_slots, std::min(count, kMostParkSlots));
    }
    return parameters;
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
