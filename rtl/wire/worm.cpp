// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/worm.hpp"

#include <algorithm>

namespace multitree::rtl {
namespace {

/// Behind the data, in a word of their own: parity, tail and head.
constexpr std::uint32_t kTailBit = mt_pkg::kParityW, kHeadBit = kTailBit + 1;
/// A route as registers have it says by this bit that it is a long one.
constexpr std::uint32_t kLongBit = mt_pkg::kLongRouteW;

/// Fields of a header, each behind the one before it, from bit 0 up.
class Fields {
 public:
  explicit Fields(FlitData& data) : data_(data) {}

  void put(std::uint32_t width, std::uint32_t value) {
    const std::uint32_t word = at_ / 32, shift = at_ % 32;
    data_[word] |= value << shift;
    if (shift + width > 32) data_[word + 1] |= value >> (32 - shift);
    at_ += width;
  }
  std::uint32_t get(std::uint32_t width) {
    const std::uint32_t word = at_ / 32, shift = at_ % 32;
    std::uint64_t bits = data_[word];
    if (word + 1 < data_.size()) bits |= std::uint64_t{data_[word + 1]} << 32;
    at_ += width;
    return static_cast<std::uint32_t>(bits >> shift & ((std::uint64_t{1} << width) - 1));
  }

 private:
  FlitData& data_;
  std::uint32_t at_ = 0;
};

bool bit_of(const LinkFlit& flit, std::uint32_t bit) {
  return (flit.bits[bit / 32] >> (bit % 32) & 1) != 0;
}

/// Of bits 0, 8, 16 ... ; of 1, 9, 17 ...; and so on.
std::uint32_t fold(const FlitData& data, FlitShape shape) {
  std::uint32_t all = 0;
  for (std::uint32_t w = 0; w < shape.data_words(); ++w) all ^= data[w];
  all ^= all >> 16;
  return (all ^ all >> 8) & 0xff;
}

std::uint32_t parity_of(const FlitData& data, bool is_head, bool is_tail, FlitShape shape) {
  return fold(data, shape) ^ (is_tail ? 1U : 0U) ^ (is_head ? 2U : 0U);
}

}  // namespace

LinkFlit make_flit(const FlitData& data, bool is_head, bool is_tail, FlitShape shape) {
  LinkFlit flit{.valid = true, .vc = 0, .bits = {}};
  std::copy_n(data.begin(), shape.data_words(), flit.bits.begin());
  flit.bits[shape.data_words()] = parity_of(data, is_head, is_tail, shape) |
                                  (is_tail ? 1U << kTailBit : 0U) | (is_head ? 1U << kHeadBit : 0U);
  return flit;
}

FlitData data_of(const LinkFlit& flit, FlitShape shape) {
  FlitData data{};
  std::copy_n(flit.bits.begin(), shape.data_words(), data.begin());
  return data;
}

bool is_tail(const LinkFlit& flit, FlitShape shape) { return bit_of(flit, shape.tail_bit()); }

bool is_intact(const LinkFlit& flit, FlitShape shape) {
  const FlitData data = data_of(flit, shape);
  return (flit.bits[shape.data_words()] & 0xff) ==
         parity_of(data, bit_of(flit, shape.head_bit()), bit_of(flit, shape.tail_bit()), shape);
}

bool is_route(const FlitData& data, FlitShape shape) {
  return (data[shape.route_bit() / 32] >> (shape.route_bit() % 32) & 1) != 0;
}

FlitData route_flit(const std::uint32_t* words, FlitShape shape) {
  FlitData data{};
  std::copy_n(words, kLongBit / 32 + 1, data.begin());
  data[kLongBit / 32] &= ~(1U << (kLongBit % 32));
  data[shape.route_bit() / 32] |= 1U << (shape.route_bit() % 32);
  return data;
}

Hop take_hop(LinkFlit& head, FlitShape shape) {
  const FlitData before = data_of(head, shape);
  const std::uint32_t width = is_route(before, shape) ? mt_pkg::kLongRouteW : mt_pkg::kShortRouteW;
  FlitData after = before;
  Fields from(after);
  const std::uint32_t hop = from.get(mt_pkg::kHopW);
  FlitData route{};  // what is left of it
  Fields to(route);
  for (std::uint32_t h = 1; h < width / mt_pkg::kHopW; ++h) {
    to.put(mt_pkg::kHopW, from.get(mt_pkg::kHopW));
  }
  for (std::uint32_t w = 0; w < shape.data_words(); ++w) {
    const std::uint32_t bits = width > 32 * w ? std::min(width - 32 * w, 32U) : 0;
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    after[w] = (after[w] & ~mask) | route[w];
  }
  FlitData changes{};
  for (std::size_t w = 0; w < after.size(); ++w) changes[w] = before[w] ^ after[w];
  std::copy_n(after.begin(), shape.data_words(), head.bits.begin());
  head.bits[shape.data_words()] ^= fold(changes, shape);
  return {.port = hop & ((1U << mt_pkg::kHopPortW) - 1), .channels = hop >> mt_pkg::kHopPortW};
}

FlitData encode(const WormHeader& header, std::uint32_t route, FlitShape shape) {
  FlitData data{};
  Fields fields(data);
  fields.put(mt_pkg::kShortRouteW, route & ((1U << mt_pkg::kShortRouteW) - 1));
  fields.put(mt_pkg::kStartW, header.start);
  fields.put(mt_pkg::kLenW, header.offset);
  fields.put(mt_pkg::kLenW, header.flits);
  fields.put(mt_pkg::kPieceW, header.piece);
  fields.put(mt_pkg::kCountW, header.after);
  fields.put(mt_pkg::kCountW, header.turn);
  fields.put(mt_pkg::kSrcW, header.src);
  fields.put(shape.lanes_bits(), header.lanes);
  fields.put(1, header.last ? 1 : 0);
  fields.put(1, header.gather ? 1 : 0);
  return data;
}

WormHeader decode_header(const FlitData& data, FlitShape shape) {
  FlitData copy = data;
  Fields fields(copy);
  fields.get(mt_pkg::kShortRouteW);
  WormHeader header;
  header.start = fields.get(mt_pkg::kStartW);
  header.offset = fields.get(mt_pkg::kLenW);
  header.flits = fields.get(mt_pkg::kLenW);
  header.piece = fields.get(mt_pkg::kPieceW);
  header.after = fields.get(mt_pkg::kCountW);
  header.turn = fields.get(mt_pkg::kCountW);
  header.src = fields.get(mt_pkg::kSrcW);
  header.lanes = fields.get(shape.lanes_bits());
  header.last = fields.get(1) != 0;
  header.gather = fields.get(1) != 0;
  return header;
}

}  // namespace multitree::rtl
