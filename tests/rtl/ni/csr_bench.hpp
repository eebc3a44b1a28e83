// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_csr beside a model of its registers, and a master whose requests come in any order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "../prim/bench.hpp"
#include "Vcsr.h"
#include "flit.hpp"
#include "rtl/sim/node.hpp"

namespace multitree::rtl::csr {

inline constexpr unsigned kPorts = 2, kEntryBits = 70, kRouteBits = 127,
                          kErrors = mt_pkg::kNumErrors, kConfigError = mt_pkg::kErrConfig,
                          kGroups = 4;
inline constexpr std::uint32_t kCounters = 0x100, kWhole = 0xf;
enum Response : std::uint32_t { kOkay = 0, kSlaveError = 2 };

/// What the interface tells the registers.
struct Inputs {
  bool running = false, armed = false, done = false;
  std::uint32_t taken = 0, error = 0, port = 0, piece = 0;
  unsigned rung = 0, over = 0;       // a bit for each group
  std::array<unsigned, 4> events{};  // a bit for each port
};

struct Write {
  std::uint32_t address = 0, value = 0, strobes = kWhole;
};
struct Answer {
  std::uint32_t response = kOkay, value = 0;
};

class Csr {
 public:
  explicit Csr(int seed) : bench_(seed), random_(static_cast<unsigned>(seed)) {
    bench_->s_axil_awvalid_i = bench_->s_axil_wvalid_i = bench_->s_axil_arvalid_i = 0;
    bench_->s_axil_bready_i = bench_->s_axil_rready_i = 1;
    set(in);
    bench_.reset();
  }

  Inputs in;
  std::deque<Write> writes;  ///< to be done
  std::deque<std::uint32_t> reads;
  std::vector<Answer> values;            ///< that were read
  std::vector<std::uint32_t> responses;  ///< to writes
  std::vector<std::array<std::uint32_t, 3>> entries;
  std::vector<std::array<std::uint32_t, 4>> routes;
  std::vector<std::uint32_t> steps, groups;
  std::vector<unsigned> rings;
  std::vector<unsigned> commands;  ///< go 1, clear 2, arm 4
  std::vector<std::uint32_t> loads;
  unsigned hurry = 4;  ///< of 8: how often a valid or ready is raised

  [[nodiscard]] bool is_idle() const { return writes.empty() && reads.empty() && !b_ && !r_; }
  void finish() {
    while (!is_idle() && !testing::Test::HasFailure()) cycle();
  }
  Answer answer(std::uint32_t address) {
    reads.push_back(address);
    finish();
    return values.back();
  }
  std::uint32_t read(std::uint32_t address) {
    const Answer read = answer(address);
    EXPECT_EQ(read.response, kOkay) << address;
    return read.value;
  }
  /// \returns the response.
  std::uint32_t write(std::uint32_t address, std::uint32_t value, std::uint32_t strobes = kWhole) {
    writes.push_back({address, value, strobes});
    finish();
    return responses.back();
  }

  void cycle() {
    const auto now = [&] { return random_() % 8 < hurry; };
    set(in);
    // A valid stays until its ready; address and data come when they like.
    aw_ = !writes.empty() && (aw_ || now());
    w_ = !writes.empty() && (w_ || now());
    ar_ = !reads.empty() && (ar_ || now());
    bench_->s_axil_awvalid_i = aw_;
    bench_->s_axil_wvalid_i = w_;
    bench_->s_axil_arvalid_i = ar_;
    put(bench_->s_axil_awaddr_i, aw_ ? writes.front().address : 0xabc);
    bench_->s_axil_wdata_i = w_ ? writes.front().value : 0x12345678;
    put(bench_->s_axil_wstrb_i, w_ ? writes.front().strobes : 0);
    // All accesses are alike.
    put(bench_->s_axil_awprot_i, random_() % 8);
    put(bench_->s_axil_arprot_i, random_() % 8);
    put(bench_->s_axil_araddr_i, ar_ ? reads.front() : 0xabc);
    const bool b_ready = now(), r_ready = now();
    bench_->s_axil_bready_i = b_ready;
    bench_->s_axil_rready_i = r_ready;
    bench_.settle();
    EXPECT_EQ(bench_->s_axil_bvalid_o, b_.has_value());
    if (b_) {
      EXPECT_EQ(bench_->s_axil_bresp_o, *b_);
      if (b_ready) responses.push_back(bench_->s_axil_bresp_o);
    }
    EXPECT_EQ(bench_->s_axil_rvalid_o, r_.has_value());
    const bool writes_now = aw_ && w_ && (!b_ || b_ready);
    const bool reads_now = ar_ && (!r_ || r_ready);
    EXPECT_EQ(bench_->s_axil_awready_o, writes_now);
    EXPECT_EQ(bench_->s_axil_wready_o, writes_now);
    EXPECT_EQ(bench_->s_axil_arready_o, reads_now);
    if (r_) {
      EXPECT_EQ(bench_->s_axil_rresp_o, r_->response);
      EXPECT_EQ(bench_->s_axil_rdata_o, r_->value);
      if (r_ready) values.push_back({bench_->s_axil_rresp_o, bench_->s_axil_rdata_o});
    }
    check_registers();
    record();
    const std::optional<Write> write = writes_now ? std::optional(writes.front()) : std::nullopt;
    const Answer value = reads_now ? answer_of(reads.front() & ~3U) : Answer{};
    const std::uint32_t response = write && is_refused(*write) ? kSlaveError : kOkay;
    step(write);
    if (writes_now) {
      writes.pop_front();
      aw_ = w_ = false;
    }
    if (b_ready) b_.reset();
    if (writes_now) b_ = response;
    if (r_ready) r_.reset();
    if (reads_now) {
      r_ = value;
      reads.pop_front();
      ar_ = false;
    }
    bench_.rise();
  }

 private:
  void set(const Inputs& i) {
    bench_->running_i = i.running;
    bench_->armed_i = i.armed;
    bench_->done_i = i.done;
    bench_->taken_i = i.taken;
    put(bench_->error_i, i.error);
    put(bench_->error_port_i, i.port);
    put(bench_->error_piece_i, i.piece);
    put(bench_->rung_i, i.rung);
    put(bench_->over_i, i.over);
    put(bench_->sent_i, i.events[0]);
    put(bench_->received_i, i.events[1]);
    put(bench_->no_credit_i, i.events[2]);
    put(bench_->parked_i, i.events[3]);
  }

  void check_registers() {
    EXPECT_EQ(bench_->rank_o, config_[reg::kRank] & 0xff);
    EXPECT_EQ(bench_->lockstep_o, config_[reg::kMode] & 1);
    EXPECT_EQ(bench_->packets_o, config_[reg::kMode] >> 1 & 1);
    EXPECT_EQ(bench_->uniform_o, config_[reg::kMode] >> 2 & 1);
    EXPECT_EQ(bench_->grouped_o, config_[reg::kMode] >> 3 & 1);
    EXPECT_EQ(bench_->dtype_o, config_[reg::kMode] >> 4 & 3);
    EXPECT_EQ(bench_->vc_mask_o, config_[reg::kMode] >> 8 & 0xf);
    EXPECT_EQ(bench_->packet_flits_o, config_[reg::kPacketFlits] & 0xffff);
    EXPECT_EQ(bench_->size_o, config_[reg::kChunkSize] & 0xffffff);
    EXPECT_EQ(bench_->pieces_o, config_[reg::kPieces] & 0xffff);
    EXPECT_EQ(bench_->arrivals_o, config_[reg::kArrivals] & 0xffffff);
    EXPECT_EQ(bench_->watchdog_o, config_[reg::kWatchdog] & 0xffffff);
    EXPECT_EQ(bench_->failed_o, error_ != 0);
  }

  [[nodiscard]] static bool is_configuration(std::uint32_t address) {
    return (address >= reg::kMode && address <= reg::kTable) || address == reg::kRoute ||
           address == reg::kStep || address == reg::kGroup;
  }
  [[nodiscard]] bool is_refused(const Write& write) const {
    const std::uint32_t address = write.address & ~3U;
    if (write.strobes != kWhole) return true;
    if (address == reg::kControl || address == reg::kError) return false;
    return in.running || in.armed ? address != reg::kDoorbell : !is_configuration(address);
  }

  /// What goes to the interface in this cycle.
  void record() {
    if (bench_->entry_write_o) {
      entries.push_back({bench_->entry_o[0], bench_->entry_o[1], bench_->entry_o[2]});
    }
    if (bench_->route_write_o) {
      routes.push_back(
          {bench_->route_o[0], bench_->route_o[1], bench_->route_o[2], bench_->route_o[3]});
    }
    if (bench_->step_write_o) steps.push_back(bench_->step_length_o);
    if (bench_->group_write_o) groups.push_back(bench_->messages_o);
    if (bench_->ring_o != 0) rings.push_back(bench_->ring_o);
    if (bench_->load_o) loads.push_back(bench_->places_o);
    const unsigned command = (bench_->go_o ? reg::kGo : 0) | (bench_->clear_o ? reg::kClear : 0) |
                             (bench_->arm_o ? reg::kArm : 0);
    if (command != 0) commands.push_back(command);
    arms_ = bench_->arm_o;
  }

  [[nodiscard]] Answer answer_of(std::uint32_t address) {
    switch (address) {
      case reg::kControl:
      case reg::kTable:
      case reg::kRoute:
      case reg::kStep:
      case reg::kGroup:
        return {};
      default:
        break;
    }
    const bool is_counter =
        address == reg::kCycles || (address >= kCounters && address < kCounters + 16 * kPorts);
    constexpr std::uint32_t known[] = {
        reg::kId,     reg::kShape, reg::kStatus,      reg::kError,    reg::kFirstError,
        reg::kMode,   reg::kRank,  reg::kPacketFlits, reg::kPlaces,   reg::kChunkSize,
        reg::kPieces, reg::kTaken, reg::kArrivals,    reg::kWatchdog, reg::kDoorbell,
        reg::kOver,   reg::kGroups};
    const bool is_there = is_counter || std::ranges::find(known, address) != std::end(known);
    return is_there ? Answer{kOkay, value_of(address)} : Answer{kSlaveError, 0};
  }

  [[nodiscard]] std::uint32_t value_of(std::uint32_t address) {
    switch (address) {
      case reg::kPacketFlits:
      case reg::kPieces:
        return config_[address] & 0xffff;
      case reg::kPlaces:
        return config_[address] & 0x3ff;
      case reg::kChunkSize:
      case reg::kArrivals:
      case reg::kWatchdog:
        return config_[address] & 0xffffff;
      case reg::kDoorbell:
        return in.rung;
      case reg::kOver:
        return in.over;
      case reg::kGroups:
        return kGroups;
      case reg::kId:
        return 0x4d544e31;
      case reg::kShape:
        return 4U << 24 | 8U << 16 | 6U << 8 | kPorts;
      case reg::kStatus:
        return (in.armed ? 8U : 0) | (error_ != 0 ? 4U : 0) | (in.done ? 2U : 0) |
               (in.running ? 1U : 0);
      case reg::kError:
        return error_;
      case reg::kFirstError:
        return first_;
      case reg::kMode:
        return config_[reg::kMode];
      case reg::kRank:
        return config_[reg::kRank] & 0xff;
      case reg::kTaken:
        return in.taken;
      case reg::kCycles:
        return cycles_;
      default:
        return counts_.at((address - kCounters) / 4);
    }
  }

  void step(const std::optional<Write>& write) {
    std::uint32_t error = in.error, kept = error_;
    if (write && write->strobes == kWhole) {
      const std::uint32_t address = write->address & ~3U, value = write->value;
      if (is_configuration(address)) {
        if (in.running || in.armed) {
          error |= 1U << kConfigError;
        } else {
          config_[address] = address == reg::kMode ? value & 0xf3f : value;
        }
      }
      if (address == reg::kError) kept &= ~value;
    }
    if (error != 0 && kept == 0) {
      first_ = in.piece << 16 | in.port << 8 | static_cast<std::uint32_t>(std::countr_zero(error));
    }
    error_ = kept | error;
    if (arms_) {
      cycles_ = 0;
      counts_ = {};
      return;
    }
    cycles_ += in.running && !in.done ? 1 : 0;
    for (unsigned p = 0; p < kPorts; ++p) {
      for (unsigned e = 0; e < 4; ++e) counts_[4 * p + e] += in.events[e] >> p & 1;
    }
  }

  Bench<Vcsr> bench_;
  std::mt19937_64 random_;
  bool aw_ = false, w_ = false, ar_ = false, arms_ = false;
  std::optional<std::uint32_t> b_;
  std::optional<Answer> r_;
  std::array<std::uint32_t, 0x100> config_ = [] {
    std::array<std::uint32_t, 0x100> config{};
    config[reg::kPacketFlits] = 16;
    config[reg::kPieces] = 1;
    return config;
  }();
  std::uint32_t error_ = 0, first_ = 0, cycles_ = 0;
  std::array<std::uint32_t, 4 * kPorts> counts_{};
};

}  // namespace multitree::rtl::csr
