// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Flows together, from the first to the end of the last.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "nic/packets/connection_internal.hpp"
#include "topologies/error.hpp"

namespace multitree::packets {
namespace {

[[noreturn]] void refuse(const std::string& words) {
  throw Error(ErrorCode::InvalidArgument, words);
}

void check_parameters(const Parameters& parameters) {
  constexpr std::uint32_t kLeast = 64, kMost = 1U << 20U;
  if (parameters.packet_bytes < kLeast || parameters.packet_bytes > kMost) {
    refuse(fmt::format("packets: expected packets of {} to {} bytes, got {}", kLeast, kMost,
                       parameters.packet_bytes));
  }
  if (parameters.queue == 0 || parameters.first_window == 0 ||
      parameters.most_window < parameters.first_window || parameters.time_out <= Time{}) {
    refuse(fmt::format(
        "packets: expected a queue, windows and a time-out above 0, got {}, {} to {}, {}",
        parameters.queue, parameters.first_window, parameters.most_window,
        to_string(parameters.time_out)));
  }
}

void check_flow(const Flow& flow, std::size_t number, const Topology& topology,
                const Parameters& parameters) {
  const auto part = [](double value) { return value >= 0 && value <= 1; };
  if (index(flow.src) >= topology.num_ranks() || index(flow.dst) >= topology.num_ranks() ||
      flow.src == flow.dst) {
    refuse(fmt::format("flow {}: expected two different ranks below {}, got {} and {}", number,
                       topology.num_ranks(), index(flow.src), index(flow.dst)));
  }
  if (!part(flow.budget) || flow.budget == 1 || !part(flow.droppable)) {
    refuse(fmt::format("flow {}: expected a budget below 1 and a part from 0 to 1, got {} and {}",
                       number, flow.budget, flow.droppable));
  }
  if (flow.priority >= kPriorities || flow.ready < Time{} ||
      flow.bytes / parameters.packet_bytes >= (1U << 30U)) {
    refuse(fmt::format(
        "flow {}: expected a priority below {}, a time from 0 and below 2^30 packets, got {}, {} "
        "and {} bytes",
        number, kPriorities, flow.priority, to_string(flow.ready), flow.bytes));
  }
  for (const std::uint32_t other : flow.after) {
    if (other >= number) {
      refuse(fmt::format("flow {}: expected to come after flows before it, got {}", number, other));
    }
  }
}

class Simulation {
 public:
  Simulation(std::span<const Flow> flows, const Topology& topology, const Parameters& parameters)
      : flows_(flows),
        results_(flows.size()),
        fabric_(topology, parameters, flows, results_, clock_),
        followers_(flows.size()),
        awaited_(flows.size()) {
    const Surroundings around{topology, parameters, clock_, fabric_};
    for (std::uint32_t f = 0; f < flows.size(); ++f) {
      connections_.push_back(make_connection(flows[f], f, around, results_[f]));
      awaited_[f] = flows[f].after.size();
      for (const std::uint32_t other : flows[f].after) followers_[other].push_back(f);
    }
  }

  Traffic run() {
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      if (awaited_[f] == 0) begin(f);
    }
    while (!clock_.done()) handle(clock_.next());
    Traffic traffic{.flows = std::move(results_), .most_waiting = fabric_.most_waiting()};
    if (ended_ != flows_.size()) {
      throw std::logic_error(
          fmt::format("packets: {} of {} flows never end", flows_.size() - ended_, flows_.size()));
    }
    for (const FlowResult& flow : traffic.flows) traffic.end = std::max(traffic.end, flow.end);
    return traffic;
  }

 private:
  void begin(std::uint32_t flow) {
    clock_.at(std::max(clock_.now(), flows_[flow].ready.picoseconds), Event::Kind::Start, flow);
  }

  void finish(std::uint32_t flow) {
    ++ended_;
    results_[flow].end = Time{clock_.now()};
    for (const std::uint32_t next : followers_[flow]) {
      if (--awaited_[next] == 0) begin(next);
    }
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case Event::Kind::Start:
        results_[event.what].begin = Time{clock_.now()};
        if (flows_[event.what].bytes == 0) {
          finish(event.what);
        } else {
          connections_[event.what]->start();
        }
        return;
      case Event::Kind::Timer:
        connections_[event.what]->on_timer();
        return;
      case Event::Kind::PortFree:
        fabric_.on_port_free(event.what);
        return;
      case Event::Kind::Arrival:
        Packet packet;
        if (!fabric_.on_arrival(event.what, packet)) return;
        if (connections_[packet.flow]->arrived(packet)) finish(packet.flow);
        return;
    }
  }

  std::span<const Flow> flows_;
  std::vector<FlowResult> results_;
  Clock clock_;
  Fabric fabric_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::vector<std::uint32_t>> followers_;
  std::vector<std::size_t> awaited_;  // flows that a flow comes after
  std::size_t ended_ = 0;
};

}  // namespace

Traffic simulate(std::span<const Flow> flows, const Topology& topology,
                 const Parameters& parameters) {
  check_parameters(parameters);
  for (std::size_t f = 0; f < flows.size(); ++f) check_flow(flows[f], f, topology, parameters);
  return Simulation(flows, topology, parameters).run();
}

}  // namespace multitree::packets
