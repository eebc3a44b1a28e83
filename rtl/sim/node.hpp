// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A verilated node or switch behind one interface.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "rtl/sim/network.hpp"

namespace multitree::rtl {

/// Signals of one cycle. Ports are numbered as the links of the topology's node.
class Node {
 public:
  virtual ~Node() = default;

  /// The clock's rising edge, with the inputs as they have been set.
  virtual void tick() = 0;
  virtual void set_reset(bool active) = 0;
  /// The clock between edges, for waves; tick() does not need it.
  virtual void set_clock(bool high) = 0;

  /// Ports by bits: those with a flit or a credit.
  struct Active {
    std::uint32_t flits = 0, credits = 0;
  };
  [[nodiscard]] virtual Active outputs() const = 0;
  /// What comes in this cycle, and of which virtual channels: put_flit() and put_credit().
  virtual void set_inputs(Active inputs) = 0;
  virtual void put_flit(std::uint32_t port, const LinkFlit& flit) = 0;
  virtual void put_credit(std::uint32_t port, std::uint8_t vc) = 0;
  /// Without `valid`. \pre There is one.
  virtual void get_flit(std::uint32_t port, LinkFlit& flit) const = 0;
  /// \returns The virtual channel. \pre There is one.
  [[nodiscard]] virtual std::uint8_t get_credit(std::uint32_t port) const = 0;

  /// Ranks: a write in this cycle (none: address 0xfff). Switches: only of places.
  virtual void put_write(const RegisterWrite* write) = 0;
  virtual void put_read(const std::uint32_t* address) = 0;
  [[nodiscard]] virtual bool get_read(std::uint32_t& value) const = 0;
  /// Links from here that may be given a flit in this cycle, and that are dead; all are ready and
  /// none is dead at first.
  virtual void put_links(std::uint32_t ready, std::uint32_t dead) = 0;
  virtual void put_stalls(std::uint32_t stalls) = 0;  ///< 5 for each of the first ports
  /// Whether memory accepts only what it was asked in the cycle before; not so at first.
  virtual void set_shy(bool shy) = 0;
  /// Cycles that memory takes to answer, 1 to 1023; 1 at first.
  virtual void set_latency(std::uint32_t cycles) = 0;
  /// Words that memory reads, and that it writes, in a cycle, up to 63; 0 as at first: all.
  virtual void set_memory_ports(std::uint32_t words) = 0;
  /// Whether trace() and rx_trace() say more than what runs, is done and is taken in; they do at
  /// first.
  virtual void set_traced(bool traced) = 0;
  [[nodiscard]] virtual NodeTrace trace() const = 0;
  [[nodiscard]] virtual Network::RxTrace rx_trace(std::uint32_t port) const = 0;
};

/// A rank with its memory. Where two ports share a unit, or a port has more places for early worms
/// or other words under way than usual, or it has more links or wider flits, its sums are always
/// made by a function.
/// \returns null if there is none with so many links.
std::unique_ptr<Node> make_rank(std::uint32_t memory, Adders adders,
                                const nic::Parameters& parameters, std::uint32_t links,
                                const std::string& name);
/// Links that a rank, or a switch, has at most with flits of so many bytes.
std::uint32_t most_links(std::uint32_t flit_bytes, bool of_rank);
/// A rank with its memory behind so many AXI4 ports, and as many words under way as any has.
/// \returns null if there is none with so many and such flits.
std::unique_ptr<Node> make_axi_rank(std::uint32_t memory, std::uint32_t ports,
                                    std::uint32_t flit_bytes, const std::string& name);
/// Places for early worms that a port may have.
inline constexpr std::uint32_t kMostParkSlots = 255;
/// Words that may wait for memory in nodes that are verilated: parameters of Parameters.
struct WordsUnderWay {
  std::uint32_t send = mt_pkg::kSendWords, add = mt_pkg::kAddWords;
  bool operator==(const WordsUnderWay&) const = default;
};
/// The usual, a few, and more than memory of 400 cycles needs.
inline constexpr std::array<WordsUnderWay, 3> kWordsUnderWay = {{{}, {24, 32}, {512, 512}}};
/// Those of nodes with wider flits.
inline constexpr WordsUnderWay kWideWords = kWordsUnderWay[2];
/// A switch for so many links. \returns null if there is none that large.
std::unique_ptr<Node> make_switch(std::uint32_t links, std::uint32_t flit_bytes,
                                  const std::string& name);

/// Register addresses, docs/nic-spec.md.
namespace reg {
inline constexpr std::uint32_t kId = 0x00, kShape = 0x04, kControl = 0x08, kStatus = 0x0c,
                               kError = 0x10, kFirstError = 0x14, kMode = 0x18, kRank = 0x1c,
                               kPacketFlits = 0x20, kPlaces = 0x24, kChunkSize = 0x28,
                               kPieces = 0x2c, kArrivals = 0x30, kWatchdog = 0x34, kTable = 0x38,
                               kRoute = 0x40, kStep = 0x44, kGroup = 0x48, kCycles = 0x4c,
                               kDoorbell = 0x50, kOver = 0x54, kDeadline = 0x58, kLeast = 0x5c,
                               kLosses = 0x60, kTaken = 0x80, kGroups = 0x84;
inline constexpr std::uint32_t kGo = 1, kClear = 2, kArm = 4;
}  // namespace reg

}  // namespace multitree::rtl
