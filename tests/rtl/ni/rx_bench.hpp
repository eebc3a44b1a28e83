// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mt_rx_port with all that is around it: a link, memories, an adder, counts, another receive port
/// and send ports, which obey docs/nic-spec.md, "Pipelined reduction".
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../prim/bench.hpp"
#include "Vrx_port.h"
#include "flit.hpp"

namespace multitree::rtl {

struct RxMessage {
  bool gather = false;
  bool elsewhere = false;  ///< another port's
  unsigned after = 0;
  std::vector<std::uint8_t> payload = {};  ///< whole words
};

struct RxPiece {
  unsigned start = 0, size = 0;  ///< elements
  unsigned sends = 0;            ///< messages of it that are sent; number j waits for j taken in
  std::vector<RxMessage> messages = {};  ///< in their turns
};

struct RxConfig {
  bool wide = true;
  unsigned packet_words = 0;  ///< 0: messages
  bool overtakes = false;     ///< packets of a message may come in any order
  bool shy = false;           ///< memory accepts only what it was asked in the cycle before
  /// Gaps between flits; the five streams; words read; the other port; the send ports.
  std::array<Throttle::Kind, 11> kinds{};
};

class RxBench {
 public:
  RxBench(const RxConfig& config, std::vector<RxPiece> pieces, std::uint64_t seed);

  /// Until all is taken in and sent.
  void run();
  void cycle();
  /// A flit in the next cycle.
  void send(const HardwareFlit& flit) { link_.push_back(flit); }
  [[nodiscard]] HardwareHeader header_of(unsigned piece, unsigned turn, unsigned offset = 0) const;

  Vrx_port* operator->() { return bench_.operator->(); }
  [[nodiscard]] std::uint64_t now() const { return cycle_; }
  /// What happened: cycles of headers that came, and of words written.
  std::vector<std::uint64_t> headers, results;
  unsigned staged = 0, parked = 0;
  /// Corrupt 1, length 2, piece 4, duplicate 8, no slot 16.
  unsigned errors = 0;
  bool expects_errors = false;

 private:
  using Bytes = std::vector<std::uint8_t>;
  static constexpr unsigned kWordBytes = 16;
  /// What RxConfig::kinds are for.
  enum : unsigned {
    kFlits,
    kAccReq,
    kStageReq,
    kStageWr,
    kRes,
    kAcc,
    kStage,
    kOther,
    kSends,
    kUnitGo,
    kUnitTake
  };
  struct Worm {
    unsigned piece = 0, turn = 0, offset = 0, end = 0;
  };
  struct Wrote {
    bool valid = false;
    unsigned piece = 0, turn = 0, count = 0, end = 0;
  };
  struct Send {
    bool active = false;
    unsigned piece = 0, number = 0, count = 0;
  };

  [[nodiscard]] unsigned words_of(unsigned piece) const;
  [[nodiscard]] unsigned address_of(unsigned piece, unsigned word) const;
  [[nodiscard]] std::uint32_t keep_of(unsigned piece, unsigned word) const;
  [[nodiscard]] bool is_finished() const;
  static FlitWord word_at(const Bytes& bytes, std::size_t at);
  static FlitWord sum(const FlitWord& a, const FlitWord& b);
  std::vector<Worm> worms_of(unsigned piece, unsigned turn) const;
  [[nodiscard]] std::string report() const;
  void make_references();
  void make_link();
  void set_inputs();
  [[nodiscard]] bool accepts(unsigned kind);
  void note_asked();
  void look_up();
  void check_errors();
  void memory_and_unit();
  void result();
  [[nodiscard]] unsigned written_before(const Worm& worm) const;
  void begin_other();
  void other_port();
  [[nodiscard]] bool read_ok(unsigned piece, unsigned after, unsigned pos) const;
  void send_ports();

  RxConfig config_;
  std::vector<RxPiece> pieces_;
  std::mt19937_64 random_;
  std::vector<Throttle> throttles_;
  Bench<Vrx_port> bench_;
  Bytes memory_;
  std::map<unsigned, Bytes> beside_;
  std::vector<std::vector<Bytes>> prefix_;       // [piece][messages taken in]
  std::vector<std::vector<unsigned>> versions_;  // [piece][word]
  std::deque<HardwareFlit> link_;
  bool ready_ = false;
  bool unit_goes_ = true, unit_takes_ = true;
  std::array<bool, 11> asked_{};  // by kind: in the cycle before, and not accepted
  std::deque<FlitWord> acc_, stage_;
  bool acc_stays_ = false, stage_stays_ = false;
  struct Stage {
    bool valid = false;
    FlitWord word{};
  };
  std::array<Stage, 2> unit_;
  std::vector<Worm> other_;
  bool other_busy_ = false;
  Worm other_worm_;
  unsigned other_known_ = 0;
  std::map<unsigned, unsigned> other_claims_;
  Wrote other_wrote_, dut_wrote_;
  std::array<Send, 2> sends_;
  std::vector<unsigned> taken_, sent_, claimed_, begun_;
  std::uint64_t cycle_ = 0;
  std::vector<std::function<void()>> at_edge_;
};

}  // namespace multitree::rtl
