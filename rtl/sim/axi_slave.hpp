// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A memory behind AXI4, cycle by cycle, as slow, irregular and unhelpful as the standard allows.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "rtl/sim/flit_shape.hpp"

namespace multitree::rtl {

class Memory;

/// How such a memory behaves.
struct AxiTiming {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  std::uint32_t latency = 1;  ///< cycles from a burst to its answer, at least 1
  std::uint32_t jitter = 0;   ///< and up to so many more, each burst its own
  std::uint32_t stalls = 0;   ///< of 256: how often a channel does nothing in a cycle
  std::uint64_t seed = 1;
  std::uint64_t bad_read = kNever;   ///< number of the burst that is answered with SLVERR,
  std::uint64_t bad_write = kNever;  ///< counted from 0
};

/// Where a buffer, from the first whole word on, and what is beside it lie: on no page's border. As
/// in mt_sim_axi4.
inline constexpr std::uint64_t kAxiBuffer = 0x12'3450, kAxiBeside = 0x40'0000'0fc0;

/// A word of memory, or the widest that there is: its lowest words.
using AxiWord = std::array<std::uint32_t, kMostDataW / 32>;

/// What a master says in a cycle.
struct AxiMaster {
  bool awvalid = false, wvalid = false, wlast = false, bready = false, arvalid = false,
       rready = false;
  std::uint64_t awaddr = 0, araddr = 0;
  std::uint64_t wstrb = 0;
  std::uint32_t awlen = 0, arlen = 0, arid = 0;
  AxiWord wdata{};
};

/// What the memory says in a cycle; it does not depend on what the master says in that cycle.
struct AxiAnswer {
  bool awready = false, wready = false, bvalid = false, arready = false, rvalid = false,
       rlast = false;
  std::uint32_t bresp = 0, rid = 0, rresp = 0;
  AxiWord rdata{};
};

/// One port of it. Words of a burst are read, and written, at any time between request and answer:
/// whoever reads what is being written gets either. Bursts of different ids are answered in any
/// order, a word of one, then one of another. Depending on the seed it waits with AWREADY for a
/// word on W, or with WREADY for an AW, or for neither.
class AxiSlave {
 public:
  AxiSlave(Memory& memory, const AxiTiming& timing);

  /// The end of a cycle. \param master of it. \returns what it says in the next.
  /// \throws std::logic_error on what AXI4 does not allow.
  const AxiAnswer& tick(const AxiMaster& master);

  [[nodiscard]] std::uint64_t read_bursts() const { return num_reads_; }
  [[nodiscard]] std::uint64_t read_words() const { return words_read_; }
  [[nodiscard]] std::uint64_t write_bursts() const { return num_writes_; }

 private:
  struct Burst {
    std::uint64_t addr = 0, due = 0;
    std::uint32_t words = 0, at = 0;
    bool early = false, bad = false;
    std::vector<AxiWord> data = {};
    std::vector<std::uint64_t> strobes = {};
  };
  static constexpr std::uint32_t kIds = 16;
  static constexpr std::uint32_t kSlaveError = 2;

  [[nodiscard]] std::uint64_t buffer() const { return kAxiBuffer & ~(word_ - 1); }
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> place_of(std::uint64_t addr) const;
  Burst burst_of(std::uint64_t addr, std::uint32_t len, std::uint64_t number, std::uint64_t bad);
  void accept(const AxiMaster& master);
  void take_words();
  void answer_write();
  void answer_read();
  void put(const Burst& burst, std::uint32_t word);
  void put_all(Burst& burst);
  AxiWord get(std::uint64_t addr);
  [[nodiscard]] bool moves() { return random_() % 256 >= timing_.stalls; }

  struct Beat {
    AxiWord data{};
    std::uint64_t strobes = 0;
    bool last = false;
  };

  Memory& memory_;
  const std::uint64_t word_;  // bytes
  const AxiTiming timing_;
  std::mt19937_64 random_;
  AxiAnswer answer_;
  std::array<std::deque<Burst>, kIds> reads_;  // [id]
  std::deque<Burst> writes_, written_;         // whose words are still to come; whose B is
  std::deque<Beat> beats_;                     // that belong to no burst yet
  std::uint64_t now_ = 0, num_reads_ = 0, num_writes_ = 0, words_read_ = 0;
};

}  // namespace multitree::rtl
