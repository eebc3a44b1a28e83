// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_csr against a model of its registers, with AXI4-Lite requests that come in any order.
#include <gtest/gtest.h>

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

namespace multitree::rtl {
namespace {

constexpr unsigned kPorts = 2, kEntryBits = 70, kRouteBits = 127, kErrors = mt_pkg::kNumErrors,
                   kConfigError = mt_pkg::kErrConfig;
constexpr std::uint32_t kCounters = 0x100;

/// What the interface tells the registers.
struct Inputs {
  bool running = false, armed = false, done = false;
  std::uint32_t taken = 0, error = 0, port = 0, piece = 0;
  std::array<unsigned, 4> events{};  // a bit for each port
};

using Write = std::pair<std::uint32_t, std::uint32_t>;

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
  std::vector<std::uint32_t> values;  ///< that were read
  std::vector<std::array<std::uint32_t, 3>> entries;
  std::vector<std::array<std::uint32_t, 4>> routes;
  std::vector<std::uint32_t> steps;
  std::vector<unsigned> commands;  ///< go 1, clear 2, arm 4
  std::vector<std::uint32_t> loads;
  unsigned hurry = 4;  ///< of 8: how often a valid or ready is raised

  [[nodiscard]] bool is_idle() const { return writes.empty() && reads.empty() && !b_ && !r_; }
  void finish() {
    while (!is_idle() && !testing::Test::HasFailure()) cycle();
  }
  std::uint32_t read(std::uint32_t address) {
    reads.push_back(address);
    finish();
    return values.back();
  }
  void write(std::uint32_t address, std::uint32_t value) {
    writes.emplace_back(address, value);
    finish();
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
    put(bench_->s_axil_awaddr_i, aw_ ? writes.front().first : 0xabc);
    bench_->s_axil_wdata_i = w_ ? writes.front().second : 0x12345678;
    put(bench_->s_axil_araddr_i, ar_ ? reads.front() : 0xabc);
    const bool b_ready = now(), r_ready = now();
    bench_->s_axil_bready_i = b_ready;
    bench_->s_axil_rready_i = r_ready;
    bench_.settle();
    EXPECT_EQ(bench_->s_axil_bvalid_o, b_);
    EXPECT_EQ(bench_->s_axil_rvalid_o, r_.has_value());
    const bool writes_now = aw_ && w_ && (!b_ || b_ready);
    const bool reads_now = ar_ && (!r_ || r_ready);
    EXPECT_EQ(bench_->s_axil_awready_o, writes_now);
    EXPECT_EQ(bench_->s_axil_wready_o, writes_now);
    EXPECT_EQ(bench_->s_axil_arready_o, reads_now);
    if (r_) {
      EXPECT_EQ(bench_->s_axil_rdata_o, *r_);
      if (r_ready) values.push_back(bench_->s_axil_rdata_o);
    }
    check_registers();
    record();
    const std::optional<Write> write = writes_now ? std::optional(writes.front()) : std::nullopt;
    const std::uint32_t value = reads_now ? value_of(reads.front()) : 0;
    step(write);
    if (writes_now) {
      writes.pop_front();
      aw_ = w_ = false;
    }
    b_ = writes_now || (b_ && !b_ready);
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
    EXPECT_EQ(bench_->dtype_o, config_[reg::kMode] >> 4 & 3);
    EXPECT_EQ(bench_->vc_mask_o, config_[reg::kMode] >> 8 & 0xf);
    EXPECT_EQ(bench_->packet_flits_o, config_[reg::kPacketFlits] & 0xffff);
    EXPECT_EQ(bench_->size_o, config_[reg::kChunkSize] & 0xffffff);
    EXPECT_EQ(bench_->pieces_o, config_[reg::kPieces] & 0xffff);
    EXPECT_EQ(bench_->arrivals_o, config_[reg::kArrivals] & 0xffffff);
    EXPECT_EQ(bench_->watchdog_o, config_[reg::kWatchdog] & 0xffffff);
    EXPECT_EQ(bench_->failed_o, error_ != 0);
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
    if (bench_->load_o) loads.push_back(bench_->places_o);
    const unsigned command = (bench_->go_o ? reg::kGo : 0) | (bench_->clear_o ? reg::kClear : 0) |
                             (bench_->arm_o ? reg::kArm : 0);
    if (command != 0) commands.push_back(command);
    arms_ = bench_->arm_o;
  }

  [[nodiscard]] std::uint32_t value_of(std::uint32_t address) {
    switch (address) {
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
    if (write) {
      const auto [address, value] = *write;
      if (address >= reg::kMode && address <= reg::kStep) {
        if (in.running || in.armed) {
          error |= 1U << kConfigError;
        } else {
          config_[address] = address == reg::kMode ? value & 0xf37 : value;
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
  bool aw_ = false, w_ = false, ar_ = false, b_ = false, arms_ = false;
  std::optional<std::uint32_t> r_;
  std::array<std::uint32_t, 0x100> config_ = [] {
    std::array<std::uint32_t, 0x100> config{};
    config[reg::kPacketFlits] = 16;
    config[reg::kPieces] = 1;
    return config;
  }();
  std::uint32_t error_ = 0, first_ = 0, cycles_ = 0;
  std::array<std::uint32_t, 4 * kPorts> counts_{};
};

TEST(Csr, FollowsItsModel) {
  constexpr std::uint32_t written[] = {reg::kControl,   reg::kError,       reg::kMode,
                                       reg::kRank,      reg::kPacketFlits, reg::kPlaces,
                                       reg::kChunkSize, reg::kPieces,      reg::kArrivals,
                                       reg::kWatchdog,  reg::kStep,        reg::kId};
  constexpr std::uint32_t read[] = {reg::kId,    reg::kShape,      reg::kStatus,
                                    reg::kError, reg::kFirstError, reg::kMode,
                                    reg::kRank,  reg::kTaken,      reg::kCycles};
  for (int seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) {
    Csr csr(seed);
    std::mt19937_64 random(static_cast<unsigned>(seed));
    csr.hurry = static_cast<unsigned>(1 + random() % 8);
    for (int i = 0; i < 3000; ++i) {
      if (csr.writes.size() < 4) {
        csr.writes.emplace_back(written[random() % std::size(written)],
                                static_cast<std::uint32_t>(random()));
      }
      if (csr.reads.size() < 4) csr.reads.push_back(read[random() % std::size(read)]);
      if (random() % 50 == 0) csr.in.running = random() % 2 == 0;
      if (random() % 50 == 0) csr.in.armed = random() % 3 == 0;
      csr.in.done = random() % 20 == 0;
      csr.in.taken = static_cast<std::uint32_t>(random() & 0xffffff);
      csr.in.error = random() % 10 == 0 ? 1U << random() % kErrors | 1U << random() % kErrors : 0;
      csr.in.port = static_cast<std::uint32_t>(random() % 16);
      csr.in.piece = static_cast<std::uint32_t>(random() & 0xffff);
      for (unsigned& event : csr.in.events) event = static_cast<unsigned>(random() % 4);
      csr.cycle();
    }
    csr.finish();
    // Counters are a few cycles behind.
    csr.in.events = {};
    for (unsigned i = 0; i < 4 * kPorts; ++i) csr.cycle();
    for (std::uint32_t c = 0; c < 4 * kPorts; ++c) csr.reads.push_back(kCounters + 4 * c);
    csr.finish();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Csr, CollectsEntriesAndRoutes) {
  Csr csr(1);
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const bool is_entry = random() % 2 == 0;
    if (random() % 5 == 0) {  // one that is given up
      csr.write(is_entry ? reg::kTable : reg::kRoute, 1);
      csr.write(reg::kControl, reg::kClear);
    }
    std::array<std::uint32_t, 4> words{};
    for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
    const std::size_t count = is_entry ? 3 : 4;
    for (std::size_t w = 0; w < count; ++w) {
      csr.write(is_entry ? reg::kTable : reg::kRoute, words[w]);
    }
    if (is_entry) {
      ASSERT_EQ(csr.entries.size(), 1);
      words[2] &= (1U << (kEntryBits - 64)) - 1;
      EXPECT_EQ(csr.entries[0], (std::array{words[0], words[1], words[2]}));
    } else {
      ASSERT_EQ(csr.routes.size(), 1);
      words[3] &= (1U << (kRouteBits - 96)) - 1;
      EXPECT_EQ(csr.routes[0], words);
    }
    csr.entries.clear();
    csr.routes.clear();
  }
}

TEST(Csr, CommandsCountOnlyWhenTheyMay) {
  Csr csr(1);
  csr.write(reg::kControl, reg::kGo);  // not armed
  EXPECT_EQ(csr.commands, std::vector<unsigned>{});
  csr.write(reg::kControl, reg::kArm);
  csr.write(reg::kControl, reg::kClear);
  csr.in.armed = true;
  csr.write(reg::kControl, reg::kGo);
  csr.in.running = true;
  for (const std::uint32_t command : {reg::kGo, reg::kClear, reg::kArm}) {
    csr.write(reg::kControl, command);
  }
  EXPECT_EQ(csr.commands, (std::vector<unsigned>{reg::kArm, reg::kClear, reg::kGo}));
  EXPECT_EQ(csr.read(reg::kError), 0);
}

TEST(Csr, NothingChangesWhileACollectiveRuns) {
  for (const bool is_running : {false, true}) {
    Csr csr(1);
    csr.write(reg::kRank, 7);
    (is_running ? csr.in.running : csr.in.armed) = true;
    csr.in.port = 5;
    csr.in.piece = 0x123;
    for (std::uint32_t address = reg::kMode; address <= reg::kStep; address += 4) {
      csr.write(address, 0xffffffff);
      EXPECT_EQ(csr.read(reg::kError), 1U << kConfigError) << address;
      EXPECT_EQ(csr.read(reg::kFirstError), 0x123U << 16 | 5U << 8 | kConfigError);
      csr.write(reg::kError, 1U << kConfigError);
      EXPECT_EQ(csr.read(reg::kError), 0);
    }
    EXPECT_EQ(csr.read(reg::kRank), 7);
    EXPECT_TRUE(csr.entries.empty() && csr.routes.empty() && csr.steps.empty() &&
                csr.loads.empty());
  }
}

TEST(Csr, TheFirstErrorIsKept) {
  Csr csr(1);
  const auto raise = [&](std::uint32_t error, std::uint32_t port) {
    csr.in.error = error;
    csr.in.port = port;
    csr.in.piece = 9;
    csr.cycle();
    csr.in.error = 0;
  };
  raise(1U << 7 | 1U << 5, 3);
  raise(1U << 1, 2);
  EXPECT_EQ(csr.read(reg::kError), 1U << 7 | 1U << 5 | 1U << 1);
  EXPECT_EQ(csr.read(reg::kFirstError), 9U << 16 | 3U << 8 | 5);
  csr.write(reg::kError, 1U << 5 | 1U << 7);  // one is left: still the first
  raise(1U << 2, 1);
  EXPECT_EQ(csr.read(reg::kFirstError), 9U << 16 | 3U << 8 | 5);
  csr.write(reg::kError, ~0U);
  raise(1U << 2, 1);
  EXPECT_EQ(csr.read(reg::kFirstError), 9U << 16 | 1U << 8 | 2);
}

}  // namespace
}  // namespace multitree::rtl
