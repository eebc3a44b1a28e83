// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The schedule's meaning on bytes.
#include "rtl/sim/data.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "nic/machine/reference.hpp"
#include "runtime/kernels/reduce.hpp"
#include "topologies/error.hpp"

namespace multitree::rtl {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"int32", "float", "bfloat16", "half"};

/// The runtime converts: 1 * x is x, rounded.
void store(float value, HardwareType type, std::byte* to) {
  switch (type) {
    case HardwareType::Fp32:
      std::memcpy(to, &value, sizeof value);
      break;
    case HardwareType::Int32: {
      const auto number = static_cast<std::int32_t>(value * 0x1p28F);
      std::memcpy(to, &number, sizeof number);
      break;
    }
    case HardwareType::Bf16: {
      const auto bits = __builtin_bit_cast(std::uint32_t, value);
      const auto half = static_cast<std::uint16_t>(bits >> 16);  // truncated: any number will do
      std::memcpy(to, &half, sizeof half);
      break;
    }
    case HardwareType::Fp16: {
      // In [-1, 1), of magnitudes that fp16 has: exponent 2^-9 and up, ten bits.
      const auto bits = __builtin_bit_cast(std::uint32_t, value);
      const std::uint32_t exponent = bits >> 23 & 0xff;
      const std::uint32_t scaled = exponent < 113 ? 0 : exponent - 112;
      const auto half =
          static_cast<std::uint16_t>((bits >> 16 & 0x8000) | scaled << 10 | (bits >> 13 & 0x3ff));
      std::memcpy(to, &half, sizeof half);
      break;
    }
  }
}

}  // namespace

HardwareType parse_hardware_type(std::string_view text) {
  for (std::size_t t = 0; t < kNames.size(); ++t) {
    if (text == kNames[t]) return static_cast<HardwareType>(t);
  }
  throw Error(ErrorCode::InvalidArgument,
              fmt::format("expected int32, float, bfloat16 or half, got '{}'", text));
}

runtime::DataType data_type_of(HardwareType type) {
  return runtime::parse_data_type(kNames[static_cast<std::size_t>(type)]);
}

Buffers make_inputs(std::uint32_t ranks, std::uint64_t elements, HardwareType type) {
  const nic::Memory floats = nic::make_inputs(ranks, elements);
  const std::uint32_t bytes = bytes_of(type);
  Buffers buffers(ranks, std::vector<std::byte>(elements * bytes));
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint64_t e = 0; e < elements; ++e) {
      store(floats[r][e], type, buffers[r].data() + e * bytes);
    }
  }
  return buffers;
}

void run_schedule(const Schedule& schedule, HardwareType type, Buffers& buffers) {
  const std::uint32_t bytes = bytes_of(type);
  const auto ranges = chunk_ranges(schedule, buffers.empty() ? 0 : buffers.front().size() / bytes);
  const auto& transfers = schedule.transfers;
  Buffers sent;
  for (std::size_t begin = 0, end = 0; begin < transfers.size(); begin = end) {
    sent.clear();
    for (; end < transfers.size() && transfers[end].step == transfers[begin].step; ++end) {
      const ElementRange range = ranges[transfers[end].chunk];
      const std::byte* const from = buffers[index(transfers[end].src)].data() + range.begin * bytes;
      sent.emplace_back(from, from + range.count * bytes);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const ElementRange range = ranges[transfers[i].chunk];
      std::byte* const to = buffers[index(transfers[i].dst)].data() + range.begin * bytes;
      if (transfers[i].op == Op::Reduce) {
        runtime::reduce(to, sent[i - begin].data(), range.count, data_type_of(type),
                        runtime::ReduceOp::Sum);
      } else {
        std::memcpy(to, sent[i - begin].data(), range.count * bytes);
      }
    }
  }
}

std::string find_difference(const Schedule& schedule, HardwareType type, const Buffers& expected,
                            const Buffers& got) {
  const std::uint32_t bytes = bytes_of(type);
  const auto ranges =
      chunk_ranges(schedule, expected.empty() ? 0 : expected.front().size() / bytes);
  for (std::uint32_t r = 0; r < schedule.ranks; ++r) {
    for (std::size_t c = 0; c < ranges.size(); ++c) {
      if (!ends_with(schedule, Rank{r}, static_cast<std::uint32_t>(c))) continue;
      for (std::uint64_t e = ranges[c].begin; e < ranges[c].begin + ranges[c].count; ++e) {
        std::uint32_t want = 0, have = 0;
        std::memcpy(&want, expected[r].data() + e * bytes, bytes);
        std::memcpy(&have, got[r].data() + e * bytes, bytes);
        if (want == have) continue;
        return fmt::format("rank {}, element {}: expected {:#x}, got {:#x}", r, e, want, have);
      }
    }
  }
  return {};
}

}  // namespace multitree::rtl
