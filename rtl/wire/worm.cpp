// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/worm.hpp"

#include <algorithm>

namespace multitree::rtl {
namespace {

constexpr std::uint32_t kTailBit = mt_pkg::kDataW + mt_pkg::kParityW, kHeadBit = kTailBit + 1;
constexpr std::uint32_t kRouteBit = mt_pkg::kDataW - 1;

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
std::uint32_t fold(const FlitData& data) {
  std::uint32_t all = data[0] ^ data[1] ^ data[2] ^ data[3];
  all ^= all >> 16;
  return (all ^ all >> 8) & 0xff;
}

std::uint32_t parity_of(const FlitData& data, bool is_head, bool is_tail) {
  return fold(data) ^ (is_tail ? 1U : 0U) ^ (is_head ? 2U : 0U);
}

}  // namespace

LinkFlit make_flit(const FlitData& data, bool is_head, bool is_tail) {
  LinkFlit flit{.valid = true, .vc = 0, .bits = {}};
  std::ranges::copy(data, flit.bits.begin());
  flit.bits[data.size()] = parity_of(data, is_head, is_tail) |
                           (is_tail ? 1U << (kTailBit - mt_pkg::kDataW) : 0U) |
                           (is_head ? 1U << (kHeadBit - mt_pkg::kDataW) : 0U);
  return flit;
}

FlitData data_of(const LinkFlit& flit) {
  FlitData data{};
  std::copy_n(flit.bits.begin(), data.size(), data.begin());
  return data;
}

bool is_tail(const LinkFlit& flit) { return bit_of(flit, kTailBit); }

bool is_intact(const LinkFlit& flit) {
  const FlitData data = data_of(flit);
  return (flit.bits[data.size()] & 0xff) ==
         parity_of(data, bit_of(flit, kHeadBit), bit_of(flit, kTailBit));
}

bool is_route(const FlitData& data) { return (data[kRouteBit / 32] >> (kRouteBit % 32) & 1) != 0; }

Hop take_hop(LinkFlit& head) {
  const FlitData before = data_of(head);
  const std::uint32_t width = is_route(before) ? mt_pkg::kLongRouteW : mt_pkg::kShortRouteW;
  FlitData after = before;
  Fields from(after);
  const std::uint32_t hop = from.get(mt_pkg::kHopW);
  FlitData route{};  // what is left of it
  Fields to(route);
  for (std::uint32_t h = 1; h < width / mt_pkg::kHopW; ++h) {
    to.put(mt_pkg::kHopW, from.get(mt_pkg::kHopW));
  }
  for (std::uint32_t w = 0; w < after.size(); ++w) {
    const std::uint32_t bits = width > 32 * w ? std::min(width - 32 * w, 32U) : 0;
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    after[w] = (after[w] & ~mask) | route[w];
  }
  FlitData changes{};
  for (std::size_t w = 0; w < after.size(); ++w) changes[w] = before[w] ^ after[w];
  std::ranges::copy(after, head.bits.begin());
  head.bits[after.size()] ^= fold(changes);
  return {.port = hop & ((1U << mt_pkg::kHopPortW) - 1), .channels = hop >> mt_pkg::kHopPortW};
}

FlitData encode(const WormHeader& header, std::uint32_t route) {
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
  fields.put(mt_pkg::kLanesW, header.lanes);
  fields.put(1, header.last ? 1 : 0);
  fields.put(1, header.gather ? 1 : 0);
  return data;
}

WormHeader decode_header(const FlitData& data) {
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
  header.lanes = fields.get(mt_pkg::kLanesW);
  header.last = fields.get(1) != 0;
  header.gather = fields.get(1) != 0;
  return header;
}

}  // namespace multitree::rtl
