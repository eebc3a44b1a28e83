// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The loop over cycles, and what passes between interfaces and network.
#include "nic/machine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "nic/machine/faults_internal.hpp"
#include "nic/machine/moves_internal.hpp"
#include "nic/machine/payloads_internal.hpp"
#include "nic/machine/sender_internal.hpp"
#include "nic/machine/standstill_internal.hpp"
#include "nic/network/channel_classes.hpp"
#include "nic/network/fabric.hpp"
#include "nic/nic/endpoints.hpp"
#include "nic/nic/receive_engines.hpp"
#include "nic/nic/trace.hpp"
#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

class Machine : private Endpoints::Carrier {
 public:
  Machine(const Program& program, const Topology& topology, const Parameters& parameters,
          const SimulationOptions& options, std::vector<std::vector<float>>* memory);
  Simulation run();

 private:
  void ready(std::uint32_t port) override { activate(port); }
  void take(std::uint32_t message) override;
  void happen(std::uint32_t port) override { activate(port); }
  void lose(std::uint32_t rank, std::uint32_t job) override {  // the last job
    if (payloads_) payloads_->clear(rank, program_.jobs[job].first_element);
  }

  void activate(std::uint32_t port);
  bool begin(std::uint32_t port);
  void open_packet(std::uint32_t port);
  bool send_flit(std::uint32_t port);
  bool work(std::uint32_t port);
  void work_ports();
  void receive(const Delivery& flit);
  void close(const Packet& packet, const Delivery& flit);
  void run_engines();
  void end_cycle(Cycle cycle);
  void fail(std::string what) { result_.errors.push_back(std::move(what)); }
  void stall();
  [[nodiscard]] std::uint64_t next_event();
  [[nodiscard]] bool skip_quiet_cycles();
  void check_progress(Cycle cycle);
  void finish();
  [[nodiscard]] Cycle now() const { return fabric_.now(); }

  const Program& program_;
  const Topology& topology_;
  const Parameters& parameters_;
  const SimulationOptions& options_;
  const std::uint64_t packet_flits_;  // payload of a whole packet
  Fabric fabric_;
  Endpoints endpoints_;
  std::vector<Sender> senders_;            // [port]
  std::vector<std::uint32_t> active_;      // ports
  std::vector<std::uint64_t> flits_left_;  // [message]: payload flits not yet received
  std::vector<Packet> packets_;            // by the fabric's numbers
  std::optional<Payloads> payloads_;
  std::optional<LimitedMemory> memory_;    // Pipelined, if it is limited
  std::optional<ReceiveEngines> engines_;  // Pipelined
  std::deque<Delivery> on_the_way_;        // Pipelined: delivered, not yet there
  Cycle last_progress_ = 0;
  Simulation result_;
  std::optional<Trace> trace_;
};

Machine::Machine(const Program& program, const Topology& topology, const Parameters& parameters,
                 const SimulationOptions& options, std::vector<std::vector<float>>* memory)
    : program_(program),
      topology_(topology),
      parameters_(parameters),
      options_(options),
      packet_flits_((parameters.packet_bytes + parameters.flit_bytes - 1) / parameters.flit_bytes),
      fabric_(topology, parameters, options.link_errors),
      endpoints_(program, parameters, options, fabric_.ports(), *this),
      senders_(endpoints_.ports().size(), Sender(parameters)),
      flits_left_(endpoints_.num_messages(), 0) {
  fabric_.set_routes(program.routes, assign_classes(program.routes, topology.num_links(),
                                                    parameters.virtual_channels, topology.name()));
  fabric_.record_passages(options.trace);
  if (memory != nullptr) {
    payloads_.emplace(*memory, endpoints_.num_messages(), parameters, !options.faults.empty());
  }
  if (options.trace) trace_.emplace(endpoints_, parameters, topology.num_links(), result_);
  fabric_.record_moves(options.observer != nullptr);
  if (parameters.reduction == Reduction::Pipelined) {
    check_memory_ports(topology, parameters);
    if (memory_limits(parameters)) memory_.emplace(parameters, fabric_.ports());
    engines_.emplace(endpoints_, parameters, fabric_.ports(), options.observer,
                     memory_ ? &*memory_ : nullptr);
  }
  result_.messages = endpoints_.num_messages();
  result_.clock_hz = clock_of(topology, parameters);
  inject_faults(options.faults, fabric_);
}

void Machine::activate(std::uint32_t port) {
  if (senders_[port].active) return;
  senders_[port].active = true;
  active_.push_back(port);
}

void Machine::take(std::uint32_t message) {
  if (!payloads_) return;
  const Entry& entry = endpoints_.entry_of(message);
  payloads_->apply_rest(message, index(entry.peer), entry);
}

/// The port's next entry. \returns whether there is one to send.
bool Machine::begin(std::uint32_t port) {
  Sender& sender = senders_[port];
  sender.message = endpoints_.begin(port);
  if (sender.message == Endpoints::kNone) return false;
  const Entry& entry = endpoints_.entry_of(sender.message);
  sender.begin(payload_flits(entry.size, parameters_),
               now() + endpoints_.issue_delay(sender.message), now());
  if (engines_) engines_->begins(port);
  if (memory_) memory_->begins(port, sender.payload_left);
  flits_left_[sender.message] = sender.payload_left;
  if (payloads_) payloads_->open(sender.message, entry);
  return true;
}

void Machine::open_packet(std::uint32_t port) {
  Sender& sender = senders_[port];
  const std::uint64_t payload = parameters_.flow_control == FlowControl::Packet
                                    ? std::min(packet_flits_, sender.payload_left)
                                    : sender.payload_left;
  sender.headers_left = parameters_.header_flits;
  sender.flits_left = static_cast<std::uint32_t>(payload) + sender.headers_left;
  const auto first = static_cast<std::uint32_t>(std::min(packet_flits_, payload));
  sender.packet = fabric_.open(endpoints_.message(sender.message).route,
                               parameters_.cut_through ? first + sender.headers_left : 1);
  if (packets_.size() <= sender.packet) packets_.resize(sender.packet + 1);
  packets_[sender.packet] = {
      .message = sender.message,
      .first = endpoints_.message(sender.message).payload - sender.payload_left,
      .first_number = sender.sent,
      .payload = static_cast<std::uint32_t>(payload)};
  sender.payload_left -= payload;
  sender.opened = true;
  sender.started = false;
}

/// \returns whether a flit could be sent.
bool Machine::send_flit(std::uint32_t port) {
  Sender& sender = senders_[port];
  if (!sender.opened) open_packet(port);
  const Endpoints::Port& place = endpoints_.ports()[port];
  if (!sender.started) {
    sender.started = fabric_.start(sender.packet, Rank{place.rank}, place.number);
    if (!sender.started) return false;
  }
  const bool is_there = memory_ ? memory_->is_there(now(), port) : sender.reads.is_there(now());
  if (sender.headers_left == 0 && !is_there) return false;
  const Packet& packet = packets_[sender.packet];
  const bool is_head = sender.flits_left == packet.payload + parameters_.header_flits;
  if (!fabric_.inject(sender.packet, is_head, sender.flits_left == 1)) return false;
  if (options_.observer != nullptr) {
    options_.observer->injected(
        now(), place.rank, place.number, fabric_.injection_vc(sender.packet),
        endpoints_.message(sender.message).entry, sender.sent, is_head, sender.flits_left == 1);
  }
  ++sender.sent;
  if (sender.headers_left > 0) {
    --sender.headers_left;
  } else {
    memory_ ? memory_->sends(port) : sender.reads.sends(now());
    if (engines_) engines_->sends_payload(port);
    if (payloads_) {
      payloads_->read(sender.message, place.rank, endpoints_.entry_of(sender.message),
                      packet.first + (packet.payload - sender.flits_left));
    }
  }
  if (--sender.flits_left == 0) sender.opened = false;
  if (sender.headers_left == 0 && sender.flits_left % packet_flits_ == 0 &&
      sender.flits_left != packet.payload) {
    endpoints_.sent_packet(port);
  }
  return true;
}

/// One cycle of a port. \returns whether it may have something to do in the next.
bool Machine::work(std::uint32_t port) {
  Sender& sender = senders_[port];
  if (sender.message == Endpoints::kNone && !begin(port)) return false;
  if (now() < sender.not_before) {
    endpoints_.post(sender.not_before, port);
    return false;
  }
  if (now() < sender.next_cycle || !send_flit(port)) return true;
  sender.next_cycle = now() + 1;
  last_progress_ = now();
  if (trace_) trace_->sends(port, sender.message, now());
  if (sender.payload_left != 0 || sender.opened) return true;
  sender.message = Endpoints::kNone;
  endpoints_.sent(port, now() + 1);
  return true;
}

void Machine::work_ports() {
  for (std::size_t i = 0; i < active_.size();) {
    const std::uint32_t port = active_[i];
    if (work(port)) {
      ++i;
      continue;
    }
    senders_[port].active = false;
    active_[i] = active_.back();
    active_.pop_back();
  }
}

void Machine::receive(const Delivery& flit) {
  Packet& packet = packets_[flit.packet];
  const std::uint32_t number = packet.received++, headers = parameters_.header_flits;
  const bool is_payload = number >= headers && number < headers + packet.payload;
  const std::uint64_t place = packet.first + number - headers;
  const Endpoints::Message& m = endpoints_.message(packet.message);
  if (options_.observer != nullptr) {
    options_.observer->arrived(flit.time, m.dst, endpoints_.ports()[flit.port].number, m.rank,
                               m.entry, packet.first_number + number);
  }
  if (flit.corrupt) {
    if (payloads_ && is_payload) {
      payloads_->corrupt(packet.message, place);
    } else {
      fail(fmt::format("cycle {}: the {} failed its checksum", flit.time,
                       endpoints_.describe(packet.message)));
    }
  }
  if (payloads_ && is_payload) {
    const Entry& entry = endpoints_.entry_of(packet.message);
    payloads_->arrived(packet.message, place, index(entry.peer), entry,
                       endpoints_.is_open(packet.message));
  }
  if (engines_ && number + 1 == headers) {
    engines_->header(flit.time, flit.port,
                     {.message = packet.message,
                      .offset = static_cast<std::uint32_t>(packet.first),
                      .length = packet.payload});
  } else if (engines_ && is_payload) {
    engines_->payload(flit.time, flit.port);
  } else if (engines_ && number < headers) {
    engines_->route(flit.port);
  }
  if (flit.tail) close(packet, flit);
}

/// The tail of a packet has arrived.
void Machine::close(const Packet& packet, const Delivery& flit) {
  const std::uint32_t message = packet.message, whole = packet.payload + parameters_.header_flits;
  if (packet.received != whole) {
    fail(fmt::format("cycle {}: the {} arrived with {} of {} flits", flit.time,
                     endpoints_.describe(message), packet.received, whole));
    return;
  }
  flits_left_[message] -= packet.payload;
  fabric_.release(flit.packet);
  if (flits_left_[message] != 0) return;
  if (payloads_ && !payloads_->is_intact(message)) {
    fail(fmt::format("cycle {}: the {} failed its checksum", flit.time,
                     endpoints_.describe(message)));
    return;
  }
  if (trace_) trace_->arrived(message, flit.time);
  if (!engines_) endpoints_.arrive(flit.time, message);
}

/// The engines' part of a cycle, before ports send: what is sent now they see in the next.
void Machine::run_engines() {
  for (; !on_the_way_.empty() && on_the_way_.front().time <= now(); on_the_way_.pop_front()) {
    receive(on_the_way_.front());
    last_progress_ = now();
  }
  engines_->step(now());
  last_progress_ = std::max(last_progress_, static_cast<Cycle>(engines_->last_progress()));
  if (!engines_->error().empty()) fail(engines_->error());
}

/// Limited memory: who gets words of it in this cycle, and which ports take flits in the next.
void Machine::end_cycle(Cycle cycle) {
  engines_->end_cycle(cycle);
  last_progress_ = std::max(last_progress_, static_cast<Cycle>(engines_->last_progress()));
  for (std::uint32_t p = 0; p < fabric_.ports().all; ++p) fabric_.hold(p, engines_->is_full(p));
}

/// Nothing moves, and something is still to come.
void Machine::stall() {
  fail(describe_standstill(now(), flits_left_, endpoints_, engines_ ? &*engines_ : nullptr,
                           fabric_));
}

/// When something happens next, if no port sends and no engine works before.
std::uint64_t Machine::next_event() {
  const std::uint64_t arrival = on_the_way_.empty() ? Fabric::kNever : on_the_way_.front().time;
  return std::min({std::uint64_t{fabric_.next_event()}, endpoints_.next_time(), arrival});
}

/// \returns false if nothing will ever happen again.
bool Machine::skip_quiet_cycles() {
  if (!active_.empty() || !fabric_.is_idle() || (engines_ && engines_->is_busy())) return true;
  const std::uint64_t next = next_event();
  if (next >= Fabric::kNever) return false;
  fabric_.skip_to(static_cast<Cycle>(next));
  last_progress_ = now();
  return true;
}

/// Nothing has moved for long: a standstill, unless engines wait for what is still to happen.
void Machine::check_progress(Cycle cycle) {
  if (!fabric_.dead_link().empty()) return fail(fabric_.dead_link());
  if (cycle - last_progress_ <= parameters_.watchdog_cycles) return;
  if (active_.empty() && fabric_.is_idle() && next_event() < Fabric::kNever) {
    last_progress_ = cycle;
  } else {
    stall();
  }
}

Simulation Machine::run() {
  std::uint64_t rounds = 0;
  while (endpoints_.left() > 0 && result_.errors.empty()) {
    if (!skip_quiet_cycles()) {
      stall();
      break;
    }
    endpoints_.handle_until(now());
    if (engines_) run_engines();
    work_ports();
    // What empty messages bring about belongs to the same cycle.
    while (endpoints_.next_time() <= now()) {
      endpoints_.handle_until(now());
      work_ports();
    }
    const Cycle cycle = now();
    fabric_.step();
    if (memory_) end_cycle(cycle);
    note_moves(cycle, fabric_, packets_, endpoints_, trace_ ? &*trace_ : nullptr,
               options_.observer);
    for (const Delivery& flit : fabric_.delivered()) {
      engines_ ? on_the_way_.push_back(flit) : receive(flit);
    }
    if (!fabric_.delivered().empty()) last_progress_ = cycle;
    check_progress(cycle);
    if (options_.progress && (++rounds & 0xffff) == 0) {
      options_.progress(1 - static_cast<double>(endpoints_.left()) /
                                static_cast<double>(endpoints_.total()));
    }
  }
  finish();
  return std::move(result_);
}

void Machine::finish() {
  result_.cycles = endpoints_.finished_at();
  result_.jobs = endpoints_.job_spans();
  result_.losses = endpoints_.losses();
  for (std::uint32_t l = 0; l < topology_.num_links(); ++l) {
    const std::uint64_t flits = fabric_.flits_on(LinkId{l});
    result_.link_flits += flits;
    result_.busiest_link_flits = std::max(result_.busiest_link_flits, flits);
  }
  if (result_.errors.empty()) fabric_.settle();
  if (options_.link_errors) result_.link_counts = fabric_.link_counts();
  if (!result_.errors.empty()) return;
  const std::string rest = fabric_.check_drained();
  if (!rest.empty())
    fail("at the end " + (fabric_.dead_link().empty() ? rest : fabric_.dead_link()));
}

}  // namespace

Simulation run_flit_level(const Program& program, const Topology& topology,
                          const Parameters& parameters, const SimulationOptions& options,
                          std::vector<std::vector<float>>* memory) {
  if (memory != nullptr &&
      (parameters.element_bytes != sizeof(float) || parameters.flit_bytes % sizeof(float) != 0)) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("moving data: expected elements of 4 bytes and flits of whole "
                            "elements, got {} and {}",
                            parameters.element_bytes, parameters.flit_bytes));
  }
  return Machine(program, topology, parameters, options, memory).run();
}

}  // namespace multitree::nic
