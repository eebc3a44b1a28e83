// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that lose, between the routers.
#include <fmt/format.h>

#include <algorithm>

#include "nic/network/fabric.hpp"
#include "nic/network/fabric_hands_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {

void Fabric::make_retry(const Topology& topology, const Parameters& parameters,
                        const LinkErrors& errors) {
  for (std::uint32_t l = 0; l < links_; ++l) {
    Channel& channel = channels_[l];
    const std::uint64_t least = RetryLink::least_replay(channel.latency);
    if (channel.slow) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("links that lose: expected links of a flit a cycle, got one of {} "
                              "cycles a flit: {}",
                              static_cast<double>(paces_[l].interval) / kWholeCycle, names_[l]));
    }
    if (parameters.replay_flits < least) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("links that lose: {}: expected replay_flits of at least {} for the "
                              "round trip of {}, got {}",
                              topology.name(), least, names_[l], parameters.replay_flits));
    }
    channel.retries = channel.special = true;
    retries_.emplace_back(RetryLink::Shape{.number = l,
                                           .latency = channel.latency,
                                           .channels = vcs_,
                                           .replay = parameters.replay_flits,
                                           .dead_after = parameters.dead_link_cycles},
                          errors);
  }
  due_.resize(std::size_t{links_} << shift_);
}

/// Before routers look: what comes out of links is theirs in the next cycle.
void Fabric::step_links() {
  const Hands h = hands();
  for (std::uint32_t l = 0; l < links_; ++l) {
    RetryLink& link = retries_[l];
    channels_[l].held = !link.is_ready();
    if (link.is_quiet()) continue;
    const RetryLink::Out out = link.step(now_);
    if (out.arrived != RetryLink::kNone) {
      const std::uint32_t b = l << shift_ | out.arrived;
      const Cycle ready = now_ + 1 + router_cycles_;
      const std::uint16_t place = due_[b].flit;
      h.slot(b, place).time = ready;
      due_[b].flit = h.after(place);
      if (buffers_[b].head == place) h.wake_at(b, ready);
    }
    if (out.credited != RetryLink::kNone) {
      const std::uint32_t b = l << shift_ | out.credited;
      h.slot(b, due_[b].credit).time = now_ + 1;
      due_[b].credit = h.after(due_[b].credit);
    }
    if (!link.is_dead() || !dead_link_.empty()) continue;
    dead_link_ = fmt::format("cycle {}: link {} is dead: nothing new has arrived for {} cycles",
                             now_, names_[l], link.dead_after());
  }
}

LinkCounts Fabric::link_counts() const {
  LinkCounts sum;
  for (const RetryLink& link : retries_) sum += link.counts();
  return sum;
}

void Fabric::settle() {
  while (dead_link_.empty() && !std::ranges::all_of(retries_, &RetryLink::is_quiet)) step();
}

}  // namespace multitree::nic
