// SPDX-License-Identifier: BSD-3-Clause
// The registers of three ranks behind one slave.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <random>

#include "Vnet_axil.h"
#include "tests/rtl/prim/bench.hpp"

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kRanks = 3, kAll = 1U << 14, kPlaces = 0x24;

/// Three interfaces that answer in the next cycle, and a master.
class Registers {
 public:
  Registers() {
    slave_->s_axil_awvalid_i = slave_->s_axil_wvalid_i = slave_->s_axil_arvalid_i = 0;
    slave_->s_axil_bready_i = slave_->s_axil_rready_i = 1;
    slave_->m_wready_i = slave_->m_arready_i = 7;
    slave_->m_rvalid_i = 0;
    slave_.reset();
  }

  /// \returns the ranks that a write reached, in how many cycles.
  unsigned write(std::uint32_t address, std::uint32_t value, bool pause) {
    slave_->s_axil_awvalid_i = slave_->s_axil_wvalid_i = 1;
    slave_->s_axil_awaddr_i = static_cast<SData>(address);
    slave_->s_axil_wdata_i = value;
    slave_->s_axil_bready_i = !pause;
    slave_.settle();
    EXPECT_TRUE(slave_->s_axil_awready_o && slave_->s_axil_wready_o);
    slave_.rise();
    slave_.settle();
    const unsigned reached = slave_->m_wvalid_o;
    EXPECT_TRUE(slave_->s_axil_bvalid_o);
    if (reached != 0) {
      EXPECT_EQ(slave_->m_awaddr_o, address & 0xfff);
      EXPECT_EQ(slave_->m_wdata_o, value);
    }
    EXPECT_EQ(slave_->load_o != 0, (address & kAll) != 0 && (address & 0xfff) == kPlaces);
    if (slave_->load_o != 0) {
      EXPECT_EQ(slave_->places_o, value & 0x3ff);
    }
    if (pause) {
      // Nobody takes the answer: nothing more is accepted, and nothing repeated.
      EXPECT_FALSE(slave_->s_axil_awready_o || slave_->s_axil_wready_o);
      slave_.rise();
      slave_.settle();
      EXPECT_EQ(slave_->m_wvalid_o, 0);
      EXPECT_TRUE(slave_->s_axil_bvalid_o);
      slave_->s_axil_bready_i = 1;
    }
    slave_->s_axil_awvalid_i = slave_->s_axil_wvalid_i = 0;
    slave_.cycle();
    slave_.settle();
    EXPECT_FALSE(slave_->s_axil_bvalid_o);
    return reached;
  }

  std::uint32_t read(std::uint32_t address, const std::array<std::uint32_t, kRanks>& values,
                     bool pause) {
    slave_->s_axil_arvalid_i = 1;
    slave_->s_axil_araddr_i = static_cast<SData>(address);
    slave_->s_axil_rready_i = !pause;
    slave_.settle();
    EXPECT_TRUE(slave_->s_axil_arready_o);
    slave_.rise();
    slave_.settle();
    EXPECT_FALSE(slave_->s_axil_arready_o) << "one at a time";
    slave_->s_axil_arvalid_i = 0;
    const auto asked = slave_->m_arvalid_o;
    if (asked != 0) {
      EXPECT_EQ(slave_->m_araddr_o, address & 0xfff);
    }
    slave_.cycle();
    slave_->m_rvalid_i = asked;
    for (std::size_t r = 0; r < kRanks; ++r) slave_->m_rdata_i[r] = values[r];
    slave_.cycle();
    slave_->m_rvalid_i = 0;
    slave_.settle();
    EXPECT_TRUE(slave_->s_axil_rvalid_o);
    const std::uint32_t value = slave_->s_axil_rdata_o;
    if (pause) {
      slave_.cycle();
      slave_.settle();
      EXPECT_TRUE(slave_->s_axil_rvalid_o);
      EXPECT_EQ(slave_->s_axil_rdata_o, value);
      slave_->s_axil_rready_i = 1;
    }
    slave_.cycle();
    slave_.settle();
    EXPECT_FALSE(slave_->s_axil_rvalid_o);
    return value;
  }

 private:
  Bench<Vnet_axil> slave_;
};

TEST(NetworkRegisters, ReachOneRankOrAll) {
  for (const bool pause : {false, true}) {
    Registers registers;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      EXPECT_EQ(registers.write(r << 12 | 0x38, r + 7, pause), 1U << r);
      EXPECT_EQ(registers.write(r << 12 | kPlaces, 33, pause), 1U << r);
    }
    EXPECT_EQ(registers.write(3 << 12 | 0x38, 1, pause), 0U) << "there is no rank 3";
    EXPECT_EQ(registers.write(kAll | 0x08, 4, pause), 7U);
    EXPECT_EQ(registers.write(kAll | kPlaces, 318, pause), 7U);
  }
}

TEST(NetworkRegisters, AreReadFromOneRankOrAny) {
  for (const bool pause : {false, true}) {
    Registers registers;
    const std::array<std::uint32_t, kRanks> values = {0x1, 0x20, 0x80000000};
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      EXPECT_EQ(registers.read(r << 12 | 0x10, values, pause), values[r]);
    }
    EXPECT_EQ(registers.read(3 << 12 | 0x10, values, pause), 0U);
    EXPECT_EQ(registers.read(kAll | 0x10, values, pause), 0x80000021U);
  }
}

}  // namespace
}  // namespace multitree::rtl
