// SPDX-License-Identifier: BSD-3-Clause
#include "rx_bench.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace multitree::rtl {
namespace {

constexpr unsigned kPieceCounts = 8;

FlitWord to_word(const std::uint32_t* words) { return {words[0], words[1], words[2], words[3]}; }

}  // namespace

RxBench::RxBench(const RxConfig& config, std::vector<RxPiece> pieces, std::uint64_t seed)
    : config_(config),
      pieces_(std::move(pieces)),
      random_(seed),
      bench_(static_cast<int>(seed)),
      taken_(kPieceCounts),
      sent_(kPieceCounts),
      claimed_(kPieceCounts),
      begun_(kPieceCounts) {
  for (std::size_t k = 0; k < config.kinds.size(); ++k) {
    throttles_.emplace_back(config.kinds[k], seed * 16 + k);
  }
  make_references();
  make_link();
  bench_->wide_i = config.wide;
  bench_->halt_i = 0;
  bench_->rung_i = 1;
  bench_->valid_i = 0;
  bench_->acc_tvalid_i = bench_->stage_tvalid_i = bench_->unit_valid_i = 0;
  bench_->acc_req_tready_i = bench_->stage_req_tready_i = 0;
  bench_->stage_wr_tready_i = bench_->res_tready_i = 0;
  bench_->taken_i = bench_->sent_i = bench_->claimed_i = 0;
  bench_->before_valid_i = bench_->reading_i = 0;
  bench_->clear_i = 0;
  bench_.reset();
  bench_->clear_i = 1;
  for (unsigned p = 0; p < kPieceCounts; ++p) {
    put(bench_->clear_piece_i, p);
    bench_.cycle();
  }
  bench_->clear_i = 0;
}

unsigned RxBench::words_of(unsigned piece) const {
  const unsigned lanes = config_.wide ? 4 : 8;
  return (pieces_[piece].size + lanes - 1) / lanes;
}

unsigned RxBench::address_of(unsigned piece, unsigned word) const {
  return pieces_[piece].start * (config_.wide ? 4 : 2) + kWordBytes * word;
}

std::uint32_t RxBench::keep_of(unsigned piece, unsigned word) const {
  if (word + 1 < words_of(piece)) return 0xffff;
  const unsigned bytes = pieces_[piece].size * (config_.wide ? 4 : 2) - kWordBytes * word;
  return (1U << bytes) - 1;
}

FlitWord RxBench::word_at(const Bytes& bytes, std::size_t at) {
  FlitWord word{};
  if (at + kWordBytes <= bytes.size()) std::memcpy(word.data(), bytes.data() + at, kWordBytes);
  return word;
}

/// Not of a type of numbers: byte by byte, so that every byte shows whether it was added.
FlitWord RxBench::sum(const FlitWord& a, const FlitWord& b) {
  std::array<std::uint8_t, kWordBytes> x{}, y{};
  std::memcpy(x.data(), a.data(), kWordBytes);
  std::memcpy(y.data(), b.data(), kWordBytes);
  for (unsigned i = 0; i < kWordBytes; ++i) x[i] = static_cast<std::uint8_t>(3 * x[i] + y[i]);
  FlitWord word;
  std::memcpy(word.data(), x.data(), kWordBytes);
  return word;
}

bool RxBench::is_finished() const {
  for (unsigned p = 0; p < pieces_.size(); ++p) {
    if (taken_[p] != pieces_[p].messages.size() || sent_[p] != pieces_[p].sends) return false;
  }
  return true;
}

void RxBench::run() {
  while (!is_finished() && !testing::Test::HasFailure()) {
    cycle();
    if (cycle_ > 50'000) {
      ADD_FAILURE() << "stands still" << report();
      return;
    }
  }
  for (unsigned p = 0; p < pieces_.size(); ++p) {
    for (unsigned w = 0; w < words_of(p); ++w) {
      EXPECT_EQ(versions_[p][w], pieces_[p].messages.size()) << "piece " << p << " word " << w;
    }
    const std::size_t bytes = std::size_t{pieces_[p].size} * (config_.wide ? 4 : 2);
    EXPECT_TRUE(std::equal(prefix_[p].back().begin(),
                           prefix_[p].back().begin() + static_cast<std::ptrdiff_t>(bytes),
                           memory_.begin() + address_of(p, 0)));
  }
  EXPECT_TRUE(link_.empty());
}

bool RxBench::accepts(unsigned kind) {
  const bool now = throttles_[kind]();
  return now && (!config_.shy || asked_[kind]);
}

void RxBench::note_asked() {
  asked_[kAccReq] = bench_->acc_req_tvalid_o && !bench_->acc_req_tready_i;
  asked_[kStageReq] = bench_->stage_req_tvalid_o && !bench_->stage_req_tready_i;
  asked_[kStageWr] = bench_->stage_wr_tvalid_o && !bench_->stage_wr_tready_i;
  asked_[kRes] = bench_->res_tvalid_o && !bench_->res_tready_i;
}

void RxBench::set_inputs() {
  bench_->valid_i = ready_ && !link_.empty() && throttles_[kFlits]();
  if (bench_->valid_i) {
    const auto bits = link_.front().bits();
    std::copy(bits.begin(), bits.end(), bench_->flit_i.data());
    link_.pop_front();
  }
  bench_->acc_req_tready_i = accepts(kAccReq);
  bench_->stage_req_tready_i = accepts(kStageReq);
  bench_->stage_wr_tready_i = accepts(kStageWr);
  bench_->res_tready_i = accepts(kRes);
  // An answer stays until it is taken.
  const auto answer = [](const std::deque<FlitWord>& words, bool now, bool& stays, auto& valid,
                         auto& data) {
    stays = stays || (!words.empty() && now);
    valid = stays;
    if (stays) std::copy(words.front().begin(), words.front().end(), data.data());
  };
  answer(acc_, throttles_[kAcc](), acc_stays_, bench_->acc_tvalid_i, bench_->acc_tdata_i);
  answer(stage_, throttles_[kStage](), stage_stays_, bench_->stage_tvalid_i, bench_->stage_tdata_i);
  unit_goes_ = throttles_[kUnitGo]();
  unit_takes_ = throttles_[kUnitTake]();
  bench_->unit_valid_i = unit_[1].valid;
  std::copy(unit_[1].word.begin(), unit_[1].word.end(), bench_->unit_result_i.data());
}

/// What the scoreboard and the other ports say of the message that is looked at.
void RxBench::look_up() {
  const unsigned piece = bench_->piece_o, turn = bench_->turn_o;
  put(bench_->taken_i, taken_[piece]);
  put(bench_->sent_i, sent_[piece]);
  put(bench_->claimed_i, claimed_[piece]);
  const bool follows =
      other_wrote_.valid && other_wrote_.piece == piece && other_wrote_.turn + 1 == turn;
  bench_->before_valid_i = follows;
  put(bench_->before_count_i, follows ? other_wrote_.count : 0);
  put(bench_->before_end_i, follows ? other_wrote_.end : 0);
  bench_->reading_i = 0;
  bench_->reading_count_i = 0;
  for (const Send& s : sends_) {
    if (!s.active || s.piece != piece) continue;
    bench_->reading_i = 1;
    put(bench_->reading_count_i, s.count);
  }
}

void RxBench::check_errors() {
  errors |= static_cast<unsigned>(bench_->corrupt_o | bench_->length_error_o << 1 |
                                  bench_->piece_error_o << 2 | bench_->duplicate_o << 3 |
                                  bench_->parked_full_o << 4);
  if (!expects_errors) {
    EXPECT_EQ(errors, 0U);
  }
}

void RxBench::cycle() {
  ++cycle_;
  at_edge_.clear();
  set_inputs();
  bench_.settle();
  look_up();
  // As of a unit that another port has too: what it does in a cycle depends on the port.
  bench_.settle();
  bench_->unit_go_i = !bench_->unit_ask_o || unit_goes_;
  bench_->unit_take_i =
      bench_->unit_ready_o && (!bench_->unit_valid_o || bench_->unit_copy_o || unit_takes_);
  bench_.settle();
  check_errors();
  ready_ = bench_->ready_o;
  note_asked();
  dut_wrote_ = {.valid = bench_->wrote_valid_o != 0,
                .piece = bench_->wrote_piece_o,
                .turn = bench_->wrote_turn_o,
                .count = bench_->wrote_count_o,
                .end = bench_->wrote_end_o};
  if (bench_->header_o) headers.push_back(cycle_);
  parked += bench_->parked_o;
  if (bench_->claim_o) {
    at_edge_.emplace_back([this, piece = bench_->piece_o] { ++claimed_[piece]; });
  }
  if (bench_->taken_o) {
    at_edge_.emplace_back([this, piece = bench_->taken_piece_o] { ++taken_[piece]; });
  }
  memory_and_unit();
  other_port();
  send_ports();
  bench_.rise();
  for (const auto& change : at_edge_) change();
}

void RxBench::memory_and_unit() {
  constexpr unsigned kAddressBits = mt_pkg::kAddrW;
  if (acc_stays_ && bench_->acc_tready_o) {
    acc_.pop_front();
    acc_stays_ = false;
  }
  if (stage_stays_ && bench_->stage_tready_o) {
    stage_.pop_front();
    stage_stays_ = false;
  }
  if (bench_->acc_req_tvalid_o && bench_->acc_req_tready_i) {
    acc_.push_back(word_at(memory_, bench_->acc_req_tdata_o));
  }
  const auto beside = [this](unsigned turn) -> Bytes& {
    Bytes& bytes = beside_[turn];
    if (bytes.empty()) bytes.resize(memory_.size() + kWordBytes, 0xee);
    return bytes;
  };
  if (bench_->stage_req_tvalid_o && bench_->stage_req_tready_i) {
    const std::uint64_t at = bench_->stage_req_tdata_o;
    stage_.push_back(
        word_at(beside(static_cast<unsigned>(at >> kAddressBits)), at & low_bits(kAddressBits)));
  }
  if (bench_->stage_wr_tvalid_o && bench_->stage_wr_tready_i) {
    ++staged;
    const std::uint32_t* const words = bench_->stage_wr_tdata_o.data();
    const FlitWord word = to_word(words);
    const std::uint64_t address = get_bits({words, 6}, mt_pkg::kDataW, kAddressBits);
    const auto turn =
        static_cast<unsigned>(get_bits({words, 6}, mt_pkg::kDataW + kAddressBits, mt_pkg::kCountW));
    const std::uint32_t keep = bench_->stage_wr_tkeep_o;
    at_edge_.emplace_back([=, this] {
      std::array<std::uint8_t, kWordBytes> bytes{};
      std::memcpy(bytes.data(), word.data(), kWordBytes);
      for (unsigned b = 0; b < kWordBytes; ++b) {
        if ((keep >> b & 1) != 0) beside_[turn].at(address + b) = bytes[b];
      }
    });
    (void)beside(turn);
  }
  result();
  if (bench_->unit_ready_o) {
    const FlitWord a = to_word(bench_->unit_a_o.data()), b = to_word(bench_->unit_b_o.data());
    const Stage in{.valid = bench_->unit_valid_o && bench_->unit_take_i,
                   .word = bench_->unit_copy_o ? b : sum(a, b)};
    at_edge_.emplace_back([this, in] {
      unit_[1] = unit_[0];
      unit_[0] = in;
    });
  }
}

/// Each word is what the messages so far and this one give, and no byte of a neighbour is touched.
void RxBench::result() {
  if (!bench_->res_tvalid_o || !bench_->res_tready_i) return;
  results.push_back(cycle_);
  const unsigned address = bench_->res_taddr_o;
  unsigned piece = 0, word = 0;
  bool found = false;
  for (unsigned p = 0; p < pieces_.size() && !found; ++p) {
    for (unsigned w = 0; w < words_of(p) && !found; ++w) {
      if (address_of(p, w) != address) continue;
      found = true;
      piece = p;
      word = w;
    }
  }
  ASSERT_TRUE(found) << "result at " << address;
  const unsigned version = ++versions_[piece][word];
  ASSERT_LE(version, pieces_[piece].messages.size());
  EXPECT_FALSE(pieces_[piece].messages[version - 1].elsewhere) << "not its turn";
  EXPECT_EQ(bench_->res_tkeep_o, keep_of(piece, word));
  std::array<std::uint8_t, kWordBytes> bytes{};
  std::memcpy(bytes.data(), bench_->res_tdata_o.data(), kWordBytes);
  for (unsigned b = 0; b < kWordBytes; ++b) {
    if ((keep_of(piece, word) >> b & 1) == 0) continue;
    EXPECT_EQ(bytes[b], prefix_[piece][version][word * kWordBytes + b])
        << "piece " << piece << " word " << word << " turn " << version - 1 << " byte " << b;
    at_edge_.emplace_back([this, at = address + b, byte = bytes[b]] { memory_[at] = byte; });
  }
}

}  // namespace multitree::rtl
