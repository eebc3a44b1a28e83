// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Verilated classes have different types with the same members: one template for all.
#include "rtl/sim/node.hpp"

#include <verilated.h>
#include <verilated_fst_c.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "Vsim_node.h"
#include "Vsim_node16.h"
#include "Vsim_node8.h"
#include "Vsim_node8_256.h"
#include "Vsim_node8_512.h"
#include "Vsim_node_256.h"
#include "Vsim_node_512.h"
#include "Vsim_node_axi1.h"
#include "Vsim_node_axi4.h"
#include "Vsim_node_axi4_256.h"
#include "Vsim_node_axi4_512.h"
#include "Vsim_node_fast.h"
#include "Vsim_node_few.h"
#include "Vsim_node_many.h"
#include "Vsim_node_park.h"
#include "Vsim_node_share.h"
#include "Vsim_node_wave.h"
#include "Vsim_switch16.h"
#include "Vsim_switch8.h"
#include "Vsim_switch8_256.h"
#include "Vsim_switch8_512.h"
#include "rtl/sim/bits.hpp"
#include "rtl/sim/waves.hpp"

namespace multitree::rtl {
namespace {

/// What nodes and switches have in common.
template <typename Model, std::uint32_t Ports>
class Base : public Node {
  /// Words of a flit's lane, whatever its width.
  static constexpr std::size_t kLaneWords =
      sizeof(std::declval<Model&>().link_flit_i) / sizeof(EData) / Ports;
  static constexpr std::size_t kLaneBytes = kLaneWords * sizeof(EData);
  static_assert(kLaneBytes <= sizeof(LinkFlit::bits));

 public:
  /// \param context shared with others, or null.
  explicit Base(const std::string& name, VerilatedContext* context = nullptr)
      : context_(context != nullptr ? nullptr : std::make_unique<VerilatedContext>()),
        model_(
            std::make_unique<Model>(context != nullptr ? context : context_.get(), name.c_str())) {
    model_->clk_i = 0;
    model_->link_valid_i = 0;
    model_->link_credit_valid_i = 0;
  }
  ~Base() override {
    // The model unregisters from the thread's context, which may be one that is gone.
    Verilated::threadContextp(model_->contextp());
    model_->final();
  }

  void tick() override {
    // Inputs settle before the edge: assertions see what was there when it came.
    model_->clk_i = 0;
    model_->eval();
    model_->clk_i = 1;
    model_->eval();
  }
  void set_reset(bool active) override { model_->rst_ni = !active; }
  void set_clock(bool high) override {
    model_->clk_i = high;
    model_->eval();
  }

  [[nodiscard]] Node::Active outputs() const override {
    return {.flits = model_->link_valid_o, .credits = model_->link_credit_valid_o};
  }
  void set_inputs(Node::Active inputs) override {
    set(model_->link_valid_i, inputs.flits);
    set(model_->link_credit_valid_i, inputs.credits);
  }
  void put_flit(std::uint32_t port, const LinkFlit& flit) override {
    set_vc(model_->link_vc_i, port, flit.vc);
    std::memcpy(model_->link_flit_i.data() + port * kLaneWords, flit.bits.data(), kLaneBytes);
  }
  void put_credit(std::uint32_t port, std::uint8_t vc) override {
    set_vc(model_->link_credit_vc_i, port, vc);
  }
  void get_flit(std::uint32_t port, LinkFlit& flit) const override {
    flit.vc = static_cast<std::uint8_t>(model_->link_vc_o >> (2 * port) & 3);
    std::memcpy(flit.bits.data(), model_->link_flit_o.data() + port * kLaneWords, kLaneBytes);
  }
  [[nodiscard]] std::uint8_t get_credit(std::uint32_t port) const override {
    return static_cast<std::uint8_t>(model_->link_credit_vc_o >> (2 * port) & 3);
  }

 protected:
  template <typename Bits>
  static void set(Bits& bits, std::uint32_t value) {
    bits = static_cast<Bits>(value);
  }
  template <typename Bits>
  static void set_vc(Bits& bits, std::uint32_t port, std::uint8_t vc) {
    bits = static_cast<Bits>((bits & ~(Bits{3} << (2 * port))) | (Bits{vc} << (2 * port)));
  }

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Model> model_;
};

template <typename Model, std::uint32_t Ports = mt_pkg::kNumPorts>
class RankNode : public Base<Model, Ports> {
 public:
  RankNode(std::uint32_t memory, const std::string& name, VerilatedContext* context = nullptr)
      : Base<Model, Ports>(name, context) {
    Model& m = *this->model_;
    m.handle_i = memory;
    RankNode::put_links(~0U, 0);
    RankNode::put_stalls(0);
    m.shy_i = 0;
    m.latency_i = 1;
    m.words_i = 0;
    m.trace_i = 1;
    m.s_axil_awvalid_i = m.s_axil_wvalid_i = m.s_axil_arvalid_i = 0;
    m.s_axil_bready_i = m.s_axil_rready_i = 1;
    m.s_axil_awprot_i = m.s_axil_arprot_i = 0;
    m.s_axil_wstrb_i = 0xf;
  }

  void put_write(const RegisterWrite* write) override {
    Model& m = *this->model_;
    m.s_axil_awvalid_i = m.s_axil_wvalid_i = write != nullptr;
    if (write == nullptr) return;
    m.s_axil_awaddr_i = static_cast<SData>(write->address);
    m.s_axil_wdata_i = write->value;
  }
  void put_read(const std::uint32_t* address) override {
    Model& m = *this->model_;
    m.s_axil_arvalid_i = address != nullptr;
    if (address != nullptr) m.s_axil_araddr_i = static_cast<SData>(*address);
  }
  [[nodiscard]] bool get_read(std::uint32_t& value) const override {
    value = this->model_->s_axil_rdata_o;
    return this->model_->s_axil_rvalid_o != 0;
  }
  void put_links(std::uint32_t ready, std::uint32_t dead) override {
    this->set(this->model_->link_ready_i, ready & ((1U << Ports) - 1));
    this->set(this->model_->link_dead_i, dead);
  }
  void put_stalls(std::uint32_t stalls) override {
    auto& bits = this->model_->stall_i;
    if constexpr (std::is_integral_v<std::remove_reference_t<decltype(bits)>>) {
      bits = stalls;
    } else {
      std::fill(bits.data() + 1, bits.data() + sizeof(bits) / sizeof(EData), 0U);
      bits[0] = stalls;
    }
  }
  void set_shy(bool shy) override { this->model_->shy_i = shy; }
  void set_latency(std::uint32_t cycles) override {
    this->model_->latency_i = static_cast<SData>(cycles);
  }
  void set_memory_ports(std::uint32_t words) override {
    this->model_->words_i = static_cast<CData>(words);
  }
  void set_traced(bool traced) override { this->model_->trace_i = traced; }

  [[nodiscard]] NodeTrace trace() const override {
    const Model& m = *this->model_;
    return {.running = m.trace_running_o != 0,
            .done = m.trace_done_o != 0,
            .begun = m.trace_begun_o,
            .sent = m.trace_sent_o,
            .issued = m.trace_issued_o,
            .taken = m.trace_taken_o,
            .step = m.trace_step_o,
            .over = m.over_o};
  }
  [[nodiscard]] Network::RxTrace rx_trace(std::uint32_t port) const override {
    const Model& m = *this->model_;
    constexpr std::uint32_t kWidth = 16;
    const auto part = [port](const auto& all) {
      return bits_of(all, std::size_t{kWidth} * port, kWidth);
    };
    return {.piece = part(m.trace_rx_piece_o),
            .turn = part(m.trace_rx_turn_o),
            .pos = part(m.trace_rx_pos_o),
            .taken_piece = part(m.trace_taken_piece_o)};
  }
};

/// With waves.
class WaveNode : public RankNode<Vsim_node_wave> {
 public:
  WaveNode(std::uint32_t memory, const std::string& name, Waves& waves)
      : RankNode(memory, name, &waves.context()) {
    constexpr int all_levels = 99;
    model_->trace(&waves.file(), all_levels);
    waves.add(*this);
  }
};

template <typename Model, std::uint32_t Links>
class SwitchNode : public Base<Model, Links> {
 public:
  explicit SwitchNode(const std::string& name) : Base<Model, Links>(name) {
    this->model_->load_i = 0;
    SwitchNode::put_links(~0U, 0);
  }

  void put_write(const RegisterWrite* write) override {
    const bool is_places = write != nullptr && write->address == reg::kPlaces;
    this->model_->load_i = is_places;
    if (is_places) this->model_->places_i = static_cast<SData>(write->value);
  }
  void put_read(const std::uint32_t*) override {}
  [[nodiscard]] bool get_read(std::uint32_t&) const override { return true; }
  void put_links(std::uint32_t ready, std::uint32_t) override {
    this->set(this->model_->link_ready_i, ready & ((1U << Links) - 1));
  }
  void put_stalls(std::uint32_t) override {}
  void set_shy(bool) override {}
  void set_latency(std::uint32_t) override {}
  void set_memory_ports(std::uint32_t) override {}
  void set_traced(bool) override {}
  [[nodiscard]] NodeTrace trace() const override { return {}; }
  [[nodiscard]] Network::RxTrace rx_trace(std::uint32_t) const override { return {}; }
};

using MakeRank = std::unique_ptr<Node> (*)(std::uint32_t memory, const std::string& name);
template <typename Model, std::uint32_t Ports = mt_pkg::kNumPorts>
std::unique_ptr<Node> rank_of(std::uint32_t memory, const std::string& name) {
  return std::make_unique<RankNode<Model, Ports>>(memory, name);
}
using MakeSwitch = std::unique_ptr<Node> (*)(const std::string& name);
template <typename Model, std::uint32_t Links>
std::unique_ptr<Node> switch_of(const std::string& name) {
  return std::make_unique<SwitchNode<Model, Links>>(name);
}

/// What is verilated for nodes with flits of so many bytes and at most so many links.
template <typename Make>
struct Kind {
  std::uint32_t flit_bytes = 0, links = 0;
  Make make = nullptr;
};
/// Those with fewer links before those with more. The first has several forms: make_rank().
constexpr std::array<Kind<MakeRank>, 7> kRanks = {
    {{kFlitBytes[0], Network::kPorts, nullptr},
     {kFlitBytes[0], 8, rank_of<Vsim_node8, 8>},
     {kFlitBytes[0], 16, rank_of<Vsim_node16, 16>},
     {kFlitBytes[1], Network::kPorts, rank_of<Vsim_node_256>},
     {kFlitBytes[1], 8, rank_of<Vsim_node8_256, 8>},
     {kFlitBytes[2], Network::kPorts, rank_of<Vsim_node_512>},
     {kFlitBytes[2], 8, rank_of<Vsim_node8_512, 8>}}};
constexpr std::array<Kind<MakeSwitch>, 4> kSwitches = {
    {{kFlitBytes[0], 8, switch_of<Vsim_switch8, 8>},
     {kFlitBytes[0], 16, switch_of<Vsim_switch16, 16>},
     {kFlitBytes[1], 8, switch_of<Vsim_switch8_256, 8>},
     {kFlitBytes[2], 8, switch_of<Vsim_switch8_512, 8>}}};

template <typename Kinds>
auto kind_of(const Kinds& kinds, std::uint32_t flit_bytes, std::uint32_t links) {
  const auto found = std::ranges::find_if(kinds, [&](const auto& kind) {
    return kind.flit_bytes == flit_bytes && kind.links >= links;
  });
  return found == kinds.end() ? nullptr : &*found;
}

struct AxiKind {
  std::uint32_t flit_bytes = 0, ports = 0;
  MakeRank make = nullptr;
};
constexpr std::array<AxiKind, 4> kAxiRanks = {
    {{kFlitBytes[0], 1, rank_of<Vsim_node_axi1>},
     {kFlitBytes[0], Network::kPorts, rank_of<Vsim_node_axi4>},
     {kFlitBytes[1], Network::kPorts, rank_of<Vsim_node_axi4_256>},
     {kFlitBytes[2], Network::kPorts, rank_of<Vsim_node_axi4_512>}}};

}  // namespace

std::uint32_t most_links(std::uint32_t flit_bytes, bool of_rank) {
  std::uint32_t most = 0;
  const auto look = [&](const auto& kinds) {
    for (const auto& kind : kinds) {
      if (kind.flit_bytes == flit_bytes) most = std::max(most, kind.links);
    }
  };
  if (of_rank) {
    look(kRanks);
  } else {
    look(kSwitches);
  }
  return most;
}

std::unique_ptr<Node> make_rank(std::uint32_t memory, Adders adders,
                                const nic::Parameters& parameters, std::uint32_t links,
                                const std::string& name) {
  const Kind<MakeRank>* const kind = kind_of(kRanks, parameters.flit_bytes, links);
  if (kind == nullptr) return nullptr;
  if (kind->make != nullptr) return kind->make(memory, name);
  const WordsUnderWay words = {.send = parameters.send_words, .add = parameters.add_words};
  if (words == kWordsUnderWay[1]) return rank_of<Vsim_node_few>(memory, name);
  if (words == kWordsUnderWay[2]) return rank_of<Vsim_node_many>(memory, name);
  if (parameters.park_slots > mt_pkg::kParkSlots) return rank_of<Vsim_node_park>(memory, name);
  if (parameters.ports_per_unit > 1) return rank_of<Vsim_node_share>(memory, name);
  if (adders == Adders::Hardware) return rank_of<Vsim_node>(memory, name);
  return rank_of<Vsim_node_fast>(memory, name);
}

std::unique_ptr<Node> make_wave_rank(std::uint32_t memory, const std::string& name, Waves& waves) {
  return std::make_unique<WaveNode>(memory, scope_name(name), waves);
}

std::unique_ptr<Node> make_axi_rank(std::uint32_t memory, std::uint32_t ports,
                                    std::uint32_t flit_bytes, const std::string& name) {
  for (const AxiKind& kind : kAxiRanks) {
    if (kind.flit_bytes == flit_bytes && kind.ports == ports) return kind.make(memory, name);
  }
  return nullptr;
}

std::unique_ptr<Node> make_switch(std::uint32_t links, std::uint32_t flit_bytes,
                                  const std::string& name) {
  const Kind<MakeSwitch>* const kind = kind_of(kSwitches, flit_bytes, links);
  return kind == nullptr ? nullptr : kind->make(name);
}

}  // namespace multitree::rtl
