// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Codes of at most eleven bits, four streams at a time, several symbols a look-up.
#include "runtime/kernels/huffman_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/kernels/bit_streams_internal.hpp"

namespace multitree::runtime {
namespace {

/// Few symbols have shorter codes, as the table is filled for each vector.
constexpr std::size_t kFew = 8192;
constexpr unsigned kBitsOfFew = 9;
/// Codes of a word that is written at once, besides up to seven bits left of the one before.
constexpr std::size_t kCodesOfWord = 4;
static_assert(kCodesOfWord * kMostBits + 7 <= 64);

constexpr std::size_t kWords = 3;  ///< lengths of streams in the header

std::size_t begin_of(std::size_t stream, std::size_t count) { return stream * count / 4; }

std::uint32_t word_at(const std::uint8_t* from) {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

/// Symbols that there are, the rarest first.
struct Ranking {
  std::array<std::uint8_t, 256> order{};
  std::array<std::uint64_t, 256> weights{};  ///< by symbol
  std::size_t size = 0;
};

/// How many codes have each length up to `most`: Huffman's by two queues; what is longer is cut,
/// and made room for.
std::array<std::size_t, kMostBits + 1> codes_by_length(const Ranking& ranking, unsigned most) {
  const std::size_t leaves = ranking.size;
  std::array<std::uint64_t, 512> weight{};
  std::array<std::size_t, 512> parent{};
  for (std::size_t i = 0; i < leaves; ++i) weight[i] = ranking.weights[ranking.order[i]];
  std::size_t leaf = 0, inner = leaves, made = leaves;
  const auto least = [&] {
    const bool is_leaf = leaf < leaves && (inner == made || weight[leaf] <= weight[inner]);
    return is_leaf ? leaf++ : inner++;
  };
  for (; made + 1 < 2 * leaves; ++made) {
    const std::size_t a = least(), b = least();
    weight[made] = weight[a] + weight[b];
    parent[a] = parent[b] = made;
  }
  std::array<unsigned, 512> depth{};
  std::array<std::size_t, kMostBits + 1> of_length{};
  for (std::size_t i = made - 1; i-- > 0;) {
    depth[i] = depth[parent[i]] + 1;
    if (i < leaves) ++of_length[std::min(depth[i], most)];
  }
  std::size_t taken = 0;
  for (unsigned bits = 1; bits <= most; ++bits) taken += of_length[bits] << (most - bits);
  for (; taken > std::size_t{1} << most; --taken) {
    --of_length[most];
    unsigned bits = most - 1;
    while (of_length[bits] == 0) --bits;
    --of_length[bits];
    of_length[bits + 1] += 2;
  }
  return of_length;
}

}  // namespace

void Huffman::count(std::span<const std::uint8_t> symbols) {
  for (std::size_t s = 0; s < kStreams; ++s) {
    // Two tables, as runs of one symbol would otherwise wait for their own counter.
    std::array<std::uint32_t, kSymbols> even{}, odd{};
    std::size_t i = begin_of(s, symbols.size());
    const std::size_t end = begin_of(s + 1, symbols.size());
    for (; i + 2 <= end; i += 2) {
      ++even[symbols[i]];
      ++odd[symbols[i + 1]];
    }
    if (i < end) ++even[symbols[i]];
    for (std::size_t c = 0; c < kSymbols; ++c) counts_[s][c] = even[c] + odd[c];
  }
}

void Huffman::choose_lengths(unsigned most) {
  Ranking ranking;
  auto& [order, weights, size] = ranking;
  for (std::size_t c = 0; c < kSymbols; ++c) {
    for (const auto& counts : counts_) weights[c] += counts[c];
    if (weights[c] != 0) order[size++] = static_cast<std::uint8_t>(c);
  }
  first_ = order[0];
  last_ = order[size - 1];
  lengths_.fill(0);
  if (size == 1) return;
  std::sort(order.data(), order.data() + size, [&](std::uint8_t a, std::uint8_t b) {
    return std::pair(weights[a], a) < std::pair(weights[b], b);
  });
  const auto of_length = codes_by_length(ranking, most);
  std::size_t next = 0;
  for (unsigned bits = most; bits > 0; --bits) {
    for (std::size_t i = 0; i < of_length[bits]; ++i) {
      lengths_[order[next++]] = static_cast<std::uint8_t>(bits);
    }
  }
}

std::array<std::size_t, Huffman::kStreams> Huffman::stream_bytes() const {
  std::array<std::size_t, kStreams> bytes{};
  for (std::size_t s = 0; s < kStreams; ++s) {
    std::size_t bits = 0;
    for (unsigned c = first_; c <= last_; ++c) bits += std::size_t{counts_[s][c]} * lengths_[c];
    bytes[s] = (bits + 7) / 8;
  }
  return bytes;
}

/// Canonical: in the order of lengths, then of symbols.
void Huffman::assign_codes() {
  unsigned code = 0;
  for (unsigned bits = 1; bits <= kMostBits; ++bits, code <<= 1) {
    for (unsigned symbol = first_; symbol <= last_; ++symbol) {
      if (lengths_[symbol] != bits) continue;
      unsigned backwards = 0;
      for (unsigned i = 0; i < bits; ++i) backwards |= (code >> i & 1U) << (bits - 1 - i);
      codes_[symbol] = static_cast<std::uint16_t>(backwards);
      ++code;
    }
  }
}

/// \pre the codes fill all of `bits` bits
void Huffman::fill_table(unsigned bits) {
  const std::size_t size = std::size_t{1} << bits;
  table_.resize(size);
  std::array<std::uint16_t, std::size_t{1} << kMostBits> one{};  // a symbol, and above it its bits
  for (unsigned symbol = first_; symbol <= last_; ++symbol) {
    if (lengths_[symbol] == 0) continue;
    const auto entry = static_cast<std::uint16_t>(lengths_[symbol] << 8 | symbol);
    for (std::size_t at = codes_[symbol]; at < size; at += std::size_t{1} << lengths_[symbol]) {
      one[at] = entry;
    }
  }
  for (std::size_t at = 0; at < size; ++at) {
    std::uint64_t symbols = 0;
    unsigned used = 0, count = 0;
    do {
      const unsigned entry = one[at >> used];
      if (used + (entry >> 8) > bits) break;
      symbols |= std::uint64_t{entry & 0xffU} << 8 * count++;
      used += entry >> 8;
    } while (count < kSymbolsOfLookup);
    table_[at] = symbols | std::uint64_t{count} << 32 | std::uint64_t{used} << 40;
  }
}

void Huffman::write_streams(std::uint8_t* to, std::span<const std::size_t, kStreams> bytes,
                            std::span<const std::uint8_t> symbols) const {
  std::array<std::uint32_t, kSymbols> codes{};
  for (std::size_t c = 0; c < kSymbols; ++c)
    codes[c] = codes_[c] | std::uint32_t{lengths_[c]} << 16;
  BitWriter w0(to), w1(to + bytes[0]), w2(to + bytes[0] + bytes[1]),
      w3(to + bytes[0] + bytes[1] + bytes[2]);
  const std::uint8_t* s0 = symbols.data() + begin_of(0, symbols.size());
  const std::uint8_t* s1 = symbols.data() + begin_of(1, symbols.size());
  const std::uint8_t* s2 = symbols.data() + begin_of(2, symbols.size());
  const std::uint8_t* s3 = symbols.data() + begin_of(3, symbols.size());
  const auto put = [&](BitWriter& writer, const std::uint8_t* next) {
    for (std::size_t i = 0; i < kCodesOfWord; ++i) {
      const std::uint32_t code = codes[next[i]];
      writer.put(code & 0xffffU, code >> 16);
    }
    writer.flush();
  };
  // A flush writes eight bytes: so far from the end there are as many to come, of a bit or more.
  constexpr std::size_t kTail = 64;
  const std::size_t least = symbols.size() / 4;
  std::size_t at = 0;
  for (; at + kCodesOfWord + kTail <= least; at += kCodesOfWord) {
    put(w0, s0 + at);
    put(w1, s1 + at);
    put(w2, s2 + at);
    put(w3, s3 + at);
  }
  const auto finish = [&](BitWriter& writer, std::size_t stream) {
    const std::size_t end = begin_of(stream + 1, symbols.size());
    for (std::size_t i = begin_of(stream, symbols.size()) + at; i < end; ++i) {
      writer.put(codes_[symbols[i]], lengths_[symbols[i]]);
      writer.flush_exactly();
    }
    writer.finish();
  };
  finish(w0, 0);
  finish(w1, 1);
  finish(w2, 2);
  finish(w3, 3);
}

std::size_t Huffman::encode(std::uint8_t* to, std::size_t room,
                            std::span<const std::uint8_t> symbols) {
  count(symbols);
  choose_lengths(symbols.size() < kFew ? kBitsOfFew : kMostBits);
  const std::array<std::size_t, kStreams> bytes = stream_bytes();
  const bool one = first_ == last_;
  const std::size_t header = one ? 2 : 2 + (last_ - first_ + 2) / 2 + kWords * 4;
  const std::size_t all = std::accumulate(bytes.begin(), bytes.end(), header);
  if (all > room) return 0;
  *to++ = static_cast<std::uint8_t>(first_);
  *to++ = static_cast<std::uint8_t>(last_);
  if (one) return all;
  for (unsigned c = first_; c <= last_; c += 2) {
    *to++ = static_cast<std::uint8_t>(lengths_[c] | (c == last_ ? 0 : lengths_[c + 1] << 4));
  }
  for (std::size_t s = 0; s < kWords; ++s, to += sizeof(std::uint32_t)) {
    const auto length = static_cast<std::uint32_t>(bytes[s]);
    std::memcpy(to, &length, sizeof length);
  }
  assign_codes();
  write_streams(to, bytes, symbols);
  return all;
}

/// Returns how many bytes they take.
std::size_t Huffman::read_lengths(std::span<const std::uint8_t> coded) {
  const std::size_t lengths = (last_ - first_ + 2) / 2;
  const std::size_t header = 2 + lengths + kWords * 4;
  if (coded.size() < header) {
    malformed(fmt::format("expected {} bytes of lengths, found {}", header, coded.size()));
  }
  lengths_.fill(0);
  std::size_t taken = 0;
  unsigned longest = 0;
  for (unsigned c = first_; c <= last_; ++c) {
    const unsigned pair = coded[2 + (c - first_) / 2];
    const unsigned bits = (c - first_) % 2 == 0 ? pair & 0xfU : pair >> 4;
    if (bits > kMostBits)
      malformed(fmt::format("expected codes of {} bits at most, found {}", kMostBits, bits));
    lengths_[c] = static_cast<std::uint8_t>(bits);
    longest = std::max(longest, bits);
    if (bits != 0) taken += std::size_t{1} << (kMostBits - bits);
  }
  if (taken != std::size_t{1} << kMostBits) {
    malformed(fmt::format("expected lengths of codes that fill {}, found {}",
                          std::size_t{1} << kMostBits, taken));
  }
  assign_codes();
  fill_table(longest);
  return header;
}

void Huffman::read_streams(std::span<std::uint8_t> symbols, std::span<const std::uint8_t> coded) {
  const std::size_t header = read_lengths(coded);
  std::array<BitReader, kStreams> readers;
  std::size_t at = header;
  for (std::size_t s = 0; s < kStreams; ++s) {
    const std::size_t left = coded.size() - at;
    const std::size_t bytes =
        s + 1 == kStreams ? left : word_at(coded.data() + header - 4 * (kWords - s));
    if (bytes > left) {
      malformed(fmt::format("expected {} bytes of stream {}, found {}", bytes, s, left));
    }
    readers[s] = {coded.subspan(at, bytes), symbols.data() + begin_of(s, symbols.size()),
                  symbols.data() + begin_of(s + 1, symbols.size())};
    at += bytes;
  }
  const std::uint64_t* const table = table_.data();
  const std::uint64_t mask = table_.size() - 1;
  auto [r0, r1, r2, r3] = readers;
  while (r0.has_word() && r1.has_word() && r2.has_word() && r3.has_word()) {
    r0.read_word(table, mask);
    r1.read_word(table, mask);
    r2.read_word(table, mask);
    r3.read_word(table, mask);
  }
  for (BitReader* reader : {&r0, &r1, &r2, &r3}) {
    while (reader->has_word()) reader->read_word(table, mask);
    reader->finish(table, mask, lengths_.data());
  }
}

void Huffman::decode(std::span<std::uint8_t> symbols, std::span<const std::uint8_t> coded) {
  first_ = coded[0];
  last_ = coded[1];
  if (first_ > last_) {
    malformed(fmt::format("expected symbols from {} up, found up to {}", first_, last_));
  }
  if (first_ != last_) return read_streams(symbols, coded);
  if (coded.size() != 2) {
    malformed(fmt::format("expected no codes of one symbol, found {} bytes", coded.size() - 2));
  }
  std::fill(symbols.begin(), symbols.end(), static_cast<std::uint8_t>(first_));
}

}  // namespace multitree::runtime
