// SPDX-License-Identifier: BSD-3-Clause
#include "simulation.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "algorithms/registry.hpp"
#include "nic/program/program.hpp"
#include "topologies/registry.hpp"

namespace multitree::test {
namespace {

using nic::Entry;
using nic::MessageRecord;
using nic::Parameters;
using nic::Program;
using nic::Simulation;
using nic::Span;

auto key_of(const Span& s) { return std::tuple(s.kind, s.row, s.port, s.message, s.begin, s.end); }
auto key_of(const MessageRecord& m) {
  return std::tuple(m.src, m.dst, m.op, m.step, m.flow, m.piece, m.bytes, m.issued, m.arrived);
}

/// A message as the tables and routes have it, in the order of the simulation's numbers.
struct Message {
  std::uint32_t rank = 0;
  const Entry* entry = nullptr;
  const std::vector<LinkId>* route = nullptr;
  std::uint64_t flits = 0;
};

/// Numbered by step, rank and place in the table.
std::vector<Message> messages_of(const Program& program, const Parameters& parameters) {
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < program.tables.ranks; ++r) {
    for (std::size_t e = 0; e < program.tables.of_rank[r].size(); ++e) {
      const Entry& entry = program.tables.of_rank[r][e];
      const std::uint64_t payload = nic::payload_flits(entry.size, parameters);
      messages.push_back({r, &entry, &program.routes[program.route_of[r][e]],
                          payload + nic::header_flits(payload, parameters)});
    }
  }
  std::ranges::stable_sort(messages, {}, [](const Message& m) { return m.entry->step; });
  return messages;
}

void check_links(const std::vector<Message>& messages, const Topology& topology,
                 const Parameters& parameters, const Simulation& result) {
  std::vector<std::uint64_t> load(topology.num_links(), 0);
  std::uint64_t all = 0;
  for (const Message& m : messages) {
    for (const LinkId link : *m.route) load[index(link)] += m.flits;
    all += m.flits * m.route->size();
  }
  EXPECT_EQ(result.link_flits, all);
  EXPECT_EQ(result.busiest_link_flits, load.empty() ? 0 : std::ranges::max(load));
  const std::uint64_t clock = nic::clock_of(topology, parameters);
  for (std::uint32_t l = 0; l < load.size(); ++l) {
    const auto link = nic::cycles_of(topology.link(LinkId{l}), clock, parameters);
    if (load[l] == 0) continue;
    // All but the last flit keep it busy; that one still has to cross it.
    EXPECT_LE((load[l] - 1) * link.interval / nic::kWholeCycle + link.latency, result.cycles);
  }
}

void check_messages(const std::vector<Message>& messages, const Topology& topology,
                    const Parameters& parameters, const Simulation& result) {
  const std::uint64_t clock = nic::clock_of(topology, parameters);
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // rank, flow, piece
  std::map<Place, std::vector<std::pair<std::uint32_t, std::uint64_t>>> arrivals;
  ASSERT_EQ(result.records.size(), messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& [rank, entry, route, flits] = messages[i];
    const MessageRecord& record = result.records[i];
    if (flits == 0) continue;
    EXPECT_EQ(index(record.src), rank);
    EXPECT_EQ(record.dst, entry->peer);
    std::uint64_t light = flits - 1 + std::uint64_t{2} * parameters.interface_cycles;
    for (const LinkId link : *route) {
      light +=
          nic::cycles_of(topology.link(link), clock, parameters).latency + parameters.router_cycles;
    }
    EXPECT_GE(record.arrived, record.issued + light) << "message " << i;
    EXPECT_LE(record.arrived, result.cycles);
    arrivals[{index(entry->peer), entry->flow, entry->piece}].emplace_back(entry->step,
                                                                           record.arrived);
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& m = messages[i];
    if (m.flits == 0) continue;
    for (const auto& [step, arrived] : arrivals[{m.rank, m.entry->flow, m.entry->piece}]) {
      if (step < m.entry->step) {
        EXPECT_LE(arrived + parameters.issue_cycles, result.records[i].issued) << "message " << i;
      }
    }
  }
}

/// Ports send one message after the other, each as long as it has flits or longer.
void check_ports(const std::vector<Message>& messages, const Simulation& result) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> free_at;
  for (const Span& span : result.spans) {
    EXPECT_LT(span.begin, span.end);
    EXPECT_LE(span.end, result.cycles);
    if (span.kind != Span::Kind::Interface) continue;
    EXPECT_GE(span.end - span.begin, messages[span.message].flits);
    std::uint64_t& free = free_at[{span.row, span.port}];
    EXPECT_GE(span.begin, free);
    free = span.end;
  }
}

void expect_same(const Simulation& a, const Simulation& b) {
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_EQ(a.link_flits, b.link_flits);
  const auto same = [](const auto& x, const auto& y) { return key_of(x) == key_of(y); };
  EXPECT_TRUE(std::ranges::equal(a.spans, b.spans, same));
  EXPECT_TRUE(std::ranges::equal(a.records, b.records, same));
}

std::vector<LinkId> shortest_route(const Topology& topology, NodeId from, NodeId to) {
  std::vector<std::vector<LinkId>> way(topology.num_nodes());
  std::deque<NodeId> queue = {from};
  while (!queue.empty() && way[index(to)].empty()) {
    const NodeId at = queue.front();
    queue.pop_front();
    for (const LinkId link : topology.out_links(at)) {
      const NodeId next = topology.link(link).dst;
      if (next == from || !way[index(next)].empty()) continue;
      way[index(next)] = way[index(at)];
      way[index(next)].push_back(link);
      queue.push_back(next);
    }
  }
  return way[index(to)];
}

}  // namespace

Simulation simulate_checked(const Schedule& schedule, const Topology& topology, std::uint64_t bytes,
                            const Parameters& parameters) {
  nic::SimulationOptions options{.data = true, .trace = true};
  Simulation result = nic::simulate(schedule, topology, bytes, parameters, options);
  for (const std::string& error : result.errors) ADD_FAILURE() << error;
  EXPECT_TRUE(result.checked);
  const Program program = nic::compile_program(
      schedule, topology, nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks));
  const std::vector<Message> messages = messages_of(program, parameters);
  EXPECT_EQ(result.messages, messages.size());
  check_links(messages, topology, parameters, result);
  check_messages(messages, topology, parameters, result);
  check_ports(messages, result);
  options.data = false;
  expect_same(result, nic::simulate(schedule, topology, bytes, parameters, options));
  return result;
}

Simulation simulate_checked(const Job& job, const Parameters& parameters) {
  const Topology topology = make_topology(job.topology);
  return simulate_checked(make_schedule(job.algorithm, topology, job.collective), topology,
                          job.bytes, parameters);
}

std::uint64_t message_cycles(const Schedule& schedule, const Topology& topology,
                             std::uint64_t bytes, const Parameters& parameters) {
  const Simulation result =
      nic::simulate(schedule, topology, bytes, parameters, {.model = nic::Model::Message});
  for (const std::string& error : result.errors) ADD_FAILURE() << error;
  const Program program = nic::compile_program(
      schedule, topology, nic::padded_elements(bytes, parameters.element_bytes, schedule.ranks));
  check_links(messages_of(program, parameters), topology, parameters, result);
  return result.cycles;
}

std::uint64_t cycles_of(const Job& job, nic::Model model, const Parameters& parameters) {
  const Topology topology = make_topology(job.topology);
  const Schedule schedule = make_schedule(job.algorithm, topology, job.collective);
  return model == nic::Model::Message
             ? message_cycles(schedule, topology, job.bytes, parameters)
             : simulate_checked(schedule, topology, job.bytes, parameters).cycles;
}

Schedule broadcast_by_hand(const Topology& topology, std::uint32_t chunks,
                           std::span<const Hand> copies) {
  Schedule schedule;
  schedule.collective = Collective::Broadcast;
  schedule.algorithm = "by hand";
  schedule.ranks = topology.num_ranks();
  schedule.chunks.assign(chunks, {});
  for (const Hand& copy : copies) {
    schedule.add(copy.step, Op::Copy, copy.chunk, Rank{copy.src}, Rank{copy.dst},
                 shortest_route(topology, topology.node_of(Rank{copy.src}),
                                topology.node_of(Rank{copy.dst})));
  }
  schedule.canonicalize();
  return schedule;
}

}  // namespace multitree::test
