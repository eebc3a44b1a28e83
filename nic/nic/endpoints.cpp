// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What happens at interfaces, event by event.
#include "nic/nic/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace multitree::nic {

Endpoints::Endpoints(const Program& program, const Parameters& parameters,
                     const SimulationOptions& options, std::span<const std::uint32_t> ports,
                     std::span<const std::vector<std::uint32_t>> port_of_link, Carrier& carrier)
    : program_(program), parameters_(parameters), carrier_(carrier) {
  const std::uint32_t ranks = program.tables.ranks;
  std::uint32_t messages = 0;
  interfaces_.reserve(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    first_message_.push_back(messages);
    messages += static_cast<std::uint32_t>(program.tables.of_rank[r].size());
    rank_of_.resize(messages, r);
    interfaces_.emplace_back(program, Rank{r}, port_of_link[r], ports[r], parameters);
    first_port_.push_back(static_cast<std::uint32_t>(ports_.size()));
    for (std::uint32_t p = 0; p < ports[r]; ++p) ports_.push_back({.rank = r, .number = p});
  }
  first_message_.push_back(messages);
  left_ = messages;
  step_ends_.assign(ranks, 0);
  reduction_free_.assign(ranks, 0);
  awake_.assign(ranks, 0);
  if (parameters.issue == Issue::Lockstep) steps_ = estimate_steps(program, parameters);
  std::vector<std::uint64_t> starts(ranks, 0);
  for (const Fault& fault : options.faults) {
    if (fault.kind == Fault::Kind::LateInterface) starts[index(fault.rank)] = fault.cycle;
  }
  for (std::uint32_t r = 0; r < ranks; ++r) events_.push(starts[r], {Kind::Start, r});
}

std::string Endpoints::describe(std::uint32_t message) const {
  const Entry& e = entry_of(message);
  return fmt::format("{} of flow {} piece {} from rank {} to {} in step {}",
                     e.op == Opcode::Reduce ? "reduce" : "gather", e.flow, e.piece,
                     ref_of(message).rank, index(e.peer), e.step);
}

std::string Endpoints::who_waits() const {
  std::string waits;
  for (const Port& port : ports_) {
    const std::uint32_t head = interfaces_[port.rank].head(port.number);
    if (head == Interface::kNone) continue;
    const Entry& entry = interfaces_[port.rank].entry(head);
    const std::uint32_t taken = interfaces_[port.rank].taken_of(entry);
    waits = fmt::format(
        "rank {} port {} has not sent the {}: {} of {} messages it waits for are in", port.rank,
        port.number, describe(message_of(port.rank, head)), taken, entry.wait);
    if (taken < entry.wait) break;
  }
  return waits;
}

void Endpoints::handle_until(std::uint64_t cycle) {
  while (events_.next_time() <= cycle) {
    const auto [time, event] = events_.pop();
    now_ = time;
    handle(event);
  }
  now_ = cycle;
}

void Endpoints::handle(const Event& event) {
  switch (event.kind) {
    case Kind::Start:
      awake_[event.what] = 1;
      if (!steps_.empty()) {
        step_ends_[event.what] = now_ + steps_.front();
        events_.push(step_ends_[event.what], {Kind::Step, event.what});
      }
      wake_ports(event.what);
      break;
    case Kind::Arrive: {
      const Entry& entry = entry_of(event.what);
      const std::uint32_t rank = index(entry.peer);
      interfaces_[rank].arrived(ref_of(event.what), entry);
      take_in(rank);
      break;
    }
    case Kind::Reduced:
      complete(event.what);
      take_in(index(entry_of(event.what).peer));
      break;
    case Kind::Step:
      check_step(event.what);
      break;
    case Kind::Carrier:
      carrier_.happen(event.what);
      break;
  }
}

void Endpoints::wake_ports(std::uint32_t rank) {
  if (awake_[rank] == 0) return;
  for (std::uint32_t p = first_port_[rank]; p < first_port_[rank] + interfaces_[rank].ports();
       ++p) {
    if (ports_[p].entry == Interface::kNone &&
        interfaces_[rank].issuable(ports_[p].number) != Interface::kNone) {
      carrier_.ready(p);
    }
  }
}

void Endpoints::take_in(std::uint32_t rank) {
  EntryRef ref;
  while (interfaces_[rank].take(ref)) {
    const std::uint32_t message = message_of(ref.rank, ref.entry);
    const Entry& entry = entry_of(message);
    if (parameters_.reduction == Reduction::Streaming || entry.op != Opcode::Reduce) {
      complete(message);
      continue;
    }
    const std::uint64_t cycles =
        (entry.size + parameters_.reduction_elements - 1) / parameters_.reduction_elements;
    reduction_free_[rank] = std::max(reduction_free_[rank], now_) + cycles;
    events_.push(reduction_free_[rank], {Kind::Reduced, message});
  }
}

void Endpoints::complete(std::uint32_t message) {
  const Entry& entry = entry_of(message);
  const std::uint32_t rank = index(entry.peer);
  carrier_.take(message);
  interfaces_[rank].taken(entry);
  --left_;
  finished_at_ = now_;
  wake_ports(rank);
}

/// Goes on to the next step once all of this one was sent and its time has passed.
void Endpoints::check_step(std::uint32_t rank) {
  Interface& interface = interfaces_[rank];
  while (interface.step() < steps_.size() && interface.step_is_done() && now_ >= step_ends_[rank]) {
    interface.next_step();
    if (interface.step() == steps_.size()) break;
    step_ends_[rank] = now_ + steps_[interface.step()];
    events_.push(step_ends_[rank], {Kind::Step, rank});
  }
  wake_ports(rank);
}

std::uint32_t Endpoints::begin(std::uint32_t port) {
  Port& p = ports_[port];
  for (;;) {
    p.entry = interfaces_[p.rank].issuable(p.number);
    if (p.entry == Interface::kNone) return Interface::kNone;
    const std::uint32_t message = message_of(p.rank, p.entry);
    if (interfaces_[p.rank].entry(p.entry).size != 0) return message;
    // Nothing to send: both sides know that there is nothing to wait for.
    arrive(now_, message);
    sent(port);
  }
}

void Endpoints::sent(std::uint32_t port) {
  Port& p = ports_[port];
  interfaces_[p.rank].sent(p.number);
  p.entry = Interface::kNone;
  take_in(p.rank);
  if (!steps_.empty()) check_step(p.rank);
}

void Endpoints::arrive(std::uint64_t time, std::uint32_t message) {
  events_.push(time, {Kind::Arrive, message});
}

void Endpoints::post(std::uint64_t time, std::uint32_t what) {
  events_.push(time, {Kind::Carrier, what});
}

bool Endpoints::is_open(std::uint32_t message) const {
  const Entry& entry = entry_of(message);
  return parameters_.reduction == Reduction::Streaming &&
         interfaces_[index(entry.peer)].is_open(entry);
}

}  // namespace multitree::nic
