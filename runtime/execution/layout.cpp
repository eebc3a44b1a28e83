// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where a call's data lies, and whether it can lie there.
#include "runtime/execution/layout_internal.hpp"

#include <fmt/format.h>

#include <functional>
#include <limits>

#include "topologies/error.hpp"

namespace multitree::runtime {
namespace {

/// Elements of any type that as many ranks as there can be may have in a shard; saves divisions.
constexpr std::size_t kAlwaysFits = std::size_t{1} << 32;

[[noreturn]] void reject(const Call& call, const std::string& what) {
  throw Error(ErrorCode::InvalidArgument, fmt::format("{}: {}", to_string(call.collective), what));
}

/// Whether both buffers are there, and `bytes` from each do not meet.
bool are_apart(const Call& call, std::size_t bytes) {
  const auto send = reinterpret_cast<std::uintptr_t>(call.send);
  const auto recv = reinterpret_cast<std::uintptr_t>(call.recv);
  return send != 0 && recv != 0 && (send < recv ? recv - send : send - recv) >= bytes;
}

/// Where send lies when it is in place: the smaller buffer is this rank's shard of the larger.
const std::byte* in_place(const Call& call, const Layout& layout) {
  const std::byte* const recv = bytes_of(call.recv);
  if (layout.sent < layout.received) return recv + layout.own;
  return layout.sent > layout.received ? recv - layout.own : recv;
}

}  // namespace

std::uint64_t elements_of(const Call& call, std::uint32_t ranks) {
  return std::uint64_t{call.count} * (is_sharded(call.collective) ? ranks : 1);
}

Layout layout_of(const Call& call, Rank self, std::uint32_t ranks, Rank root) {
  const std::size_t shard = call.count * size_of(call.type);
  Layout layout;
  layout.sends = sends(call.collective, self, root);
  layout.receives = receives(call.collective, self, root);
  layout.reduces = reduces(call.collective);
  layout.whole = elements_of(call, ranks) * size_of(call.type);
  layout.own = is_sharded(call.collective) ? index(self) * shard : 0;
  if (layout.sends) layout.sent = shards_sent(call.collective, ranks) * shard;
  if (layout.receives) layout.received = shards_received(call.collective, ranks) * shard;
  return layout;
}

void check_buffers(const Call& call, Rank self, std::uint32_t ranks, Rank root) {
  if (call.count > kAlwaysFits &&
      call.count > std::numeric_limits<std::size_t>::max() / 16 / size_of(call.type) / ranks) {
    reject(call, fmt::format("{} elements do not fit the address space", call.count));
  }
  if (call.count == 0 || are_apart(call, elements_of(call, ranks) * size_of(call.type))) return;
  const Layout layout = layout_of(call, self, ranks, root);
  if (call.send == nullptr && layout.sends) reject(call, "send is null");
  if (call.recv == nullptr && layout.receives) reject(call, "recv is null");
  if (!layout.sends || !layout.receives) return;
  const std::byte* const send = bytes_of(call.send);
  const std::byte* const recv = bytes_of(call.recv);
  if (send == in_place(call, layout)) return;
  if (std::less<>()(send, recv + layout.received) && std::less<>()(recv, send + layout.sent)) {
    reject(call, "send and recv overlap without being in place");
  }
}

}  // namespace multitree::runtime
