// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// mtProbe(), mtIProbe(): messages that can be received, of one rank or of any.
#include <fmt/format.h>

#include <functional>

#include "runtime/c/calls_internal.hpp"

namespace multitree::runtime::c {
namespace {

ExchangeCall probe_of(int peer) {
  ExchangeCall call{.exchange = Exchange::Probe, .type = DataType::Uint8};
  call.of_any = peer == MT_ANY_PEER;
  if (call.of_any) return call;
  if (peer < 0) {
    throw Failure(mtInvalidArgument,
                  fmt::format("peer: expected a rank or MT_ANY_PEER, found {}", peer));
  }
  call.peer = Rank{static_cast<std::uint32_t>(peer)};
  return call;
}

}  // namespace
}  // namespace multitree::runtime::c

using namespace multitree::runtime::c;
using multitree::Rank;

mtResult_t mtProbe(int peer, mtComm_t comm, int* sender) {
  Rank found{};
  const auto make_spec = [&](const std::shared_ptr<Comm>&) {
    require(sender, "sender");
    if (Group::of_this_thread().open()) {
      throw Failure(mtInvalidUsage,
                    "mtProbe: expected no open group, whose messages go when it ends; "
                    "call mtGroupEnd() first, or mtIProbe()");
    }
    CallSpec spec;
    spec.exchange = probe_of(peer);
    spec.exchange->sender = &found;
    return spec;
  };
  const mtResult_t result = submit(comm, Mode::Blocking, nullptr, std::cref(make_spec));
  if (result == mtSuccess) *sender = static_cast<int>(index(found));
  return result;
}

mtResult_t mtIProbe(int peer, mtComm_t comm, int* sender) {
  return guarded([&] {
    require(sender, "sender");
    *sender = -1;
    const auto found = find(comm)->probe(probe_of(peer));
    if (found) *sender = static_cast<int>(index(*found));
  });
}
