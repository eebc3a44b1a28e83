// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What travels between interfaces whose links are Ethernet: docs/hardware.md, "Links over
/// Ethernet".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rtl/sim/hardware.hpp"

namespace multitree::rtl {

/// One way between two nodes, as NodeNumbers has them: `lane` counts the links between them.
struct Way {
  std::uint16_t from = 0, to = 0, lane = 0;
  auto operator<=>(const Way&) const = default;
};

/// The payload of an Ethernet frame, all numbers with the highest byte first.
struct Frame {
  enum class Kind : std::uint8_t { Hello = 1, Data = 2 };

  Kind kind = Kind::Data;
  Way way;
  std::uint32_t job = 0;       ///< frames of other jobs are not looked at
  std::uint32_t sequence = 0;  ///< of this frame; of one without items: that of the next
  std::uint32_t ack = 0;       ///< all frames before this one have come, the other way
  bool gap = false;            ///< a later frame than `ack` has come
  FlitShape shape{};           ///< of the flits among its items
  std::span<const std::byte> items = {};
};

/// Bytes of a frame before its items.
inline constexpr std::size_t kFrameHeader = 28;
/// Bytes of a flit as an item: its virtual channel, then its bits from the lowest byte up.
constexpr std::size_t flit_item(FlitShape shape = FlitShape{}) {
  return 1 + (shape.bits() + 7) / 8;
}
/// A credit as an item: its virtual channel, with the highest bit set.
inline constexpr std::size_t kCreditItem = 1;

/// Its bytes, with a CRC-32 over all of them.
std::vector<std::byte> encode(const Frame& frame);
/// None: it is too short, of another version, of flits that there are not, or its CRC is wrong.
/// `items` are within `bytes`.
std::optional<Frame> decode(std::span<const std::byte> bytes);
/// The node that it says it is for, before its CRC was looked at; none: it is too short.
std::optional<std::uint16_t> addressee(std::span<const std::byte> bytes);

void append_flit(std::vector<std::byte>& items, const LinkFlit& flit, FlitShape shape = {});
void append_credit(std::vector<std::byte>& items, std::uint8_t vc);

/// A flit, or a credit for a virtual channel.
struct Item {
  bool is_credit = false;
  LinkFlit flit;  ///< of a credit: its virtual channel alone
};
/// Takes the first item off. \returns none if it is cut off, names a virtual channel that there is
/// not, or has bits behind its last one. \pre items is not empty
std::optional<Item> take_item(std::span<const std::byte>& items, FlitShape shape = {});

}  // namespace multitree::rtl
