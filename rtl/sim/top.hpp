// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A whole network as one verilated module, written by `multitree nic top`, with Simulate 1.
#pragma once

#include <verilated.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "nic/top/wiring.hpp"
#include "rtl/sim/bits.hpp"
#include "rtl/sim/hardware.hpp"
#include "rtl/sim/node.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {

/// A clock of the links, beside that of the nodes, which has an edge at every multiple of `core`.
struct LinkClock {
  std::uint64_t core = 1;   ///< period of the nodes' clock
  std::uint64_t link = 0;   ///< period of the links', in the same unit; 0: they have none
  std::uint64_t first = 0;  ///< its first edge
};

/// \tparam Model the verilated class.
template <typename Model>
class Top : public Hardware {
 public:
  /// \pre The model was made for this topology; with a clock of the links it has EnLinkClock.
  Top(const Topology& topology, const nic::Parameters& parameters, std::size_t bytes,
      const LinkClock& clock = {})
      : ranks_(topology.num_ranks()),
        context_(std::make_unique<VerilatedContext>()),
        model_(std::make_unique<Model>(context_.get(), "top")),
        sent_(topology.num_links()),
        traces_(ranks_),
        clock_(clock),
        next_link_(clock.first) {
    const nic::Wiring wiring = nic::wire(topology, parameters);
    most_ports_ = wiring.most_ports;
    rx_traces_.resize(std::size_t{ranks_} * most_ports_);
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      ports_.push_back(wiring.ports[index(topology.node_of(Rank{r}))]);
      memories_.push_back(std::make_unique<Memory>(bytes, parameters.flit_bytes));
      if (memories_.back()->handle() != memories_.front()->handle() + r) {
        throw std::logic_error("memories of a network are not numbered one after the other");
      }
    }
    Model& m = *model_;
    m.memory_i = memories_.front()->handle();
    m.s_axil_awvalid_i = m.s_axil_wvalid_i = m.s_axil_arvalid_i = 0;
    m.s_axil_bready_i = m.s_axil_rready_i = 1;
    m.s_axil_awprot_i = m.s_axil_arprot_i = 0;
    m.s_axil_wstrb_i = 0xf;
    m.rst_ni = m.link_rst_ni = 0;
    const std::uint64_t link_cycles = clock_.link / clock_.core + 1;
    for (std::uint64_t c = 0; c < kResetCycles * link_cycles; ++c) tick();
    m.rst_ni = m.link_rst_ni = 1;
    const std::vector<RegisterWrite> places{{reg::kPlaces, parameters.buffer_flits}};
    write(std::vector(ranks_, places));
  }
  ~Top() override {
    // The model unregisters from the thread's context, which may be one that is gone.
    Verilated::threadContextp(context_.get());
    model_->final();
  }
  /// What the model was made in; has its coverage.
  [[nodiscard]] VerilatedContext& context() { return *context_; }
  Top(const Top&) = delete;
  Top& operator=(const Top&) = delete;

  void write(const std::vector<std::vector<RegisterWrite>>& writes) override {
    if (is_same(writes)) {
      for (const RegisterWrite& w : writes.front()) put(address_of_all(w.address), w.value);
    } else {
      for (std::uint32_t r = 0; r < writes.size(); ++r) {
        for (const RegisterWrite& w : writes[r]) put(address_of(Rank{r}, w.address), w.value);
      }
    }
    model_->s_axil_awvalid_i = model_->s_axil_wvalid_i = 0;
    tick();
  }
  std::uint32_t read(Rank rank, std::uint32_t address) override {
    return get(address_of(rank, address));
  }
  [[noreturn]] void put_write(Rank /*rank*/, const RegisterWrite& /*write*/) override {
    throw Error(ErrorCode::Unsupported,
                "hardware model: expected a network of nodes to write to several ranks in a cycle, "
                "got one module");
  }
  /// The bits that any rank has in a register.
  std::uint32_t read_any(std::uint32_t address) { return get(address_of_all(address)); }

  [[nodiscard]] std::uint32_t num_links() const override {
    return static_cast<std::uint32_t>(sent_.size());
  }
  [[nodiscard]] std::vector<std::uint32_t> ports() const override { return ports_; }

  void tick() override {
    const bool has_links = clock_.link != 0;
    const std::uint64_t edge = ticks_++ * clock_.core;
    while (has_links && next_link_ < edge) {
      model_->link_clk_i = 1;
      model_->eval();
      model_->link_clk_i = 0;
      model_->eval();
      next_link_ += clock_.link;
    }
    // What is seen is what was there when the edge came.
    model_->clk_i = 0;
    model_->eval();
    observe();
    model_->clk_i = 1;
    if (has_links && next_link_ == edge) {
      model_->link_clk_i = 1;
      next_link_ += clock_.link;
    }
    model_->eval();
    if (has_links) {
      model_->clk_i = model_->link_clk_i = 0;
      model_->eval();
    }
    ++cycle_;
  }
  [[nodiscard]] std::uint64_t cycle() const override { return cycle_; }
  [[nodiscard]] bool done() const { return model_->done_o != 0; }
  [[nodiscard]] bool failed() const { return model_->failed_o != 0; }

  [[nodiscard]] Memory& memory(Rank rank) override { return *memories_[index(rank)]; }
  [[nodiscard]] NodeTrace trace(Rank rank) const override { return traces_[index(rank)]; }
  [[nodiscard]] RxTrace rx_trace(Rank rank, std::uint32_t port) const override {
    return rx_traces_[std::size_t{index(rank)} * most_ports_ + port];
  }
  [[nodiscard]] const LinkFlit& sent(LinkId link) const override { return sent_[index(link)]; }

 private:
  static constexpr std::uint32_t kResetCycles = 4, kRegisterBits = 12, kNumberBits = 16;
  static constexpr std::uint32_t kMostReadCycles = 8;

  template <typename Signal>
  using Of = std::remove_reference_t<Signal>;

  static bool is_same(const std::vector<std::vector<RegisterWrite>>& writes) {
    for (const auto& of_rank : writes) {
      if (of_rank.size() != 1 || of_rank.front().address != writes.front().front().address ||
          of_rank.front().value != writes.front().front().value) {
        return false;
      }
    }
    return !writes.empty();
  }
  [[nodiscard]] static std::uint32_t address_of(Rank rank, std::uint32_t address) {
    return index(rank) << kRegisterBits | address;
  }
  /// The bit above the rank's.
  [[nodiscard]] std::uint32_t address_of_all(std::uint32_t address) const {
    std::uint32_t bits = 1;
    while (std::uint32_t{1} << bits < ranks_) ++bits;
    return std::uint32_t{1} << (kRegisterBits + bits) | address;
  }
  void put(std::uint32_t address, std::uint32_t value) {
    Model& m = *model_;
    m.s_axil_awvalid_i = m.s_axil_wvalid_i = 1;
    m.s_axil_awaddr_i = static_cast<Of<decltype(m.s_axil_awaddr_i)>>(address);
    m.s_axil_wdata_i = value;
    tick();
  }
  std::uint32_t get(std::uint32_t address) {
    Model& m = *model_;
    m.s_axil_arvalid_i = 1;
    m.s_axil_araddr_i = static_cast<Of<decltype(m.s_axil_araddr_i)>>(address);
    tick();
    m.s_axil_arvalid_i = 0;
    for (std::uint32_t c = 0; c < kMostReadCycles; ++c) {
      if (m.s_axil_rvalid_o != 0) {
        const std::uint32_t value = m.s_axil_rdata_o;
        tick();
        return value;
      }
      tick();
    }
    throw std::logic_error("hardware model: a register did not answer");
  }

  void observe() {
    const Model& m = *model_;
    for (std::uint32_t l = 0; l < sent_.size(); ++l) {
      sent_[l].valid = bits_of(m.trace_link_valid_o, l, 1) != 0;
      if (!sent_[l].valid) continue;
      sent_[l].vc = static_cast<std::uint8_t>(bits_of(m.trace_link_vc_o, 2 * l, 2));
    }
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      const std::size_t at = std::size_t{r} * most_ports_;
      traces_[r] = {.running = bits_of(m.trace_running_o, r, 1) != 0,
                    .done = bits_of(m.trace_done_o, r, 1) != 0,
                    .begun = bits_of(m.trace_begun_o, at, most_ports_),
                    .sent = bits_of(m.trace_sent_o, at, most_ports_),
                    .issued = bits_of(m.trace_issued_o, at, most_ports_),
                    .taken = bits_of(m.trace_taken_o, at, most_ports_),
                    .step = bits_of(m.trace_step_o, std::size_t{r} * kNumberBits, kNumberBits)};
      for (std::uint32_t p = 0; (traces_[r].issued | traces_[r].taken) >> p != 0; ++p) {
        const std::size_t lsb = (at + p) * kNumberBits;
        rx_traces_[at + p] = {.piece = bits_of(m.trace_rx_piece_o, lsb, kNumberBits),
                              .turn = bits_of(m.trace_rx_turn_o, lsb, kNumberBits),
                              .pos = bits_of(m.trace_rx_pos_o, lsb, kNumberBits),
                              .taken_piece = bits_of(m.trace_taken_piece_o, lsb, kNumberBits)};
      }
    }
  }

  std::uint32_t ranks_;
  std::uint32_t most_ports_ = 1;
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Model> model_;
  std::vector<std::uint32_t> ports_;               // [rank]
  std::vector<std::unique_ptr<Memory>> memories_;  // [rank]
  std::vector<LinkFlit> sent_;                     // [link]
  std::vector<NodeTrace> traces_;                  // [rank]
  std::vector<RxTrace> rx_traces_;                 // [rank * most_ports_ + port]
  std::uint64_t cycle_ = 0;
  LinkClock clock_;
  std::uint64_t ticks_ = 0;
  std::uint64_t next_link_ = 0;  // when the links' clock has its next edge
};

}  // namespace multitree::rtl
