// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Small integers, so that sums are exact in every type and order.
#include "tests/world/buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/collective.hpp"
#include "tests/runtime/support.hpp"

namespace multitree::runtime::world {
namespace {

/// Bytes around what a call may write.
constexpr std::size_t kFence = 64;
constexpr std::byte kFenceByte{0x5A};

void put(std::vector<std::byte>& bytes, std::size_t at, const CallDraw& draw, std::uint32_t rank,
         std::size_t count) {
  test::Values one(draw.type, 1);
  for (std::size_t i = 0; i < count; ++i) {
    one.set(0, test::input(draw.op, rank, draw.salt + i));
    std::memcpy(bytes.data() + at + i * size_of(draw.type), one.data(), size_of(draw.type));
  }
}

}  // namespace

CallBuffers::CallBuffers(const CallDraw& draw, std::uint32_t rank, std::uint32_t ranks, Rank root)
    : draw_(draw),
      rank_(rank),
      ranks_(ranks),
      root_(root),
      sent_(shards_sent(draw.collective, ranks) * draw.count),
      received_(shards_received(draw.collective, ranks) * draw.count) {
  const std::size_t size = size_of(draw.type);
  if (draw.in_place) {
    if (sends_shard(draw.collective)) send_at_ = rank * draw.count * size;
    if (receives_shard(draw.collective)) recv_at_ = rank * draw.count * size;
  }
  const std::size_t whole = std::max(sent_ * size + send_at_, received_ * size + recv_at_);
  recv_.assign(whole + 2 * kFence, kFenceByte);
  send_ = draw.in_place ? std::vector<std::byte>() : recv_;
  put(draw.in_place ? recv_ : send_, kFence + send_at_, draw, rank, sent_);
  send_before_ = send_;
  recv_before_ = recv_;
}

Call CallBuffers::call() {
  Call call;
  call.collective = draw_.collective;
  call.send = (draw_.in_place ? recv_ : send_).data() + kFence + send_at_;
  call.recv = recv_.data() + kFence + recv_at_;
  call.count = draw_.count;
  call.type = draw_.type;
  call.op = draw_.op;
  call.priority = draw_.priority;
  call.wire = draw_.wire;
  return call;
}

std::string CallBuffers::check() const {
  const std::string wrong = compare();
  if (wrong.empty()) return {};
  return fmt::format("rank {}: {} of {} {}, {}{}: {}", rank_, to_string(draw_.collective),
                     draw_.count, to_string(draw_.type), to_string(draw_.op),
                     draw_.in_place ? ", in place" : "", wrong);
}

std::string CallBuffers::compare() const {
  if (send_ != send_before_) return "its input was changed";
  if (!receives(draw_.collective, Rank{rank_}, root_)) {
    return draw_.in_place || recv_ == recv_before_ ? "" : "what is not its to receive was changed";
  }
  const std::size_t size = size_of(draw_.type), begin = kFence + recv_at_;
  const auto same = [&](std::size_t from, std::size_t to) {
    return std::equal(recv_.begin() + static_cast<std::ptrdiff_t>(from),
                      recv_.begin() + static_cast<std::ptrdiff_t>(to),
                      recv_before_.begin() + static_cast<std::ptrdiff_t>(from));
  };
  const std::size_t end = begin + received_ * size;
  if (!same(0, kFence) || !same(recv_.size() - kFence, recv_.size())) return "wrote over its end";
  if (!draw_.in_place && (!same(0, begin) || !same(end, recv_.size()))) return "wrote beside it";
  const std::size_t first = receives_shard(draw_.collective) ? rank_ * draw_.count : 0;
  test::Values got(draw_.type, 1), want(draw_.type, 1);
  for (std::size_t i = 0; i < received_; ++i) {
    std::memcpy(got.data(), recv_.data() + begin + i * size, size);
    if (reduces(draw_.collective)) {
      want.set(0, test::expected(draw_.type, draw_.op, ranks_, draw_.salt + first + i));
    } else {
      const bool shards = sends_shard(draw_.collective);
      const auto source = shards ? static_cast<std::uint32_t>(i / draw_.count) : index(root_);
      const std::size_t at = shards ? i % draw_.count : first + i;
      want.set(0, test::input(draw_.op, source, draw_.salt + at));
    }
    if (got.get(0) != want.get(0)) {
      return fmt::format("element {} is {}, not {}", i, got.get(0), want.get(0));
    }
  }
  return {};
}

}  // namespace multitree::runtime::world
