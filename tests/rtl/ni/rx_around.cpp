// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What works beside a receive port in its bench: another receive port, and send ports.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "rx_bench.hpp"

namespace multitree::rtl {

bool RxBench::read_ok(unsigned piece, unsigned after, unsigned pos) const {
  if (sent_[piece] >= after) return true;
  return sent_[piece] + 1 == after && std::ranges::any_of(sends_, [&](const Send& s) {
           return s.active && s.piece == piece && s.count > pos;
         });
}

/// How many words of the message before this one has the port under test written?
unsigned RxBench::written_before(const Worm& worm) const {
  const bool follows =
      dut_wrote_.valid && dut_wrote_.piece == worm.piece && dut_wrote_.turn + 1 == worm.turn;
  return follows ? dut_wrote_.count : 0;
}

/// Begins one of the other engine's worms, if that may begin.
void RxBench::begin_other() {
  if (other_.empty()) return;
  const std::size_t i = random_() % other_.size();
  Worm worm = other_[i];
  const unsigned after = pieces_[worm.piece].messages[worm.turn].after;
  const bool in_turn = taken_[worm.piece] == worm.turn;
  const bool is_claimed = other_claims_[worm.piece] == worm.offset &&
                          (worm.offset != 0 || claimed_[worm.piece] == worm.turn);
  if (!is_claimed || !(in_turn || written_before(worm) > worm.offset) ||
      !read_ok(worm.piece, after, worm.offset)) {
    return;
  }
  if (worm.offset == 0) {
    at_edge_.emplace_back([this, piece = worm.piece] { ++claimed_[piece]; });
  }
  other_known_ = written_before(worm);
  if (!in_turn && dut_wrote_.end < worm.end) {
    worm.end = dut_wrote_.end;
    other_[i].offset = worm.end;
  } else {
    other_.erase(other_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  other_claims_[worm.piece] = worm.end == words_of(worm.piece) ? 0 : worm.end;
  other_busy_ = true;
  other_worm_ = worm;
}

/// Another engine, which adds a word at once and writes it at the end of the cycle.
void RxBench::other_port() {
  if (!throttles_[kOther]()) return;
  if (!other_busy_) return begin_other();
  Worm& worm = other_worm_;
  const unsigned piece = worm.piece, turn = worm.turn, pos = worm.offset;
  other_known_ = std::max(other_known_, written_before(worm));
  const bool is_empty = words_of(piece) == 0;
  const bool in_order = taken_[piece] == turn || (!is_empty && other_known_ > pos);
  if (!in_order || !read_ok(piece, pieces_[piece].messages[turn].after, pos)) return;
  if (!is_empty) {
    EXPECT_EQ(versions_[piece][pos], turn) << "another port's message overtakes this one's";
    const FlitWord in = word_at(pieces_[piece].messages[turn].payload, pos * kWordBytes);
    const FlitWord old = word_at(memory_, address_of(piece, pos));
    const FlitWord out = pieces_[piece].messages[turn].gather ? in : sum(old, in);
    at_edge_.emplace_back([this, piece, pos, out] {
      ++versions_[piece][pos];
      std::array<std::uint8_t, kWordBytes> bytes{};
      std::memcpy(bytes.data(), out.data(), kWordBytes);
      for (unsigned b = 0; b < kWordBytes; ++b) {
        if ((keep_of(piece, pos) >> b & 1) != 0) memory_[address_of(piece, pos) + b] = bytes[b];
      }
    });
  }
  ++worm.offset;
  const unsigned total = std::max(1U, words_of(piece));
  const bool ends = worm.offset >= total;
  at_edge_.emplace_back([this, piece, turn, pos, ends, end = worm.end] {
    other_wrote_ = {.valid = true, .piece = piece, .turn = turn, .count = pos + 1, .end = end};
    if (ends) ++taken_[piece];
  });
  if (worm.offset >= worm.end) other_busy_ = false;
}

/// Send what the messages taken in so far give, and nothing of what must wait.
void RxBench::send_ports() {
  for (Send& s : sends_) {
    if (!throttles_[kSends]()) continue;
    if (!s.active) {
      const auto p = static_cast<unsigned>(random_() % pieces_.size());
      if (begun_[p] == pieces_[p].sends || begun_[p] != sent_[p] || taken_[p] < begun_[p]) continue;
      at_edge_.emplace_back([&s, p, number = begun_[p]] {
        s = {.active = true, .piece = p, .number = number, .count = 0};
      });
      ++begun_[p];
      continue;
    }
    const unsigned p = s.piece;
    if (s.count < words_of(p)) {
      unsigned most = 0;
      const auto& messages = pieces_[p].messages;
      while (most < messages.size() && messages[most].after <= s.number) ++most;
      // A result that is written in this very cycle is not seen: versions_ may be one more.
      bool fits = false;
      const FlitWord word = word_at(memory_, address_of(p, s.count));
      for (unsigned n = s.number; n <= most && !fits; ++n) {
        const FlitWord want = word_at(prefix_[p][n], std::size_t{s.count} * kWordBytes);
        const auto bytes = static_cast<unsigned>(std::popcount(keep_of(p, s.count)));
        fits = std::memcmp(word.data(), want.data(), bytes) == 0;
      }
      EXPECT_TRUE(fits) << "piece " << p << ", send " << s.number << ", word " << s.count
                        << ": reads what it must not";
    }
    at_edge_.emplace_back([this, &s] {
      if (++s.count >= words_of(s.piece)) {
        s.active = false;
        ++sent_[s.piece];
      }
    });
  }
}

}  // namespace multitree::rtl
