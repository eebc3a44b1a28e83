// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/frame.hpp"

#include <boost/crc.hpp>
#include <boost/endian/conversion.hpp>

#include <algorithm>
#include <cstring>

namespace multitree::rtl {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kGap = 1;
constexpr std::byte kCredit{0x80};
/// Where the CRC is: it is taken over all other bytes.
constexpr std::size_t kCrcAt = 24;

/// The place of the flits' width in kFlitBytes.
std::uint8_t width_of(FlitShape shape) {
  return static_cast<std::uint8_t>(std::ranges::find(kFlitBytes, shape.bytes()) -
                                   kFlitBytes.begin());
}

template <typename Number>
void put(std::vector<std::byte>& bytes, Number number) {
  boost::endian::native_to_big_inplace(number);
  const auto* const first = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), first, first + sizeof number);
}

template <typename Number>
Number get(std::span<const std::byte> bytes, std::size_t at) {
  Number number{};
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return boost::endian::big_to_native(number);
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), kCrcAt);
  crc.process_bytes(bytes.data() + kFrameHeader, bytes.size() - kFrameHeader);
  return crc.checksum();
}

}  // namespace

std::vector<std::byte> encode(const Frame& frame) {
  std::vector<std::byte> bytes;
  bytes.reserve(kFrameHeader + frame.items.size());
  put(bytes, kVersion);
  put(bytes, static_cast<std::uint8_t>(frame.kind));
  put(bytes, static_cast<std::uint8_t>(frame.gap ? kGap : 0));
  put(bytes, width_of(frame.shape));
  put(bytes, frame.way.from);
  put(bytes, frame.way.to);
  put(bytes, frame.way.lane);
  put(bytes, static_cast<std::uint16_t>(frame.items.size()));  // Ethernet pads short frames
  put(bytes, frame.job);
  put(bytes, frame.sequence);
  put(bytes, frame.ack);
  put(bytes, std::uint32_t{0});
  bytes.insert(bytes.end(), frame.items.begin(), frame.items.end());
  const std::uint32_t crc = boost::endian::native_to_big(crc_of(bytes));
  std::memcpy(bytes.data() + kCrcAt, &crc, sizeof crc);
  return bytes;
}

std::optional<Frame> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeader || get<std::uint8_t>(bytes, 0) != kVersion) return std::nullopt;
  const std::size_t items = get<std::uint16_t>(bytes, 10);
  if (bytes.size() < kFrameHeader + items) return std::nullopt;
  bytes = bytes.first(kFrameHeader + items);
  if (get<std::uint32_t>(bytes, kCrcAt) != crc_of(bytes)) return std::nullopt;
  const std::size_t width = get<std::uint8_t>(bytes, 3);
  if (width >= kFlitBytes.size()) return std::nullopt;
  return Frame{.kind = static_cast<Frame::Kind>(get<std::uint8_t>(bytes, 1)),
               .way = {get<std::uint16_t>(bytes, 4), get<std::uint16_t>(bytes, 6),
                       get<std::uint16_t>(bytes, 8)},
               .job = get<std::uint32_t>(bytes, 12),
               .sequence = get<std::uint32_t>(bytes, 16),
               .ack = get<std::uint32_t>(bytes, 20),
               .gap = (get<std::uint8_t>(bytes, 2) & kGap) != 0,
               .shape = FlitShape(kFlitBytes[width]),
               .items = bytes.subspan(kFrameHeader)};
}

std::optional<std::uint16_t> addressee(std::span<const std::byte> bytes) {
  if (bytes.size() < kFrameHeader) return std::nullopt;
  return get<std::uint16_t>(bytes, 6);
}

void append_flit(std::vector<std::byte>& items, const LinkFlit& flit, FlitShape shape) {
  items.push_back(std::byte{flit.vc});
  for (std::size_t b = 0; b + 1 < flit_item(shape); ++b) {
    items.push_back(static_cast<std::byte>(flit.bits[b / 4] >> (b % 4 * 8)));
  }
}

void append_credit(std::vector<std::byte>& items, std::uint8_t vc) {
  items.push_back(std::byte{vc} | kCredit);
}

std::optional<Item> take_item(std::span<const std::byte>& items, FlitShape shape) {
  const std::byte first = items.front();
  const auto vc = static_cast<std::uint8_t>(first & ~kCredit);
  const bool is_credit = (first & kCredit) != std::byte{};
  const std::size_t size = is_credit ? kCreditItem : flit_item(shape);
  if (items.size() < size || vc >= mt_pkg::kNumVc) return std::nullopt;
  Item item{.is_credit = is_credit, .flit = {.valid = !is_credit, .vc = vc, .bits = {}}};
  for (std::size_t b = 0; b + 1 < size; ++b) {
    item.flit.bits[b / 4] |= std::to_integer<std::uint32_t>(items[b + 1]) << (b % 4 * 8);
  }
  if ((item.flit.bits[shape.bits() / 32] >> (shape.bits() % 32)) != 0) {
    return std::nullopt;
  }
  items = items.subspan(size);
  return item;
}

}  // namespace multitree::rtl
