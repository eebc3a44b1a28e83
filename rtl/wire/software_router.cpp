// SPDX-License-Identifier: BSD-3-Clause
#include "rtl/wire/software_router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace multitree::rtl {
namespace {

/// A port begins no other message as long as so many flits wait to leave by it, nor does a virtual
/// channel of it get other worms of neighbours.
constexpr std::size_t kMostFlits = 4096;
/// Flits of a worm: a long route, a header, and as much payload as that can say.
constexpr std::size_t kLongestWorm = 2 + (std::size_t{1} << mt_pkg::kLenW) - 1;

}  // namespace

SoftwareRouter::SoftwareRouter(Cables& cables, const nic::Parameters& parameters,
                               std::uint32_t interface_ports, Deliver deliver)
    : cables_(cables),
      shape_(parameters.flit_bytes),
      channels_(parameters.virtual_channels),
      interface_ports_(interface_ports),
      deliver_(std::move(deliver)),
      outputs_(cables.out.size()),
      inputs_(cables.in.size()) {
  for (Output& output : outputs_) {
    std::fill_n(output.places.begin(), channels_, parameters.buffer_flits);
  }
}

bool SoftwareRouter::receive() {
  bool moves = false;
  LinkFlit flit;
  for (std::uint32_t p = 0; p < inputs_.size(); ++p) {
    while (cables_.of_in(p).take_flit(flit)) {
      inputs_[p][flit.vc].arrived.push_back(flit);
      moves = true;
    }
    for (Input& input : inputs_[p]) {
      while (error_.empty() && advance(p, input)) moves = true;
    }
  }
  return moves;
}

/// Moves a worm on, or takes one flit of it. \returns whether it could
bool SoftwareRouter::advance(std::uint32_t port, Input& input) {
  if (input.hop) return go_on(input);
  if (input.arrived.empty()) return false;
  const LinkFlit flit = input.arrived.front();
  input.arrived.pop_front();
  cables_.of_in(port).put_credit(flit.vc);
  if (!is_intact(flit, shape_)) {
    fail(fmt::format("corrupt flit at port {}", port));
    return false;
  }
  input.worm.push_back(flit);
  if (input.worm.size() > kLongestWorm) fail(fmt::format("a worm without an end at port {}", port));
  if (is_tail(flit, shape_)) input.hop = take_hop(input.worm.front(), shape_);
  return true;
}

/// \returns false if there is no room for the worm yet
bool SoftwareRouter::go_on(Input& input) {
  if (input.hop->port >= interface_ports_) {
    deliver_(input.worm);
  } else {
    const auto channel = shortest(*input.hop);
    if (!channel) return false;
    if (outputs_[input.hop->port].waiting[*channel].size() >= kMostFlits) return false;
    put(*input.hop, *channel, input.worm);
  }
  input.worm.clear();
  input.hop.reset();
  return true;
}

/// Of the virtual channels that a worm may take, the one in which the fewest flits wait. None: it
/// has failed.
std::optional<std::uint8_t> SoftwareRouter::shortest(const Hop& hop) {
  std::optional<std::uint8_t> best;
  if (hop.port >= outputs_.size()) {
    fail(fmt::format("a route to port {}", hop.port));
    return best;
  }
  if (hop.channels >> channels_ != 0) {
    fail(fmt::format("a route to virtual channel {} of port {}, which has {}",
                     std::bit_width(hop.channels) - 1, hop.port, channels_));
    return best;
  }
  const auto& waiting = outputs_[hop.port].waiting;
  for (std::uint8_t v = 0; v < channels_; ++v) {
    if ((hop.channels >> v & 1) == 0) continue;
    if (!best || waiting[v].size() < waiting[*best].size()) best = v;
  }
  if (!best) fail(fmt::format("a route without a virtual channel at port {}", hop.port));
  return best;
}

void SoftwareRouter::put(const Hop& hop, std::uint8_t channel, const Worm& worm) {
  for (LinkFlit flit : worm) {
    flit.vc = channel;
    outputs_[hop.port].waiting[channel].push_back(flit);
  }
}

void SoftwareRouter::send(Worm worm) {
  const Hop hop = take_hop(worm.front(), shape_);
  if (const auto channel = shortest(hop)) put(hop, *channel, worm);
}

bool SoftwareRouter::is_crowded(std::uint32_t port) const {
  std::size_t flits = 0;
  for (const auto& waiting : outputs_[port].waiting) flits += waiting.size();
  return flits > kMostFlits;
}

bool SoftwareRouter::transmit() {
  bool moves = false;
  for (std::uint32_t p = 0; p < outputs_.size(); ++p) moves = transmit(p) || moves;
  return moves;
}

bool SoftwareRouter::transmit(std::uint32_t port) {
  Output& output = outputs_[port];
  Cable& cable = cables_.of_out(port);
  bool moves = false;
  std::uint8_t vc = 0;
  while (cable.take_credit(vc)) ++output.places[vc];
  for (std::uint32_t v = 0; v < mt_pkg::kNumVc; ++v) {
    for (auto& waiting = output.waiting[v]; !waiting.empty() && output.places[v] > 0;
         moves = true) {
      cable.put_flit(waiting.front());
      waiting.pop_front();
      --output.places[v];
    }
  }
  return moves;
}

}  // namespace multitree::rtl
