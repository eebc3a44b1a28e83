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
  // A packet a cycle goes into the queue.
  p.free_at = p.queued > most_packets_ ? kNever : now + waiting.packets;
}

bool SharedPorts::sent_packet(std::uint32_t port, std::uint64_t now) {
  Port& p = ports_[port];
  if (--p.queued > most_packets_ || p.free_at != kNever) return false;
  p.free_at = now + 1;
  return true;
}

std::uint32_t SharedPorts::step(std::uint32_t rank) const {
  const Rank& r = ranks_[rank];
  const auto next = std::find_if(r.waiting.begin() + static_cast<std::ptrdiff_t>(r.first),
                                 r.waiting.end(), [](const Waiting& w) { return !w.is_taken; });
  return next == r.waiting.end() ? kNone : next->step;
}

}  // namespace multitree::nic
