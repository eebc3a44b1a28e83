// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What a bench of a receive port sends, and what has to come of it.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "rx_bench.hpp"

namespace multitree::rtl {

std::vector<RxBench::Worm> RxBench::worms_of(unsigned piece, unsigned turn) const {
  const unsigned total = words_of(piece);
  const unsigned most = config_.packet_words == 0 ? total : config_.packet_words;
  std::vector<Worm> worms;
  unsigned offset = 0;
  do {
    const unsigned end = std::min(total, offset + most);
    worms.push_back({piece, turn, offset, end});
    offset = end;
  } while (offset < total);
  return worms;
}

HardwareHeader RxBench::header_of(unsigned piece, unsigned turn, unsigned offset) const {
  const RxPiece& p = pieces_[piece];
  const unsigned total = words_of(piece);
  const unsigned most = config_.packet_words == 0 ? total : config_.packet_words;
  const unsigned flits = std::min(most, total - offset);
  return {.gather = p.messages[turn].gather,
          .last = offset + flits == total,
          .lanes = (p.size - 1) & (config_.wide ? 3U : 7U),
          .turn = turn,
          .after = p.messages[turn].after,
          .piece = piece,
          .flits = flits,
          .offset = offset,
          .start = p.start};
}

/// Untimed: one message after the other.
void RxBench::make_references() {
  std::size_t bytes = kWordBytes;
  for (unsigned p = 0; p < pieces_.size(); ++p) {
    bytes = std::max<std::size_t>(bytes, address_of(p, words_of(p)) + kWordBytes);
  }
  memory_.resize(bytes);
  for (std::uint8_t& byte : memory_) byte = static_cast<std::uint8_t>(random_());
  prefix_.resize(pieces_.size());
  versions_.resize(pieces_.size());
  for (unsigned p = 0; p < pieces_.size(); ++p) {
    versions_[p].assign(words_of(p), 0);
    Bytes words(std::size_t{words_of(p)} * kWordBytes);
    std::copy_n(memory_.begin() + address_of(p, 0), words.size(), words.begin());
    prefix_[p].push_back(words);
    for (RxMessage& message : pieces_[p].messages) {
      message.payload.resize(words.size());
      for (std::uint8_t& byte : message.payload) byte = static_cast<std::uint8_t>(random_());
      for (unsigned w = 0; w < words_of(p); ++w) {
        const FlitWord in = word_at(message.payload, std::size_t{w} * kWordBytes);
        const FlitWord out =
            message.gather ? in : sum(word_at(words, std::size_t{w} * kWordBytes), in);
        std::memcpy(words.data() + std::size_t{w} * kWordBytes, out.data(), kWordBytes);
      }
      prefix_[p].push_back(words);
    }
  }
}

/// All worms of this link, in a random order.
void RxBench::make_link() {
  std::vector<std::vector<Worm>> messages;
  for (unsigned p = 0; p < pieces_.size(); ++p) {
    for (unsigned t = 0; t < pieces_[p].messages.size(); ++t) {
      std::vector<Worm> worms = worms_of(p, t);
      if (pieces_[p].messages[t].elsewhere) {
        other_.insert(other_.end(), worms.begin(), worms.end());
      } else {
        if (config_.overtakes) std::shuffle(worms.begin(), worms.end(), random_);
        messages.push_back(std::move(worms));
      }
    }
  }
  // Few messages at a time, so that packets often follow each other.
  while (!messages.empty()) {
    const std::size_t m = random_() % messages.size();
    const std::size_t count = random_() % 3 == 0 ? 1 : messages[m].size();
    for (std::size_t i = 0; i < count && !messages[m].empty(); ++i) {
      const Worm worm = messages[m].front();
      messages[m].erase(messages[m].begin());
      const HardwareHeader header = header_of(worm.piece, worm.turn, worm.offset);
      if (random_() % 4 == 0) {  // a long way
        FlitWord route{};
        put_bits(route, 127, 1, 1);
        link_.push_back(make_flit(route, true, false));
        link_.push_back(make_flit(header.data(), false, header.flits == 0));
      } else {
        link_.push_back(make_flit(header.data(), true, header.flits == 0));
      }
      for (unsigned w = worm.offset; w < worm.end; ++w) {
        link_.push_back(make_flit(
            word_at(pieces_[worm.piece].messages[worm.turn].payload, std::size_t{w} * kWordBytes),
            false, w + 1 == worm.end));
      }
    }
    if (messages[m].empty()) messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(m));
  }
}

std::string RxBench::report() const {
  std::string text;
  for (unsigned p = 0; p < pieces_.size(); ++p) {
    text += "; piece " + std::to_string(p) + " of " + std::to_string(words_of(p)) + " words: ";
    text += std::to_string(taken_[p]) + " taken, " + std::to_string(claimed_[p]) + " begun, " +
            std::to_string(sent_[p]) + " of " + std::to_string(pieces_[p].sends) + " sent; turns ";
    for (const RxMessage& m : pieces_[p].messages) {
      text += (m.elsewhere ? "other" : "here") + std::string(m.gather ? " gather" : "") +
              " after " + std::to_string(m.after) + ", ";
    }
  }
  return text + "; flits left: " + std::to_string(link_.size()) + ", packets of " +
         std::to_string(config_.packet_words) +
         (other_busy_
              ? ", the other port is at piece " + std::to_string(other_worm_.piece) + " turn " +
                    std::to_string(other_worm_.turn) + " word " + std::to_string(other_worm_.offset)
              : "") +
         ", this one at piece " + std::to_string(dut_wrote_.piece) + " turn " +
         std::to_string(dut_wrote_.turn) + " word " + std::to_string(dut_wrote_.count);
}

}  // namespace multitree::rtl
