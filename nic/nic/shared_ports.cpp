// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Queues of ports that take any message.
#include "nic/nic/shared_ports.hpp"

#include <algorithm>
#include <utility>

namespace multitree::nic {

SharedPorts::SharedPorts(const Parameters& parameters, std::vector<std::uint32_t> first_port)
    : most_packets_(parameters.port_queue_packets),
      payload_flits_((parameters.packet_bytes + parameters.flit_bytes - 1) / parameters.flit_bytes),
      packet_cycles_(payload_flits_ + (parameters.flow_control == FlowControl::Packet
                                           ? parameters.header_flits
                                           : 0)),
      first_port_(std::move(first_port)),
      ranks_(first_port_.size() - 1),
      ports_(first_port_.back()) {}

void SharedPorts::add(std::uint32_t rank, std::uint32_t message, std::uint32_t step, bool is_gather,
                      std::uint64_t payload_flits) {
  ranks_[rank].waiting.push_back({.message = message,
                                  .step = step,
                                  .packets = (payload_flits + payload_flits_ - 1) / payload_flits_,
                                  .is_gather = is_gather});
}

std::uint32_t SharedPorts::free_port(std::uint32_t rank, std::uint64_t now) const {
  for (std::uint32_t p = first_port_[rank]; p < first_port_[rank + 1]; ++p) {
    if (ports_[p].free_at <= now) return p;
  }
  return kNone;
}

bool SharedPorts::all_free(std::uint32_t rank, std::uint64_t now) const {
  return std::all_of(ports_.begin() + first_port_[rank], ports_.begin() + first_port_[rank + 1],
                     [&](const Port& port) { return port.free_at <= now; });
}

void SharedPorts::take(std::uint32_t port, Waiting& waiting, std::uint64_t now) {
  Port& p = ports_[port];
  waiting.is_taken = true;
  p.queue.push_back(waiting);
  p.queued += waiting.packets;
  if (p.sending == 0 && p.queue.size() == 1) p.begun = now;
  find_room(p, now);
  p.free_at = std::max(p.free_at, now + waiting.packets);  // a packet a cycle goes into the queue
}

/// Room there is once all that was taken is in the queue, or has left.
void SharedPorts::find_room(Port& port, std::uint64_t now) const {
  const std::uint64_t excess = port.queued - std::min(port.queued, most_packets_);
  port.free_at = std::max(now, port.begun + excess * packet_cycles_);
}

void SharedPorts::begin(std::uint32_t port, std::uint64_t now) {
  Port& p = ports_[port];
  p.sending = p.queue.front().packets;
  p.queue.pop_front();
  p.begun = now;
  if (p.queued > most_packets_) find_room(p, now);
}

void SharedPorts::sent(std::uint32_t port) {
  Port& p = ports_[port];
  p.queued -= p.sending;
  p.sending = 0;
}

std::uint32_t SharedPorts::step(std::uint32_t rank) const {
  const Rank& r = ranks_[rank];
  const auto next = std::find_if(r.waiting.begin() + static_cast<std::ptrdiff_t>(r.first),
                                 r.waiting.end(), [](const Waiting& w) { return !w.is_taken; });
  return next == r.waiting.end() ? kNone : next->step;
}

}  // namespace multitree::nic
