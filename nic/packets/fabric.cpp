// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Ports with finite queues.
#include <algorithm>

#include "nic/packets/fabric_internal.hpp"

namespace multitree::packets {
namespace {

/// splitmix64.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

std::int64_t picoseconds_of(std::uint32_t bytes, Bandwidth bandwidth) {
  return static_cast<std::int64_t>(static_cast<double>(bytes) * 1e12 /
                                   static_cast<double>(bandwidth.bytes_per_second));
}

}  // namespace

Fabric::Fabric(const Topology& topology, const Parameters& parameters, std::span<const Flow> flows,
               std::vector<FlowResult>& results, Clock& clock)
    : topology_(topology),
      parameters_(parameters),
      flows_(flows),
      results_(results),
      clock_(clock),
      router_(topology),
      ways_(topology.num_nodes()),
      ports_(topology.num_links()) {}

std::uint64_t Fabric::choice(std::uint64_t a, std::uint64_t b, std::uint64_t c) const {
  return mixed(mixed(mixed(mixed(parameters_.seed) ^ a) ^ b) ^ c);
}

const std::vector<LinkId>& Fabric::ways(NodeId at, NodeId dst) {
  std::vector<std::vector<LinkId>>& to = ways_[index(dst)];
  if (to.empty()) to.resize(topology_.num_nodes());
  std::vector<LinkId>& links = to[index(at)];
  if (links.empty()) {
    const std::uint32_t here = router_.distance(at, dst);
    for (const LinkId link : topology_.out_links(at)) {
      if (router_.distance(topology_.link(link).dst, dst) + 1 == here) links.push_back(link);
    }
  }
  return links;
}

LinkId Fabric::next_link(const Packet& packet, NodeId at) {
  const std::vector<LinkId>& links = ways(at, packet.dst);
  if (links.size() == 1) return links.front();
  const bool sprayed = flows_[packet.flow].spread == Spread::Spray;
  const std::uint64_t which = sprayed ? 1 + std::uint64_t{packet.sending} : 0;
  return links[choice(packet.flow, which, index(at)) % links.size()];
}

void Fabric::forward(Packet packet, NodeId at) {
  const std::uint32_t link = index(next_link(packet, at));
  Port& port = ports_[link];
  if (packet.kind == Kind::Data && at != packet.src) {
    const bool late = port.waiting >= parameters_.threshold;
    if (port.waiting >= parameters_.queue || (late && packet.droppable)) {
      ++results_[packet.flow].dropped;
      return;
    }
    if (late && !packet.marked) {
      packet.marked = true;
      ++results_[packet.flow].marked;
    }
  }
  if (!port.busy) {
    start(link, packet);
    return;
  }
  if (packet.kind == Kind::Data && at != packet.src) {
    most_waiting_ = std::max(most_waiting_, ++port.waiting);
  }
  // A question follows the data that it is about.
  const bool with_data = packet.kind == Kind::Data || packet.kind == Kind::Question;
  port.queues[with_data ? 1U + packet.priority : 0U].push_back(packet);
}

void Fabric::start(std::uint32_t link, const Packet& packet) {
  ports_[link].busy = true;
  const Link& facts = topology_.link(LinkId{link});
  const std::int64_t sent = clock_.now() + picoseconds_of(packet.bytes, facts.bandwidth);
  std::uint32_t kept = static_cast<std::uint32_t>(kept_.size());
  if (free_.empty()) {
    kept_.push_back({packet, facts.dst});
  } else {
    kept = free_.back();
    free_.pop_back();
    kept_[kept] = {packet, facts.dst};
  }
  clock_.at(sent, Event::Kind::PortFree, link);
  clock_.at(sent + facts.latency.picoseconds, Event::Kind::Arrival, kept);
}

void Fabric::on_port_free(std::uint32_t link) {
  Port& port = ports_[link];
  port.busy = false;
  for (std::deque<Packet>& queue : port.queues) {
    if (queue.empty()) continue;
    const Packet packet = queue.front();
    queue.pop_front();
    if (packet.kind == Kind::Data && topology_.link(LinkId{link}).src != packet.src) --port.waiting;
    start(link, packet);
    return;
  }
}

bool Fabric::on_arrival(std::uint32_t kept, Packet& packet) {
  packet = kept_[kept].packet;
  const NodeId at = kept_[kept].to;
  free_.push_back(kept);
  if (at == packet.dst) return true;
  forward(packet, at);
  return false;
}

}  // namespace multitree::packets
