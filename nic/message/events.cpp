// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Events of messages.
#include "nic/message/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "nic/message/channels.hpp"
#include "nic/message/worms.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/nic/trace.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

constexpr std::uint64_t kMostPackets = 256;  // of a message, each of them a worm
constexpr std::uint32_t kNone = Endpoints::kNone;

class MessageRun : private Endpoints::Carrier, private Worms::Client {
 public:
  MessageRun(const Program& program, const Topology& topology, const Parameters& parameters,
             const SimulationOptions& options)
      : parameters_(parameters),
        options_(options),
        packet_flits_(parameters.flow_control == FlowControl::Packet
                          ? parameters.header_flits +
                                (parameters.packet_bytes + parameters.flit_bytes - 1) /
                                    parameters.flit_bytes
                          : ~std::uint64_t{0}),
        channels_(program, topology, parameters),
        endpoints_(program, parameters, options, channels_.ports(), *this),
        worms_(channels_, parameters, *this),
        message_of_port_(endpoints_.ports().size(), kNone),
        packets_(channels_.all_private() ? 0 : endpoints_.num_messages()),
        flits_on_route_(program.routes.size(), 0) {
    result_.messages = endpoints_.num_messages();
    result_.clock_hz = clock_of(topology, parameters);
    if (options.trace) trace_.emplace(endpoints_, parameters, topology.num_links(), result_);
  }

  Simulation run();

 private:
  // Events of our own: ports that have sent their message, then channels that are to be served.
  void happen(std::uint32_t what) override {
    if (what >= message_of_port_.size()) {
      worms_.serve(endpoints_.now(), what - static_cast<std::uint32_t>(message_of_port_.size()));
      return;
    }
    message_of_port_[what] = kNone;
    endpoints_.sent(what, endpoints_.now());  // the tail left in the cycle before
    pending_.push_back(what);
  }
  void ready(std::uint32_t port) override { pending_.push_back(port); }
  void take(std::uint32_t) override {}

  void call(std::uint64_t time, std::uint32_t channel) override {
    endpoints_.post(time, static_cast<std::uint32_t>(message_of_port_.size()) + channel);
  }
  void left(std::uint64_t time, std::uint32_t message) override {
    const auto hops = channels_.route(endpoints_.message(message).route);
    if (packets_[message].flits_left > 0) {
      start_packet(time, message, hops);
      return;
    }
    const std::uint32_t port = hops[0].channel - channels_.first_port();
    if (trace_) trace_->sends(port, message, result_.records[message].issued, time);
    endpoints_.post(time, port);
  }
  void arrived(std::uint64_t time, std::uint32_t message) override {
    Packets& packets = packets_[message];
    packets.arrived = std::max(packets.arrived, time);  // they may overtake each other
    if (--packets.under_way == 0 && packets.flits_left == 0) deliver(packets.arrived, message);
  }
  void passed(std::uint32_t channel, std::uint32_t message, std::uint64_t begin,
              std::uint64_t end) override {
    if (trace_) trace_->passed(channel, message, begin, end);
  }

  void begin(std::uint32_t port);
  void deliver(std::uint64_t time, std::uint32_t message);
  void start_packet(std::uint64_t time, std::uint32_t message, std::span<const Hop> hops);

  /// Of a message: each packet is a worm. One without packets is one worm.
  struct Packets {
    std::uint64_t flits_left = 0;  // of those not yet at the port
    std::uint32_t under_way = 0;
    std::uint64_t arrived = 0;  // the last
  };

  const Parameters& parameters_;
  const SimulationOptions& options_;
  const std::uint64_t packet_flits_;  // of a whole one, with its headers; of any message, if none
  Channels channels_;
  Endpoints endpoints_;
  Worms worms_;
  std::vector<std::uint32_t> message_of_port_;
  std::vector<Packets> packets_;               // [message]
  std::vector<std::uint32_t> pending_;         // ports that may have something to send
  std::vector<std::uint64_t> flits_on_route_;  // [route]
  Simulation result_;
  std::optional<Trace> trace_;
};

void MessageRun::deliver(std::uint64_t time, std::uint32_t message) {
  if (trace_) trace_->arrived(message, time);
  endpoints_.arrive(time, message);
}

void MessageRun::begin(std::uint32_t port) {
  if (message_of_port_[port] != kNone) return;
  const std::uint32_t message = endpoints_.begin(port);
  if (message == kNone) return;
  message_of_port_[port] = message;
  const std::uint64_t payload = endpoints_.message(message).payload;
  const std::uint64_t flits = payload + header_flits(payload, parameters_);
  const std::uint64_t start = endpoints_.now() + endpoints_.issue_delay(message);
  const std::uint32_t route = endpoints_.message(message).route;
  const auto hops = channels_.route(route);
  flits_on_route_[route] += flits;
  if (trace_) trace_->issued(message, start);
  if (!channels_.is_private(port)) {
    packets_[message].flits_left = flits;
    start_packet(start, message, hops);
    return;
  }
  endpoints_.post(start + flits, port);
  deliver(start + flits - 1 + channels_.delay(route), message);
  if (!trace_) return;
  trace_->sends(port, message, start, start + flits);
  std::uint64_t begin = start;
  for (std::size_t h = 1; h + 1 < hops.size(); ++h) {
    begin += channels_.all()[hops[h - 1].channel].delay;
    passed(hops[h].channel, message, begin, begin + flits);
  }
}

void MessageRun::start_packet(std::uint64_t time, std::uint32_t message,
                              std::span<const Hop> hops) {
  Packets& packets = packets_[message];
  // Of long messages the packets are one worm: as near to the flit model, and much faster.
  const bool is_long = packets.under_way == 0 && packets.flits_left / packet_flits_ > kMostPackets;
  const std::uint64_t flits =
      is_long ? packets.flits_left : std::min(packets.flits_left, packet_flits_);
  packets.flits_left -= flits;
  ++packets.under_way;
  worms_.start(time, message, flits, hops);
}

Simulation MessageRun::run() {
  std::uint64_t rounds = 0;
  while (endpoints_.left() > 0) {
    const std::uint64_t next = endpoints_.next_time();
    if (next == EventWheel<int>::kNever) {
      result_.errors.push_back(
          fmt::format("cycle {}: nothing moves, and {} messages are missing; {}", endpoints_.now(),
                      endpoints_.left(), endpoints_.who_waits()));
      break;
    }
    endpoints_.handle_until(next);
    for (std::size_t i = 0; i < pending_.size(); ++i) begin(pending_[i]);
    pending_.clear();
    if (options_.progress && (++rounds & 0xffff) == 0) {
      options_.progress(1 - static_cast<double>(endpoints_.left()) /
                                static_cast<double>(endpoints_.total()));
    }
  }
  result_.cycles = endpoints_.finished_at();
  result_.jobs = endpoints_.job_spans();
  std::vector<std::uint64_t> flits_on(channels_.num_links(), 0);
  for (std::uint32_t r = 0; r < flits_on_route_.size(); ++r) {
    const auto hops = channels_.route(r);
    for (const Hop& hop : hops.subspan(1, hops.size() - 2)) {
      flits_on[hop.channel] += flits_on_route_[r];
    }
  }
  for (const std::uint64_t flits : flits_on) {
    result_.link_flits += flits;
    result_.busiest_link_flits = std::max(result_.busiest_link_flits, flits);
  }
  return std::move(result_);
}

}  // namespace

Simulation run_message_level(const Program& program, const Topology& topology,
                             const Parameters& parameters, const SimulationOptions& options) {
  for (const Fault& fault : options.faults) {
    if (fault.kind == Fault::Kind::LateInterface) continue;
    throw Error(ErrorCode::Unsupported,
                "message model: expected no faults of links, which only the flit model has");
  }
  if (parameters.port_queue_packets > 0 || parameters.shared_inputs ||
      parameters.ejection_channels > 0) {
    throw Error(ErrorCode::Unsupported,
                "message model: expected port_queue_packets 0, shared_inputs false and "
                "ejection_channels 0, others are for the flit model only");
  }
  if (parameters.reduction == Reduction::Pipelined) {
    throw Error(ErrorCode::Unsupported,
                "message model: expected streaming or store reduction, pipelined is for the flit "
                "model only");
  }
  return MessageRun(program, topology, parameters, options).run();
}

}  // namespace multitree::nic
