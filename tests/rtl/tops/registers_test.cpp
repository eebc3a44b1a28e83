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

enum Response : std::uint32_t { kOkay = 0, kSlaveError = 2, kDecodeError = 3 };

/// What a write or a read led to.
struct Access {
  unsigned reached = 0;  ///< ranks, by bits
  std::uint32_t response = kOkay, value = 0;
};

/// Three interfaces that answer in the next cycle, and a master.
class Registers {
 public:
  Registers() {
    slave_->s_axil_awvalid_i = slave_->s_axil_wvalid_i = slave_->s_axil_arvalid_i = 0;
    slave_->s_axil_bready_i = slave_->s_axil_rready_i = 1;
    slave_->s_axil_awprot_i = slave_->s_axil_arprot_i = 5;
    slave_->s_axil_wstrb_i = 0xf;
    slave_->m_wready_i = slave_->m_arready_i = 7;
    slave_->m_rvalid_i = slave_->m_bvalid_i = 0;
    slave_->m_bresp_i = slave_->m_rresp_i = 0;
    slave_.reset();
  }

  unsigned errors = 0;  ///< ranks that answer with SLVERR, by bits

  /// \param strobes of the word; \param pause the answer is not taken at once
  Access write(std::uint32_t address, std::uint32_t value, bool pause,
               std::uint32_t strobes = 0xf) {
    Access access;
    slave_->s_axil_awvalid_i = slave_->s_axil_wvalid_i = 1;
    slave_->s_axil_awaddr_i = static_cast<SData>(address);
    slave_->s_axil_wdata_i = value;
    put(slave_->s_axil_wstrb_i, strobes);
    slave_->s_axil_bready_i = !pause;
    slave_.settle();
    EXPECT_TRUE(slave_->s_axil_awready_o && slave_->s_axil_wready_o);
    slave_.rise();
    slave_->s_axil_awvalid_i = slave_->s_axil_wvalid_i = 0;
    slave_.settle();
    access.reached = slave_->m_wvalid_o;
    EXPECT_FALSE(slave_->s_axil_bvalid_o);
    if (access.reached != 0) {
      EXPECT_EQ(slave_->m_awaddr_o, address & 0xfff);
      EXPECT_EQ(slave_->m_wdata_o, value);
      EXPECT_EQ(slave_->m_wstrb_o, strobes);
    }
    EXPECT_EQ(slave_->load_o != 0,
              (address & kAll) != 0 && (address & 0xfff) == kPlaces && strobes == 0xf);
    if (slave_->load_o != 0) {
      EXPECT_EQ(slave_->places_o, value & 0x3ff);
    }
    slave_.rise();
    answer(access.reached);
    slave_.settle();
    EXPECT_EQ(slave_->m_wvalid_o, 0);
    EXPECT_TRUE(slave_->s_axil_bvalid_o);
    access.response = slave_->s_axil_bresp_o;
    if (pause) {
      slave_.rise();
      answer(0);
      slave_.settle();
      EXPECT_TRUE(slave_->s_axil_bvalid_o) << "it stays until it is taken";
      EXPECT_EQ(slave_->s_axil_bresp_o, access.response);
      slave_->s_axil_bready_i = 1;
      slave_.settle();
    }
    slave_.rise();
    answer(0);
    slave_.settle();
    EXPECT_FALSE(slave_->s_axil_bvalid_o);
    return access;
  }

  Access read(std::uint32_t address, const std::array<std::uint32_t, kRanks>& values, bool pause) {
    Access access;
    slave_->s_axil_arvalid_i = 1;
    slave_->s_axil_araddr_i = static_cast<SData>(address);
    slave_->s_axil_rready_i = !pause;
    slave_.settle();
    EXPECT_TRUE(slave_->s_axil_arready_o);
    slave_.rise();
    slave_.settle();
    EXPECT_FALSE(slave_->s_axil_arready_o) << "one at a time";
    slave_->s_axil_arvalid_i = 0;
    access.reached = slave_->m_arvalid_o;
    if (access.reached != 0) {
      EXPECT_EQ(slave_->m_araddr_o, address & 0xfff);
    }
    slave_.cycle();
    put(slave_->m_rvalid_i, access.reached);
    put(slave_->m_rresp_i, responses(access.reached));
    for (std::size_t r = 0; r < kRanks; ++r) slave_->m_rdata_i[r] = values[r];
    slave_.cycle();
    slave_->m_rvalid_i = 0;
    slave_.settle();
    EXPECT_TRUE(slave_->s_axil_rvalid_o);
    access.value = slave_->s_axil_rdata_o;
    access.response = slave_->s_axil_rresp_o;
    if (pause) {
      slave_.cycle();
      slave_.settle();
      EXPECT_TRUE(slave_->s_axil_rvalid_o);
      EXPECT_EQ(slave_->s_axil_rdata_o, access.value);
      EXPECT_EQ(slave_->s_axil_rresp_o, access.response);
      slave_->s_axil_rready_i = 1;
    }
    slave_.cycle();
    slave_.settle();
    EXPECT_FALSE(slave_->s_axil_rvalid_o);
    return access;
  }

  /// Writes of which no answer is taken. \returns how many are accepted.
  unsigned write_without_end() {
    slave_->s_axil_awvalid_i = slave_->s_axil_wvalid_i = 1;
    slave_->s_axil_awaddr_i = 0x38;
    slave_->s_axil_bready_i = 0;
    unsigned accepted = 0, reached = 0;
    for (int c = 0; c < 20; ++c) {
      answer(reached);
      slave_.settle();
      accepted += slave_->s_axil_awready_o;
      reached = slave_->m_wvalid_o;
      slave_.rise();
    }
    return accepted;
  }

 private:
  /// What ranks answer.
  [[nodiscard]] std::uint32_t responses(unsigned ranks) const {
    std::uint32_t bits = 0;
    for (unsigned r = 0; r < kRanks; ++r) {
      if ((ranks & errors) >> r & 1) bits |= kSlaveError << (2 * r);
    }
    return bits;
  }
  void answer(unsigned ranks) {
    put(slave_->m_bvalid_i, ranks);
    put(slave_->m_bresp_i, responses(ranks));
  }

  Bench<Vnet_axil> slave_;
};

TEST(NetworkRegisters, ReachOneRankOrAll) {
  for (const bool pause : {false, true}) {
    Registers registers;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      EXPECT_EQ(registers.write(r << 12 | 0x38, r + 7, pause).reached, 1U << r);
      EXPECT_EQ(registers.write(r << 12 | kPlaces, 33, pause).reached, 1U << r);
    }
    const Access nobody = registers.write(3 << 12 | 0x38, 1, pause);
    EXPECT_EQ(nobody.reached, 0U) << "there is no rank 3";
    EXPECT_EQ(nobody.response, kDecodeError);
    EXPECT_EQ(registers.write(kAll | 0x08, 4, pause).reached, 7U);
    EXPECT_EQ(registers.write(kAll | kPlaces, 318, pause).reached, 7U);
    EXPECT_EQ(registers.write(kAll | kPlaces, 318, pause, 0x3).reached, 7U);
  }
}

TEST(NetworkRegisters, AreReadFromOneRankOrAny) {
  for (const bool pause : {false, true}) {
    Registers registers;
    const std::array<std::uint32_t, kRanks> values = {0x1, 0x20, 0x80000000};
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      EXPECT_EQ(registers.read(r << 12 | 0x10, values, pause).value, values[r]);
    }
    const Access nobody = registers.read(3 << 12 | 0x10, values, pause);
    EXPECT_EQ(nobody.value, 0U);
    EXPECT_EQ(nobody.response, kDecodeError);
    EXPECT_EQ(registers.read(kAll | 0x10, values, pause).value, 0x80000021U);
  }
}

TEST(NetworkRegisters, ErrorsAreAnswered) {
  for (const bool pause : {false, true}) {
    Registers registers;
    registers.errors = 2;
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      const std::uint32_t expected = r == 1 ? kSlaveError : kOkay;
      EXPECT_EQ(registers.write(r << 12 | 0x58, 1, pause).response, expected);
      EXPECT_EQ(registers.read(r << 12 | 0x58, {}, pause).response, expected);
    }
    EXPECT_EQ(registers.write(kAll | 0x58, 1, pause).response, kSlaveError) << "of any";
    EXPECT_EQ(registers.read(kAll | 0x58, {}, pause).response, kSlaveError);
  }
}

TEST(NetworkRegisters, NoMoreWritesAreAcceptedThanAnswersKept) {
  Registers registers;
  EXPECT_EQ(registers.write_without_end(), 4U);
}

}  // namespace
}  // namespace multitree::rtl
