// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What happens at interfaces, event by event.
#include "nic/nic/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "topologies/error.hpp"

namespace multitree::nic {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void refuse(std::uint64_t most, const char* what,
                                                   std::uint64_t value) {
  throw Error(ErrorCode::Unsupported,
              fmt::format("simulation: expected at most {} {}, got {}", most, what, value));
}

template <typename T>
T narrow(std::uint64_t value, const char* what) {
  constexpr T kMost = std::numeric_limits<T>::max() / 2;  // Piece::sent has a bit to spare
  if (value > kMost) refuse(kMost, what, value);
  return static_cast<T>(value);
}

/// How far ahead the ends of messages lie.
std::uint64_t reach_of(const Program& program, const Parameters& parameters) {
  std::uint64_t most = 0;
  for (const auto& entries : program.tables.of_rank) {
    for (const Entry& entry : entries) most = std::max(most, entry.size);
  }
  const std::uint64_t payload = payload_flits(most, parameters);
  return payload + header_flits(payload, parameters) + 1000;
}

}  // namespace

Endpoints::Endpoints(const Program& program, const Parameters& parameters,
                     const SimulationOptions& options, const Ports& ports, Carrier& carrier)
    : program_(program),
      parameters_(parameters),
      observer_(options.observer),
      carrier_(carrier),
      events_(reach_of(program, parameters)) {
  const std::uint32_t ranks = program.tables.ranks;
  first_port_.assign(1, 0);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t p = 0; p < ports.count[r]; ++p) ports_.push_back({.rank = r, .number = p});
    first_port_.push_back(static_cast<std::uint32_t>(ports_.size()));
  }
  add_messages();
  left_ = messages_.size();
  if (parameters.port_queue_packets > 0) share_ports();
  if (!program.jobs.empty()) queue_jobs();
  if (options.losses) {
    roll_call_.emplace(*options.losses, program);
    counts_.assign(messages_.size(), 0);
  }
  total_ = left();
  for (Port& port : ports_) look_ahead(port);
  pieces_.resize(std::size_t{ranks} * program.pieces);
  parked_.resize(ranks);
  step_of_.assign(ranks, 0);
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

/// All entries as messages.
void Endpoints::add_messages() {
  const auto& tables = program_.tables.of_rank;
  std::vector<std::uint64_t> next(program_.tables.steps + std::size_t{1}, 0);  // [step]
  for (const auto& entries : tables) {
    for (const Entry& entry : entries) ++next[entry.step + std::size_t{1}];
  }
  for (std::size_t step = 1; step < next.size(); ++step) next[step] += next[step - 1];
  messages_.resize(narrow<std::uint32_t>(next.back(), "messages"));
  for (std::uint32_t r = 0; r < tables.size(); ++r) {
    const std::uint32_t count = first_port_[r + 1] - first_port_[r];
    for (std::uint32_t e = 0; e < tables[r].size(); ++e) {
      const Entry& entry = tables[r][e];
      const auto number = static_cast<std::uint32_t>(next[entry.step]++);
      messages_[number] = {
          .rank = r,
          .dst = index(entry.peer),
          .entry = e,
          .piece = program_.piece_of(entry),
          .payload = narrow<std::uint32_t>(payload_flits(entry.size, parameters_), "flits"),
          .route = program_.route_of[r][e],
          .following = first_port_[r] + entry.port % count,  // its port, for now
          .wait = narrow<std::uint16_t>(entry.wait, "messages of a chunk"),
          .turn = narrow<std::uint16_t>(entry.turn, "messages of a chunk"),
          .after = narrow<std::uint16_t>(entry.after, "messages of a chunk"),
          .op = entry.op};
    }
  }
  if (program_.jobs.empty()) link_messages();
}

/// Each port's messages in the order of the table.
void Endpoints::link_messages() {
  std::vector<std::uint32_t> last(ports_.size(), kNone);
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    const std::uint32_t port = std::exchange(messages_[number].following, kNone);
    (last[port] == kNone ? ports_[port].next : messages_[last[port]].following) = number;
    last[port] = number;
  }
}

/// No port has messages of its own.
void Endpoints::share_ports() {
  shared_.emplace(parameters_, first_port_);
  std::vector<std::uint32_t> order(messages_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(
      order, {}, [&](std::uint32_t m) { return std::pair(messages_[m].rank, messages_[m].entry); });
  for (const std::uint32_t m : order) {
    shared_->add(messages_[m].rank, m, entry_of(m).step, messages_[m].op == Opcode::Gather,
                 messages_[m].payload);
  }
  for (Port& port : ports_) port.next = kNone;
}

/// Shared ports take what they have room for, one message each at a time.
void Endpoints::assign_ports(std::uint32_t rank) {
  const auto is_ready = [&](std::uint32_t message) {
    const Message& m = messages_[message];
    return piece(rank, m.piece).taken >= m.wait &&
           (steps_.empty() || entry_of(message).step <= step_of_[rank]);
  };
  for (;;) {
    const std::uint32_t port = shared_->assign(rank, now_, is_ready);
    if (port == kNone) return;
    look_ahead(ports_[port]);
    const std::uint64_t room = shared_->free_at(port);
    if (room != SharedPorts::kNever) events_.push(std::max(now_ + 1, room), {Kind::Room, rank});
  }
}

/// What the port's next message waits for, where it is at hand.
void Endpoints::look_ahead(Port& port) const {
  port.piece = kNone;
  if (shared_) {
    port.next = shared_->front(static_cast<std::uint32_t>(&port - ports_.data()));
  }
  if (port.next == kNone) return;
  const Message& m = messages_[port.next];
  // Each port comes back to a message of its own, which with many ports is in no cache by then.
  if (m.following != kNone) __builtin_prefetch(&messages_[m.following]);
  port.piece = m.piece;
  port.wait = m.wait;
  if (parameters_.issue == Issue::Lockstep) port.step = entry_of(port.next).step;
}

bool Endpoints::is_issuable(const Port& port) const {
  if (queues_) return !queues_->empty(number_of(port));
  if (looks_) {
    const std::uint32_t job = looks_->at(number_of(port), now_);
    return job != kNone && is_ready(number_of(port), job);
  }
  if (port.piece == kNone || piece(port.rank, port.piece).taken < port.wait) return false;
  return steps_.empty() || port.step <= step_of_[port.rank];
}

std::string Endpoints::describe(std::uint32_t message) const {
  const Entry& e = entry_of(message);
  return fmt::format("{} of flow {} piece {} from rank {} to {} in step {}",
                     e.op == Opcode::Reduce ? "reduce" : "gather", e.flow, e.piece,
                     messages_[message].rank, index(e.peer), e.step);
}

std::string Endpoints::who_waits() const {
  std::string waits;
  if (jobs_) return fmt::format("{} jobs of ranks are not over", jobs_->left());
  for (const Port& port : ports_) {
    const bool is_sending = port.sending != kNone;
    if (!is_sending && port.piece == kNone) continue;
    const std::uint32_t message = is_sending ? port.sending : port.next;
    const Message& m = messages_[message];
    const std::uint32_t taken = piece(port.rank, m.piece).taken;
    waits =
        fmt::format("rank {} port {} has not sent the {}: {} of {} messages it waits for are in",
                    port.rank, port.number, describe(message), taken, m.wait);
    if (taken < m.wait) break;
  }
  return waits;
}

void Endpoints::handle_until(std::uint64_t cycle) {
  Event event;
  for (std::uint64_t time = events_.next_time(); time <= cycle; time = events_.next_time()) {
    now_ = time;
    while (events_.take(time, event)) {
      prefetch();
      handle(event);
    }
  }
  now_ = cycle;
}

/// Fetches what the next events of this cycle need: with many ranks nothing of it is in a cache.
void Endpoints::prefetch() const {
  if (const Event* event = events_.ahead(8); event != nullptr) {
    if (event->kind == Kind::Arrive) __builtin_prefetch(&messages_[event->what]);
    if (event->kind == Kind::Carrier && event->what < ports_.size()) {
      __builtin_prefetch(&ports_[event->what]);
    }
  }
  if (const Event* event = events_.ahead(4); event != nullptr) {
    if (event->kind == Kind::Arrive) {
      const Message& m = messages_[event->what];
      __builtin_prefetch(&piece(m.dst, m.piece));
      __builtin_prefetch(&ports_[first_port_[m.dst]]);
    }
    if (event->kind == Kind::Carrier && event->what < ports_.size()) {
      const Port& port = ports_[event->what];
      if (port.sending != kNone) __builtin_prefetch(&messages_[port.sending]);
      if (port.piece != kNone) __builtin_prefetch(&piece(port.rank, port.piece));
      if (port.next != kNone) __builtin_prefetch(&messages_[port.next]);
    }
  }
}

void Endpoints::handle(const Event& event) {
  switch (event.kind) {
    case Kind::Start:
      awake_[event.what] = 1;
      if (!steps_.empty()) enter_step(event.what);
      if (jobs_) start_jobs(event.what);
      wake_ports(event.what);
      break;
    case Kind::Arrive: {
      const Message& m = messages_[event.what];
      if (!has_turn(m)) {
        parked_[m.dst].push_back(event.what);
        break;
      }
      add(event.what);
      if (!parked_[m.dst].empty()) take_in_parked(m.dst);
      break;
    }
    case Kind::Reduced:
      complete(event.what);
      take_in_parked(messages_[event.what].dst);
      break;
    case Kind::Step:
      check_step(event.what);
      break;
    case Kind::Job:
      happen_to_job(event.what);
      break;
    case Kind::Look:
      if (ports_[event.what].sending == kNone && is_issuable(ports_[event.what])) {
        carrier_.ready(event.what);
      }
      break;
    case Kind::Late:
      happen_late(event.what);
      break;
    case Kind::Room:
      steps_.empty() ? wake_ports(event.what) : check_step(event.what);
      break;
    case Kind::Carrier:
      carrier_.happen(event.what);
      break;
  }
}

void Endpoints::wake_ports(std::uint32_t rank) {
  if (awake_[rank] == 0) return;
  if (shared_) assign_ports(rank);
  for (std::uint32_t p = first_port_[rank]; p < first_port_[rank + 1]; ++p) {
    if (ports_[p].sending == kNone && is_issuable(ports_[p])) carrier_.ready(p);
  }
}

/// Takes in what has arrived before its turn, where it is due now.
void Endpoints::take_in_parked(std::uint32_t rank) {
  std::vector<std::uint32_t>& parked = parked_[rank];
  for (std::size_t i = 0; i < parked.size();) {
    if (!has_turn(messages_[parked[i]])) {
      ++i;
      continue;
    }
    const std::uint32_t message = parked[i];
    parked.erase(parked.begin() + static_cast<std::ptrdiff_t>(i));
    add(message);
    i = 0;  // others may have their turn now
  }
}

/// Takes a message in: at once, or by the rank's one reduction unit.
void Endpoints::add(std::uint32_t message) {
  const Message& m = messages_[message];
  Piece& p = piece(m.dst, m.piece);
  p.sent |= kAdding;
  if (parameters_.reduction != Reduction::Store || m.op != Opcode::Reduce) {
    complete(message);
    return;
  }
  const std::uint64_t cycles = (entry_of(message).size + parameters_.reduction_elements - 1) /
                               parameters_.reduction_elements;
  reduction_free_[m.dst] = std::max(reduction_free_[m.dst], now_) + cycles;
  events_.push(reduction_free_[m.dst], {Kind::Reduced, message});
}

void Endpoints::complete(std::uint32_t message) {
  const Message& m = messages_[message];
  carrier_.take(message);
  Piece& p = piece(m.dst, m.piece);
  p.sent &= static_cast<std::uint16_t>(~kAdding);
  ++p.taken;
  if (observer_ != nullptr) observer_->taken(now_, m.dst, m.piece, p.taken);
  --left_;
  finished_at_ = now_;
  if (jobs_) return job_took_in(m);
  if (awake_[m.dst] == 0) return;
  if (shared_) return wake_ports(m.dst);
  for (std::uint32_t n = first_port_[m.dst]; n < first_port_[m.dst + 1]; ++n) {
    const Port& port = ports_[n];
    if (port.piece == m.piece && port.sending == kNone && is_issuable(port)) carrier_.ready(n);
  }
}

std::uint32_t Endpoints::begin(std::uint32_t port) {
  Port& p = ports_[port];
  while (p.sending == kNone && is_issuable(p)) {
    const std::uint32_t message = queues_  ? next_of_jobs(port)
                                  : looks_ ? next_at_hand(port)
                                           : p.next;
    p.sending = message;
    if (!jobs_) {
      p.next = messages_[message].following;
      if (shared_) shared_->begin(port);
      look_ahead(p);
    }
    if (roll_call_) count_begun(message);
    if (observer_ != nullptr) observer_->begun(now_, p.rank, p.number, messages_[message].entry);
    if (messages_[message].payload != 0 || parameters_.reduction == Reduction::Pipelined) {
      return message;
    }
    // Nothing to send: both sides know that there is nothing to wait for.
    arrive(now_, message);
    sent(port, now_ + 1);
  }
  return kNone;
}

std::uint64_t Endpoints::issue_delay(std::uint32_t message) const {
  if (parameters_.issue_jitter == 0) return parameters_.issue_cycles;
  // Fibonacci hashing (Knuth, TAOCP 3, 6.4): spreads numbers that follow each other.
  const std::uint64_t hash = (message + std::uint64_t{1}) * 0x9e3779b97f4a7c15;
  return parameters_.issue_cycles + (hash >> 32) % (parameters_.issue_jitter + std::uint64_t{1});
}

void Endpoints::sent(std::uint32_t port, std::uint64_t visible) {
  Port& p = ports_[port];
  const Message& m = messages_[p.sending];
  ++piece(p.rank, m.piece).sent;
  p.sending = kNone;
  const bool is_seen_at_once = m.payload == 0 && parameters_.reduction != Reduction::Pipelined;
  if (jobs_) job_has(is_seen_at_once ? now_ : visible, p.rank, m.piece);
  if (looks_) {
    looks_->free(port, job_of(m.piece), visible);
    look_for(port, visible);
  }
  if (!parked_[p.rank].empty()) take_in_parked(p.rank);
  if (!steps_.empty()) events_.push(visible, {Kind::Step, p.rank});
}

void Endpoints::sent_packet(std::uint32_t port) {
  if (shared_ && shared_->sent_packet(port, now_)) {
    events_.push(now_ + 1, {Kind::Room, ports_[port].rank});
  }
}

}  // namespace multitree::nic
